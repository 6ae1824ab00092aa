#include "doors/http/request_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace cairn::doors {

namespace json = boost::json;

const json::value* MemberOf(const json::value& body, std::string_view name) {
  const json::object* object = body.if_object();
  const json::value* value = object == nullptr ? nullptr : object->if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string TextOf(const json::value& body, std::string_view name) {
  const json::value* value = MemberOf(body, name);
  return value == nullptr ? std::string() : std::string(value->as_string());
}

std::optional<int64_t> NumberOf(const json::value& body, std::string_view name) {
  const json::value* value = MemberOf(body, name);
  if (value == nullptr) return std::nullopt;
  boost::system::error_code failure;
  const auto number = value->to_number<int64_t>(failure);
  // What does not fit is out of every bound.
  return failure ? std::numeric_limits<int64_t>::max() : number;
}

std::optional<int64_t> SecondsOf(const json::value& body, std::string_view name) {
  const json::value* value = MemberOf(body, name);
  if (value == nullptr) return std::nullopt;
  const double ms = value->to_number<double>() * 1000;
  constexpr double kMost = 1e15;
  return static_cast<int64_t>(std::clamp(std::ceil(ms), -kMost, kMost));
}

bool SwitchOf(const json::value& body, std::string_view name) {
  const json::value* value = MemberOf(body, name);
  return value != nullptr && value->as_bool();
}

std::vector<std::string> StringsOf(const json::value& body, std::string_view name) {
  std::vector<std::string> strings;
  const json::value* value = MemberOf(body, name);
  if (value == nullptr) return strings;
  for (const json::value& text : value->as_array()) strings.emplace_back(text.as_string());
  return strings;
}

Result<int64_t> QueryNumber(const net::HttpRequest& request, std::string_view name,
                            int64_t otherwise, int64_t least, int64_t most) {
  const auto text = request.Query(name);
  if (!text) return otherwise;
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (failure != std::errc() || end != text->data() + text->size() || number < least ||
      number > most) {
    return Error{ErrorCode::kInvalid, fmt::format("{} must be from {} to {}", name, least, most)};
  }
  return number;
}

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace cairn::doors
