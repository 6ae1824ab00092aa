#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "functions/model/bundle.h"
#include "functions/model/manifest.h"
#include "house/terminal.h"

// A function as a folder that somebody works in:
//
//   manifest.json   what the code may do
//   function.js     the manifest's `entry`, or function.ts in its place
//   lib/…           what it imports: .js, .mjs, .json, or .ts
//   package.json    with dependencies, if it has any; node_modules
//
// What is published is made of it: TypeScript without its types, imports of packages bundled, and a
// source map for each file that is not as it was written (functions/model/source_map.h).
//
//   the folder has                              what is done
//   ────────────────────────────────────────    ─────────────────────────────────────────────────
//   JavaScript alone                            files are taken as they are
//   dependencies, or node_modules               esbuild bundles the entry and what it imports
//   TypeScript                                  the same; without esbuild and dependencies, node
//                                               strips the types of each file
namespace cairn::functions::cli {

enum class Bundling : uint8_t { kAuto, kAlways, kNever };

struct PackOptions {
  Bundling bundling = Bundling::kAuto;
  const house::Environment& environment;  // where esbuild and node are looked for
  const Clock& clock;
};

struct Packed {
  Files files;
  Manifest manifest;
  std::string how;  // for people: "bundled by esbuild"; empty: as they are
};

// kInvalid, naming file and line where a tool has, for a folder that cannot be made a function of;
// the message says what to do. Writes nothing.
Result<Packed> PackFolder(const std::string& folder, const PackOptions& options);

// What a folder looks like from outside: a change of any file that may matter changes it. The cost
// is bounded by kMaxFolderFiles. Folders that cannot be read look empty.
using FolderLook = std::map<std::string, std::pair<int64_t, uint64_t>>;  // path → (time, size)
FolderLook LookAt(const std::string& folder);

// Of files of a folder, node_modules and what begins with a dot left out.
inline constexpr size_t kMaxFolderFiles = 5'000;

// A whole file of at most `most` bytes; the error names it.
Result<std::string> ReadFile(const std::string& file, size_t most);

}  // namespace cairn::functions::cli
