#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/operations/context.h"
#include "base/bytes.h"
#include "base/result.h"

// The one way in which entries change. A batch is all or nothing, whatever areas of the actor it
// touches and however much it holds; what bounds it is what the server takes as one request and
// writes as one transaction (setting limits.transaction).
//
//   its actor is there, in its generation     ─┐
//   its id was not used before                 │  else nothing is written
//   its preconditions hold, as of before it    │
//   the actor will not be above its quota     ─┘
//   then its changes, one after the other; all entries it writes get its revision
namespace cairn::actors {

struct BatchChange {
  enum class Kind : uint8_t { kPut, kDelete, kDeleteRange, kDrop };

  Kind kind = Kind::kPut;
  Bytes key = {};    // of a range: its begin
  Bytes value = {};  // of a put
  Bytes end = {};    // of a range, which does not have it
};

// What must be so of an entry.
struct Precondition {
  Bytes key;
  uint64_t revision = 0;  // of the entry as it is; 0: it is absent
};

struct BatchRequest {
  ActorRef actor;
  std::vector<Precondition> conditions = {};
  std::vector<BatchChange> changes = {};
  // The same batch with the same id is done once; empty: it has none.
  std::string idempotency_id = {};
};

struct BatchAnswer {
  // A number of the actor's own that grows with each batch.
  uint64_t revision = 0;
  bool repeated = false;  // an earlier request has done it
};

// Locks its actor (AddRefScopes).
Result<BatchAnswer> Apply(Context& context, const BatchRequest& request);

}  // namespace cairn::actors
