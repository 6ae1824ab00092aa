#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "functions/cli/call.h"
#include "functions/cli/fn_actions.h"
#include "functions/cli/template_files.h"

// cairn fn init DIR: a function to begin with.
namespace cairn::functions::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRuntime = "cs-js";

// Which files of the template a folder of this kind has.
bool Belongs(std::string_view name, bool type_script) {
  if (name == "function.js") return !type_script;
  if (name == "function.ts" || name == "tsconfig.json") return type_script;
  return true;
}

}  // namespace

Result<int> InitFolder(const house::VerbCall& call) {
  const fs::path folder = call.arguments[0];
  if (const std::string& runtime = call.Text("runtime"); !runtime.empty() && runtime != kRuntime) {
    return UsageError(
        fmt::format("--runtime '{}': there is only {}", Printable(runtime), kRuntime));
  }
  const bool type_script = call.Switch("typescript");
  std::vector<TemplateFile> files;
  std::vector<std::string> present;
  std::error_code failure;
  for (const TemplateFile& file : TemplateFiles()) {
    if (!Belongs(file.name, type_script)) continue;
    files.push_back(file);
    if (fs::exists(folder / file.name, failure)) present.emplace_back(file.name);
  }
  if (!present.empty()) {
    return Error{ErrorCode::kConflict,
                 fmt::format("{} has a {} already, and nothing is overwritten; choose another "
                             "folder",
                             folder.string(), fmt::join(present, ", a "))};
  }
  fs::create_directories(folder, failure);
  if (failure) {
    return Error{ErrorCode::kIo,
                 fmt::format("cannot make {}: {}", folder.string(), failure.message())};
  }
  for (const TemplateFile& file : files) {
    std::ofstream output(folder / file.name, std::ios::binary);
    output << file.text;
    output.close();
    if (!output) {
      return Error{ErrorCode::kIo, fmt::format("cannot write {}", (folder / file.name).string())};
    }
    if (!call.json) call.terminal.Print((folder / file.name).string());
  }
  if (call.json) {
    boost::json::array names;
    for (const TemplateFile& file : files) names.emplace_back(file.name);
    call.terminal.Print(boost::json::value(
        boost::json::object{{"folder", folder.string()}, {"files", std::move(names)}}));
  } else {
    call.terminal.Print(fmt::format("run it here with: cairn fn test {}", folder.string()));
  }
  return house::kExitOk;
}

}  // namespace cairn::functions::cli
