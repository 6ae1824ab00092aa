// What is read as JSON must be printed and stored so that it reads back as the same value.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/result.h"
#include "data/json/encoding.h"
#include "data/json/text.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

void CheckText(std::string_view input) {
  const Result<JsonValue> value = ParseJson(input);
  if (!value.ok()) return;
  CAIRN_CHECK(value->Depth() <= kMaxJsonDepth);
  const std::string text = PrintJson(*value);
  const Result<JsonValue> again = ParseJson(text);
  CAIRN_CHECK(again.ok() && *again == *value && PrintJson(*again) == text, "{}", text);

  const Bytes bytes = EncodeJson(*value);
  CAIRN_CHECK(EncodedJsonSize(*value, std::numeric_limits<size_t>::max()) == bytes.size());
  const std::optional<JsonValue> stored = DecodeJson(bytes);
  CAIRN_CHECK(stored && PrintJson(*stored) == text, "{}", text);
}

// Bytes as they may come from a damaged store.
void CheckBytes(BytesView input) {
  const std::optional<JsonValue> value = DecodeJson(input);
  if (value) CAIRN_CHECK(DecodeJson(EncodeJson(*value)).has_value());
}

}  // namespace
}  // namespace cairn::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of exact size: a read beyond it is found.
  const std::string input(reinterpret_cast<const char*>(data), size);
  cairn::data::CheckText(input);
  cairn::data::CheckBytes(input);
  return 0;
}
