#include "app/open_store.h"

#include <fmt/format.h>
#include <generated/version.h>

#include "app/config.h"
#include "store/copy.h"

namespace cairn::app {

store::postgres::Options PostgresOptions(const Config& config) {
  store::postgres::Options options;
  options.url = config.store_url;
  options.schema = config.postgres_schema;
  options.version = kVersion;
  options.mode = config.postgres_mode;
  options.connections = config.postgres_connections;
  options.statement_timeout = config.postgres_statement_timeout;
  options.transaction_bytes = config.limit_transaction_bytes;
  return options;
}

store::rocks::Options RocksOptions(const Config& config) {
  store::rocks::Options options;
  options.directory = config.data;
  options.version = kVersion;
  options.durability = config.durability;
  options.sync_interval = config.sync_interval;
  options.memory = store::rocks::MemoryBudget::FromTotal(config.memory_bytes);
  options.memory.transaction_bytes = config.limit_transaction_bytes;
  return options;
}

Result<std::unique_ptr<store::Store>> OpenStore(const Config& config, const Clock& clock,
                                                const Log& log) {
  if (!config.store_url.empty()) return store::postgres::Open(PostgresOptions(config), clock, log);
  return store::rocks::Open(RocksOptions(config), clock, log);
}

Result<void> CheckCopied(store::Reader& reader, const Config& config) {
  CAIRN_ASSIGN_OR_RETURN(const auto unfinished, store::UnfinishedCopyOf(reader));
  if (!unfinished) return {};
  return Error{ErrorCode::kConflict,
               fmt::format("{} is an unfinished copy of {}: run `cairn migrate` again, with the "
                           "source stopped",
                           StoreName(config), *unfinished)};
}

}  // namespace cairn::app
