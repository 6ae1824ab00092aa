#pragma once

#include "store/postgres/connection.h"
#include "store/postgres/open.h"

namespace cairn::store::postgres {

// Makes the schema if it is missing and checks its version. Several processes may do so at once.
Result<void> PrepareSchema(Connection& connection, const Options& options);

struct SchemaReport {
  int version = 0;  // 0: there is none
  std::string made_by;
};
// kConflict for a schema that holds no Cairn store.
Result<SchemaReport> ReadSchema(Connection& connection, const std::string& schema);

}  // namespace cairn::store::postgres
