#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "store/transaction.h"

// What is to happen to jobs at a time: the rows t|, one for each thing to do, under its time.
//
// The store's timer thread does not know the rows. For every ten milliseconds in which something is
// due there is one timer (kTimerDue), set along with the rows, that looks at the rows of this span
// and has them acted on (due_timers.h).
//
// A lease that is given back before its end leaves its ten milliseconds' timer, which then finds
// nothing. So timers cost one row per span, not one per job, and looking costs what is due.
namespace cairn::jobs {

// Of the store's timers; stored, never renumbered.
inline constexpr uint8_t kTimerDue = 32;   // owner: the row to begin with; empty: the span's first
inline constexpr uint8_t kTimerAct = 33;   // owner: number; payload: rows
inline constexpr uint8_t kTimerTidy = 34;  // owner empty: the event log

// The kinds of t| rows; stored.
enum class DueKind : uint8_t {
  kLease = 1,         // the lease of an active job, or of several (lease_rows.h), ends
  kPromote = 2,       // a scheduled or retrying job is to run
  kExpire = 3,        // a job that has not begun is not to
  kRetention = 4,     // of a queue: finished jobs are to be removed
  kThrottle = 5,      // of a queue: its rate window has room again
  kKeyRate = 6,       // of a queue and a rate key (in the place of the job): the same
  kWorker = 7,        // a worker (in the place of the job) may be gone
  kBatch = 8,         // a batch that is done is to be removed
  kSchedule = 9,      // a schedule (in the place of the job) has a tick
  kIdempotency = 10,  // an idempotency key (in the place of the job) is to be forgotten
};

// Puts the row and makes sure that it is looked at. The value is the kind's own.
void SetDue(store::Transaction& transaction, uint64_t due_ns, DueKind kind, std::string_view queue,
            std::string_view job, BytesView value = {});
void CancelDue(store::Transaction& transaction, uint64_t due_ns, DueKind kind,
               std::string_view queue, std::string_view job);

// The same for the many rows of one transaction: those of one time share the timer that looks at
// them, which is then set once.
class DueRows {
 public:
  explicit DueRows(store::Transaction& transaction) : transaction_(transaction) {}

  void Set(uint64_t due_ns, DueKind kind, std::string_view queue, std::string_view job,
           BytesView value = {});
  void Cancel(uint64_t due_ns, DueKind kind, std::string_view queue, std::string_view job);

 private:
  store::Transaction& transaction_;
  std::optional<Timestamp> looked_at_;  // the last timer set, for a span from its start
};

// Where the span begins whose rows a kTimerDue of this time looks at. The span ends with the timer.
uint64_t StartOfDueSpan(Timestamp timer);

}  // namespace cairn::jobs
