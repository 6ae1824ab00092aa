#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "store/postgres/open.h"
#include "store/rocks/open.h"
#include "store/store.h"

namespace cairn::testing {

// The engine that tests run on, from the environment variable CAIRN_TEST_ENGINE: rocks (the
// default), postgres or postgres-portable.
enum class Engine { kRocks, kPostgres, kPostgresPortable };
Engine EngineUnderTest();
inline bool OnRocks() { return EngineUnderTest() == Engine::kRocks; }

// How to reach the store that belongs to `directory`: on PostgreSQL a schema of its own in the
// program's shared cluster, the same one each time.
store::postgres::Options PostgresOptionsFor(const std::string& directory);

// Opens the store of options.directory on the engine under test.
Result<std::unique_ptr<store::Store>> OpenTestStore(const store::rocks::Options& options,
                                                    const Clock& clock);

}  // namespace cairn::testing

// For a test of what only the embedded engine has, such as its files and its groups.
#define CAIRN_TEST_ROCKS_ONLY(what)                            \
  if (!::cairn::testing::OnRocks()) {                          \
    GTEST_SKIP() << "only the embedded engine has " << (what); \
  }                                                            \
  static_assert(true, "")
