#include "data/json/value.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace cairn::data {

std::string_view JsonTypeName(JsonType type) {
  switch (type) {
    case JsonType::kNull:
      return "null";
    case JsonType::kBoolean:
      return "boolean";
    case JsonType::kInteger:
      return "integer";
    case JsonType::kNumber:
      return "number";
    case JsonType::kString:
      return "string";
    case JsonType::kArray:
      return "array";
    case JsonType::kObject:
      return "object";
  }
  return "null";
}

// Out of the header, where JsonMember is not complete yet.
JsonValue::JsonValue() = default;
JsonValue::JsonValue(const JsonValue& other) = default;
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue& other) = default;
JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
JsonValue::~JsonValue() = default;

JsonValue::JsonValue(bool value) : data_(value) {}
JsonValue::JsonValue(int64_t value) : data_(value) {}
JsonValue::JsonValue(double value) : data_(value) {}
JsonValue::JsonValue(std::string value) : data_(std::move(value)) {}
JsonValue::JsonValue(JsonSplit value) : data_(value) {}
JsonValue::JsonValue(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    data_ = value;
  } else {
    data_ = static_cast<int64_t>(value);
  }
}

JsonValue::JsonValue(Array value) : data_(std::move(value)) {}
JsonValue::JsonValue(Object value) : data_(std::move(value)) {}

JsonType JsonValue::type() const {
  if (boolean() != nullptr) return JsonType::kBoolean;
  if (integer() != nullptr || large_integer() != nullptr) return JsonType::kInteger;
  if (floating() != nullptr) return JsonType::kNumber;
  if (string() != nullptr) return JsonType::kString;
  if (array() != nullptr) return JsonType::kArray;
  if (object() != nullptr) return JsonType::kObject;
  if (split() != nullptr) return split()->type;
  return JsonType::kNull;
}

double JsonValue::AsDouble() const {
  if (integer() != nullptr) return static_cast<double>(*integer());
  if (large_integer() != nullptr) return static_cast<double>(*large_integer());
  CAIRN_CHECK(floating() != nullptr);
  return *floating();
}

const JsonValue* JsonValue::Find(std::string_view name) const {
  if (object() == nullptr) return nullptr;
  for (const JsonMember& member : *object()) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

JsonValue* JsonValue::Find(std::string_view name) {
  return const_cast<JsonValue*>(std::as_const(*this).Find(name));
}

void JsonValue::Set(std::string_view name, JsonValue value) {
  CAIRN_CHECK(object() != nullptr);
  if (JsonValue* found = Find(name); found != nullptr) {
    *found = std::move(value);
  } else {
    object()->push_back({std::string(name), std::move(value)});
  }
}

bool JsonValue::Erase(std::string_view name) {
  CAIRN_CHECK(object() != nullptr);
  return std::erase_if(*object(), [&](const JsonMember& member) { return member.name == name; }) >
         0;
}

size_t JsonValue::Depth() const {
  size_t deepest = 0;
  if (array() != nullptr) {
    for (const JsonValue& element : *array()) deepest = std::max(deepest, element.Depth());
    return deepest + 1;
  }
  if (object() != nullptr) {
    for (const JsonMember& member : *object()) deepest = std::max(deepest, member.value.Depth());
    return deepest + 1;
  }
  return 0;
}

bool operator==(const JsonValue& a, const JsonValue& b) {
  if (a.object() != nullptr && b.object() != nullptr) {
    if (a.object()->size() != b.object()->size()) return false;
    return std::ranges::all_of(*a.object(), [&](const JsonMember& member) {
      const JsonValue* other = b.Find(member.name);
      return other != nullptr && member.value == *other;
    });
  }
  if (a.object() != nullptr || b.object() != nullptr) return false;
  if (a.data_.index() != b.data_.index()) return false;
  if (a.array() != nullptr) return *a.array() == *b.array();
  if (a.string() != nullptr) return *a.string() == *b.string();
  if (a.boolean() != nullptr) return *a.boolean() == *b.boolean();
  if (a.integer() != nullptr) return *a.integer() == *b.integer();
  if (a.large_integer() != nullptr) return *a.large_integer() == *b.large_integer();
  if (a.floating() != nullptr) return *a.floating() == *b.floating();
  if (a.split() != nullptr) return *a.split() == *b.split();
  return true;
}

}  // namespace cairn::data
