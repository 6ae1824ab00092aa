#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Where generated code came from: source maps of version 3, as bundlers and compilers write them
// (https://tc39.es/ecma426). A bundle keeps the map of "function.js" as "function.js.map".
//
//   {"version":3,"sources":["function.ts"],"names":[],"mappings":"AAAA;AACA,SAAS"}
//
// Other members are ignored. Maps that consist of sections are not understood.
namespace cairn::functions {

inline constexpr std::string_view kSourceMapSuffix = ".map";

// A place in text. Lines and columns count from 1; a column is one UTF-16 unit.
struct TextPlace {
  int64_t line = 0;
  int64_t column = 0;
  friend auto operator<=>(const TextPlace&, const TextPlace&) = default;
};

// The same with the file.
struct SourcePlace {
  std::string file;
  TextPlace at;
  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

// A map, as views of its text. It keeps no index: the places that are looked for are found in one
// pass, because a stack has few places and a map has many.
class SourceMap {
 public:
  // `text` outlives the map. kInvalid says what is wrong; the mappings are looked at by Find.
  static Result<SourceMap> Parse(std::string_view text);

  // For each place in the generated text, where it came from; nullopt where the map does not say.
  // All are nullopt if the mappings make no sense. `generated` may be in any order.
  std::vector<std::optional<SourcePlace>> Find(const std::vector<TextPlace>& generated) const;

  const std::vector<std::string>& sources() const { return sources_; }

 private:
  std::vector<std::string> sources_;
  std::string_view mappings_;
};

// The text of a bundle's file; nullopt if there is none of this path.
using FindFile = std::function<std::optional<std::string_view>(std::string_view path)>;

// A stack, or a log that has stacks in it, with each line "    at name (FILE:LINE:COLUMN)" naming
// the source if the bundle has a map of FILE. All else stays as it is.
std::string MapStack(std::string_view text, const FindFile& find);

// --- for tools that make bundles -----------------------------------------------------------------

// The map of `generated`, which has each character where the source has it.
std::string SameTextMap(std::string_view source_file, std::string_view generated);

// A map as a bundle keeps it: without the sources' text and names, which nobody looks up. kInvalid
// as Parse.
Result<std::string> CompactMap(std::string_view text);

}  // namespace cairn::functions
