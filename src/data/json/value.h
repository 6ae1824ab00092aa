#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cairn::data {

// What JSON.TYPE tells apart.
enum class JsonType : uint8_t {
  kNull,
  kBoolean,
  kInteger,
  kNumber,
  kString,
  kArray,
  kObject,
};

// "integer", "object", …
std::string_view JsonTypeName(JsonType type);

struct JsonMember;

// Stands for a container that is not in memory but under a node of its own (document.h).
struct JsonSplit {
  JsonType type = JsonType::kObject;  // or kArray
  uint64_t node = 0;

  friend bool operator==(const JsonSplit&, const JsonSplit&) = default;
};

// A JSON value. Members of an object keep the order in which they were first named, and names are
// unique. Integers are exact from -2^63 to 2^64 - 1; what lies beyond is a double.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;

  JsonValue();  // null
  explicit JsonValue(bool value);
  explicit JsonValue(int64_t value);
  explicit JsonValue(uint64_t value);
  explicit JsonValue(double value);
  explicit JsonValue(std::string value);
  explicit JsonValue(Array value);
  explicit JsonValue(Object value);
  explicit JsonValue(JsonSplit value);
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();

  JsonType type() const;
  bool IsNumber() const { return type() == JsonType::kInteger || type() == JsonType::kNumber; }
  bool IsContainer() const { return type() == JsonType::kArray || type() == JsonType::kObject; }

  // Null if it is something else.
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&data_); }
  // An integer above 2^63 - 1; smaller ones are integer().
  const uint64_t* large_integer() const { return std::get_if<uint64_t>(&data_); }
  const double* floating() const { return std::get_if<double>(&data_); }
  const std::string* string() const { return std::get_if<std::string>(&data_); }
  std::string* string() { return std::get_if<std::string>(&data_); }
  const Array* array() const { return std::get_if<Array>(&data_); }
  Array* array() { return std::get_if<Array>(&data_); }
  const Object* object() const { return std::get_if<Object>(&data_); }
  Object* object() { return std::get_if<Object>(&data_); }
  const JsonSplit* split() const { return std::get_if<JsonSplit>(&data_); }

  // Of a number.
  double AsDouble() const;

  // Null if this is no object in memory, or has no such member.
  const JsonValue* Find(std::string_view name) const;
  JsonValue* Find(std::string_view name);
  // Of an object in memory: replaces the member or adds it as the last one.
  void Set(std::string_view name, JsonValue value);
  // Of an object in memory: whether it had the member.
  bool Erase(std::string_view name);

  // Containers in containers; 0 for a scalar. Of a value that is whole in memory.
  size_t Depth() const;

  // 1 and 1.0 differ; the order of members does not matter.
  friend bool operator==(const JsonValue& a, const JsonValue& b);

 private:
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object,
               JsonSplit>
      data_;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

}  // namespace cairn::data
