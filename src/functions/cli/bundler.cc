#include "functions/cli/bundler.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "functions/cli/tool.h"
#include "functions/model/source_map.h"

namespace cairn::functions::cli {
namespace {

constexpr std::string_view kInlineMap = "//# sourceMappingURL=data:application/json;base64,";

// Takes a list of files as its arguments and writes {path: text without types}.
constexpr std::string_view kStripScript = R"JS(
import { readFileSync } from 'node:fs';
import module from 'node:module';
const stripped = {};
for (const path of process.argv.slice(1)) {
  try {
    const text = module.stripTypeScriptTypes(readFileSync(path, 'utf8'), { mode: 'strip' });
    // The same number of characters, so that nothing moves.
    stripped[path] = text.replace(
      /(\bfrom\s*|\bimport\s*\(?\s*)(['"])(\.{1,2}\/[^'"\n]*)\.ts\2/g, '$1$2$3.js$2');
  } catch (error) {
    console.error(`${path}: ${error.message}`);
    process.exit(1);
  }
}
process.stdout.write(JSON.stringify(stripped));
)JS";

constexpr std::string_view kNodeTest =
    "import module from 'node:module';"
    "process.exit(typeof module.stripTypeScriptTypes === 'function' ? 0 : 1)";

// The first lines that a tool has to say, for an error.
std::string Words(const ToolOutput& output) {
  std::string_view text = output.err;
  while (text.starts_with('\n') || text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with('\n') || text.ends_with(' ')) text.remove_suffix(1);
  return text.empty() ? output.exit.ToString() : std::string(text);
}

}  // namespace

std::optional<std::string> FindEsbuild(const std::string& folder,
                                       const house::Environment& environment) {
  std::error_code failure;
  std::filesystem::path at = std::filesystem::absolute(folder, failure).lexically_normal();
  while (!failure && !at.empty()) {
    const std::filesystem::path file = at / "node_modules" / ".bin" / "esbuild";
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) return file.string();
    if (at == at.parent_path()) break;
    at = at.parent_path();
  }
  return FindProgram("esbuild", environment);
}

std::optional<std::string> FindNode(const PackOptions& options) {
  std::optional<std::string> node = FindProgram("node", options.environment);
  if (!node) return std::nullopt;
  const ToolCall call{.arguments = {*node, "--input-type=module", "-e", std::string(kNodeTest)},
                      .directory = {}};
  const Result<ToolOutput> tested = RunTool(call, options.environment, options.clock);
  if (!tested.ok() || !tested->exit.ok()) return std::nullopt;
  return node;
}

Result<Files> BundleEntry(const std::string& esbuild, const BundleCall& call,
                          const PackOptions& options) {
  const ToolCall run{
      .arguments = {esbuild, "./" + call.entry, "--bundle", "--format=esm", "--platform=browser",
                    "--conditions=worker", "--target=firefox102", "--sourcemap=inline",
                    "--sources-content=false", "--charset=utf8", "--legal-comments=none",
                    "--log-level=warning", "--color=false"},
      .directory = call.folder};
  CAIRN_ASSIGN_OR_RETURN(ToolOutput output, RunTool(run, options.environment, options.clock));
  if (!output.exit.ok()) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("esbuild cannot bundle {}:\n{}", call.entry, Words(output))};
  }
  const size_t comment = output.out.rfind(kInlineMap);
  if (comment == std::string::npos) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("{} has made a bundle without a source map: is it esbuild?", esbuild)};
  }
  std::string_view encoded = std::string_view(output.out).substr(comment + kInlineMap.size());
  while (encoded.ends_with('\n')) encoded.remove_suffix(1);
  const std::optional<Bytes> map = Base64Decode(encoded);
  if (!map) return Error{ErrorCode::kInvalid, "esbuild's source map is not in base64"};
  CAIRN_ASSIGN_OR_RETURN(std::string compact, CompactMap(*map));
  Files files;
  files[call.output + std::string(kSourceMapSuffix)] = std::move(compact);
  output.out.resize(comment);
  files[call.output] = std::move(output.out);
  return files;
}

Result<Files> StripTypes(const std::string& node, const std::string& folder,
                         const std::vector<std::string>& typed, const PackOptions& options) {
  ToolCall call{.arguments = {node, "--disable-warning=ExperimentalWarning", "--input-type=module",
                              "-e", std::string(kStripScript), "--"},
                .directory = folder};
  call.arguments.insert(call.arguments.end(), typed.begin(), typed.end());
  CAIRN_ASSIGN_OR_RETURN(const ToolOutput output,
                         RunTool(call, options.environment, options.clock));
  if (!output.exit.ok()) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("node cannot strip the types: {}", Words(output))};
  }
  boost::system::error_code failure;
  const boost::json::value stripped = boost::json::parse(output.out, failure);
  if (failure || !stripped.is_object()) {
    return Error{ErrorCode::kInvalid, fmt::format("what {} says is not JSON: is it node?", node)};
  }
  Files files;
  for (const std::string& path : typed) {
    const boost::json::value* const text = stripped.get_object().if_contains(path);
    if (text == nullptr || !text->is_string()) {
      return Error{ErrorCode::kInvalid, fmt::format("node has not stripped {}", path)};
    }
    const std::string made = path.substr(0, path.size() - 2) + "js";
    std::string code(text->get_string());
    files[made + std::string(kSourceMapSuffix)] = SameTextMap(path, code);
    files[made] = std::move(code);
  }
  return files;
}

}  // namespace cairn::functions::cli
