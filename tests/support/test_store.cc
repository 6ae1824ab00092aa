#include "tests/support/test_store.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "base/check.h"
#include "base/hash.h"
#include "base/log.h"
#include "tests/support/postgres_cluster.h"

namespace cairn::testing {

Engine EngineUnderTest() {
  const char* variable = std::getenv("CAIRN_TEST_ENGINE");
  const std::string_view name = variable != nullptr ? variable : "rocks";
  if (name == "postgres") return Engine::kPostgres;
  if (name == "postgres-portable") return Engine::kPostgresPortable;
  CAIRN_CHECK(name == "rocks", "CAIRN_TEST_ENGINE={}", name);
  return Engine::kRocks;
}

store::postgres::Options PostgresOptionsFor(const std::string& directory) {
  store::postgres::Options options;
  options.url = PostgresCluster::Shared().url();
  options.schema = fmt::format("test_{:016x}", Hash64(directory));
  options.mode = EngineUnderTest() == Engine::kPostgresPortable ? store::postgres::Mode::kPortable
                                                                : store::postgres::Mode::kAdvisory;
  return options;
}

Result<std::unique_ptr<store::Store>> OpenTestStore(const store::rocks::Options& options,
                                                    const Clock& clock) {
  if (OnRocks()) return store::rocks::Open(options, clock, Log::Silent());
  store::postgres::Options postgres = PostgresOptionsFor(options.directory);
  postgres.transaction_bytes = options.memory.transaction_bytes;
  return store::postgres::Open(postgres, clock, Log::Silent());
}

}  // namespace cairn::testing
