#include "data/json/encoding.h"

#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "data/value/limits.h"
#include "data/value/varint.h"

namespace cairn::data {
namespace {

enum Tag : uint8_t {
  kNull = 0,
  kFalse = 1,
  kTrue = 2,
  kInteger = 3,
  kDouble = 4,
  kString = 5,
  kArray = 6,
  kObject = 7,
  kSplitArray = 8,
  kSplitObject = 9,
  kLargeInteger = 10,
};

void AppendTag(Tag tag, Bytes& out) { out += static_cast<char>(tag); }

void AppendText(BytesView text, Bytes& out) {
  AppendVarint(text.size(), out);
  out += text;
}

size_t VarintSize(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

uint64_t Zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
int64_t Unzigzag(uint64_t value) { return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1)); }

std::optional<BytesView> TakeText(BytesView& rest) {
  const std::optional<uint64_t> size = TakeVarint(rest);
  if (!size || *size > rest.size()) return std::nullopt;
  const BytesView text = rest.substr(0, *size);
  rest.remove_prefix(*size);
  return text;
}

class Decoder {
 public:
  explicit Decoder(BytesView bytes) : rest_(bytes) {}

  std::optional<JsonValue> Whole() {
    std::optional<JsonValue> value = Value(0);
    if (!rest_.empty()) return std::nullopt;
    return value;
  }

