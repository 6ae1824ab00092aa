#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/check.h"

namespace cairn::testing {

// A new, empty directory that is removed with everything in it at the end.
class TempDirectory {
 public:
  TempDirectory() {
    path_ = (std::filesystem::temp_directory_path() / "cairn-test-XXXXXX").string();
    CAIRN_CHECK(mkdtemp(path_.data()) != nullptr, "{}", path_);
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::string& path() const { return path_; }
  // The path of `name` inside; nothing is made.
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Makes the file `name` with this content and returns its path.
  std::string Write(std::string_view name, std::string_view content) const {
    std::string path = *this / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

 private:
  std::string path_;
};

// The content of a file; empty if there is none.
inline std::string ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace cairn::testing
