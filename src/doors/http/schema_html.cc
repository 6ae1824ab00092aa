#include "doors/http/schema_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace cairn::doors {
namespace {

namespace json = boost::json;

std::string_view TextOf(const json::object& schema, std::string_view name) {
  const json::value* text = schema.if_contains(name);
  return text == nullptr || !text->is_string() ? std::string_view() : text->get_string();
}

// Whether more is to be said about the value than the name of its type.
bool IsPlain(const json::value& schema) {
  return std::ranges::all_of(schema.as_object(), [](const auto& keyword) {
    return keyword.key() == "type" || keyword.key() == "nullable";
  });
}

// The alternatives, if their types are all that they are.
const json::array* PlainChoices(const json::object& schema) {
  const json::value* choices = schema.if_contains("oneOf");
  if (choices == nullptr || !std::ranges::all_of(choices->as_array(), IsPlain)) return nullptr;
  return &choices->get_array();
}

// An object, by which members it has.
std::string_view ObjectName(const json::object& schema) {
  if (schema.contains("properties")) return "object";
  const json::value* others = schema.if_contains("additionalProperties");
  if (others == nullptr || *others == false) return "empty object";
  return others->is_object() ? "object" : "any object";
}

// "array of string, null"
std::string TypeName(const json::object& schema) {
  std::string name(TextOf(schema, "type"));
  if (const json::array* choices = PlainChoices(schema)) {
    for (const json::value& choice : *choices) {
      name += (name.empty() ? "" : ", ") + TypeName(choice.as_object());
    }
  } else if (schema.contains("oneOf")) {
    name = "one of";
  }
  if (name.empty()) return "anything";
  if (name == "object") name = ObjectName(schema);
  const json::value* items = schema.if_contains("items");
  if (name == "array" && items != nullptr) name += " of " + TypeName(items->as_object());
  const json::value* nullable = schema.if_contains("nullable");
  if (nullable != nullptr && *nullable == true) name += ", null";
  return name;
}

// What the value may be, as far as its type does not say.
Html Limits(const json::object& schema) {
  static constexpr std::pair<std::string_view, std::string_view> kLimits[] = {
      {"format", "as"},          {"minimum", "≥"},
      {"maximum", "≤"},          {"minLength", "length ≥"},
      {"maxLength", "length ≤"}, {"minItems", "items ≥"},
      {"maxItems", "items ≤"},   {"default", "unless given"},
      {"example", "such as"}};
  Html limits;
  if (const json::value* values = schema.if_contains("enum")) {
    std::string separator;
    for (const json::value& value : values->as_array()) {
      limits += HtmlOf("{}<code>{}</code>", {separator, json::serialize(value)});
      separator = " | ";
    }
  }
  for (const auto& [name, words] : kLimits) {
    const json::value* value = schema.if_contains(name);
    if (value == nullptr) continue;
    limits += HtmlOf(" {} <code>{}</code>", {words, json::serialize(*value)});
  }
  if (limits.text.empty()) return limits;
  return HtmlOf(" <span class=\"limits\">{}</span>", {std::move(limits)});
}

Html Members(const json::object& schema);

// What stands below the line of a value: the members of an object, or of each object of an array,
// or the alternatives.
Html Inside(const json::object& schema) {
  if (const json::value* items = schema.if_contains("items")) return Inside(items->as_object());
  if (PlainChoices(schema) != nullptr) return {};
  if (const json::value* choices = schema.if_contains("oneOf")) {
    Html lines;
    for (const json::value& choice : choices->as_array()) {
      const json::object& one = choice.as_object();
      lines += HtmlOf("<li><i>{}</i> {}{}{}</li>",
                      {TypeName(one), Prose(TextOf(one, "description")), Limits(one), Inside(one)});
    }
    return HtmlOf("<ul class=\"choices\">{}</ul>", {std::move(lines)});
  }
  return Members(schema);
}

Html Member(std::string_view name, const json::object& schema, Html required = {}) {
  return HtmlOf("<li><code>{}</code> <i>{}</i>{} {}{}{}</li>",
                {name, TypeName(schema), std::move(required), Prose(TextOf(schema, "description")),
                 Limits(schema), Inside(schema)});
}

Html Members(const json::object& schema) {
  Html lines;
  const json::value* required = schema.if_contains("required");
  const auto is_required = [&](std::string_view name) {
    return required != nullptr && std::ranges::any_of(required->as_array(), [&](const auto& one) {
             return std::string_view(one.as_string()) == name;
           });
  };
  if (const json::value* members = schema.if_contains("properties")) {
    for (const auto& [name, member] : members->as_object()) {
      lines +=
          Member(name, member.as_object(), is_required(name) ? Html{" <b>required</b>"} : Html());
    }
  }
  if (const json::value* others = schema.if_contains("additionalProperties")) {
    if (others->is_object()) {
      lines += Member("…", others->as_object());
    } else if (*others == true && !lines.text.empty()) {
      lines +=
          HtmlOf("<li>{}</li>", {lines.text.empty() ? "any members" : "and any other members"});
    }
  }
  if (lines.text.empty()) return {};
  return HtmlOf("<ul class=\"members\">{}</ul>", {std::move(lines)});
}

}  // namespace

Html SchemaHtml(const json::value& schema) {
  const json::object& top = schema.as_object();
  Html inside = Inside(top);
  // That a body is an object goes without saying.
  if (TypeName(top) == "object" && !inside.text.empty()) return inside;
  return HtmlOf("<p><i>{}</i> {}{}</p>{}",
                {TypeName(top), Prose(TextOf(top, "description")), Limits(top), std::move(inside)});
}

}  // namespace cairn::doors
