#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn::doors {

// The part of JSON Schema (as OpenAPI 3.0 has it) that routes describe their bodies with:
//
//   type (object, array, string, integer, number, boolean), nullable, enum
//   properties, required, additionalProperties    of objects
//   items, minItems, maxItems                     of arrays
//   minLength, maxLength                          of strings, in bytes
//   minimum, maximum                              of numbers
//   oneOf
//   description, example, default, format         are for readers only
//
// An object refuses members it does not name, unless additionalProperties allows them: a misspelt
// field is an error, not a default. A value: copies share nothing that changes.
class JsonSchema {
 public:
  // Fails, naming the place, on a schema that uses anything else.
  static Result<JsonSchema> Parse(std::string_view text);

  // What is wrong with `value`, with the path to it ("items[2].name: must be a string"); nullopt if
  // nothing is.
  std::optional<std::string> FindFault(const boost::json::value& value) const;

  const boost::json::value& json() const { return schema_; }

 private:
  explicit JsonSchema(boost::json::value schema) : schema_(std::move(schema)) {}

  boost::json::value schema_;
};

}  // namespace cairn::doors
