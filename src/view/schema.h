#pragma once

#include "base/result.h"
#include "view/sqlite.h"

// The tables of the view. Times are text, RFC 3339 in UTC with six digits behind the second
// (2026-11-17T04:50:22.123456Z), so that their order as text is their order in time.
//
// The view is fed with jobs, job_errors and queues, whose every change is an event. The other
// tables are for records that have no events yet, and stay empty. view_state is the view's own.
namespace cairn::view {

// Raised when the view has to be built anew because its tables or their content have changed.
inline constexpr int64_t kSchemaVersion = 2;

// How every connection that writes works.
Result<void> ConfigureWriter(Database& database);
// Creates all that is missing.
Result<void> CreateSchema(Database& database);

}  // namespace cairn::view
