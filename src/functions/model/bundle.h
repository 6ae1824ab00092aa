#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

// The files of a version as one canonical tar: the same files make the same bytes, whoever packs
// them, so a digest of the bytes names the files.
//
//   (header 512, content, zeros to the next 512)*   a file each, sorted by path
//   zeros 1024
//
// A header is that of a regular file in POSIX ustar: mode 0644, owner and times 0, no user or group
// name, a path of up to 255 bytes. A tar that differs from this in one bit is refused.
namespace cairn::functions {

using Files = std::map<std::string, Bytes, std::less<>>;  // by path

inline constexpr std::string_view kFunctionFile = "function.js";
inline constexpr std::string_view kManifestFile = "manifest.json";

// Whether a file of a bundle may have this path: parts of visible ASCII without a backslash,
// separated by single slashes, none of them "." or "..".
bool IsBundlePath(std::string_view path);

// The tar of these files. CS_VALIDATION_FAILED for a path that is none, for a file that stands
// where another has its folder, and without function.js or manifest.json;
// CS_VALIDATION_BUNDLE_TOO_LARGE for a tar of more than kMaxBundleBytes.
Result<Bytes> WriteBundle(const Files& files);

// A tar's files, as views into it.
class Bundle {
 public:
  // Refuses what WriteBundle would not have written.
  static Result<Bundle> Read(BytesView tar);

  const std::vector<std::pair<std::string, BytesView>>& files() const { return files_; }
  // nullopt: there is no such file.
  std::optional<BytesView> Find(std::string_view path) const;

 private:
  std::vector<std::pair<std::string, BytesView>> files_;
};

}  // namespace cairn::functions
