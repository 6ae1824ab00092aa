#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "doors/resp/arg_parser.h"

namespace cairn::data {

inline constexpr std::string_view kInvalidStreamId =
    "ERR Invalid stream ID specified as stream command argument";

// The name of a stream's entry, and its place: milliseconds, and a number among those of the same
// millisecond. 0-0 is no entry's.
struct StreamId {
  uint64_t ms = 0;
  uint64_t seq = 0;

  static constexpr StreamId Max() {
    return {std::numeric_limits<uint64_t>::max(), std::numeric_limits<uint64_t>::max()};
  }
  bool IsZero() const { return ms == 0 && seq == 0; }
  friend auto operator<=>(const StreamId&, const StreamId&) = default;
};

// The neighbours; nullopt at either end of all ids.
std::optional<StreamId> NextId(StreamId id);
std::optional<StreamId> PreviousId(StreamId id);

// As keys hold it: ms:8 seq:8.
void AppendStreamId(Bytes& out, StreamId id);
StreamId TakeStreamId(BytesReader& reader);

std::string FormatStreamId(StreamId id);

// "5-1", or "5" with `missing_seq` as the second number.
std::optional<StreamId> ParseStreamId(std::string_view text, uint64_t missing_seq = 0);

// The id that XADD is asked for: "5-*" leaves the second number to the server, "*" both.
struct WantedStreamId {
  std::optional<uint64_t> ms;
  std::optional<uint64_t> seq;
};
std::optional<WantedStreamId> ParseWantedId(std::string_view text);

// Ends of a range as XRANGE has them: "-", "+", "5", "5-1", "(5-1" for what lies beyond. Errors are
// the parser's.
StreamId TakeRangeStart(doors::ArgParser& parser);
StreamId TakeRangeEnd(doors::ArgParser& parser);
// What XREAD, XDEL, XGROUP … take: without "-" and "+".
StreamId TakeStrictId(doors::ArgParser& parser);

}  // namespace cairn::data
