#pragma once

#include "base/result.h"
#include "house/verify.h"
#include "store/transaction.h"

// What always holds of the rows of this layer:
//
//   - an actor has one record, one state and one row of the directory, which agree about it;
//   - each entry has its metadata and all its chunks, whose bytes have its size and its checksum;
//   - an actor's state says how many entries it has, of how many bytes, and how many idempotency
//     ids, each of which has its two rows;
//   - entries without an actor are those of a destroyed one, which has a timer;
//   - the counters say how many actors there are, and of how many bytes.
namespace cairn::actors {

// Reads everything, as of one moment: for a thread that may wait.
Result<void> VerifyActors(store::Reader& reader, house::Verification& verification);

}  // namespace cairn::actors
