#include "functions/schedule/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "functions/control/aliases.h"
#include "functions/control/values.h"
#include "functions/control/versions.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/schedule/ticks.h"

namespace cairn::functions {
namespace {

constexpr std::string_view kUtc = "UTC";

Error NoSchedule(const ScheduleName& name) {
  return Refuse(Code::kNotFound, fmt::format("there is no schedule \"{}\" in {}/{}", name.name,
                                             name.ns.tenant, name.ns.name));
}

FunctionName FunctionOf(const Schedule& schedule) {
  return {schedule.tenant, schedule.ns, schedule.ref.function};
}

Result<void> CheckNames(const ScheduleName& name) {
  CAIRN_RETURN_IF_ERROR(CheckNamespace(name.ns));
  return CheckName(NameKind::kSchedule, name.name);
}

// The function is there and the caller's to use, and so is what the ref names.
Result<void> CheckRef(const Context& context, const Schedule& schedule) {
  const FunctionName function = FunctionOf(schedule);
  CAIRN_RETURN_IF_ERROR(LoadFunction(context, function));
  if (schedule.ref.version) {
    CAIRN_RETURN_IF_ERROR(LoadVersionMeta(context.transaction, function, *schedule.ref.version));
    return {};
  }
  if (schedule.ref.alias.empty()) {
    return Refuse(Code::kValidation, "ref.alias or ref.version must be there");
  }
  CAIRN_RETURN_IF_ERROR(GetAlias(context, function, schedule.ref.alias));
  return {};
}

Result<void> CheckPayload(const Schedule& schedule) {
  if (schedule.payload.size() > kMaxPayloadBytes) {
    return Refuse(Code::kTooLarge, fmt::format("payload may have {} bytes", kMaxPayloadBytes));
  }
  if (IsJson(schedule.payload)) return {};
  return Refuse(Code::kValidation, "payload must be JSON that is not nested too deeply");
}

Result<void> SaveSchedule(store::Transaction& transaction, const ScheduleName& name,
                          const Schedule& schedule) {
  return WriteString(transaction, ScheduleKey(name.ns, name.name), Encode(schedule));
}

Result<ScheduleDetail> DetailOf(store::Transaction& transaction, const ScheduleName& name,
                                Schedule schedule) {
  ScheduleDetail detail{.schedule = std::move(schedule)};
  CAIRN_ASSIGN_OR_RETURN(const std::optional<ScheduleState> state,
                         FindScheduleState(transaction, name));
  detail.state = state.value_or(ScheduleState());
  if (!detail.schedule.enabled) return detail;
  const Result<Ticks> ticks = Ticks::Of(detail.schedule);
  if (!ticks.ok()) return detail;  // a time zone that this machine does not know
  int64_t tick = detail.state.next_tick_ms;
  for (int64_t i = 0; i < kShownTicks && tick != 0; ++i, tick = ticks->Next(tick)) {
    detail.next_ticks.push_back(tick);
  }
  return detail;
}

// One that the caller may see: of a function that it may not use, there is none.
Result<Schedule> LoadSchedule(const Context& context, const ScheduleName& name) {
  CAIRN_RETURN_IF_ERROR(CheckNames(name));
  CAIRN_ASSIGN_OR_RETURN(std::optional<Schedule> found, FindSchedule(context.transaction, name));
  if (!found || !context.Allows(FunctionOf(*found))) return NoSchedule(name);
  return *std::move(found);
}

void CancelScheduleTimer(store::Transaction& transaction, const ScheduleName& name,
                         int64_t tick_ms) {
  if (tick_ms == 0) return;
  transaction.CancelTimer(Timestamp::FromMillis(tick_ms), kTimerSchedule, ResourceName(name));
}

void Apply(const ScheduleUpdate& update, Schedule& schedule) {
  if (update.every_seconds) {
    schedule.every_seconds = *update.every_seconds;
    if (!update.cron) schedule.cron.clear();
    if (!update.time_zone) schedule.time_zone.clear();
  }
  if (update.cron) {
    schedule.cron = *update.cron;
    if (!update.every_seconds) schedule.every_seconds = 0;
  }
  if (update.time_zone) schedule.time_zone = *update.time_zone;
  if (!schedule.cron.empty() && schedule.time_zone.empty()) schedule.time_zone = kUtc;
  if (update.overlap) schedule.overlap = *update.overlap;
  if (update.ref) schedule.ref = *update.ref;
  if (update.payload) schedule.payload = *update.payload;
  if (update.enabled) schedule.enabled = *update.enabled;
}

bool SameTimes(const Schedule& one, const Schedule& other) {
  return one.every_seconds == other.every_seconds && one.cron == other.cron &&
         one.time_zone == other.time_zone;
}

// The tick that an update leads to.
int64_t TickAfterUpdate(const Ticks& ticks, const Schedule& before, const Schedule& after,
                        int64_t tick_ms, int64_t now_ms) {
  if (!SameTimes(before, after)) return ticks.Next(now_ms);
  // What passed while it was disabled is not made up for.
  if (after.enabled && !before.enabled && tick_ms < now_ms) {
    return ticks.NotBefore(now_ms, tick_ms == 0 ? now_ms : tick_ms);
  }
  return tick_ms;
}

}  // namespace

std::string ResourceName(const ScheduleName& schedule) {
  return fmt::format("{}/{}/{}", schedule.ns.tenant, schedule.ns.name, schedule.name);
}

std::optional<ScheduleName> ParseScheduleName(std::string_view text) {
  const size_t first = text.find('/');
  const size_t second = first == std::string_view::npos ? first : text.find('/', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return ScheduleName{
      {std::string(text.substr(0, first)), std::string(text.substr(first + 1, second - first - 1))},
      std::string(text.substr(second + 1))};
}

void AddTickScopes(const ScheduleName& schedule, store::Scopes& scopes) {
  AddScope(ScheduleKey(schedule.ns, schedule.name), scopes);
  AddScope(ScheduleStateKey(schedule.ns, schedule.name), scopes);
  AddScope(ScheduleInflightKey(schedule.ns, schedule.name), scopes);
}

void AddScheduleScopes(const ScheduleName& schedule, store::Scopes& scopes) {
  AddTickScopes(schedule, scopes);
  AddScope(ScheduleIndexKey(schedule.ns), scopes);
}

Result<std::optional<Schedule>> FindSchedule(store::Transaction& transaction,
                                             const ScheduleName& name) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(transaction, ScheduleKey(name.ns, name.name)));
  if (!record) return std::optional<Schedule>();
  CAIRN_ASSIGN_OR_RETURN(Schedule schedule, DecodeSchedule(*record));
  return std::optional(std::move(schedule));
}

