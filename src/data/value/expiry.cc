#include "data/value/expiry.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "data/value/numbers.h"

namespace cairn::data {
namespace {

Error InvalidExpiry(std::string_view command) {
  return {ErrorCode::kInvalid, fmt::format("ERR invalid expire time in '{}' command", command)};
}

}  // namespace

bool TakeExpiryOption(doors::ArgParser& parser, std::optional<ExpiryOption>& option) {
  if (parser.remaining() < 2) return false;
  const auto unit =
      parser.OneOf<ExpiryUnit>({{"EX", kEx}, {"PX", kPx}, {"EXAT", kExAt}, {"PXAT", kPxAt}});
  if (!unit || (option && option->unit != *unit)) return false;
  option = ExpiryOption{*unit, parser.Next()};
  return true;
}

Result<int64_t> Deadline(ExpiryUnit unit, int64_t number, Timestamp now, std::string_view command) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  if (unit.seconds) {
    if (number > kMax / 1000 || number < kMin / 1000) return InvalidExpiry(command);
    number *= 1000;
  }
  if (unit.absolute) return number;
  if (number > kMax - now.millis()) return InvalidExpiry(command);
  return number + now.millis();
}

Result<int64_t> PositiveDeadline(const ExpiryOption& option, Timestamp now,
                                 std::string_view command) {
  const std::optional<int64_t> number = doors::ParseInteger(option.number);
  if (!number) return Error{ErrorCode::kInvalid, std::string(doors::kNotAnInteger)};
  if (*number <= 0) return InvalidExpiry(command);
  return Deadline(option.unit, *number, now, command);
}

std::optional<int64_t> TakeTimeout(doors::ArgParser& parser) {
  const std::optional<long double> seconds = ParseLongDouble(parser.Next());
  if (!seconds) {
    parser.Fail("ERR timeout is not a float or out of range");
    return std::nullopt;
  }
  const long double ms = std::ceil(*seconds * 1000);
  // Redis 7.0 takes what no integer can hold for a negative number.
  if (ms < 0 || ms >= 0x1p63L) parser.Fail("ERR timeout is negative");
  if (!parser.ok() || ms == 0) return std::nullopt;
  return static_cast<int64_t>(ms);
}

}  // namespace cairn::data
