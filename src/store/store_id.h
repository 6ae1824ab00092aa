#pragma once

#include <string>

#include "base/random.h"
#include "base/result.h"
#include "store/store.h"

namespace cairn::store {

// The store's own name, the same in every process that serves it. Made at the first call, random.
Result<std::string> LoadStoreId(Store& store, Random& random);

}  // namespace cairn::store
