#include "data/listpack.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

#include "data/rdb_reader.h"

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
