#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "functions/control/context.h"
#include "functions/control/functions.h"
#include "functions/model/records.h"
#include "store/scopes.h"
#include "store/transaction.h"

// Schedules: functions that are invoked again and again. Each function here is one step inside a
// transaction, with the rules of control/functions.h. Who may use a function may use its schedules.
//
//   create ─→ enabled ⇄ disabled          a timer exists exactly while it is enabled (firing.h)
//                └── delete ─→ gone
//
// The record (…:meta) says what is wanted and the state (…:state) how far it has come, so a tick
// writes only the state.
namespace cairn::functions {

// Stored: never renumber. store/timers.h has those of the layers below.
//
//   kind kTimerSchedule   owner TENANT/NAMESPACE/SCHEDULE   payload next_tick_ms:8BE
inline constexpr uint8_t kTimerSchedule = 49;

struct ScheduleName {
  NamespaceName ns;
  std::string name;
  friend auto operator<=>(const ScheduleName&, const ScheduleName&) = default;
};
// "T/N/S", as commands and timers name it.
std::string ResourceName(const ScheduleName& schedule);
// nullopt unless it has these parts; the names are not checked.
std::optional<ScheduleName> ParseScheduleName(std::string_view text);

// The scopes of everything that changes one schedule, its ticks included; and of creating and
// deleting it.
void AddTickScopes(const ScheduleName& schedule, store::Scopes& scopes);
void AddScheduleScopes(const ScheduleName& schedule, store::Scopes& scopes);

struct ScheduleDetail {
  Schedule schedule;
  ScheduleState state;
  std::vector<int64_t> next_ticks;  // a few, for people; none while it is disabled
};

// The tenant, namespace, name and times of `schedule` are set here. CS_CONFLICT if there is one of
// this name, CS_NOT_FOUND if its function, alias or version does not exist, CS_TOO_LARGE if the
// namespace has kMaxSchedules.
Result<ScheduleDetail> CreateSchedule(Context& context, const ScheduleName& name,
                                      Schedule schedule);
// What is given replaces what was; the rest stays.
struct ScheduleUpdate {
  std::optional<int64_t> every_seconds = {};  // one of the two replaces the other
  std::optional<std::string> cron = {};
  std::optional<std::string> time_zone = {};
  std::optional<Overlap> overlap = {};
  std::optional<Ref> ref = {};
  std::optional<std::string> payload = {};
  std::optional<bool> enabled = {};
};
// A schedule whose times are changed, or that is enabled, has its next tick in the future.
Result<ScheduleDetail> UpdateSchedule(Context& context, const ScheduleName& name,
                                      const ScheduleUpdate& update);
Result<ScheduleDetail> GetSchedule(const Context& context, const ScheduleName& name);
// By name; those of functions that the caller may not use are left out. `cursor` is the next page's
// `after`, empty if there is none.
struct SchedulePage {
  std::vector<ScheduleDetail> schedules;
  std::string cursor;
};
Result<SchedulePage> ListSchedules(const Context& context, const NamespaceName& ns,
                                   const Page& page);
// Activations of its ticks go on.
Result<void> DeleteSchedule(Context& context, const ScheduleName& name);

// --- For ticks and checks ------------------------------------------------------------------------

// nullopt: there is none.
Result<std::optional<Schedule>> FindSchedule(store::Transaction& transaction,
                                             const ScheduleName& name);
Result<std::optional<ScheduleState>> FindScheduleState(store::Transaction& transaction,
                                                       const ScheduleName& name);
Result<void> SaveScheduleState(store::Transaction& transaction, const ScheduleName& name,
                               const ScheduleState& state);
// Nothing if there is no next tick.
void SetScheduleTimer(store::Transaction& transaction, const ScheduleName& name, int64_t tick_ms);
// The tick of a timer.
int64_t TickOfTimer(BytesView payload);

}  // namespace cairn::functions
