#include "data/stream/stream_id.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>

namespace cairn::data {
namespace {

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
// Redis refuses longer ones before it looks at them.
constexpr size_t kMaxTextBytes = 127;

// Redis reads them with strtoull, so leading zeros and a plus are fine.
std::optional<uint64_t> ParseNumber(std::string_view text) {
  const std::string digits(text);
  if (digits.empty() || digits.find('\0') != std::string::npos) return std::nullopt;
  if (digits.find('-') != std::string::npos) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(digits.c_str(), &end, 10);
  if (errno != 0 || end == digits.c_str() || *end != '\0') return std::nullopt;
  return value;
}

// "-", "+" or an id.
std::optional<StreamId> ParseRangeId(std::string_view text, uint64_t missing_seq) {
  if (text == "-") return StreamId{};
  if (text == "+") return StreamId::Max();
  return ParseStreamId(text, missing_seq);
}

}  // namespace

std::optional<StreamId> NextId(StreamId id) {
  if (id == StreamId::Max()) return std::nullopt;
  if (id.seq == kLast) return StreamId{id.ms + 1, 0};
  return StreamId{id.ms, id.seq + 1};
}

std::optional<StreamId> PreviousId(StreamId id) {
  if (id.IsZero()) return std::nullopt;
  if (id.seq == 0) return StreamId{id.ms - 1, kLast};
  return StreamId{id.ms, id.seq - 1};
}

void AppendStreamId(Bytes& out, StreamId id) {
  AppendBig64(out, id.ms);
  AppendBig64(out, id.seq);
}

StreamId TakeStreamId(BytesReader& reader) {
  StreamId id;
  id.ms = reader.Big64();
  id.seq = reader.Big64();
  return id;
}

std::string FormatStreamId(StreamId id) { return fmt::format("{}-{}", id.ms, id.seq); }

std::optional<StreamId> ParseStreamId(std::string_view text, uint64_t missing_seq) {
  if (text.size() > kMaxTextBytes) return std::nullopt;
  const size_t dash = text.find('-');
  const std::optional<uint64_t> ms = ParseNumber(text.substr(0, dash));
  const std::optional<uint64_t> seq =
      dash == std::string_view::npos ? missing_seq : ParseNumber(text.substr(dash + 1));
  if (!ms || !seq) return std::nullopt;
  return StreamId{*ms, *seq};
}

std::optional<WantedStreamId> ParseWantedId(std::string_view text) {
  if (text == "*") return WantedStreamId{};
  if (text.ends_with("-*") && text.size() <= kMaxTextBytes) {
    const std::optional<uint64_t> ms = ParseNumber(text.substr(0, text.size() - 2));
    if (!ms) return std::nullopt;
    return WantedStreamId{.ms = ms, .seq = std::nullopt};
  }
  const std::optional<StreamId> id = ParseStreamId(text);
  if (!id) return std::nullopt;
  return WantedStreamId{.ms = id->ms, .seq = id->seq};
}

StreamId TakeRangeStart(doors::ArgParser& parser) {
  const std::string_view text = parser.Next();
  const bool beyond = text.size() > 1 && text.starts_with('(');
  std::optional<StreamId> id = beyond ? ParseStreamId(text.substr(1)) : ParseRangeId(text, 0);
  if (!id) {
    parser.Fail(kInvalidStreamId);
    return {};
  }
  if (beyond) id = NextId(*id);
  if (!id) parser.Fail("ERR invalid start ID for the interval");
  return id.value_or(StreamId{});
}

StreamId TakeRangeEnd(doors::ArgParser& parser) {
  const std::string_view text = parser.Next();
  const bool before = text.size() > 1 && text.starts_with('(');
  std::optional<StreamId> id =
      before ? ParseStreamId(text.substr(1), kLast) : ParseRangeId(text, kLast);
  if (!id) {
    parser.Fail(kInvalidStreamId);
    return {};
  }
  if (before) id = PreviousId(*id);
  if (!id) parser.Fail("ERR invalid end ID for the interval");
  return id.value_or(StreamId{});
}

StreamId TakeStrictId(doors::ArgParser& parser) {
  const std::optional<StreamId> id = ParseStreamId(parser.Next());
  if (!id) parser.Fail(kInvalidStreamId);
  return id.value_or(StreamId{});
}

}  // namespace cairn::data
