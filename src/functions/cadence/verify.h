#pragma once

#include "base/result.h"
#include "house/verify.h"
#include "store/store.h"

namespace cairn::functions {

// What always holds of worker bindings and of tasks:
//
//   - every record can be read, and is that of its name
//   - the index of a namespace names exactly its bindings
//   - a task expires, and can be read
//   - there are no other keys under cs:cadence:
Result<void> VerifyBindings(store::Store& store, house::Verification& verification);

}  // namespace cairn::functions
