#include "data/value/packed_rows.h"

namespace cairn::data {
namespace {

constexpr size_t kRowHeaderBytes = 4;
static_assert(kMaxPackedBytes <= UINT16_MAX);

struct Row {
  BytesView suffix;
  BytesView value;
  size_t bytes() const { return kRowHeaderBytes + suffix.size() + value.size(); }
};

Row TakeRow(BytesReader& reader) {
  const uint16_t suffix_size = reader.Big16();
  const uint16_t value_size = reader.Big16();
  const BytesView suffix = reader.Take(suffix_size);
  return {suffix, reader.Take(value_size)};
}

}  // namespace

std::optional<PackedRows> PackedRows::Decode(BytesView bytes) {
  if (bytes.size() > kMaxPackedBytes) return std::nullopt;
  BytesReader reader(bytes);
  while (!reader.AtEnd()) {
    TakeRow(reader);
    if (!reader.ok()) return std::nullopt;
  }
  PackedRows rows;
  rows.bytes_ = bytes;
  return rows;
}

PackedRows::Place PackedRows::Find(BytesView suffix) const {
  BytesReader reader(bytes_);
  size_t at = 0;
  while (at < bytes_.size()) {
    const Row row = TakeRow(reader);
    if (row.suffix == suffix) return {at, row.bytes(), row.value};
    at += row.bytes();
  }
  return {at, 0, {}};
}

std::optional<BytesView> PackedRows::Get(BytesView suffix) const {
  const Place place = Find(suffix);
  if (place.size == 0) return std::nullopt;
  return place.value;
}

bool PackedRows::Put(BytesView suffix, BytesView value) {
  const Place place = Find(suffix);
  const size_t size = kRowHeaderBytes + suffix.size() + value.size();
  if (bytes_.size() - place.size + size > kMaxPackedBytes) return false;
  Bytes row;
  row.reserve(size);
  AppendBig16(row, static_cast<uint16_t>(suffix.size()));
  AppendBig16(row, static_cast<uint16_t>(value.size()));
  row += suffix;
  row += value;
  bytes_.replace(place.at, place.size, row);
  return true;
}

void PackedRows::Erase(BytesView suffix) {
  const Place place = Find(suffix);
  bytes_.erase(place.at, place.size);
}

void PackedRows::ForEach(Visitor visit) const {
  BytesReader reader(bytes_);
  while (!reader.AtEnd()) {
    const Row row = TakeRow(reader);
    if (!visit(row.suffix, row.value)) return;
  }
}

}  // namespace cairn::data
