#include "functions/schedule/firing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "functions/activation/accept.h"
#include "functions/activation/activations.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/schedule/ticks.h"
#include "jobs/ledger/context.h"
#include "jobs/ledger/ledger.h"

namespace cairn::functions {
namespace {

// An activation that waits behind others may do so for longer.
constexpr int64_t kQueuedDeadlineMs = kDayMs;
// The marker of an activation stays so much longer than the activation may take.
constexpr int64_t kInflightGraceMs = 5 * kSecondMs;
// A schedule whose times cannot be understood here is looked at again.
constexpr int64_t kLookAgainMs = 60 * kSecondMs;

// Whether the error says that something is wrong with the request, and not that the store could not
// answer.
bool IsAboutTheRequest(const Error& error) {
  return error.message.starts_with(CodeRowOf(error).name) && error.code != ErrorCode::kWouldBlock;
}

std::string SourceOf(const Schedule& schedule, const ScheduleState& state, int64_t tick_ms) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("schedule_name", schedule.name);
  json.Integer("tick_seq", state.tick_seq);
  json.Integer("tick_ms", tick_ms);
  json.EndObject();
  return text;
}

}  // namespace

std::string TickActivationId(const Schedule& schedule, int64_t tick_ms) {
  return DerivedActivationId(fmt::format("schedule\n{}/{}/{}\n{}\n{}", schedule.tenant, schedule.ns,
                                         schedule.name, schedule.created_at_ms, tick_ms));
}

// One tick of a schedule, in its transaction.
class ScheduleTimers::Tick {
 public:
  enum class Outcome : uint8_t { kFired, kSkipped, kRefused };

  Tick(jobs::Context& context, const ScheduleName& name, const Schedule& schedule,
       ScheduleState& state, int64_t tick_ms)
      : context_(context),
        transaction_(context.transaction),
        name_(name),
        schedule_(schedule),
        state_(state),
        tick_ms_(tick_ms) {}

  Result<Outcome> Run() {
    ++state_.tick_seq;
    state_.last_tick_ms = tick_ms_;
    CAIRN_ASSIGN_OR_RETURN(const bool in_the_way, SomethingIsInTheWay());
    if (in_the_way) {
      ++state_.skipped;
      return Outcome::kSkipped;
    }
    const Result<void> accepted = Accept();
    if (accepted.ok()) return Outcome::kFired;
    if (!IsAboutTheRequest(accepted.error())) return accepted.error();
    ++state_.failed;
    NoteError(accepted.error().message);
    return Outcome::kRefused;
  }

 private:
  int64_t now_ms() const { return transaction_.now().millis(); }

  void NoteError(std::string text) {
    state_.last_error = std::move(text);
    state_.last_error_ms = now_ms();
  }

  Result<bool> HasEnded(std::string_view activation) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Status> status,
                           LoadActivationStatus(transaction_, schedule_.tenant, activation));
    return !status || IsTerminal(*status);
  }

  Result<bool> SomethingIsInTheWay() {
    if (schedule_.overlap == Overlap::kQueue) return QueueIsFull();
    if (schedule_.overlap == Overlap::kParallel) return false;
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> running,
                           ReadString(transaction_, ScheduleInflightKey(name_.ns, name_.name)));
    if (!running) return false;
    CAIRN_ASSIGN_OR_RETURN(const bool ended, HasEnded(*running));
    return !ended;
  }

  Result<bool> QueueIsFull() {
    std::vector<std::string>& waiting = state_.waiting;
    while (!waiting.empty()) {
      CAIRN_ASSIGN_OR_RETURN(const bool ended, HasEnded(waiting.front()));
      if (!ended) break;
      waiting.erase(waiting.begin());
    }
    if (static_cast<int64_t>(waiting.size()) < kMaxCatchUpTicks) return false;
    NoteError(fmt::format("{} activations wait for each other already", waiting.size()));
    return true;
  }

  Result<void> Accept() {
    const bool queues = schedule_.overlap == Overlap::kQueue;
    const int64_t deadline_ms = now_ms() + (queues ? kQueuedDeadlineMs : kAsyncDeadlineMs);
    const std::string id = TickActivationId(schedule_, tick_ms_);
    const InvocationRequest request{
        .activation_id = id,
        .request_id = "req_" + id,
        .tenant = schedule_.tenant,
        .ns = schedule_.ns,
        .ref = schedule_.ref,
        .trigger = {TriggerType::kSchedule, SourceOf(schedule_, state_, tick_ms_)},
        .principal = {.sub = std::string(kSchedulerSubject),
                      .roles = {std::string(kSchedulerRole), std::string(kSchedulerSubject)}},
        .deadline_ms = deadline_ms,
        .event = schedule_.payload};
    CAIRN_RETURN_IF_ERROR(CheckRequest(transaction_, request));
    RequestOptions options{.message_id = "msg_" + id, .now_ms = now_ms()};
    if (queues && !state_.waiting.empty() && !state_.message.empty()) {
      // A message that is gone has ended.
      CAIRN_ASSIGN_OR_RETURN(const std::optional<jobs::Job> before,
                             jobs::LoadJob(transaction_, state_.message));
      if (before) options.after = state_.message;
    }
    CAIRN_ASSIGN_OR_RETURN(const QueuedRequest queued, PrepareRequest(request, std::move(options)));
    CAIRN_ASSIGN_OR_RETURN(AcceptedRequest accepted, AcceptRequest(context_, queued));
    state_.last_activation_id = id;
    state_.message = queues ? std::move(accepted.message) : std::string();
    if (queues) state_.waiting.push_back(id);
    return WriteString(transaction_, ScheduleInflightKey(name_.ns, name_.name), id,
                       deadline_ms + kInflightGraceMs);
  }

  jobs::Context& context_;
  store::Transaction& transaction_;
  const ScheduleName& name_;
  const Schedule& schedule_;
  ScheduleState& state_;
  const int64_t tick_ms_;
};

