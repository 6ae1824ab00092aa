#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/ledger/context.h"
#include "jobs/model/ids.h"
#include "jobs/model/keys.h"
#include "jobs/model/limits.h"
#include "jobs/operations/due_timers.h"
#include "jobs/operations/enqueue.h"
#include "store/scopes.h"
#include "store/transaction.h"

// Jobs that come again and again. A schedule is the row sc|, JSON; its next tick is a due row t|.
//
// A tick's job has a name made of the schedule and the tick, and a job of a name is enqueued once:
// however often and by whomever a tick is evaluated, it has one job. The row, the next tick and the
// job change in one transaction.
//
// Every operation holds ScheduleScope: schedules are few and change seldom, and so their names can
// be compared.
namespace cairn::jobs {

// What becomes of a tick while the job of the one before has not ended. Stored by name.
enum class Overlap : uint8_t {
  kSkip,      // it is left out
  kQueue,     // its job waits for the end of the one before
  kParallel,  // it does not matter
};
// What becomes of ticks that passed while nobody evaluated them. Stored by name.
enum class CatchUp : uint8_t {
  kNone,  // they are left out
  kOne,   // the last of them is made up for
  kAll,   // each of them is
};

inline constexpr int64_t kDefaultCatchUpWindowMs = 24 * 3'600'000;
// A tick that is no later than this is on time.
inline constexpr int64_t kOnTimeMs = 60'000;
// Jobs enqueued by one transaction that catches up.
inline constexpr int kTicksPerStep = 100;

// Times are nanoseconds since 1970; 0: none.
struct Schedule {
  std::string id;  // "sched_…"
  std::string name;
  std::string cron;
  std::string timezone = "UTC";
  std::string job;    // the job as JSON, as /api/v1/enqueue takes it
  std::string queue;  // of `job`
  Overlap overlap = Overlap::kSkip;
  CatchUp catch_up = CatchUp::kOne;
  int64_t catch_up_window_ms = kDefaultCatchUpWindowMs;
  bool paused = false;

  uint64_t created_ns = 0;
  uint64_t last_run_ns = 0;  // the last tick that had a job
  uint64_t next_run_ns = 0;  // where the due row stands
  std::string last_job_id;
  std::string last_error;  // why the last tick has no job, if it was refused
  int64_t runs = 0;
  int64_t skipped = 0;  // ticks left out for an overlap, or because the job was refused

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

std::string ScheduleJson(const Schedule& schedule);
Result<Schedule> ParseSchedule(std::string_view id, std::string_view json);

// The job of a tick.
std::string TickJobId(const Schedule& schedule, uint64_t tick_ns);

void AddScheduleScope(store::Scopes& scopes);

// `json`: name, cron, timezone, overlap, catch_up, catch_up_window ("24h"), paused, and the options
// of the job (queue, payload, max_retries, …). What makes no sense is refused (VALIDATION_ERROR),
// a name that is taken too (SCHEDULE_ERROR).
//
// The transaction holds ScheduleScope.
Result<Schedule> CreateSchedule(store::Transaction& transaction, std::string_view json);
// Members that are given replace those that were; the others stay.
Result<Schedule> UpdateSchedule(store::Transaction& transaction, std::string_view id,
                                std::string_view json);
Result<void> DeleteSchedule(store::Transaction& transaction, std::string_view id);
Result<Schedule> PauseSchedule(store::Transaction& transaction, std::string_view id);
Result<Schedule> ResumeSchedule(store::Transaction& transaction, std::string_view id);

// By id or by name. Refuses one that does not exist (NOT_FOUND).
Result<Schedule> GetSchedule(store::Reader& reader, std::string_view id_or_name);

// Those after the id `after`, in the order of their creation: `limit` at most, and no more than
// about kMaxAnswerBytes of them.
struct SchedulePage {
  std::vector<Schedule> schedules;
  bool more = false;
};
Result<SchedulePage> ListSchedules(store::Reader& reader, std::string_view after, size_t limit);

// Enqueues the job now, apart from all ticks. Also holds the scopes of `schedule`'s job, as it was
// read before; it is refused as a conflict if the queue has changed since.
void AddTriggerScopes(const Schedule& schedule, Held& held);
Result<EnqueueResult> TriggerSchedule(Context& context, std::string_view id);

// Evaluates ticks.
class ScheduleTicks final : public DueHandler {
 public:
  void AddScopes(const DueEntry& entry, Held& held, store::Scopes& scopes) const override;
  Result<void> Fire(Context& context, const DueEntry& entry, BytesView value) override;
};

}  // namespace cairn::jobs
