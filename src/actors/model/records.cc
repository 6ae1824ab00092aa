#include "actors/model/records.h"

#include <boost/crc.hpp>

#include "actors/model/tuple.h"

namespace cairn::actors {
namespace {

constexpr uint8_t kForm = 1;

Bytes Formed(size_t size) {
  Bytes value;
  value.reserve(size);
  value.push_back(kForm);
  return value;
}

}  // namespace

Bytes EncodeRecord(const ActorRecord& record) {
  return TuplePacker(Formed(1))
      .Integer(record.created_ms)
      .Text(record.name_space)
      .Text(record.name)
      .Text(record.key)
      .Take();
}

std::optional<ActorRecord> DecodeRecord(BytesView value) {
  if (!value.starts_with(static_cast<char>(kForm))) return std::nullopt;
  const std::optional<Tuple> tuple = UnpackTuple(value.substr(1));
  if (!tuple || tuple->size() != 4) return std::nullopt;
  const auto* created = std::get_if<TupleInteger>(&(*tuple)[0].value);
  const auto* name_space = std::get_if<TupleText>(&(*tuple)[1].value);
  const auto* name = std::get_if<TupleText>(&(*tuple)[2].value);
  const auto* key = std::get_if<TupleText>(&(*tuple)[3].value);
  if (created == nullptr || !created->value() || name_space == nullptr || name == nullptr ||
      key == nullptr) {
    return std::nullopt;
  }
  return ActorRecord{name_space->text, name->text, key->text, *created->value()};
}

Bytes EncodeState(const ActorState& state) {
  Bytes value = Formed(37);
  AppendBig64(value, state.generation);
  AppendBig64(value, state.revision);
  AppendBig64(value, state.bytes);
  AppendBig64(value, state.entries);
  AppendBig32(value, state.tokens);
  return value;
}

std::optional<ActorState> DecodeState(BytesView value) {
  BytesReader reader(value);
  if (reader.Byte() != kForm) return std::nullopt;
  ActorState state{.generation = reader.Big64(),
                   .revision = reader.Big64(),
                   .bytes = reader.Big64(),
                   .entries = reader.Big64(),
                   .tokens = reader.Big32()};
  if (!reader.AtEnd()) return std::nullopt;
  return state;
}

Bytes EncodeEntryMeta(const EntryMeta& meta) {
  Bytes value = Formed(25);
  AppendBig64(value, meta.revision);
  AppendBig64(value, static_cast<uint64_t>(meta.updated_ms));
  AppendBig32(value, meta.size);
  AppendBig32(value, meta.checksum);
  return value;
}

std::optional<EntryMeta> DecodeEntryMeta(BytesView value) {
  BytesReader reader(value);
  if (reader.Byte() != kForm) return std::nullopt;
  EntryMeta meta{.revision = reader.Big64(),
                 .updated_ms = static_cast<int64_t>(reader.Big64()),
                 .size = reader.Big32(),
                 .checksum = reader.Big32()};
  if (!reader.AtEnd()) return std::nullopt;
  return meta;
}

Bytes EncodeTokenRow(const TokenRow& row) {
  Bytes value;
  AppendBig64(value, row.revision);
  AppendBig64(value, static_cast<uint64_t>(row.at_ms));
  AppendBig64(value, row.fingerprint);
  return value;
}

std::optional<TokenRow> DecodeTokenRow(BytesView value) {
  BytesReader reader(value);
  TokenRow row{.revision = reader.Big64(),
               .at_ms = static_cast<int64_t>(reader.Big64()),
               .fingerprint = reader.Big64()};
  if (!reader.AtEnd()) return std::nullopt;
  return row;
}

uint32_t ChecksumOf(BytesView bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

}  // namespace cairn::actors
