#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/stream/stream_id.h"
#include "data/value/collection.h"
#include "doors/resp/command.h"

// How a stream is stored (collection.h). The first byte of a suffix is its family:
//
//   family     suffix                            value
//   ────────   ───────────────────────────────   ──────────────────────────────────────────────────
//   entry      'e' id:16                         node:4 count:4 (length:4 bytes…) per field, value
//   group      'g' name…                         number:8 last_delivered:16 entries_read:8
//                                                pending:8 consumers:8
//   consumer   'c' group:8 name…                 seen_ms:8 pending:8
//   pending    'p' group:8 id:16                 delivered_ms:8 delivery_count:8 consumer…
//   owned      'o' group:8 length:4 name… id:16  nothing: a pending entry of this consumer
//
//   header     last:16 max_deleted:16 first:16 entries_added:8 groups:8 node:4 node_entries:4
//              [node_bytes:8]
//
// An id is ms:8 seq:8, so entries stand in their order. Groups are known to other families by a
// number that no other group ever has. The count of the collection is the number of entries; a
// stream without entries stays.
//
// Deleted entries are gone. `first` is the first entry that is left, 0-0 if there is none: no scan
// has to find its way over what was deleted in front of it.
//
// Redis keeps entries in nodes of 100, or of 4096 bytes if they are large, and trims whole nodes
// when it is asked to trim about so many. For its replies to be the same, an entry knows the number
// of its node (modulo 2^32; only neighbours are compared), and the header what the last node has
// (node_bytes about so; 0 in streams not changed since format 5).
namespace cairn::data {

// Entries of one node, unless CONFIG SET stream-node-max-entries says otherwise.
inline constexpr uint32_t kStreamNodeEntries = 100;
// Its bytes, unless CONFIG SET stream-node-max-bytes does.
inline constexpr uint64_t kStreamNodeBytes = 4096;

// When a node is full.
struct StreamNodeLimits {
  uint32_t entries = kStreamNodeEntries;
  uint64_t bytes = kStreamNodeBytes;
};

struct StreamEntry {
  StreamId id;
  uint32_t node = 0;
  std::vector<BytesView> fields;  // names and values in turn; views into what was read
};

// Entries from first to last, both included.
struct StreamRange {
  StreamId first = {};
  StreamId last = StreamId::Max();
  bool reverse = false;
  uint64_t limit = std::numeric_limits<uint64_t>::max();
};

struct StreamTrim {
  enum class Kind { kNone, kMaxLength, kMinId };
  Kind kind = Kind::kNone;
  uint64_t max_length = 0;
  StreamId min_id = {};
  bool approximate = false;  // whole nodes only
  uint64_t limit = 0;        // of entries to remove; 0: none
};

// How many entries a group has read, if that is known.
inline constexpr int64_t kUnknownEntriesRead = -1;

// A stream of one key, as a transaction found it. Changes count together with Save, which ends
// them. Lives inside the transaction's body.
class Stream {
 public:
  static Result<Stream> Load(doors::CommandContext& context, BytesView key);

  // The key holds something else. Then nothing else may be used.
  bool wrong_type() const { return collection_.wrong_type(); }
  bool exists() const { return collection_.exists(); }

  uint64_t length() const { return length_; }
  StreamId last_id() const { return last_id_; }
  StreamId max_deleted_id() const { return max_deleted_id_; }
  StreamId first_id() const { return first_id_; }
  uint64_t entries_added() const { return entries_added_; }
  uint64_t groups() const { return groups_; }
  void set_last_id(StreamId id) { last_id_ = id; }
  void set_max_deleted_id(StreamId id) { max_deleted_id_ = id; }
  void set_entries_added(uint64_t count) { entries_added_ = count; }
  void set_groups(uint64_t groups) { groups_ = groups; }

  // The id that an entry gets now; nullopt if it would not come behind all others.
  std::optional<StreamId> ChooseId(const WantedStreamId& wanted, Timestamp now) const;
  // `id` is behind all others; `fields` are names and values in turn.
  void Add(StreamId id, doors::Args fields, const StreamNodeLimits& limits = {});

  Result<bool> Contains(StreamId id);
  // Visits entries in order. Returns whether to go on.
  using Visitor = FunctionRef<bool(const StreamEntry& entry)>;
  Result<void> Visit(const StreamRange& range, Visitor visit);

  // Returns whether there was such an entry.
  Result<bool> Delete(StreamId id);
  // Removes entries from the front; returns how many.
  Result<uint64_t> Trim(const StreamTrim& trim);

  // How many entries were added up to and including `id`, as far as one can tell.
  int64_t EstimateEntriesRead(StreamId id) const;
  // Whether an entry was deleted at `start` or behind it.
  bool HasTombstonesFrom(StreamId start) const;

  void Save();

  // For groups.
  Elements& elements() { return collection_.elements(); }

 private:
  explicit Stream(Collection collection) : collection_(std::move(collection)) {}

  struct Placed {
    StreamId id;
    uint32_t node = 0;
  };
  Result<std::vector<Placed>> FindTrimmed(const StreamTrim& trim);
  void Erase(const Placed& entry);
  // Looks for the first entry that is left behind `gone`.
  Result<void> MoveFirstBehind(StreamId gone);

  Collection collection_;
  uint64_t length_ = 0;
  StreamId last_id_;
  StreamId max_deleted_id_;
  StreamId first_id_;
  uint64_t entries_added_ = 0;
  uint64_t groups_ = 0;
  uint32_t node_ = 0;          // of the last entry that was added
  uint32_t node_entries_ = 0;  // those of the last node that are left
  uint64_t node_bytes_ = 0;    // about what Redis would need for those that were added to it
};

}  // namespace cairn::data
