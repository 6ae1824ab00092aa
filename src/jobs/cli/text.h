#pragma once

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

namespace cairn::jobs::cli {

// A member of an object as a table shows it; empty if it is null or not there.
inline std::string TextOf(const boost::json::value& object, std::string_view name) {
  const boost::json::value* value = object.as_object().if_contains(name);
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? std::string(value->as_string()) : boost::json::serialize(*value);
}

}  // namespace cairn::jobs::cli
