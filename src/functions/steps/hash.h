#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "data/value/fields.h"
#include "store/transaction.h"

// Hashes of the data types that hold records of steps.
namespace cairn::functions {

// CS_KVROCKS_READ_FAILED for a key of another type: somebody has written over it.
Result<data::Fields> LoadHash(store::Transaction& transaction, std::string_view key);
// Of a key that may not be there.
Result<void> SetExpiry(store::Transaction& transaction, std::string_view key, int64_t expire_ms);

}  // namespace cairn::functions
