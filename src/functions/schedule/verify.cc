#include "functions/schedule/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/value/entry.h"
#include "data/value/keys.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/keys.h"
#include "functions/schedule/schedules.h"
#include "store/timers.h"

namespace cairn::functions {
namespace {

using Kind = ScheduleKeyParts::Kind;
// What is wrong with what one key belongs to; a body collects it anew each time it runs.
using Problems = std::vector<std::string>;

// A timer that has failed stands a little later than its tick.
constexpr int64_t kLongestRetryMs = 60'000;

// The first key from `from` on that begins with cs:schedule:.
Result<std::optional<std::string>> FirstKey(store::Store& store, const std::string& from) {
  std::optional<std::string> found;
  const store::Scopes none;
  const auto look = [&](store::Transaction& transaction) -> Result<void> {
    found.reset();
    store::Range range = data::RecordRange(kDatabase, kSchedulesPrefix);
    range.begin = std::max(range.begin, data::EncodeRecordKey({kDatabase, from}));
    return data::ScanRecords(transaction, range,
                             [&](const data::RecordKey& key, const data::Record&) {
                               found = std::string(key.user_key);
                               return false;
                             });
  };
  const Result<store::Commit> done = store.RunRead(none, look);
  if (!done.ok()) return done.error();
  return found;
}

// What a refusal says is a problem, and no value; any other error is the store's.
template <typename T>
Result<std::optional<T>> Told(const ScheduleName& name, Result<std::optional<T>> found,
                              Problems& problems) {
  if (found.ok() || !IsRefusal(found.error(), Code::kStoreReadFailed)) return found;
  problems.push_back(fmt::format("the schedule {} is damaged: {}", ResourceName(name),
                                 RefusalText(found.error())));
  return std::optional<T>();
}

Bytes TimerKey(const ScheduleName& name, int64_t tick_ms) {
  return store::EncodeTimerKey(Timestamp::FromMillis(tick_ms), kTimerSchedule, ResourceName(name));
}

Result<bool> HasTimer(store::Transaction& transaction, const ScheduleName& name, int64_t tick_ms) {
  CAIRN_ASSIGN_OR_RETURN(const auto row,
                         transaction.Get({store::Space::kTimers, TimerKey(name, tick_ms)}));
  return row.has_value();
}

// The timer of a tick that has failed and will be tried again.
Result<bool> IsTriedAgain(store::Transaction& transaction, const ScheduleName& name,
                          int64_t tick_ms) {
  const int64_t now_ms = transaction.now().millis();
  if (tick_ms > now_ms) return false;
  bool found = false;
  const Bytes end =
      store::EncodeTimerKey(Timestamp::FromMillis(now_ms + kLongestRetryMs), kTimerSchedule, "");
  const std::string owner = ResourceName(name);
  const Bytes begin = TimerKey(name, tick_ms);
  CAIRN_RETURN_IF_ERROR(transaction.Scan(
      {store::Space::kTimers, begin, end}, {}, [&](BytesView key, BytesView payload) {
        const std::optional<store::Timer> timer = store::DecodeTimerKey(key);
        found = timer && timer->kind == kTimerSchedule && timer->owner == owner &&
                TickOfTimer(payload) == tick_ms;
        return !found;
      }));
  return found;
}

Result<void> CheckSchedule(store::Transaction& transaction, const ScheduleName& name,
                           Problems& problems) {
  const auto problem = [&](std::string_view text) {
    problems.push_back(fmt::format("the schedule {} {}", ResourceName(name), text));
  };
  CAIRN_ASSIGN_OR_RETURN(const auto record, Told(name, FindSchedule(transaction, name), problems));
  if (!record) return {};  // damaged, or deleted since it was found
  const ScheduleName named{{record->tenant, record->ns}, record->name};
  if (named != name) problem(fmt::format("has the record of {}", ResourceName(named)));
  const Result<bool> listed = IsInSet(transaction, ScheduleIndexKey(name.ns), name.name);
  if (!listed.ok() && !IsRefusal(listed.error(), Code::kStoreReadFailed)) return listed.error();
  if (!listed.ok() || !*listed) problem("is not in the index");
  CAIRN_ASSIGN_OR_RETURN(const auto state,
                         Told(name, FindScheduleState(transaction, name), problems));
  if (!state) {
    problem("has no state");
    return {};
  }
  if (state->next_tick_ms == 0) return {};
  CAIRN_ASSIGN_OR_RETURN(const bool has, HasTimer(transaction, name, state->next_tick_ms));
  if (!record->enabled && has) problem("is disabled and has a timer");
  if (!record->enabled || has) return {};
  CAIRN_ASSIGN_OR_RETURN(const bool later, IsTriedAgain(transaction, name, state->next_tick_ms));
  if (!later) problem("has no timer for its next tick");
  return {};
}

// Every name of an index has a record.
Result<size_t> CheckIndex(store::Transaction& transaction, const NamespaceName& ns,
                          Problems& problems) {
  const Result<std::vector<std::string>> names = NamesInSet(transaction, ScheduleIndexKey(ns));
  if (!names.ok() && IsRefusal(names.error(), Code::kStoreReadFailed)) {
    problems.push_back(std::string(RefusalText(names.error())));
    return size_t{0};
  }
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    CAIRN_ASSIGN_OR_RETURN(const data::Entry entry,
                           data::Entry::Load(transaction, kDatabase, ScheduleKey(ns, name)));
    if (!entry.exists()) {
      problems.push_back(fmt::format("the index of schedules has {}, which is not a schedule",
                                     ResourceName(ScheduleName{ns, name})));
    }
  }
  return names->size();
}

// A state or a marker, of a schedule that is there.
Result<void> CheckPart(store::Transaction& transaction, const std::string& key,
                       const ScheduleKeyParts& parts, Problems& problems) {
  CAIRN_ASSIGN_OR_RETURN(const data::Entry entry, data::Entry::Load(transaction, kDatabase, key));
  if (!entry.exists()) return {};
  if (parts.kind == Kind::kInflight && !entry.expire_ms()) {
    problems.push_back(fmt::format("the key {} never expires", key));
  }
  CAIRN_ASSIGN_OR_RETURN(
      const data::Entry schedule,
      data::Entry::Load(transaction, kDatabase, ScheduleKey(parts.ns, parts.schedule)));
  if (!schedule.exists()) {
    problems.push_back(fmt::format("the key {} belongs to no schedule", key));
  }
  return {};
}

Result<void> CheckKey(store::Store& store, const std::string& key, const ScheduleKeyParts& parts,
                      house::Verification& verification) {
  Problems problems;
  size_t rows = 1;
  const store::Scopes none;
  const auto check = [&](store::Transaction& transaction) -> Result<void> {
    problems.clear();
    if (parts.kind == Kind::kIndex) {
      CAIRN_ASSIGN_OR_RETURN(rows, CheckIndex(transaction, parts.ns, problems));
      return {};
    }
    if (parts.kind == Kind::kMeta) {
      return CheckSchedule(transaction, {parts.ns, parts.schedule}, problems);
    }
    return CheckPart(transaction, key, parts, problems);
  };
  CAIRN_RETURN_IF_ERROR(store.RunRead(none, check));
  for (std::string& problem : problems) verification.Problem(std::move(problem));
  static_cast<void>(verification.Read(rows));
  return {};
}

}  // namespace

Result<void> VerifySchedules(store::Store& store, house::Verification& verification) {
  std::string from(kSchedulesPrefix);
  while (!verification.abandoned()) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> key, FirstKey(store, from));
    if (!key) return {};
    const std::optional<ScheduleKeyParts> parts = ParseScheduleKey(*key);
    if (parts) {
      CAIRN_RETURN_IF_ERROR(CheckKey(store, *key, *parts, verification));
    } else {
      verification.Problem(fmt::format("the key {} is none of a schedule", Printable(*key)));
    }
    from = *key + '\0';
  }
  return {};
}

}  // namespace cairn::functions
