// What is read as JSON must be printed and stored so that it reads back as the same value.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "data/json/encoding.h"
#include "data/json/text.h"
#include "data/limits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;
  // A copy of exact size: a read beyond it is found.
  const std::string input(reinterpret_cast<const char*>(data), size);
  const Result<data::JsonValue> value = data::ParseJson(input);
  if (value.ok()) {
    CAIRN_CHECK(value->Depth() <= data::kMaxJsonDepth);
    const std::string text = data::PrintJson(*value);
    const Result<data::JsonValue> again = data::ParseJson(text);
    CAIRN_CHECK(again.ok() && *again == *value && data::PrintJson(*again) == text, "{}", text);

    const Bytes bytes = data::EncodeJson(*value);
    CAIRN_CHECK(data::EncodedJsonSize(*value, std::numeric_limits<size_t>::max()) == bytes.size());
    const std::optional<data::JsonValue> stored = data::DecodeJson(bytes);
    CAIRN_CHECK(stored && data::PrintJson(*stored) == text, "{}", text);
  }

  // The same bytes as if they came from a damaged store.
  const std::optional<data::JsonValue> decoded = data::DecodeJson(input);
  if (decoded) CAIRN_CHECK(data::DecodeJson(data::EncodeJson(*decoded)).has_value());
  return 0;
}