 private:
  std::optional<BytesView> Take(size_t count) {
    if (rest_.size() < count) return std::nullopt;
    const BytesView taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::optional<std::string> Text() { return std::optional<std::string>(TakeText(rest_)); }
  std::optional<uint64_t> Fixed() {
    const std::optional<BytesView> bytes = Take(8);
    if (!bytes) return std::nullopt;
    return BytesReader(*bytes).Big64();
  }

  std::optional<JsonValue> Value(size_t depth) {
    const std::optional<BytesView> tag = Take(1);
    if (!tag || depth > kMaxJsonDepth) return std::nullopt;
    switch (static_cast<uint8_t>(tag->front())) {
      case kNull:
        return JsonValue();
      case kFalse:
        return JsonValue(false);
      case kTrue:
        return JsonValue(true);
      case kArray:
        return Array(depth);
      case kObject:
        return Object(depth);
      case kString: {
        std::optional<std::string> text = Text();
        if (!text) return std::nullopt;
        return JsonValue(*std::move(text));
      }
      default:
        return Fixed(static_cast<uint8_t>(tag->front()));
    }
  }

  std::optional<JsonValue> Fixed(uint8_t tag) {
    const bool variable = tag == kInteger || tag == kLargeInteger;
    const std::optional<uint64_t> bits = variable ? TakeVarint(rest_) : Fixed();
    if (!bits) return std::nullopt;
    switch (tag) {
      case kInteger:
        return JsonValue(Unzigzag(*bits));
      case kLargeInteger:
        return JsonValue(*bits);
      case kDouble:
        return JsonValue(std::bit_cast<double>(*bits));
      case kSplitArray:
        return JsonValue(JsonSplit{JsonType::kArray, *bits});
      case kSplitObject:
        return JsonValue(JsonSplit{JsonType::kObject, *bits});
      default:
        return std::nullopt;
    }
  }

  std::optional<JsonValue> Array(size_t depth) {
    const std::optional<uint64_t> count = TakeVarint(rest_);
    if (!count || *count > rest_.size()) return std::nullopt;
    JsonValue::Array elements;
    elements.reserve(*count);
    for (uint64_t i = 0; i < *count; ++i) {
      std::optional<JsonValue> element = Value(depth + 1);
      if (!element) return std::nullopt;
      elements.push_back(*std::move(element));
    }
    return JsonValue(std::move(elements));
  }

  std::optional<JsonValue> Object(size_t depth) {
    const std::optional<uint64_t> count = TakeVarint(rest_);
    if (!count || *count > rest_.size()) return std::nullopt;
    JsonValue::Object members;
    members.reserve(*count);
    for (uint64_t i = 0; i < *count; ++i) {
      std::optional<std::string> name = Text();
      if (!name) return std::nullopt;
      std::optional<JsonValue> value = Value(depth + 1);
      if (!value) return std::nullopt;
      members.push_back({*std::move(name), *std::move(value)});
    }
    return JsonValue(std::move(members));
  }

  BytesView rest_;
};

bool SkipFixed(BytesView& rest) {
  constexpr size_t kFixedBytes = 8;
  if (rest.size() < kFixedBytes) return false;
  rest.remove_prefix(kFixedBytes);
  return true;
}

bool SkipValue(BytesView& rest, size_t depth);

bool SkipChildren(BytesView& rest, size_t depth, bool named) {
  const std::optional<uint64_t> count = TakeVarint(rest);
  if (!count) return false;
  for (uint64_t i = 0; i < *count; ++i) {
    if (named && !TakeText(rest)) return false;
    if (!SkipValue(rest, depth + 1)) return false;
  }
  return true;
}

// Takes a value off the front; false if there is none.
bool SkipValue(BytesView& rest, size_t depth) {
  if (rest.empty() || depth > kMaxJsonDepth) return false;
  const auto tag = static_cast<uint8_t>(rest.front());
  rest.remove_prefix(1);
  switch (tag) {
    case kNull:
    case kFalse:
    case kTrue:
      return true;
    case kInteger:
    case kLargeInteger:
      return TakeVarint(rest).has_value();
    case kString:
      return TakeText(rest).has_value();
    case kArray:
    case kObject:
      return SkipChildren(rest, depth, tag == kObject);
    case kDouble:
    case kSplitArray:
    case kSplitObject:
      return SkipFixed(rest);
    default:
      return false;
  }
}

}  // namespace

std::optional<BytesView> EncodedJsonMember(BytesView object, BytesView name) {
  if (!object.starts_with(static_cast<char>(kObject))) return std::nullopt;
  BytesView rest = object.substr(1);
  const std::optional<uint64_t> count = TakeVarint(rest);
  for (uint64_t i = 0; count && i < *count; ++i) {
    const std::optional<BytesView> member = TakeText(rest);
    const BytesView value = rest;
    if (!member || !SkipValue(rest, 0)) return std::nullopt;
    if (*member == name) return value.substr(0, value.size() - rest.size());
  }
  return std::nullopt;
}

void AppendEncodedJson(const JsonValue& value, Bytes& out) {
  if (value.boolean() != nullptr) {
    AppendTag(*value.boolean() ? kTrue : kFalse, out);
  } else if (value.integer() != nullptr) {
    AppendTag(kInteger, out);
    AppendVarint(Zigzag(*value.integer()), out);
  } else if (value.large_integer() != nullptr) {
    AppendTag(kLargeInteger, out);
    AppendVarint(*value.large_integer(), out);
  } else if (value.floating() != nullptr) {
    AppendTag(kDouble, out);
    AppendBig64(out, std::bit_cast<uint64_t>(*value.floating()));
  } else if (value.string() != nullptr) {
    AppendTag(kString, out);
    AppendText(*value.string(), out);
  } else if (value.array() != nullptr) {
    AppendTag(kArray, out);
    AppendVarint(value.array()->size(), out);
    for (const JsonValue& element : *value.array()) AppendEncodedJson(element, out);
  } else if (value.object() != nullptr) {
    AppendTag(kObject, out);
    AppendVarint(value.object()->size(), out);
    for (const JsonMember& member : *value.object()) {
      AppendText(member.name, out);
      AppendEncodedJson(member.value, out);
    }
  } else if (value.split() != nullptr) {
    AppendTag(value.type() == JsonType::kArray ? kSplitArray : kSplitObject, out);
    AppendBig64(out, value.split()->node);
  } else {
    AppendTag(kNull, out);
  }
}

Bytes EncodeJson(const JsonValue& value) {
  Bytes out;
  AppendEncodedJson(value, out);
  return out;
}

std::optional<JsonValue> DecodeJson(BytesView bytes) { return Decoder(bytes).Whole(); }

size_t EncodedJsonSize(const JsonValue& value, size_t limit) {
  if (value.integer() != nullptr) return 1 + VarintSize(Zigzag(*value.integer()));
  if (value.large_integer() != nullptr) return 1 + VarintSize(*value.large_integer());
  if (value.floating() != nullptr || value.split() != nullptr) return 9;
  if (value.string() != nullptr) {
    return 1 + VarintSize(value.string()->size()) + value.string()->size();
  }
  size_t size = 1;
  if (value.array() != nullptr) {
    size += VarintSize(value.array()->size());
    for (const JsonValue& element : *value.array()) {
      if (size > limit) break;
      size += EncodedJsonSize(element, limit - size);
    }
  } else if (value.object() != nullptr) {
    size += VarintSize(value.object()->size());
    for (const JsonMember& member : *value.object()) {
      if (size > limit) break;
      size += VarintSize(member.name.size()) + member.name.size();
      size += EncodedJsonSize(member.value, limit > size ? limit - size : 0);
    }
  }
  return size;
}

}  // namespace cairn::data
