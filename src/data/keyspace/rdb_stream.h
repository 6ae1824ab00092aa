#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "data/keyspace/rdb_reader.h"
#include "data/stream/stream_groups.h"
#include "data/stream/stream_id.h"

// Streams as Redis saves them, in the pieces of rdb_reader.h:
//
//   count (node_id listpack)… length last_ms last_seq
//   [2: first_ms first_seq max_deleted_ms max_deleted_seq entries_added]
//   groups (name last_ms last_seq [2: entries_read] pending… consumers…)…
//
//   node_id    a string of 16 bytes: ms:8 seq:8, big-endian; so all ids that are not two lengths
//   pending    count (id delivered_ms:8 delivery_count)…        times little-endian
//   consumers  count (name seen_ms:8 [3: active_ms:8] count id…)…
//
// Versions 2 and 3 of the form have what stands behind their number. A listpack is
//
//   count deleted n field… 0  entry…     the node's fields are those that its entries have in
//   common
//
//   entry      flags ms seq  value… size            with flag 2: has the node's fields
//              flags ms seq  n (field value)… size  without
//
// where ms and seq are added to the node's id, flag 1 says that the entry is deleted, and size is
// the number of elements before it.
namespace cairn::data {

class RdbWriter;

struct RdbStream {
  struct Entry {
    StreamId id;
    uint32_t node = 0;  // neighbours with the same one are kept together
    std::vector<Bytes> fields;
  };
  struct Consumer {
    Bytes name;
    int64_t seen_ms = 0;
  };
  struct Group {
    Bytes name;
    StreamId last_delivered;
    std::optional<int64_t> entries_read;  // version 1 does not know
    std::vector<Consumer> consumers;
    std::vector<PendingEntry> pending;
  };

  std::vector<Entry> entries;
  StreamId last_id;
  StreamId max_deleted_id;
  uint64_t entries_added = 0;
  std::vector<Group> groups;
};

// `version` from 1 to 3. nullopt for what cannot be read or no stream could be: entries out of
// order or behind the last id, names twice, pending entries that not exactly one consumer has.
std::optional<RdbStream> ReadRdbStream(RdbReader& reader, int version);
// In version 2.
void WriteRdbStream(RdbWriter& writer, const RdbStream& stream);

}  // namespace cairn::data
