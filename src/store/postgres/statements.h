#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/space.h"

namespace cairn::store::postgres {

// The tables, all in one schema (docs/keyspace.md draws them):
//
//   system data jobs actors timers events   key bytea primary key, value bytea
//                                           a counter's row has a null value
//   counter   space, key, slot → delta      a counter is the sum of its slots
//   marker    id → made                     one row for each commit whose answer may get lost
//   number    name → value                  rows that are written to take turns
//   meta      name → value                  the schema's version
//
// and the sequences stamp, event and epoch.
//
// Everything is in the common subset of PostgreSQL, CockroachDB and YugabyteDB.

// Statements of which each space has its own.
enum class SpaceStatement : uint8_t {
  kGet,           // key
  kGetMany,       // keys
  kForward,       // begin, limit
  kForwardTo,     // begin, end, limit
  kBackward,      // begin, limit
  kBackwardFrom,  // begin, end, limit
  kPut,           // key, value
  kPutMany,       // keys, as many values
  kDelete,        // key
  kDeleteMany,    // keys
  kDeleteFrom,    // begin
  kDeleteRange,   // begin, end
  kAppendEvents,  // prefix, value, how many numbers
  kMarkCounter,   // key
  kAddToCounter,  // key, slot, delta
  kSumCounter,    // key
  kCount,
};

enum class Statement : uint8_t {
  kBeginWrite,
  kBeginRead,
  kBeginSnapshot,
  kHoldSnapshot,  // no limit on how long the snapshot may stay idle
  kCommit,
  kRollback,
  kLockShared,  // key: waits behind who holds it alone
  kLockAlone,   // key
  kLockScopes,  // keys, in the order given
  kUnlockAll,
  kLockEvents,     // key: until the transaction ends
  kTakeEventTurn,  // the same without advisory locks: the row stays locked
  kNextStamps,
  kNextEpoch,
  kAddMarker,      // id
  kForgetMarkers,  // ids
  kForgetOldMarkers,
  kNotify,  // channel, payload
  kCount,
};

// The place of a statement in Statements::all().
struct StatementId {
  uint16_t index;
  StatementId(Statement statement);  // NOLINT(google-explicit-constructor)
  StatementId(Space space, SpaceStatement statement);
};

struct PreparedStatement {
  std::string name;
  std::string sql;
};

// The text of every statement for one schema. A constant once made.
class Statements {
 public:
  explicit Statements(const std::string& schema);
  const std::vector<PreparedStatement>& all() const { return all_; }

 private:
  std::vector<PreparedStatement> all_;
};

// `"schema"."name"`. The schema's name was checked to need no more quoting than that.
std::string Qualified(const std::string& schema, std::string_view name);

// How many stamps one call of kNextStamps gives.
inline constexpr uint64_t kStampsAtOnce = 64;

}  // namespace cairn::store::postgres
