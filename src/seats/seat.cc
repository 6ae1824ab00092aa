#include "seats/seat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.h"
#include "data/string/bit_field.h"
#include "data/value/entry.h"
#include "seats/refusal.h"

namespace cairn::seats {
namespace {

constexpr int64_t kSeatsPerByte = 4;

struct RowSeat {
  int64_t row = 0;
  int64_t seat = 0;
};

// A number from 1 on, in its shortest form.
std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = failure == std::errc() && end == text.data() + text.size();
  if (!all || text.empty() || text.front() == '0' || text.front() == '-') return std::nullopt;
  return number;
}

std::optional<RowSeat> ParseRowSeat(std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto row = ParseNumber(name.substr(0, dash));
  const auto seat = ParseNumber(name.substr(dash + 1));
  if (!row || !seat) return std::nullopt;
  return RowSeat{*row, *seat};
}

// How a name that a client made up appears in an error.
std::string Quoted(std::string_view name) {
  return name.empty() || name.find(' ') != std::string_view::npos
             ? fmt::format("'{}'", Printable(name, 32))
             : Printable(name, 32);
}

// Bits are counted from the most significant one on; what is beyond the end is available.
SeatState StateAt(BytesView bytes, int64_t place) {
  const auto at = static_cast<size_t>(place / kSeatsPerByte);
  if (at >= bytes.size()) return SeatState::kAvailable;
  const auto shift = static_cast<unsigned>(6 - 2 * (place % kSeatsPerByte));
  return static_cast<SeatState>((static_cast<uint8_t>(bytes[at]) >> shift) & 3U);
}

}  // namespace

std::string_view StateName(SeatState state) {
  constexpr std::array<std::string_view, 4> kNames = {"available", "reserved", "sold", "blocked"};
  return kNames[static_cast<size_t>(state)];
}

char StateLetter(SeatState state) {
  constexpr std::string_view kLetters = ".rsx";
  return kLetters[static_cast<size_t>(state)];
}

std::string SeatName(const Shape& shape, int64_t index) {
  const fmt::format_int row(index / shape.cols + 1);
  const fmt::format_int seat(index % shape.cols + 1);
  std::string name(row.data(), row.size());
  name.push_back('-');
  name.append(seat.data(), seat.size());
  return name;
}

Result<std::vector<int64_t>> ParseSeats(const Shape& shape, std::string_view section,
                                        const std::vector<std::string>& names) {
  std::vector<int64_t> indexes;
  indexes.reserve(names.size());
  for (const std::string& name : names) {
    const std::optional<RowSeat> seat = ParseRowSeat(name);
    if (!seat) {
      return RefuseSeat(Reason::kBadSeat, Quoted(name),
                        "is not a seat such as 2-11: row, dash, seat");
    }
    if (seat->row > shape.rows || seat->seat > shape.cols) {
      return RefuseSeat(Reason::kNoSuchSeat, name,
                        fmt::format("is not in section {}, which has {} rows of {} seats", section,
                                    shape.rows, shape.cols));
    }
    indexes.push_back(shape.Index(seat->row, seat->seat));
  }
  std::vector<int64_t> sorted = indexes;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    return RefuseSeat(Reason::kDuplicateSeat, SeatName(shape, *twice), "is named twice");
  }
  return indexes;
}

Result<SeatBits> SeatBits::Load(store::Transaction& transaction, uint8_t db, const std::string& key,
                                const Shape& shape) {
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, db, key));
  CAIRN_ASSIGN_OR_RETURN(data::StringValue string, data::StringValue::Open(std::move(entry)));
  if (string.wrong_type()) {
    return Refuse(Reason::kBadEvent, fmt::format("the key {} is not a string", Printable(key)));
  }
  return SeatBits(std::move(string), shape);
}

Result<SeatBits> SeatBits::Create(store::Transaction& transaction, uint8_t db,
                                  const std::string& key, const Shape& shape) {
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, db, key));
  data::StringValue string = data::StringValue::Replacing(std::move(entry));
  string.Extend(static_cast<size_t>((shape.seats() + kSeatsPerByte - 1) / kSeatsPerByte));
  return SeatBits(std::move(string), shape);
}

Result<std::vector<SeatState>> SeatBits::Read(int64_t first, int64_t count) {
  const int64_t begin = first / kSeatsPerByte;
  const int64_t end = (first + count + kSeatsPerByte - 1) / kSeatsPerByte;
  CAIRN_ASSIGN_OR_RETURN(const Bytes bytes, string_.Read(static_cast<size_t>(begin),
                                                         static_cast<size_t>(end - begin)));
  std::vector<SeatState> states;
  states.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    states.push_back(StateAt(bytes, first + i - begin * kSeatsPerByte));
  }
  return states;
}

Result<SeatState> SeatBits::Get(int64_t index) {
  CAIRN_ASSIGN_OR_RETURN(const Bytes byte,
                         string_.Read(static_cast<size_t>(index / kSeatsPerByte), 1));
  return StateAt(byte, index % kSeatsPerByte);
}

Result<void> SeatBits::Set(const std::vector<int64_t>& indexes, SeatState state) {
  for (const int64_t index : indexes) {
    CAIRN_CHECK(index >= 0 && index < shape_.seats());
    const auto at = static_cast<size_t>(index / kSeatsPerByte);
    CAIRN_ASSIGN_OR_RETURN(Bytes byte, string_.Read(at, 1));
    byte.resize(1, '\0');
    data::WriteBits(byte, static_cast<size_t>(2 * (index % kSeatsPerByte)), 2,
                    static_cast<uint64_t>(state));
    CAIRN_RETURN_IF_ERROR(string_.Write(at, byte));
  }
  return {};
}

}  // namespace cairn::seats
