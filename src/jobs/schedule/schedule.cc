#include "jobs/schedule/schedule.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/function_ref.h"
#include "base/json_text.h"
#include "base/time_text.h"
#include "jobs/ledger/due.h"
#include "jobs/model/durations.h"
#include "jobs/model/json_members.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/enqueue_json.h"
#include "jobs/schedule/cron.h"
#include "jobs/schedule/time_zone.h"

namespace cairn::jobs {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr std::string_view kScope = "sc|";

constexpr std::array<std::string_view, 3> kOverlaps = {"skip", "queue", "parallel"};
constexpr std::array<std::string_view, 3> kCatchUps = {"none", "one", "all"};

Error Bad(std::string_view member, std::string_view why) {
  return Refuse(Reason::kValidation, fmt::format("{}: {}", member, why));
}

uint64_t NowNs(store::Reader& reader) { return static_cast<uint64_t>(reader.now().us) * 1'000; }

Result<std::string> TextOf(const RawMember& member) {
  std::optional<std::string> text = StringOf(member.json);
  if (!text) return Bad(member.name, "must be a string");
  return std::move(*text);
}

template <typename Enum>
Result<Enum> ChoiceOf(const RawMember& member, const std::array<std::string_view, 3>& names) {
  const std::optional<std::string> text = StringOf(member.json);
  const auto* const found = std::find(names.begin(), names.end(), text.value_or(""));
  if (found == names.end()) {
    return Bad(member.name, fmt::format("must be {}, {} or {}", names[0], names[1], names[2]));
  }
  return static_cast<Enum>(found - names.begin());
}

Result<bool> SwitchOf(const RawMember& member) {
  if (member.json == "true") return true;
  if (member.json == "false") return false;
  return Bad(member.name, "must be true or false");
}

uint64_t NumberOf(std::string_view json) {
  uint64_t number = 0;
  std::from_chars(json.data(), json.data() + json.size(), number);
  return number;
}

void AppendMember(std::string_view name, std::string_view json, std::string& out) {
  if (out.size() > 1) out += ',';
  AppendJsonString(name, out);
  out += ':';
  out += json;
}

// Reads one of the members that are the schedule's own; nullopt for others.
Result<bool> ReadOwn(const RawMember& member, Schedule& schedule) {
  if (member.name == "name") {
    CAIRN_ASSIGN_OR_RETURN(schedule.name, TextOf(member));
  } else if (member.name == "cron") {
    CAIRN_ASSIGN_OR_RETURN(schedule.cron, TextOf(member));
  } else if (member.name == "timezone") {
    CAIRN_ASSIGN_OR_RETURN(schedule.timezone, TextOf(member));
  } else if (member.name == "overlap") {
    CAIRN_ASSIGN_OR_RETURN(schedule.overlap, ChoiceOf<Overlap>(member, kOverlaps));
  } else if (member.name == "catch_up") {
    CAIRN_ASSIGN_OR_RETURN(schedule.catch_up, ChoiceOf<CatchUp>(member, kCatchUps));
  } else if (member.name == "catch_up_window") {
    CAIRN_ASSIGN_OR_RETURN(const std::string text, TextOf(member));
    const std::optional<int64_t> window = ParseDuration(text);
    if (!window || *window < 0 || *window > kMaxDelayMs) {
      return Bad(member.name, "must be a duration such as 24h");
    }
    schedule.catch_up_window_ms = *window;
  } else if (member.name == "paused") {
    CAIRN_ASSIGN_OR_RETURN(schedule.paused, SwitchOf(member));
  } else {
    return false;
  }
  return true;
}

// The options of a job that mean something only once.
bool IsOfOneJob(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"scheduled_at",    "delay", "depends_on",
                                                      "idempotency_key", "id",    "batch_id"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Applies `json` to `schedule`, whose job it changes member by member.
Result<void> Apply(std::string_view json, Schedule& schedule) {
  const auto given = MembersOf(json);
  if (!given) return Refuse(Reason::kValidation, "a schedule must be a JSON object");
  const std::string old_job = schedule.job.empty() ? "{}" : schedule.job;
  std::vector<RawMember> job = *MembersOf(old_job);
  for (const RawMember& member : *given) {
    CAIRN_ASSIGN_OR_RETURN(const bool own, ReadOwn(member, schedule));
    if (own) continue;
    if (IsOfOneJob(member.name)) return Bad(member.name, "cannot be set: the schedule sets it");
    std::erase_if(job, [&](const RawMember& old) { return old.name == member.name; });
    job.push_back(member);
  }
  std::string text = "{";
  for (const RawMember& member : job) AppendMember(member.name, member.json, text);
  schedule.job = text + "}";
  return {};
}

// Everything about a schedule that can be wrong by itself.
Result<void> Check(Schedule& schedule) {
  if (!IsName(schedule.name, kMaxScheduleNameBytes)) {
    return Bad("name", fmt::format("must be 1 to {} printable characters", kMaxScheduleNameBytes));
  }
  const Result<Cron> cron = Cron::Parse(schedule.cron);
  if (!cron.ok()) return Refuse(Reason::kValidation, cron.error().message);
  const Result<TimeZone> zone = TimeZone::Find(schedule.timezone);
  if (!zone.ok()) return Bad("timezone", zone.error().message);
  CAIRN_ASSIGN_OR_RETURN(const EnqueueRequest request, ParseEnqueue(schedule.job));
  CAIRN_RETURN_IF_ERROR(CheckEnqueue(request));
  schedule.queue = request.queue;
  return {};
}

// When a schedule is due, ready to be asked.
class Ticks {
 public:
  explicit Ticks(const Schedule& schedule)
      : cron_(Cron::Parse(schedule.cron)), zone_(TimeZone::Find(schedule.timezone)) {}

  // The first after `after_ns`; 0 if there is none, also where this machine does not know the zone
  // that another one has accepted.
  uint64_t After(uint64_t after_ns) const {
    if (!cron_.ok() || !zone_.ok()) return 0;
    const Result<Timestamp> next = cron_->Next({static_cast<int64_t>(after_ns / 1'000)}, *zone_);
    return next.ok() ? static_cast<uint64_t>(next->us) * 1'000 : 0;
  }

  // The last in [from_ns, to_ns]; 0 if there is none. Looks back in steps that double, so that a
  // tick of each second does not cost the seconds of a long absence.
  uint64_t LastWithin(uint64_t from_ns, uint64_t to_ns) const {
    for (uint64_t back_ns = 1'000'000'000;; back_ns *= 2) {
      const bool all = back_ns >= to_ns - from_ns;
      uint64_t tick = After((all ? from_ns : to_ns - back_ns) - 1);
      if (tick != 0 && tick <= to_ns) {
        for (uint64_t next = After(tick); next != 0 && next <= to_ns; next = After(next)) {
          tick = next;
        }
        return tick;
      }
      if (all) return 0;
    }
  }

 private:
  Result<Cron> cron_;
  Result<TimeZone> zone_;
};

void Store(store::Transaction& transaction, const Schedule& schedule) {
  transaction.Put(InJobs(ScheduleKey(schedule.id)), ScheduleJson(schedule));
}

void Arm(store::Transaction& transaction, uint64_t next_ns, Schedule& schedule) {
  schedule.next_run_ns = next_ns;
  if (next_ns == 0) return;
  SetDue(transaction, next_ns, DueKind::kSchedule, schedule.queue, schedule.id);
}

void Disarm(store::Transaction& transaction, Schedule& schedule) {
  if (schedule.next_run_ns == 0) return;
  CancelDue(transaction, schedule.next_run_ns, DueKind::kSchedule, schedule.queue, schedule.id);
  schedule.next_run_ns = 0;
}

// Visits those after the id `after`, until the visitor returns false.
Result<void> VisitSchedules(store::Reader& reader, std::string_view after,
                            FunctionRef<bool(Schedule&)> visit) {
  bool wrong = false;
  store::Range range = store::Range::Prefix(store::Space::kJobs, family::kSchedule);
  if (!after.empty()) range.begin = ScheduleKey(after) + '\0';
  CAIRN_RETURN_IF_ERROR(reader.Scan(range, {}, [&](BytesView key, BytesView value) {
    const auto id = DecodeNameKey(family::kSchedule, key);
    Result<Schedule> schedule = ParseSchedule(id.value_or(""), value);
    wrong = !id || !schedule.ok();
    return !wrong && visit(*schedule);
  }));
  if (wrong) return Error{ErrorCode::kCorruption, "a row sc| cannot be decoded as a schedule"};
  return {};
}

Result<void> CheckNameIsFree(store::Reader& reader, const Schedule& schedule) {
  size_t others = 0;
  bool taken = false;
  CAIRN_RETURN_IF_ERROR(VisitSchedules(reader, "", [&](const Schedule& other) {
    if (other.id == schedule.id) return true;
    ++others;
    taken = other.name == schedule.name;
    return !taken;
  }));
  if (taken) {
    return Refuse(Reason::kSchedule,
                  fmt::format("there is a schedule '{}' already", schedule.name));
  }
  if (others >= kMaxSchedules) return Refuse(Reason::kSchedule, "there are too many schedules");
  return {};
}

Result<std::optional<Schedule>> Load(store::Reader& reader, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get(InJobs(ScheduleKey(id))));
  if (!row) return std::optional<Schedule>();
  CAIRN_ASSIGN_OR_RETURN(Schedule schedule, ParseSchedule(id, *row));
  return std::optional<Schedule>(std::move(schedule));
}

uint64_t Fingerprint(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  uint64_t number = 0;
  for (size_t i = 0; i < 8; ++i) number = number << 8 | digest[i];
  return number;
}

// The job of the tick before, if it has not ended.
Result<std::optional<Job>> Unfinished(store::Reader& reader, const Schedule& schedule) {
  if (schedule.last_job_id.empty()) return std::optional<Job>();
  CAIRN_ASSIGN_OR_RETURN(std::optional<Job> job, LoadJob(reader, schedule.last_job_id));
  if (job && IsFinished(job->state)) job.reset();
  return job;
}

// One tick: its job, or nothing where one before is still under way.
Result<void> RunTick(Context& context, uint64_t tick_ns, Schedule& schedule) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Job> before,
                         Unfinished(context.transaction, schedule));
  if (before && schedule.overlap == Overlap::kSkip) {
    ++schedule.skipped;
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(EnqueueRequest request, ParseEnqueue(schedule.job));
  request.id = TickJobId(schedule, tick_ns);
  if (before && schedule.overlap == Overlap::kQueue) {
    request.depends_on = {before->id};
    request.on_dependency_failure = DependencyPolicy::kIgnore;
  }
  const Result<EnqueueResult> enqueued = Enqueue(context, request);
  if (!enqueued.ok()) {
    // A schedule whose job is refused goes on: its next tick may find things changed.
    if (FindReason(enqueued.error()) == nullptr) return enqueued.error();
    ++schedule.skipped;
    schedule.last_error = enqueued.error().message;
    return {};
  }
  schedule.last_error.clear();
  schedule.last_run_ns = tick_ns;
  schedule.last_job_id = enqueued->id;
  ++schedule.runs;
  return {};
}

}  // namespace

std::string ScheduleJson(const Schedule& schedule) {
  std::string out = "{";
  const auto text = [&](std::string_view name, std::string_view value) {
    std::string quoted;
    AppendJsonString(value, quoted);
    AppendMember(name, quoted, out);
  };
  const auto time = [&](std::string_view name, uint64_t ns) {
    if (ns != 0) text(name, FormatTime(ns));
  };
  text("id", schedule.id);
  text("name", schedule.name);
  text("queue", schedule.queue);
  text("cron", schedule.cron);
  text("timezone", schedule.timezone);
  text("overlap", kOverlaps[static_cast<size_t>(schedule.overlap)]);
  text("catch_up", kCatchUps[static_cast<size_t>(schedule.catch_up)]);
  AppendMember("catch_up_window_ms", fmt::to_string(schedule.catch_up_window_ms), out);
  AppendMember("paused", schedule.paused ? "true" : "false", out);
  AppendMember("job", schedule.job, out);
  AppendMember("runs", fmt::to_string(schedule.runs), out);
  AppendMember("skipped", fmt::to_string(schedule.skipped), out);
  if (!schedule.last_job_id.empty()) text("last_job_id", schedule.last_job_id);
  if (!schedule.last_error.empty()) text("last_error", schedule.last_error);
  time("created_at", schedule.created_ns);
  time("last_run", schedule.last_run_ns);
  time("next_run", schedule.next_run_ns);
  return out + "}";
}

Result<Schedule> ParseSchedule(std::string_view id, std::string_view json) {
  const auto members = MembersOf(json);
  const Error corrupt{ErrorCode::kCorruption, fmt::format("schedule {} cannot be decoded", id)};
  if (!members) return corrupt;
  Schedule schedule;
  schedule.id = id;
  const auto time = [](const RawMember& member) {
    return ParseTime(StringOf(member.json).value_or("")).value_or(0);
  };
  for (const RawMember& member : *members) {
    if (member.name == "catch_up_window_ms") {
      schedule.catch_up_window_ms = static_cast<int64_t>(NumberOf(member.json));
    } else if (member.name == "queue") {
      schedule.queue = StringOf(member.json).value_or("");
    } else if (member.name == "job") {
      schedule.job = member.json;
    } else if (member.name == "runs") {
      schedule.runs = static_cast<int64_t>(NumberOf(member.json));
    } else if (member.name == "skipped") {
      schedule.skipped = static_cast<int64_t>(NumberOf(member.json));
    } else if (member.name == "last_job_id") {
      schedule.last_job_id = StringOf(member.json).value_or("");
    } else if (member.name == "last_error") {
      schedule.last_error = StringOf(member.json).value_or("");
    } else if (member.name == "created_at") {
      schedule.created_ns = time(member);
    } else if (member.name == "last_run") {
      schedule.last_run_ns = time(member);
    } else if (member.name == "next_run") {
      schedule.next_run_ns = time(member);
    } else if (const Result<bool> own = ReadOwn(member, schedule); !own.ok()) {
      return corrupt;
    }
  }
  return schedule;
}

// 54 bits of the schedule's name beside the second and the lane: two schedules do not meet.
std::string TickJobId(const Schedule& schedule, uint64_t tick_ns) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  const uint64_t name = Fingerprint(schedule.id);
  return MakeId({.ns = tick_ns / kSecondNs * kSecondNs + name % kSecondNs,
                 .lane = LaneOfQueue(schedule.queue),
                 .serial = name / kSecondNs});
}

void AddScheduleScope(store::Scopes& scopes) { scopes.Add(store::Space::kJobs, kScope); }

Result<Schedule> CreateSchedule(store::Transaction& transaction, std::string_view json) {
  Schedule schedule;
  CAIRN_RETURN_IF_ERROR(Apply(json, schedule));
  CAIRN_RETURN_IF_ERROR(Check(schedule));
  CAIRN_RETURN_IF_ERROR(CheckNameIsFree(transaction, schedule));
  schedule.created_ns = NowNs(transaction);
  schedule.id = MakeId({.prefix = "sched_",
                        .ns = schedule.created_ns,
                        .lane = LaneOfQueue(schedule.queue),
                        .serial = transaction.NewStamp()});
  if (!schedule.paused) Arm(transaction, Ticks(schedule).After(schedule.created_ns), schedule);
  Store(transaction, schedule);
  return schedule;
}

Result<Schedule> UpdateSchedule(store::Transaction& transaction, std::string_view id,
                                std::string_view json) {
  CAIRN_ASSIGN_OR_RETURN(Schedule schedule, GetSchedule(transaction, id));
  const Schedule old = schedule;
  CAIRN_RETURN_IF_ERROR(Apply(json, schedule));
  CAIRN_RETURN_IF_ERROR(Check(schedule));
  CAIRN_RETURN_IF_ERROR(CheckNameIsFree(transaction, schedule));
  const bool same_ticks = schedule.cron == old.cron && schedule.timezone == old.timezone &&
                          schedule.queue == old.queue && schedule.paused == old.paused;
  if (!same_ticks) {
    Schedule disarmed = old;
    Disarm(transaction, disarmed);
    schedule.next_run_ns = 0;
    if (!schedule.paused) Arm(transaction, Ticks(schedule).After(NowNs(transaction)), schedule);
  }
  Store(transaction, schedule);
  return schedule;
}

Result<void> DeleteSchedule(store::Transaction& transaction, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(Schedule schedule, GetSchedule(transaction, id));
  Disarm(transaction, schedule);
  transaction.Delete(InJobs(ScheduleKey(schedule.id)));
  return {};
}

Result<Schedule> PauseSchedule(store::Transaction& transaction, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(Schedule schedule, GetSchedule(transaction, id));
  Disarm(transaction, schedule);
  schedule.paused = true;
  Store(transaction, schedule);
  return schedule;
}

Result<Schedule> ResumeSchedule(store::Transaction& transaction, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(Schedule schedule, GetSchedule(transaction, id));
  if (!schedule.paused) return schedule;
  schedule.paused = false;
  Arm(transaction, Ticks(schedule).After(NowNs(transaction)), schedule);
  Store(transaction, schedule);
  return schedule;
}

Result<Schedule> GetSchedule(store::Reader& reader, std::string_view id_or_name) {
  if (IsName(id_or_name, kMaxScheduleNameBytes)) {
    CAIRN_ASSIGN_OR_RETURN(std::optional<Schedule> schedule, Load(reader, id_or_name));
    if (schedule) return std::move(*schedule);
    CAIRN_RETURN_IF_ERROR(VisitSchedules(reader, "", [&](Schedule& candidate) {
      if (candidate.name == id_or_name) schedule = std::move(candidate);
      return !schedule;
    }));
    if (schedule) return std::move(*schedule);
  }
  return Refuse(Reason::kNotFound, fmt::format("there is no schedule '{}'", Printable(id_or_name)));
}

Result<SchedulePage> ListSchedules(store::Reader& reader, std::string_view after, size_t limit) {
  SchedulePage page;
  size_t bytes = 0;
  CAIRN_RETURN_IF_ERROR(VisitSchedules(reader, after, [&](Schedule& schedule) {
    page.more = page.schedules.size() >= limit || bytes >= kMaxAnswerBytes;
    if (page.more) return false;
    bytes += ScheduleJson(schedule).size();
    page.schedules.push_back(std::move(schedule));
    return true;
  }));
  return page;
}

void AddTriggerScopes(const Schedule& schedule, Held& held) {
  const Result<EnqueueRequest> request = ParseEnqueue(schedule.job);
  if (request.ok()) AddEnqueueScopes(*request, held);
}

Result<EnqueueResult> TriggerSchedule(Context& context, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(Schedule schedule, GetSchedule(context.transaction, id));
  if (!context.held.everything() && !context.held.Covers(LaneOfQueue(schedule.queue))) {
    return Refuse(Reason::kSchedule, "the schedule has just been changed; try again");
  }
  CAIRN_ASSIGN_OR_RETURN(const EnqueueRequest request, ParseEnqueue(schedule.job));
  CAIRN_ASSIGN_OR_RETURN(const EnqueueResult enqueued, Enqueue(context, request));
  schedule.last_job_id = enqueued.id;
  ++schedule.runs;
  Store(context.transaction, schedule);
  return enqueued;
}

void ScheduleTicks::AddScopes(const DueEntry& entry, Held& held, store::Scopes& scopes) const {
  held.AddQueue(entry.queue);
  AddScheduleScope(scopes);
}

Result<void> ScheduleTicks::Fire(Context& context, const DueEntry& entry, BytesView /*value*/) {
  store::Transaction& transaction = context.transaction;
  CAIRN_ASSIGN_OR_RETURN(std::optional<Schedule> found, Load(transaction, entry.job));
  // Changed meanwhile: its tick stands elsewhere now.
  if (!found || found->paused || found->next_run_ns != entry.due_ns) return {};
  Schedule& schedule = *found;
  const uint64_t now = NowNs(transaction);
  const int64_t allowed_ms = schedule.catch_up == CatchUp::kNone
                                 ? kOnTimeMs
                                 : std::max(schedule.catch_up_window_ms, kOnTimeMs);
  const auto allowed_ns = static_cast<uint64_t>(allowed_ms * kNsPerMs);
  const uint64_t from = std::max(entry.due_ns, now > allowed_ns ? now - allowed_ns : 1);
  const Ticks ticks(schedule);
  if (schedule.catch_up == CatchUp::kAll) {
    uint64_t tick = ticks.After(from - 1);
    for (int i = 0; i < kTicksPerStep && tick != 0 && tick <= now; ++i, tick = ticks.After(tick)) {
      CAIRN_RETURN_IF_ERROR(RunTick(context, tick, schedule));
    }
    Arm(transaction, tick, schedule);  // in the past if there are more: very soon
  } else {
    const uint64_t tick = from > now ? 0 : ticks.LastWithin(from, now);
    if (tick != 0) CAIRN_RETURN_IF_ERROR(RunTick(context, tick, schedule));
    Arm(transaction, ticks.After(now), schedule);
  }
  Store(transaction, schedule);
  return {};
}

}  // namespace cairn::jobs
