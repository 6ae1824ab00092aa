// Any path may be asked of any document: the first line is the path, the rest the document.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "data/json/path.h"
#include "data/json/select.h"
#include "data/json/text.h"

namespace cairn::data {
namespace {

constexpr std::string_view kDocument =
    R"({"a":{"b":[1,-2,"x",null,{"a":2.5}]},"c":[[],{},[[3]]],"d":true,"0":"zero"})";

void Check(std::string_view path_text, std::string_view document) {
  const Result<JsonPath> path = ParseJsonPath(path_text);
  Result<JsonValue> value = ParseJson(document);
  if (!path.ok() || !value.ok()) return;
  const JsonCursor root(std::make_shared<const JsonValue>(*std::move(value)), nullptr);
  const auto matches = SelectJson(*path, root);
  if (!matches.ok()) return;
  CAIRN_CHECK(!path->IsStatic() || matches->size() <= 1);
  for (const JsonMatch& match : *matches) {
    // The location leads to the match.
    std::optional<JsonCursor> cursor = root;
    for (const JsonStep& step : match.location) {
      Result<std::optional<JsonCursor>> child = cursor->Child(step);
      CAIRN_CHECK(child.ok() && child->has_value());
      cursor = **std::move(child);
    }
    CAIRN_CHECK(&cursor->scalar() == &match.cursor.scalar());
  }
}

}  // namespace
}  // namespace cairn::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 512) return 0;  // time grows with the product of path and document
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t line = input.find('\n');
  cairn::data::Check(input.substr(0, line), cairn::data::kDocument);
  if (line != std::string::npos) {
    cairn::data::Check(input.substr(0, line), input.substr(line + 1));
  }
  return 0;
}