Result<std::optional<ScheduleState>> FindScheduleState(store::Transaction& transaction,
                                                       const ScheduleName& name) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(transaction, ScheduleStateKey(name.ns, name.name)));
  if (!record) return std::optional<ScheduleState>();
  CAIRN_ASSIGN_OR_RETURN(ScheduleState state, DecodeScheduleState(*record));
  return std::optional(std::move(state));
}

Result<void> SaveScheduleState(store::Transaction& transaction, const ScheduleName& name,
                               const ScheduleState& state) {
  return WriteString(transaction, ScheduleStateKey(name.ns, name.name), Encode(state));
}

void SetScheduleTimer(store::Transaction& transaction, const ScheduleName& name, int64_t tick_ms) {
  if (tick_ms == 0) return;
  Bytes payload;
  AppendBig64(payload, static_cast<uint64_t>(tick_ms));
  transaction.SetTimer(Timestamp::FromMillis(tick_ms), kTimerSchedule, ResourceName(name), payload);
}

int64_t TickOfTimer(BytesView payload) {
  BytesReader reader(payload);
  const uint64_t tick = reader.Big64();
  return reader.ok() ? static_cast<int64_t>(tick) : 0;
}

Result<ScheduleDetail> CreateSchedule(Context& context, const ScheduleName& name,
                                      Schedule schedule) {
  CAIRN_RETURN_IF_ERROR(CheckNames(name));
  schedule.name = name.name;
  schedule.tenant = name.ns.tenant;
  schedule.ns = name.ns.name;
  schedule.created_at_ms = context.now_ms();
  if (!schedule.cron.empty() && schedule.time_zone.empty()) schedule.time_zone = kUtc;
  CAIRN_ASSIGN_OR_RETURN(const Ticks ticks, Ticks::Of(schedule));
  CAIRN_RETURN_IF_ERROR(CheckPayload(schedule));
  CAIRN_RETURN_IF_ERROR(CheckRef(context, schedule));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(context.transaction, ScheduleKey(name.ns, name.name)));
  if (record) {
    return Refuse(Code::kConflict, fmt::format("the schedule \"{}\" exists", name.name));
  }
  const std::string index = ScheduleIndexKey(name.ns);
  CAIRN_ASSIGN_OR_RETURN(const size_t count, CountInSet(context.transaction, index));
  if (count >= kMaxSchedules) {
    return Refuse(Code::kTooLarge, fmt::format("a namespace may have {} schedules", kMaxSchedules));
  }
  const ScheduleState state{.next_tick_ms = ticks.First(schedule.created_at_ms)};
  CAIRN_RETURN_IF_ERROR(AddToSet(context.transaction, index, name.name));
  CAIRN_RETURN_IF_ERROR(SaveSchedule(context.transaction, name, schedule));
  CAIRN_RETURN_IF_ERROR(SaveScheduleState(context.transaction, name, state));
  // What somebody may have left there by hand.
  CAIRN_RETURN_IF_ERROR(RemoveKey(context.transaction, ScheduleInflightKey(name.ns, name.name)));
  if (schedule.enabled) SetScheduleTimer(context.transaction, name, state.next_tick_ms);
  return DetailOf(context.transaction, name, std::move(schedule));
}

