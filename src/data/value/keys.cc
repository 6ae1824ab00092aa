#include "data/value/keys.h"

namespace cairn::data {
namespace {

enum Family : char { kRecord = 1, kElement = 2, kKeyCounter = 3, kExpiringCounter = 4 };

constexpr uint8_t kHasExpiry = 0x80;
constexpr uint8_t kHasElements = 0x40;
constexpr uint8_t kTypeMask = 0x3f;

Bytes FamilyKey(Family family, uint8_t db) { return {family, static_cast<char>(db)}; }

bool IsValueType(uint8_t type) {
  return type >= static_cast<uint8_t>(ValueType::kString) &&
         type <= static_cast<uint8_t>(ValueType::kJson);
}

}  // namespace

Bytes EncodeRecordKey(RecordKey key) {
  Bytes bytes;
  bytes.reserve(2 + key.user_key.size());
  AppendRecordKey(key.db, key.user_key, bytes);
  return bytes;
}

void AppendRecordKey(uint8_t db, BytesView user_key, Bytes& bytes) {
  bytes.push_back(kRecord);
  bytes += static_cast<char>(db);
  bytes += user_key;
}

std::optional<RecordKey> DecodeRecordKey(BytesView bytes) {
  if (!bytes.starts_with(kRecord)) return std::nullopt;
  return DecodeTimerOwner(TimerOwner(bytes));
}

store::Range RecordRange(uint8_t db, BytesView prefix) {
  return store::Range::Prefix(store::Space::kData, EncodeRecordKey({db, prefix}));
}

store::Range ElementRange(uint8_t db) {
  return store::Range::Prefix(store::Space::kData, FamilyKey(kElement, db));
}

Bytes EncodeElementPrefix(uint8_t db, uint64_t generation) {
  Bytes bytes = FamilyKey(kElement, db);
  AppendBig64(bytes, generation);
  return bytes;
}

Bytes EncodeReclaimOwner(Reclaimed owner) {
  Bytes bytes(1, static_cast<char>(owner.db));
  AppendBig64(bytes, owner.generation);
  return bytes;
}

std::optional<Reclaimed> DecodeReclaimOwner(BytesView owner) {
  BytesReader reader(owner);
  Reclaimed reclaimed;
  reclaimed.db = reader.Byte();
  reclaimed.generation = reader.Big64();
  if (!reader.AtEnd()) return std::nullopt;
  return reclaimed;
}

BytesView TimerOwner(BytesView record_key) { return record_key.substr(1); }

std::optional<RecordKey> DecodeTimerOwner(BytesView owner) {
  BytesReader reader(owner);
  RecordKey key;
  key.db = reader.Byte();
  key.user_key = reader.Rest();
  if (!reader.ok()) return std::nullopt;
  return key;
}

Bytes EncodeKeyCounter(uint8_t db) { return FamilyKey(kKeyCounter, db); }
Bytes EncodeExpiringCounter(uint8_t db) { return FamilyKey(kExpiringCounter, db); }

int64_t DecodeCounter(const std::optional<Bytes>& value) {
  return value ? static_cast<int64_t>(BytesReader(*value).Big64()) : 0;
}

Bytes EncodeRecord(const Record& record) {
  Bytes bytes;
  bytes.reserve(25 + record.payload.size());
  auto type = static_cast<uint8_t>(record.type);
  if (record.expire_ms) type |= kHasExpiry;
  if (record.generation != 0) type |= kHasElements;
  bytes += static_cast<char>(type);
  AppendBig64(bytes, record.version);
  if (record.expire_ms) AppendBig64(bytes, static_cast<uint64_t>(*record.expire_ms));
  if (record.generation != 0) AppendBig64(bytes, record.generation);
  bytes += record.payload;
  return bytes;
}

std::optional<Record> DecodeRecord(BytesView bytes) {
  BytesReader reader(bytes);
  const uint8_t type = reader.Byte();
  Record record;
  record.type = static_cast<ValueType>(type & kTypeMask);
  record.version = reader.Big64();
  if ((type & kHasExpiry) != 0) record.expire_ms = static_cast<int64_t>(reader.Big64());
  if ((type & kHasElements) != 0) record.generation = reader.Big64();
  record.payload = reader.Rest();
  if (!reader.ok() || !IsValueType(static_cast<uint8_t>(record.type))) return std::nullopt;
  return record;
}

}  // namespace cairn::data
