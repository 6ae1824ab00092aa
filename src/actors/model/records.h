#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

// The values of an actor's rows. Each begins with the number of its form, 01, so that a later
// program can tell what it reads.
namespace cairn::actors {

// Constant from its creation on. The value is 01 and the tuple (created_ms, NAMESPACE, NAME, KEY).
struct ActorRecord {
  std::string name_space;
  std::string name;
  std::string key;  // as one text (actor_key.h)
  int64_t created_ms = 0;
  friend bool operator==(const ActorRecord&, const ActorRecord&) = default;
};
Bytes EncodeRecord(const ActorRecord& record);
// nullopt for bytes that are no such value, as in all decoders.
std::optional<ActorRecord> DecodeRecord(BytesView value);

// 01 generation:8 revision:8 bytes:8 entries:8 tokens:4
struct ActorState {
  uint64_t generation = 0;  // of the last start; 0: it was never started
  uint64_t revision = 0;    // of the last write
  uint64_t bytes = 0;       // of keys and values of its entries: what the quota bounds
  uint64_t entries = 0;
  uint32_t tokens = 0;  // idempotency ids remembered
  friend bool operator==(const ActorState&, const ActorState&) = default;
};
Bytes EncodeState(const ActorState& state);
std::optional<ActorState> DecodeState(BytesView value);

// 01 revision:8 updated_ms:8 size:4 checksum:4
struct EntryMeta {
  uint64_t revision = 0;  // of the batch that wrote it: no two writes of one key share it
  int64_t updated_ms = 0;
  uint32_t size = 0;      // of the value
  uint32_t checksum = 0;  // ChecksumOf the value
  friend bool operator==(const EntryMeta&, const EntryMeta&) = default;
};
Bytes EncodeEntryMeta(const EntryMeta& meta);
std::optional<EntryMeta> DecodeEntryMeta(BytesView value);

// revision:8 at_ms:8 fingerprint:8
struct TokenRow {
  uint64_t revision = 0;
  int64_t at_ms = 0;
  uint64_t fingerprint = 0;  // of the batch that carried it
  friend bool operator==(const TokenRow&, const TokenRow&) = default;
};
Bytes EncodeTokenRow(const TokenRow& row);
std::optional<TokenRow> DecodeTokenRow(BytesView value);

// CRC-32C.
uint32_t ChecksumOf(BytesView bytes);

}  // namespace cairn::actors
