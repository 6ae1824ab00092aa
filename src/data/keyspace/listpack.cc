#include "data/keyspace/listpack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "data/keyspace/rdb_reader.h"
#include "doors/resp/arg_parser.h"

namespace cairn::data {
namespace {

constexpr uint8_t kEnd = 0xff;

// The lowest `bits` bits as a signed number.
int64_t SignExtend(uint64_t value, size_t bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

Bytes SignedInteger(RdbReader& reader, size_t width) {
  return fmt::to_string(SignExtend(reader.Little(width), width * 8));
}

void AppendLittle(Bytes& out, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) out += static_cast<char>(value >> i * 8);
}

bool FitsBits(int64_t value, size_t bits) {
  return SignExtend(static_cast<uint64_t>(value), bits) == value;
}

// How many bytes the size of an entry takes behind it.
size_t BackwardSizeBytes(size_t entry_bytes) {
  size_t bytes = 1;
  for (size_t limit = 128; entry_bytes >= limit - (bytes > 1 ? 1 : 0) && bytes < 5; limit <<= 7) {
    ++bytes;
  }
  return bytes;
}

Bytes ListpackEntry(RdbReader& reader, uint8_t first) {
  if (first < 0x80) return fmt::to_string(first);
  if (first < 0xc0) return Bytes(reader.Take(first & 0x3fU));
  if (first < 0xe0) {
    return fmt::to_string(SignExtend((first & 0x1fU) << 8U | reader.Byte(), 13));
  }
  if (first < 0xf0) {
    const size_t high = (first & 0x0fU) << 8U;
    return Bytes(reader.Take(high | reader.Byte()));
  }
  switch (first) {
    case 0xf0:
      return Bytes(reader.Take(reader.Little(4)));
    case 0xf1:
      return SignedInteger(reader, 2);
    case 0xf2:
      return SignedInteger(reader, 3);
    case 0xf3:
      return SignedInteger(reader, 4);
    case 0xf4:
      return SignedInteger(reader, 8);
    default:
      reader.Fail();
      return {};
  }
}

Bytes ZiplistEntry(RdbReader& reader, uint8_t first) {
  if (first < 0x40) return Bytes(reader.Take(first));
  if (first < 0x80) {
    const size_t high = (first & 0x3fU) << 8U;
    return Bytes(reader.Take(high | reader.Byte()));
  }
  if (first > 0xf0 && first < 0xfe) return fmt::to_string(first - 0xf1);
  switch (first) {
    case 0x80:
      return Bytes(reader.Take(reader.Big(4)));
    case 0xc0:
      return SignedInteger(reader, 2);
    case 0xd0:
      return SignedInteger(reader, 4);
    case 0xe0:
      return SignedInteger(reader, 8);
    case 0xf0:
      return SignedInteger(reader, 3);
    case 0xfe:
      return SignedInteger(reader, 1);
    default:
      reader.Fail();
      return {};
  }
}

// Redis leaves the count at its maximum when there are more.
bool CountMatches(uint64_t told, size_t count) { return told == count || told == 0xffff; }

}  // namespace

std::optional<std::vector<Bytes>> DecodeListpack(BytesView bytes) {
  RdbReader reader(bytes);
  if (reader.Little(4) != bytes.size()) return std::nullopt;
  const uint64_t count = reader.Little(2);
  std::vector<Bytes> entries;
  for (uint8_t first = reader.Byte(); reader.ok() && first != kEnd; first = reader.Byte()) {
    const size_t before = reader.remaining() + 1;
    entries.push_back(ListpackEntry(reader, first));
    reader.Take(BackwardSizeBytes(before - reader.remaining()));
  }
  if (!reader.AtEnd() || !CountMatches(count, entries.size())) return std::nullopt;
  return entries;
}

void ListpackWriter::Add(BytesView text) {
  constexpr size_t kMaxDigits = 20;
  if (text.size() <= kMaxDigits) {
    if (const std::optional<int64_t> value = doors::ParseInteger(text)) return AddInteger(*value);
  }
  Bytes entry;
  if (text.size() < 0x40) {
    entry += static_cast<char>(0x80 | text.size());
  } else if (text.size() < 0x1000) {
    entry += static_cast<char>(0xe0 | text.size() >> 8);
    entry += static_cast<char>(text.size());
  } else {
    entry += '\xf0';
    AppendLittle(entry, text.size(), 4);
  }
  entry += text;
  Append(entry);
}

void ListpackWriter::AddInteger(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  Bytes entry;
  if (value >= 0 && value < 0x80) {
    entry += static_cast<char>(bits);
  } else if (FitsBits(value, 13)) {
    entry += static_cast<char>(0xc0 | (bits >> 8 & 0x1f));
    entry += static_cast<char>(bits);
  } else {
    constexpr std::array<size_t, 4> kWidths = {2, 3, 4, 8};
    size_t i = 0;
    while (!FitsBits(value, kWidths[i] * 8)) ++i;
    entry += static_cast<char>(0xf1 + i);
    AppendLittle(entry, bits, kWidths[i]);
  }
  Append(entry);
}

// The size behind the entry is read backwards: the highest bits come first, and all bytes but the
// first have a bit that says that one more is to come.
void ListpackWriter::Append(BytesView entry) {
  entries_ += entry;
  for (size_t left = BackwardSizeBytes(entry.size()); left > 0; --left) {
    const size_t part = entry.size() >> (left - 1) * 7 & 0x7f;
    const bool is_first = left == BackwardSizeBytes(entry.size());
    entries_ += static_cast<char>(is_first ? part : part | 0x80);
  }
  ++count_;
}

Bytes ListpackWriter::Finish() && {
  constexpr size_t kHeaderBytes = 6;
  constexpr size_t kUncounted = 0xffff;
  Bytes bytes;
  AppendLittle(bytes, kHeaderBytes + entries_.size() + 1, 4);
  AppendLittle(bytes, std::min(count_, kUncounted), 2);
  bytes += entries_;
  bytes += static_cast<char>(kEnd);
  return bytes;
}

std::optional<std::vector<Bytes>> DecodeZiplist(BytesView bytes) {
  RdbReader reader(bytes);
  if (reader.Little(4) != bytes.size()) return std::nullopt;
  reader.Take(4);
  const uint64_t count = reader.Little(2);
  std::vector<Bytes> entries;
  for (uint8_t previous = reader.Byte(); reader.ok() && previous != kEnd;
       previous = reader.Byte()) {
    if (previous == 0xfe) reader.Take(4);
    entries.push_back(ZiplistEntry(reader, reader.Byte()));
  }
  if (!reader.AtEnd() || !CountMatches(count, entries.size())) return std::nullopt;
  return entries;
}

std::optional<std::vector<Bytes>> DecodeIntset(BytesView bytes) {
  RdbReader reader(bytes);
  const uint64_t width = reader.Little(4);
  const uint64_t count = reader.Little(4);
  if (!reader.ok() || (width != 2 && width != 4 && width != 8) ||
      reader.remaining() != count * width) {
    return std::nullopt;
  }
  std::vector<Bytes> members;
  members.reserve(count);
  for (uint64_t i = 0; i < count; ++i) members.push_back(SignedInteger(reader, width));
  return members;
}

}  // namespace cairn::data
