#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "jobs/model/limits.h"
#include "store/transaction.h"

// How the event log loses its oldest rows.
//
// Numbers of events grow by leaps: a start of the embedded engine skips a million of them, and
// events of other layers take numbers, too. So the distance between two numbers says at most how
// many events lie between them, and events are counted, not subtracted. Nothing counts when an
// event is appended: the row evc| has a count up to some number, and what lies behind that number
// is counted only when the distance alone would be too much. Each row is thereby read once at most
// to be counted and once to be removed, whatever the log's length.
namespace cairn::jobs {

struct EventLimits {
  int64_t kept_ms = kEventsKeptMs;
  uint64_t kept = kEventsKept;   // events that are younger are kept up to this many
  size_t rows_at_once = 10'000;  // rows that one transaction counts, or removes
};

// Removes rows whose events are too old, or have `kept` others behind them. Returns whether there
// is more to do at once. Scope: family::kEvent.
Result<bool> TrimEvents(store::Transaction& transaction, const EventLimits& limits = {});

}  // namespace cairn::jobs
