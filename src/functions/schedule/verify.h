#pragma once

#include "base/result.h"
#include "house/verify.h"
#include "store/store.h"

namespace cairn::functions {

// What always holds of schedules, one schedule at a time:
//
// - each record can be read, has its own name, is in its namespace's index, and has a state
// - each name in an index has a record, and so has each state and each marker of an activation
// - a schedule that is enabled and has a next tick has a timer for it, and a disabled one has none
// - a marker of an activation expires
Result<void> VerifySchedules(store::Store& store, house::Verification& verification);

}  // namespace cairn::functions
