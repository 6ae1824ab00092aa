#pragma once

#include "base/result.h"
#include "house/verify.h"
#include "store/store.h"

// The invariants of the data types, checked on one snapshot of space `data` and of the timers that
// belong to it:
//
//   - every row is one that keys.h draws, of a database that exists, and every record decodes;
//   - the counters of a database are the number of its keys and of its keys with an expiry;
//   - a key with an expiry has a timer; there may be timers without a key, which FLUSHDB leaves;
//   - an element belongs to exactly one key or is about to be reclaimed, and never both;
//   - a collection has as many members as it counts, and only a stream may have none;
//   - each member of a hash or set stands under its own hash, and the filter in the record knows
//     it; the order of a hash's fields names only fields that are there;
//   - each member of a sorted set is in its order once, under the score that it has and not below
//     the floor; its filter knows it, and each node of its rank index counts what is below it;
//   - the positions of a list are those from its first on, and none of its pages is empty;
//   - a stream begins with the entry that its header names; its groups count their consumers and
//     pending entries, and so do the consumers;
//   - the segments of a long string lie within its length;
//   - each container of a JSON document that is stored by member counts its children.
namespace cairn::data {

// Reads all rows once. Keeps some bytes in memory for each value with elements, and nothing for
// other keys. Damaged rows are problems, never errors.
Result<void> Verify(store::Store& store, house::Verification& verification);

}  // namespace cairn::data