void ScheduleTimers::NoteWide(const Bytes& owner) {
  const std::scoped_lock lock(mutex_);
  wide_.insert(owner);
}

jobs::Held ScheduleTimers::LanesFor(const store::Timer& timer) const {
  const std::scoped_lock lock(mutex_);
  if (wide_.contains(timer.owner)) return jobs::Held::Everything();
  jobs::Held held;
  held.AddQueue(kInvokeTopic);
  return held;
}

void ScheduleTimers::AddScopes(const store::Timer& timer, store::Scopes& scopes) const {
  const std::optional<ScheduleName> name = ParseScheduleName(timer.owner);
  if (!name) return;
  AddTickScopes(*name, scopes);
  LanesFor(timer).AddTo(scopes);
}

Result<void> ScheduleTimers::Fire(store::Transaction& transaction, const store::Timer& timer) {
  const std::optional<ScheduleName> name = ParseScheduleName(timer.owner);
  if (!name) return Error{ErrorCode::kCorruption, "a schedule's timer without a schedule"};
  const Result<std::optional<Schedule>> schedule = FindSchedule(transaction, *name);
  Result<std::optional<ScheduleState>> found = FindScheduleState(transaction, *name);
  for (const Error* error :
       {schedule.ok() ? nullptr : &schedule.error(), found.ok() ? nullptr : &found.error()}) {
    if (error == nullptr) continue;
    // Somebody has written over the records: there is no schedule to go on with.
    return IsRefusal(*error, Code::kStoreReadFailed) ? Result<void>() : *error;
  }
  const int64_t planned_ms = TickOfTimer(timer.payload);
  // Changed meanwhile: its tick stands elsewhere now.
  if (!*schedule || !(*schedule)->enabled || !*found || (*found)->next_tick_ms != planned_ms) {
    return {};
  }
  ScheduleState& state = **found;
  const int64_t now_ms = transaction.now().millis();
  const Result<Ticks> ticks = Ticks::Of(**schedule);
  if (!ticks.ok()) {
    state.last_error = ticks.error().message;
    state.last_error_ms = now_ms;
    state.next_tick_ms = now_ms + kLookAgainMs;
    SetScheduleTimer(transaction, *name, state.next_tick_ms);
    return SaveScheduleState(transaction, *name, state);
  }
  const int64_t tick_ms = ticks->FirstOfLast(kMaxCatchUpTicks, planned_ms, now_ms);

  jobs::Held held = LanesFor(timer);
  jobs::Context context{transaction, held};
  Tick tick(context, *name, **schedule, state, tick_ms);
  const Result<Tick::Outcome> outcome = tick.Run();
  if (held.wants_everything) NoteWide(timer.owner);
  if (!outcome.ok()) return outcome.error();
  if (tick_ms != planned_ms) {
    state.last_error =
        fmt::format("ticks were missed; those before the last {} are left out", kMaxCatchUpTicks);
    state.last_error_ms = now_ms;
  }
  state.next_tick_ms = ticks->Next(tick_ms);
  SetScheduleTimer(transaction, *name, state.next_tick_ms);
  CAIRN_RETURN_IF_ERROR(SaveScheduleState(transaction, *name, state));
  transaction.AfterCommit([this, name = *name, outcome = *outcome](store::Commit) {
    const std::scoped_lock lock(mutex_);
    if (outcome == Tick::Outcome::kSkipped) {
      ++figures_.skipped;
    } else if (outcome == Tick::Outcome::kRefused) {
      ++figures_.refused;
    } else {
      const bool known = figures_.fired.contains(name);
      const bool room = figures_.fired.size() < kMaxTickSeries;
      ++figures_.fired[known || room ? name : ScheduleName()];
    }
  });
  return {};
}

TickFigures ScheduleTimers::figures() const {
  const std::scoped_lock lock(mutex_);
  return figures_;
}

}  // namespace cairn::functions
