#pragma once

#include "base/result.h"
#include "house/verify.h"
#include "store/store.h"

namespace cairn::functions {

// The invariants of the records of functions, each function as of one moment:
//
//   - the versions are those from 1 to version_seq, each with a record and the bundle that its
//     digest names, and an environment where its config names one;
//   - an alias points to versions that are there; a shift has its timer;
//   - a draft expires;
//   - a function is in its namespace's index, and what is in an index is a function;
//   - no other key begins with cs:fn:.
Result<void> VerifyFunctions(store::Store& store, house::Verification& verification);

}  // namespace cairn::functions
