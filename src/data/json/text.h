#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json/value.h"

// JSON as text: RFC 8259, nothing more lenient.
namespace cairn::data {

// Of a member that is named twice the last value counts, at the place of the first. Fails with
// kInvalid on what is not JSON or not UTF-8 or nested deeper than kMaxJsonDepth, and with kTooLarge
// beyond kMaxJsonTextBytes; the message says where ("expected value at line 1 column 1").
Result<JsonValue> ParseJson(std::string_view text);

// How JSON.GET lays out text; nothing by default.
struct JsonFormat {
  std::string_view indent;   // per level of nesting
  std::string_view newline;  // after each member
  std::string_view space;    // between a name's colon and the value
};

// Appends a value that is whole in memory. Doubles have the fewest digits that read back as the
// same number, and always a point or an exponent: 1.0, 2.5, 1e100.
void AppendJson(const JsonValue& value, const JsonFormat& format, std::string& out);
std::string PrintJson(const JsonValue& value, const JsonFormat& format = {});

std::string PrintJsonDouble(double value);

}  // namespace cairn::data
