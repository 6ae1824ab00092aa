#include "functions/cli/target.h"

#include <filesystem>

#include "functions/cli/call.h"

namespace cairn::functions::cli {
namespace {

namespace fs = std::filesystem;

bool NamesFunction(const std::string& word) {
  std::error_code failure;
  return !fs::is_directory(word, failure) && !word.starts_with('.') && !word.starts_with('/') &&
         fs::is_regular_file("manifest.json", failure);
}

}  // namespace

Result<Target> TargetOf(const house::VerbCall& call, const std::vector<std::string>& words) {
  Target target{.folder = call.Text("path")};
  const std::string& name = call.Text("name");
  if (!name.empty()) target.function = name;
  if (!words.empty()) {
    const std::string& word = words.front();
    if (target.folder.empty() && !NamesFunction(word)) {
      target.folder = word;
    } else if (!name.empty() && name != word) {
      return UsageError("name the function once: as an argument or with --name");
    } else {
      target.function = word;
    }
  }
  if (target.folder.empty()) target.folder.push_back('.');
  return target;
}

}  // namespace cairn::functions::cli
