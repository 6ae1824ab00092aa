#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jobs/operations.h"
#include "store/timers.h"
#include "store/transaction.h"

// What happens to jobs when time comes: the rows t|, and how the store's timers reach them.
//
// A row t| stands for each thing to do, under its time. The store's timer thread does not know the
// rows; for every ten milliseconds in which something is due there is one timer (kTimerDue) that
// looks at the rows of this span and sets, for those it finds, timers of now (kTimerAct) that name
// rows and so can tell their scopes. A row that was taken back meanwhile is not found, or is found
// and gone: nothing is done twice, and a crash between the two steps leaves timers.
//
// A lease that is given back before its end leaves its ten milliseconds' timer, which then finds
// nothing. So timers cost one row per span, not one per job, and looking costs what is due.
namespace cairn::jobs {

// Of the store's timers; stored, never renumbered.
inline constexpr uint8_t kTimerDue = 32;   // owner empty; payload: where to go on, if not at once
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

// Puts the row and sees to it that it is looked at. The value is the kind's own.
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

// Does what is due of a kind that others look after (schedules).
class DueHandler {
 public:
  virtual ~DueHandler() = default;
  virtual void AddScopes(const DueEntry& entry, Held& held, store::Scopes& scopes) const = 0;
  // The row is gone already.
  virtual Result<void> Fire(Context& context, const DueEntry& entry, BytesView value) = 0;
};

// The handlers of the three kinds of timers.
class DueTimers {
 public:
  DueTimers();
  ~DueTimers();

  // Before the timers run; `handler` outlives them.
  void Register(DueKind kind, DueHandler& handler) {
    handlers_[static_cast<size_t>(kind)] = &handler;
  }
  // All three, with the service.
  void RegisterWith(store::TimerService& timers);
  // The event log is tidied up from now on. Once, when the server starts; again does nothing.
  static Result<void> StartTidying(store::Store& store);

 private:
  class Find;
  class Act;
  class Tidy;
  std::array<DueHandler*, 16> handlers_{};
  std::unique_ptr<Find> find_;
  std::unique_ptr<Act> act_;
  std::unique_ptr<Tidy> tidy_;
};

}  // namespace cairn::jobs