Result<ScheduleDetail> UpdateSchedule(Context& context, const ScheduleName& name,
                                      const ScheduleUpdate& update) {
  CAIRN_ASSIGN_OR_RETURN(const Schedule before, LoadSchedule(context, name));
  Schedule schedule = before;
  Apply(update, schedule);
  CAIRN_ASSIGN_OR_RETURN(const Ticks ticks, Ticks::Of(schedule));
  CAIRN_RETURN_IF_ERROR(CheckPayload(schedule));
  if (update.ref) CAIRN_RETURN_IF_ERROR(CheckRef(context, schedule));
  CAIRN_ASSIGN_OR_RETURN(std::optional<ScheduleState> found,
                         FindScheduleState(context.transaction, name));
  ScheduleState state = found.value_or(ScheduleState());
  CancelScheduleTimer(context.transaction, name, state.next_tick_ms);
  state.next_tick_ms =
      TickAfterUpdate(ticks, before, schedule, state.next_tick_ms, context.now_ms());
  CAIRN_RETURN_IF_ERROR(SaveSchedule(context.transaction, name, schedule));
  CAIRN_RETURN_IF_ERROR(SaveScheduleState(context.transaction, name, state));
  if (schedule.enabled) SetScheduleTimer(context.transaction, name, state.next_tick_ms);
  return DetailOf(context.transaction, name, std::move(schedule));
}

Result<ScheduleDetail> GetSchedule(const Context& context, const ScheduleName& name) {
  CAIRN_ASSIGN_OR_RETURN(Schedule schedule, LoadSchedule(context, name));
  return DetailOf(context.transaction, name, std::move(schedule));
}

Result<SchedulePage> ListSchedules(const Context& context, const NamespaceName& ns,
                                   const Page& page) {
  CAIRN_RETURN_IF_ERROR(CheckNamespace(ns));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         NamesInSet(context.transaction, ScheduleIndexKey(ns)));
  SchedulePage listed;
  for (auto at = std::ranges::upper_bound(names, page.after); at != names.end(); ++at) {
    const ScheduleName name{ns, *at};
    CAIRN_ASSIGN_OR_RETURN(std::optional<Schedule> schedule,
                           FindSchedule(context.transaction, name));
    // Somebody has deleted the key by hand, or it is not for this caller.
    if (!schedule || !context.Allows(FunctionOf(*schedule))) continue;
    if (listed.schedules.size() == page.limit) {
      listed.cursor = listed.schedules.back().schedule.name;
      return listed;
    }
    CAIRN_ASSIGN_OR_RETURN(ScheduleDetail detail,
                           DetailOf(context.transaction, name, *std::move(schedule)));
    listed.schedules.push_back(std::move(detail));
  }
  return listed;
}

Result<void> DeleteSchedule(Context& context, const ScheduleName& name) {
  CAIRN_RETURN_IF_ERROR(LoadSchedule(context, name));
  store::Transaction& transaction = context.transaction;
  CAIRN_ASSIGN_OR_RETURN(const std::optional<ScheduleState> state,
                         FindScheduleState(transaction, name));
  if (state) CancelScheduleTimer(transaction, name, state->next_tick_ms);
  for (const std::string& key :
       {ScheduleKey(name.ns, name.name), ScheduleStateKey(name.ns, name.name),
        ScheduleInflightKey(name.ns, name.name)}) {
    CAIRN_RETURN_IF_ERROR(RemoveKey(transaction, key));
  }
  return RemoveFromSet(transaction, ScheduleIndexKey(name.ns), name.name);
}

}  // namespace cairn::functions
