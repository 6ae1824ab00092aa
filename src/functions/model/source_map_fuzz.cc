// Any bytes may stand in a bundle's source map, and functions choose what is in their stacks.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "functions/model/source_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;
  using namespace cairn::functions;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The first line is a stack, the rest the map of every file it names.
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string stack = "    at " + std::string(text.substr(0, end));
  const std::string map(text.substr(std::min(end + 1, text.size())));
  (void)MapStack(stack, [&](std::string_view) { return std::optional<std::string_view>(map); });
  const Result<std::string> compact = CompactMap(map);
  if (!compact.ok()) return 0;
  const Result<SourceMap> before = SourceMap::Parse(map);
  const Result<SourceMap> after = SourceMap::Parse(*compact);
  CAIRN_CHECK(before.ok() && after.ok());
  const std::vector<TextPlace> places = {{1, 1}, {1, 2}, {2, 40}, {3, 1}};
  CAIRN_CHECK(before->Find(places) == after->Find(places));
  // The same text leads to itself, where it has something to lead from.
  const Result<SourceMap> same = SourceMap::Parse(SameTextMap("a.ts", text));
  CAIRN_CHECK(same.ok());
  for (const auto& place : same->Find(places)) CAIRN_CHECK(!place || place->file == "a.ts");
  return 0;
}
