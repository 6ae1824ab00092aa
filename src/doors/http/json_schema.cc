#include "doors/http/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <utility>

namespace cairn::doors {
namespace {

namespace json = boost::json;

using Fault = std::optional<std::string>;

constexpr std::array<std::string_view, 6> kTypes = {"object",  "array",  "string",
                                                    "integer", "number", "boolean"};
constexpr std::array<std::string_view, 18> kKeywords = {
    "type",    "nullable", "enum",        "properties", "required",  "additionalProperties",
    "items",   "minItems", "maxItems",    "minLength",  "maxLength", "minimum",
    "maximum", "oneOf",    "description", "example",    "default",   "format"};

std::string_view View(const json::string& text) { return {text.data(), text.size()}; }

Fault FaultAt(std::string_view path, std::string_view what) {
  return path.empty() ? std::string(what) : fmt::format("{}: {}", path, what);
}

std::string MemberPath(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

// --- Checking a schema --------------------------------------------------------------------------

Fault SchemaFault(const json::value& schema, const std::string& path);

Fault KeywordFault(std::string_view keyword, const json::value& value, const std::string& path) {
  if (std::ranges::find(kKeywords, keyword) == kKeywords.end()) {
    return FaultAt(path, fmt::format("keyword {} is not supported", keyword));
  }
  if (keyword == "type") {
    const bool known =
        value.is_string() && std::ranges::find(kTypes, View(value.get_string())) != kTypes.end();
    return known ? Fault() : FaultAt(path, "no such type");
  }
  if (keyword == "properties") {
    if (!value.is_object()) return FaultAt(path, "properties must be an object");
    for (const auto& member : value.get_object()) {
      const std::string_view name(member.key().data(), member.key().size());
      if (Fault fault = SchemaFault(member.value(), MemberPath(path, name))) return fault;
    }
    return {};
  }
  if (keyword == "oneOf" || keyword == "enum" || keyword == "required") {
    if (!value.is_array()) return FaultAt(path, fmt::format("{} must be an array", keyword));
    if (keyword != "oneOf") return {};
    for (const json::value& choice : value.get_array()) {
      if (Fault fault = SchemaFault(choice, path)) return fault;
    }
    return {};
  }
  if (keyword == "items") return SchemaFault(value, path + "[]");
  if (keyword == "additionalProperties" && !value.is_bool()) return SchemaFault(value, path + ".*");
  return {};
}

Fault SchemaFault(const json::value& schema, const std::string& path) {
  if (!schema.is_object()) return FaultAt(path, "a schema must be an object");
  for (const auto& keyword : schema.get_object()) {
    const std::string_view name(keyword.key().data(), keyword.key().size());
    if (Fault fault = KeywordFault(name, keyword.value(), path)) return fault;
  }
  return {};
}

// --- Checking a value ---------------------------------------------------------------------------

bool IsInteger(const json::value& value) {
  if (value.is_int64() || value.is_uint64()) return true;
  return value.is_double() && std::trunc(value.get_double()) == value.get_double();
}

bool HasType(const json::value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return IsInteger(value);
  if (type == "number") return value.is_number();
  return value.is_bool();
}

std::optional<double> Bound(const json::object& schema, std::string_view name) {
  const json::value* bound = schema.if_contains(name);
  if (bound == nullptr) return std::nullopt;
  return bound->to_number<double>();
}

Fault BoundFault(const json::object& schema, std::string_view path, double size,
                 std::string_view low_name, std::string_view high_name, std::string_view what) {
  const std::optional<double> low = Bound(schema, low_name);
  const std::optional<double> high = Bound(schema, high_name);
  if (low && size < *low) return FaultAt(path, fmt::format("{} must be at least {}", what, *low));
  if (high && size > *high) return FaultAt(path, fmt::format("{} must be at most {}", what, *high));
  return {};
}

Fault ValueFault(const json::value& value, const json::object& schema, const std::string& path);

Fault ObjectFault(const json::object& object, const json::object& schema, const std::string& path) {
  if (const json::value* required = schema.if_contains("required")) {
    for (const json::value& name : required->get_array()) {
      if (!object.contains(name.get_string())) {
        return FaultAt(MemberPath(path, View(name.get_string())), "is missing");
      }
    }
  }
  const json::value* properties = schema.if_contains("properties");
  const json::value* additional = schema.if_contains("additionalProperties");
  for (const auto& member : object) {
    const std::string member_path =
        MemberPath(path, std::string_view(member.key().data(), member.key().size()));
    const json::value* member_schema =
        properties == nullptr ? nullptr : properties->get_object().if_contains(member.key());
    if (member_schema == nullptr && additional != nullptr && additional->is_object()) {
      member_schema = additional;
    }
    if (member_schema != nullptr) {
      if (Fault fault = ValueFault(member.value(), member_schema->get_object(), member_path)) {
        return fault;
      }
    } else if (additional == nullptr || !additional->get_bool()) {
      return FaultAt(member_path, "unknown field");
    }
  }
  return {};
}

Fault ArrayFault(const json::array& array, const json::object& schema, const std::string& path) {
  if (Fault fault = BoundFault(schema, path, static_cast<double>(array.size()), "minItems",
                               "maxItems", "the number of items")) {
    return fault;
  }
  const json::value* items = schema.if_contains("items");
  for (size_t i = 0; items != nullptr && i < array.size(); ++i) {
    if (Fault fault = ValueFault(array[i], items->get_object(), fmt::format("{}[{}]", path, i))) {
      return fault;
    }
  }
  return {};
}

Fault OneOfFault(const json::value& value, const json::array& choices, const std::string& path) {
  const auto matching = std::ranges::count_if(choices, [&](const json::value& choice) {
    return !ValueFault(value, choice.get_object(), path);
  });
  return matching == 1 ? Fault() : FaultAt(path, "matches none of the forms it may have");
}

Fault ValueFault(const json::value& value, const json::object& schema, const std::string& path) {
  if (value.is_null()) {
    const json::value* nullable = schema.if_contains("nullable");
    if (nullable != nullptr && nullable->is_bool() && nullable->get_bool()) return {};
  }
  if (const json::value* type = schema.if_contains("type")) {
    const std::string_view name = View(type->get_string());
    if (!HasType(value, name)) {
      const bool vowel = name.front() == 'o' || name.front() == 'a' || name.front() == 'i';
      return FaultAt(path, fmt::format("must be {} {}", vowel ? "an" : "a", name));
    }
  }
  if (const json::value* allowed = schema.if_contains("enum")) {
    const json::array& values = allowed->get_array();
    if (std::ranges::find(values, value) == values.end()) {
      return FaultAt(path, fmt::format("must be one of {}", json::serialize(values)));
    }
  }
  if (const json::value* choices = schema.if_contains("oneOf")) {
    if (Fault fault = OneOfFault(value, choices->get_array(), path)) return fault;
  }
  if (value.is_object() && !schema.contains("oneOf")) {
    return ObjectFault(value.get_object(), schema, path);
  }
  if (value.is_array()) return ArrayFault(value.get_array(), schema, path);
  if (value.is_string()) {
    return BoundFault(schema, path, static_cast<double>(value.get_string().size()), "minLength",
                      "maxLength", "the length");
  }
  if (value.is_number()) {
    return BoundFault(schema, path, value.to_number<double>(), "minimum", "maximum", "the value");
  }
  return {};
}

}  // namespace

Result<JsonSchema> JsonSchema::Parse(std::string_view text) {
  boost::system::error_code error;
  json::value schema = json::parse(text, error);
  if (error) return Error{ErrorCode::kInvalid, fmt::format("not JSON: {}", error.message())};
  if (Fault fault = SchemaFault(schema, "")) return Error{ErrorCode::kInvalid, *std::move(fault)};
  return JsonSchema(std::move(schema));
}

Fault JsonSchema::FindFault(const json::value& value) const {
  return ValueFault(value, schema_.get_object(), "");
}

}  // namespace cairn::doors
