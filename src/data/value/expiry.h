#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "doors/resp/arg_parser.h"

namespace cairn::data {

// How a time to live or a deadline is given in a command.
struct ExpiryUnit {
  bool seconds = true;   // else milliseconds
  bool absolute = true;  // since 1970, else from now

  friend bool operator==(const ExpiryUnit&, const ExpiryUnit&) = default;
};
inline constexpr ExpiryUnit kEx = {.seconds = true, .absolute = false};
inline constexpr ExpiryUnit kPx = {.seconds = false, .absolute = false};
inline constexpr ExpiryUnit kExAt = {.seconds = true, .absolute = true};
inline constexpr ExpiryUnit kPxAt = {.seconds = false, .absolute = true};

// An option such as "EX 10", not yet looked at closer: commands report other errors first.
struct ExpiryOption {
  ExpiryUnit unit;
  std::string_view number;
};
// Takes EX, PX, EXAT or PXAT with its number into `option`, if that is what comes next. As in Redis
// the same word may come again, and the last one counts, but not two different ones.
bool TakeExpiryOption(doors::ArgParser& parser, std::optional<ExpiryOption>& option);

// The deadline in milliseconds since 1970, which may have passed. An Error's message is the reply.
Result<int64_t> Deadline(ExpiryUnit unit, int64_t number, Timestamp now, std::string_view command);
// The same for what SET and its like accept: a number above zero.
Result<int64_t> PositiveDeadline(const ExpiryOption& option, Timestamp now,
                                 std::string_view command);

// How long a blocking command waits, given in seconds with a fraction, in milliseconds; nullopt:
// for ever.
std::optional<int64_t> TakeTimeout(doors::ArgParser& parser);

}  // namespace cairn::data
