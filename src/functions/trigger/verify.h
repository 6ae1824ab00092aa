#pragma once

#include "base/result.h"
#include "house/verify.h"
#include "store/store.h"

namespace cairn::functions {

// What always holds of triggers, one at a time:
//
// - each record can be read, has its own name, is in its namespace's set, and has a state
// - each name in a set has a record, and so has each state
// - the index of all has those that are enabled, and no other
// - no more activations of a trigger are under way than it may have had (concurrency)
// - the jobs of a batch belong to an activation that has not ended
Result<void> VerifyTriggers(store::Store& store, house::Verification& verification);

}  // namespace cairn::functions
