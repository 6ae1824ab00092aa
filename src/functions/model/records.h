#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "functions/model/config.h"
#include "functions/model/message.h"

// The records behind the keys of keys.h, and their JSON. Each has Encode, which writes the members
// in the order of the struct, and Decode, which takes them in any order. Decode ignores members
// that it does not know, so a newer server's records can be read by an older one; what the older
// one writes back lacks them. A record that cannot be read is CS_KVROCKS_READ_FAILED.
namespace cairn::functions {

// {"tenant","namespace","name","runtime","entry","handler","created_at_ms","deleted_at_ms",
//  "enabled"}
struct Function {
  std::string tenant;
  std::string ns;
  std::string name;
  std::string runtime = "cs-js";
  std::string entry = "function.js";
  std::string handler = "default";
  int64_t created_at_ms = 0;
  std::optional<int64_t> deleted_at_ms;  // null while it is there
  bool enabled = true;                   // a disabled one is not invoked
  friend bool operator==(const Function&, const Function&) = default;
};
std::string Encode(const Function& function);
Result<Function> DecodeFunction(std::string_view text);

// {"draft_id","sha256","files":{path:base64},"created_at_ms","expires_at_ms","consumed"}
struct Draft {
  std::string draft_id;
  std::string sha256;  // of the files' canonical tar
  std::map<std::string, Bytes, std::less<>> files;
  int64_t created_at_ms = 0;
  int64_t expires_at_ms = 0;
  bool consumed = false;  // published; stays until it expires, without its files
  friend bool operator==(const Draft&, const Draft&) = default;
};
std::string Encode(const Draft& draft);
Result<Draft> DecodeDraft(std::string_view text);

// {"version","sha256","config","published_at_ms"}
struct VersionMeta {
  uint64_t version = 0;
  std::string sha256;
  VersionConfig config;
  int64_t published_at_ms = 0;
  friend bool operator==(const VersionMeta&, const VersionMeta&) = default;
};
std::string Encode(const VersionMeta& meta);
Result<VersionMeta> DecodeVersionMeta(std::string_view text);

// What an alias points to: one version, or two of which the second gets `weight` of a hundred
// invocations.
struct Target {
  uint64_t version = 0;
  struct Weighted {
    uint64_t version = 0;
    int64_t weight = 0;  // percent, 1 … 99
    friend bool operator==(const Weighted&, const Weighted&) = default;
  };
  std::optional<Weighted> second;
  friend bool operator==(const Target&, const Target&) = default;
};

// A move of an alias from one version to another in steps.
struct Shift {
  std::string id;  // new with each shift, so that outcomes of an earlier one do not count
  uint64_t from = 0;
  uint64_t to = 0;
  int64_t step_percent = 0;
  int64_t interval_seconds = 0;
  double max_error_rate = 0;  // 0 … 1, of the invocations of `to` in a step
  int64_t step = 1;           // counted from 1; the weight of `to` is step × step_percent
  int64_t started_at_ms = 0;
  int64_t next_step_at_ms = 0;
  friend bool operator==(const Shift&, const Shift&) = default;
};

// How the last shift ended.
struct ShiftEnd {
  uint64_t from = 0;
  uint64_t to = 0;
  std::string state;   // completed, rolled_back or cancelled
  std::string reason;  // for people
  int64_t ended_at_ms = 0;
  friend bool operator==(const ShiftEnd&, const ShiftEnd&) = default;
};

// {"alias","version","updated_at_ms"}, and where they say something
// "weights":[{"version","weight"}], "min_warm", "history":[{"version","weights","updated_at_ms"}]
// (the last target first), "shift":{…}, "last_shift":{…}
struct Alias {
  std::string alias;
  Target target;
  int64_t updated_at_ms = 0;
  int64_t min_warm = 0;  // children that are kept ready for it
  struct Earlier {
    Target target;
    int64_t updated_at_ms = 0;
    friend bool operator==(const Earlier&, const Earlier&) = default;
  };
  std::vector<Earlier> history;
  std::optional<Shift> shift;
  std::optional<ShiftEnd> last_shift;
  friend bool operator==(const Alias&, const Alias&) = default;
};
std::string Encode(const Alias& alias);
Result<Alias> DecodeAlias(std::string_view text);

// {"shift","version","step","total","errors"}: how invocations of a shift's new version ended since
// its step began.
struct ShiftOutcomes {
  std::string shift;
  uint64_t version = 0;
  int64_t step = 0;
  int64_t total = 0;
  int64_t errors = 0;
  friend bool operator==(const ShiftOutcomes&, const ShiftOutcomes&) = default;
};
std::string Encode(const ShiftOutcomes& outcomes);
Result<ShiftOutcomes> DecodeShiftOutcomes(std::string_view text);

enum class Overlap : uint8_t { kSkip, kQueue, kParallel };
std::string_view OverlapName(Overlap overlap);
std::optional<Overlap> ParseOverlap(std::string_view name);

// {"name","every_seconds","overlap_policy","ref":{"function","alias"},"payload","enabled",
//  "created_at_ms","tenant","namespace"}; one with a cron expression has "cron" and "time_zone"
// instead of "every_seconds".
struct Schedule {
  std::string name;
  int64_t every_seconds = 0;  // 0: by `cron`
  std::string cron;
  std::string time_zone;
  Overlap overlap = Overlap::kSkip;
  Ref ref;
  std::string payload = "{}";  // any JSON value
  bool enabled = true;
  int64_t created_at_ms = 0;
  std::string tenant;
  std::string ns;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};
std::string Encode(const Schedule& schedule);
Result<Schedule> DecodeSchedule(std::string_view text);

// {"next_tick_ms","tick_seq"}, and where they say something "last_tick_ms", "last_activation_id",
// "skipped", "failed", "last_error", "last_error_ms", "waiting":[activation…], "message"
struct ScheduleState {
  int64_t next_tick_ms = 0;  // 0: no time that is left fits the schedule
  int64_t tick_seq = 0;      // ticks so far, whatever has come of them
  std::optional<int64_t> last_tick_ms;
  std::string last_activation_id;
  int64_t skipped = 0;     // ticks left out, because of activations that had not ended
  int64_t failed = 0;      // ticks whose activation was refused
  std::string last_error;  // why the last of these was
  std::optional<int64_t> last_error_ms;
  // Where ticks queue: activations that may not have ended yet, the oldest first, and the message
  // of the newest.
  std::vector<std::string> waiting;
  std::string message;
  friend bool operator==(const ScheduleState&, const ScheduleState&) = default;
};
std::string Encode(const ScheduleState& state);
Result<ScheduleState> DecodeScheduleState(std::string_view text);

// {"name","domain","tasklist","worker_id","activity_map":{activity:{"function","alias"}},
//  "pollers":{"activity"},"limits":{"max_inflight_tasks"},"enabled","tenant","namespace"}
struct WorkerBinding {
  std::string name;
  std::string domain;
  std::string tasklist;
  std::string worker_id;
  std::vector<std::pair<std::string, Ref>> activity_map;
  int64_t pollers = 1;
  int64_t max_inflight_tasks = kDefaultInflightTasks;
  bool enabled = true;
  std::string tenant;
  std::string ns;
  friend bool operator==(const WorkerBinding&, const WorkerBinding&) = default;
};
std::string Encode(const WorkerBinding& binding);
Result<WorkerBinding> DecodeWorkerBinding(std::string_view text);

// What an activation has cost.
struct Usage {
  int64_t cpu_us = 0;
  int64_t peak_memory_bytes = 0;
  bool cold = false;  // the code had to be loaded for it
  friend bool operator==(const Usage&, const Usage&) = default;
};

// Where an activation with steps stands while it does not run.
struct Suspension {
  int64_t since_ms = 0;
  int64_t until_ms = 0;          // it goes on then at the latest
  std::string waits_for = "[]";  // JSON: [{"position","kind","name","until_ms"}]
  std::string message;           // of cs.invoke, which is to be given out again
  friend bool operator==(const Suspension&, const Suspension&) = default;
};

// {"activation_id","tenant","namespace","function","ref":{"alias","version"},"trigger":{"type"},
//  "status","start_ms","end_ms","duration_ms","result_truncated","error","request_id",
//  "resolved_version","result","usage":{"cpu_us","peak_memory_bytes","cold"},"limit_hit","retries"}
// and of one with steps "durable":{"suspended_ms","log_chunks","log_bytes","suspended":{"since_ms",
//  "until_ms","waits_for","message"}}.
// Times and results that are not known yet are null.
//
//   queued ─→ running ─→ success, error, timeout
struct Activation {
  std::string activation_id;
  std::string tenant;
  std::string ns;
  Ref ref;  // with its function
  Trigger trigger;
  Status status = Status::kQueued;
  std::optional<int64_t> start_ms;
  std::optional<int64_t> end_ms;
  std::optional<int64_t> duration_ms;
  bool result_truncated = false;
  std::optional<FunctionError> error;
  std::string request_id;
  std::optional<uint64_t> resolved_version;
  std::optional<FunctionResult> result;
  std::optional<Usage> usage;
  std::string limit_hit;  // wall_time, cpu_time, memory, …; empty: none
  int64_t retries = 0;    // attempts before this one

  // Of one with steps (functions/steps).
  struct Durable {
    int64_t suspended_ms = 0;  // so far, which do not count against its deadline
    int64_t log_chunks = 0;    // written by runs that have been suspended
    int64_t log_bytes = 0;
    std::optional<Suspension> suspended;
    friend bool operator==(const Durable&, const Durable&) = default;
  };
  std::optional<Durable> durable;
  friend bool operator==(const Activation&, const Activation&) = default;
};
std::string Encode(const Activation& activation);
Result<Activation> DecodeActivation(std::string_view text);

}  // namespace cairn::functions
