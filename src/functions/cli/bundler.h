#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "functions/cli/folder.h"
#include "functions/model/bundle.h"
#include "house/terminal.h"

// Programs that turn what people write into what the engine runs.
namespace cairn::functions::cli {

// node_modules/.bin/esbuild of the folder or of one that it is in, or of the PATH.
std::optional<std::string> FindEsbuild(const std::string& folder,
                                       const house::Environment& environment);
// A node that can strip types; nullopt if there is none, or it is older than 22.13.
std::optional<std::string> FindNode(const PackOptions& options);

struct BundleCall {
  std::string folder;
  std::string entry;   // "function.ts", in the folder
  std::string output;  // "function.js": its path in the bundle
};
// `output` with all that the entry imports, and its source map. kInvalid has esbuild's words, with
// file and line.
Result<Files> BundleEntry(const std::string& esbuild, const BundleCall& call,
                          const PackOptions& options);

// Each file of `typed` as JavaScript, "lib/a.ts" as "lib/a.js", and its source map. Nothing else
// changes, so lines and columns stay; imports of ".ts" lead to the ".js". kInvalid has node's
// words.
Result<Files> StripTypes(const std::string& node, const std::string& folder,
                         const std::vector<std::string>& typed, const PackOptions& options);

}  // namespace cairn::functions::cli
