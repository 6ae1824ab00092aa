#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"
#include "store/transaction.h"

namespace cairn::data {

// Some key of the database that exists now; nullopt if there is none. Every key can come up, though
// not equally often. Costs a bounded number of seeks, not a walk over the keys, unless nearly all
// keys have expired.
Result<std::optional<Bytes>> PickRandomKey(store::Transaction& transaction, uint8_t db,
                                           Random& random);

}  // namespace cairn::data
