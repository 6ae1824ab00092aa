#pragma once

#include <memory>

#include "app/settings.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "store/rocks/open.h"
#include "store/store.h"

namespace cairn::app {

// Opens the data directory, or the database, as the settings say. `clock` outlives the store.
Result<std::unique_ptr<store::Store>> OpenStore(const Config& config, const Clock& clock,
                                                const Log& log);

// Fails for a store that `cairn migrate` has not finished copying to: it must not be served.
Result<void> CheckCopied(store::Reader& reader, const Config& config);

store::rocks::Options RocksOptions(const Config& config);
store::postgres::Options PostgresOptions(const Config& config);

}  // namespace cairn::app
