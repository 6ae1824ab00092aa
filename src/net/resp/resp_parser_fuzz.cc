// However input is split, the parser must find the same requests and the same error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "net/resp/parser.h"

namespace cairn::net {
namespace {

using Status = RespParser::Status;

struct Outcome {
  std::vector<std::vector<std::string>> requests;
  std::string error;
  size_t consumed = 0;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

RespLimits SmallLimits() {
  RespLimits limits;
  limits.arguments = 64;
  limits.bulk_bytes = 4096;
  limits.line_bytes = 128;
  limits.unauthenticated_arguments = 8;
  limits.unauthenticated_bulk_bytes = 256;
  return limits;
}

// Parses `input`, of which `next_piece` says how much more is there each time.
template <typename NextPiece>
Outcome Parse(std::string_view input, bool authenticated, NextPiece next_piece) {
  RespParser parser(SmallLimits());
  parser.set_authenticated(authenticated);
  Outcome outcome;
  size_t end = 0;
  while (true) {
    // A copy of exact size: a read beyond it is found, and nothing may hold on to its place.
    const std::string available(input.substr(outcome.consumed, end - outcome.consumed));
    switch (parser.Parse(available)) {
      case Status::kRequest:
        CAIRN_CHECK(parser.consumed() > 0 && parser.consumed() <= available.size());
        CAIRN_CHECK(parser.args().size() <= 128);
        outcome.requests.emplace_back(parser.args().begin(), parser.args().end());
        outcome.consumed += parser.consumed();
        break;
      case Status::kNeedMore:
        CAIRN_CHECK(parser.needed() > available.size(), "{} {}", parser.needed(), available.size());
        if (end == input.size()) return outcome;
        end += std::clamp<size_t>(next_piece(), 1, input.size() - end);
        break;
      case Status::kError:
        CAIRN_CHECK(parser.error().starts_with("Protocol error: "));
        outcome.error = parser.error();
        return outcome;
    }
  }
}

}  // namespace
}  // namespace cairn::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  // The first bytes choose the split, by a small generator of their own.
  uint32_t state = (uint32_t{data[0]} << 16 | uint32_t{data[1]} << 8 | data[2]) | 1;
  const bool authenticated = (data[3] & 1) != 0;
  const size_t largest = size_t{1} << (data[3] >> 1 & 7);
  const std::string_view input(reinterpret_cast<const char*>(data) + 4, size - 4);

  const auto whole = cairn::net::Parse(input, authenticated, [&] { return input.size(); });
  const auto split = cairn::net::Parse(input, authenticated, [&] {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % largest + 1;
  });
  CAIRN_CHECK(whole == split);
  return 0;
}
