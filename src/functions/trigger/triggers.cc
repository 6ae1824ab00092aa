#include "functions/trigger/triggers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "data/value/keys.h"
#include "doors/resp/glob.h"
#include "functions/activation/resolve.h"
#include "functions/control/aliases.h"
#include "functions/control/values.h"
#include "functions/control/versions.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/trigger/batches.h"
#include "jobs/ledger/event.h"
#include "jobs/model/ids.h"
#include "jobs/model/limits.h"
#include "jobs/model/queue_state.h"
#include "jobs/operations/line.h"

namespace cairn::functions {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kDatabases = 16;

Error NoTrigger(const TriggerId& id) {
  return Refuse(Code::kNotFound, fmt::format("there is no trigger \"{}\" in {}/{}", id.name,
                                             id.ns.tenant, id.ns.name));
}

Result<void> CheckNames(const TriggerId& id) {
  CAIRN_RETURN_IF_ERROR(CheckNamespace(id.ns));
  return CheckName(NameKind::kTrigger, id.name);
}

Error Wrong(std::string_view text) { return Refuse(Code::kValidation, text); }

// --- What a source may say
// ------------------------------------------------------------------------

Result<void> CheckQueues(const TriggerSource& source) {
  if (source.names.size() > kMaxTriggerQueues) {
    return Wrong(fmt::format("source.queues may name {} queues", kMaxTriggerQueues));
  }
  if (!source.types.empty()) return Wrong("source.types is for events, not for a queue's jobs");
  for (const std::string& queue : source.names) {
    if (!jobs::IsName(queue, jobs::kMaxQueueNameBytes)) {
      return Wrong(
          fmt::format("source.queues: \"{}\" is not a queue's name", Printable(queue, 64)));
    }
    if (IsPlatformQueue(queue)) {
      return Wrong(fmt::format("source.queues: {} belongs to the platform", queue));
    }
    if (std::ranges::count(source.names, queue) > 1) {
      return Wrong(fmt::format("source.queues has {} twice", queue));
    }
  }
  return {};
}

Result<void> CheckSource(const TriggerSource& source) {
  const std::string_view member = NamesMember(source.type);
  if (source.names.empty()) return Wrong(fmt::format("source.{} must name something", member));
  if (source.type == SourceType::kQueue) return CheckQueues(source);
  if (source.names.size() > kMaxTriggerNames || source.types.size() > kMaxTriggerNames) {
    return Wrong(
        fmt::format("source.{} and source.types may have {} entries", member, kMaxTriggerNames));
  }
  for (const std::string& name : source.names) {
    if (name.empty() || name.size() > kMaxTriggerNameBytes) {
      return Wrong(
          fmt::format("source.{}: a pattern has 1 to {} bytes", member, kMaxTriggerNameBytes));
    }
  }
  for (const std::string& type : source.types) {
    if (type.empty() || type.size() > kMaxTriggerNameBytes) {
      return Wrong(fmt::format("source.types: a type has 1 to {} bytes", kMaxTriggerNameBytes));
    }
    if (source.type == SourceType::kJobs && !jobs::ParseEventType(type)) {
      return Wrong(fmt::format("source.types: jobs have no event \"{}\"", Printable(type, 32)));
    }
  }
  if (source.database < 0 || source.database >= kDatabases) {
    return Wrong(fmt::format("source.database must be from 0 to {}", kDatabases - 1));
  }
  return {};
}

// Whether whatever the pattern names is among `names`.
bool CoversPattern(const doors::NamePatterns& names, std::string_view pattern) {
  const std::string_view literal = doors::GlobLiteralPrefix(pattern);
  if (literal.size() == pattern.size()) return names.Allows(pattern);
  return std::ranges::any_of(names.patterns(), [&](const doors::NamePatterns::Pattern& one) {
    return one.prefix && literal.starts_with(one.text);
  });
}

Result<void> CheckRight(const Context& context, const TriggerSource& source) {
  const auto refuse = [](std::string_view what) {
    return Refuse(Code::kResourceMismatch,
                  fmt::format("the key does not allow {}, which the trigger would use", what));
  };
  if (source.type == SourceType::kSeats || source.type == SourceType::kKeys) {
    if (!context.has_everything) return refuse(SourceName(source.type));
    if (source.type == SourceType::kKeys && !context.reads_all_keys) return refuse("every key");
    return {};
  }
  if (context.queues == nullptr) return {};
  for (const std::string& name : source.names) {
    const bool allowed = source.type == SourceType::kQueue ? context.queues->Allows(name)
                                                           : CoversPattern(*context.queues, name);
    if (!allowed) return refuse(fmt::format("the queue {}", Printable(name, 64)));
  }
  return {};
}

// The function is there and the caller's to use, and so is what the ref names.
Result<void> CheckRef(const Context& context, const TriggerConfig& trigger) {
  const FunctionName function = trigger.function();
  CAIRN_RETURN_IF_ERROR(LoadFunction(context, function));
  if (trigger.ref.version) {
    CAIRN_RETURN_IF_ERROR(LoadVersionMeta(context.transaction, function, *trigger.ref.version));
    return {};
  }
  if (trigger.ref.alias.empty()) return Wrong("ref.alias or ref.version must be there");
  CAIRN_RETURN_IF_ERROR(GetAlias(context, function, trigger.ref.alias));
  return {};
}

Result<void> CheckNumbers(const TriggerConfig& trigger) {
  const auto check = [](std::string_view name, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) return Result<void>();
    return Result<void>(Wrong(fmt::format("{} must be from {} to {}", name, least, most)));
  };
  CAIRN_RETURN_IF_ERROR(check("batch_size", trigger.batch_size, 1, kMaxTriggerBatch));
  CAIRN_RETURN_IF_ERROR(check("window_ms", trigger.window_ms, 0, kMaxTriggerWindowMs));
  return check("concurrency", trigger.concurrency, 1, kMaxTriggerConcurrency);
}

// One more can be enabled.
Result<void> CheckRoom(store::Transaction& transaction) {
  CAIRN_ASSIGN_OR_RETURN(const auto all,
                         NamesInIndex(transaction, kTriggerIndexKey, "", kMaxTriggersAll));
  if (all.size() < kMaxTriggersAll) return {};
  return Refuse(Code::kTooLarge,
                fmt::format("a server may have {} enabled triggers", kMaxTriggersAll));
}

// --- Records
// --------------------------------------------------------------------------------------

Result<void> SaveTrigger(store::Transaction& transaction, const TriggerId& id,
                         const TriggerConfig& trigger) {
  CAIRN_RETURN_IF_ERROR(WriteString(transaction, TriggerKey(id.ns, id.name), Encode(trigger)));
  const std::string name = ResourceName(id);
  CAIRN_RETURN_IF_ERROR(trigger.enabled ? AddToIndex(transaction, kTriggerIndexKey, name)
                                        : RemoveFromIndex(transaction, kTriggerIndexKey, name));
  transaction.Wake(TriggersTopic());
  if (trigger.source.type == SourceType::kKeys) transaction.Wake(KeyTriggersTopic());
  return {};
}

// One that the caller may see: of a function that it may not use, there is none.
Result<TriggerConfig> LoadTrigger(const Context& context, const TriggerId& id) {
  CAIRN_RETURN_IF_ERROR(CheckNames(id));
  CAIRN_ASSIGN_OR_RETURN(std::optional<TriggerConfig> found, FindTrigger(context.transaction, id));
  if (!found || !context.Allows(found->function())) return NoTrigger(id);
  return *std::move(found);
}

// --- What is shown
// --------------------------------------------------------------------------------

Result<TriggerPosition> PositionInQueues(store::Transaction& transaction,
                                         const TriggerConfig& trigger) {
  TriggerPosition position;
  uint64_t oldest_ns = 0;
  for (const std::string& queue : trigger.source.names) {
    CAIRN_ASSIGN_OR_RETURN(const auto state, jobs::LoadQueueState(transaction, queue));
    if (!state) continue;
    CAIRN_ASSIGN_OR_RETURN(const uint64_t first_ns, jobs::OldestInLine(transaction, queue, *state));
    if (first_ns == 0) continue;
    oldest_ns = position.behind ? std::min(oldest_ns, first_ns) : first_ns;
    position.behind = true;
  }
  if (position.behind) {
    const int64_t since_ms = static_cast<int64_t>(oldest_ns) / kNsPerMs;
    position.lag_ms = std::max<int64_t>(0, transaction.now().millis() - since_ms);
  }
  return position;
}

Result<TriggerPosition> PositionOf(store::Transaction& transaction, const TriggerPlace& place,
                                   const TriggerConfig& trigger, const TriggerState& state) {
  if (trigger.source.type == SourceType::kQueue) return PositionInQueues(transaction, trigger);
  const SourcePlace source{trigger.source, place.seats_prefix};
  TriggerPosition position{.cursor = state.cursor};
  CAIRN_ASSIGN_OR_RETURN(position.newest, NewestOf(transaction, source));
  CAIRN_ASSIGN_OR_RETURN(const SourcePage next, ReadSource(transaction, source, state.cursor, 1));
  position.behind = !next.events.empty();
  if (position.behind) {
    position.lag_ms = std::max<int64_t>(0, transaction.now().millis() - next.events.front().at_ms);
  }
  return position;
}

Result<TriggerDetail> DetailOf(store::Transaction& transaction, const TriggerPlace& place,
                               const TriggerId& id, TriggerConfig trigger) {
  TriggerDetail detail{.trigger = std::move(trigger)};
  CAIRN_ASSIGN_OR_RETURN(const std::optional<TriggerState> state,
                         FindTriggerState(transaction, id));
  detail.state = state.value_or(TriggerState());
  if (detail.trigger.enabled) {
    const Result<void> may = CheckMayRun(transaction, detail.trigger);
    if (!may.ok() && may.error().code == ErrorCode::kWouldBlock) return may.error();
    if (!may.ok()) detail.paused = RefusalText(may.error());
  }
  CAIRN_ASSIGN_OR_RETURN(detail.position,
                         PositionOf(transaction, place, detail.trigger, detail.state));
  return detail;
}

void Apply(const TriggerUpdate& update, TriggerConfig& trigger) {
  if (update.source) trigger.source = *update.source;
  if (update.ref) trigger.ref = *update.ref;
  if (update.batch_size) trigger.batch_size = *update.batch_size;
  if (update.window_ms) trigger.window_ms = *update.window_ms;
  if (update.concurrency) trigger.concurrency = *update.concurrency;
  if (update.enabled) trigger.enabled = *update.enabled;
}

}  // namespace

void AddTriggerStateScopes(const TriggerId& trigger, store::Scopes& scopes) {
  AddScope(TriggerStateKey(trigger.ns, trigger.name), scopes);
}

void AddTriggerScopes(const TriggerId& trigger, store::Scopes& scopes) {
  AddTriggerStateScopes(trigger, scopes);
  AddScope(TriggerKey(trigger.ns, trigger.name), scopes);
  AddScope(TriggerSetKey(trigger.ns), scopes);
  AddScope(kTriggerIndexKey, scopes);
}

Result<std::optional<TriggerConfig>> FindTrigger(store::Transaction& transaction,
                                                 const TriggerId& id) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(transaction, TriggerKey(id.ns, id.name)));
  if (!record) return std::optional<TriggerConfig>();
  CAIRN_ASSIGN_OR_RETURN(TriggerConfig trigger, DecodeTriggerConfig(*record));
  return std::optional(std::move(trigger));
}

Result<std::optional<TriggerState>> FindTriggerState(store::Transaction& transaction,
                                                     const TriggerId& id) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(transaction, TriggerStateKey(id.ns, id.name)));
  if (!record) return std::optional<TriggerState>();
  CAIRN_ASSIGN_OR_RETURN(TriggerState state, DecodeTriggerState(*record));
  return std::optional(std::move(state));
}

Result<void> SaveTriggerState(store::Transaction& transaction, const TriggerId& id,
                              const TriggerState& state) {
  return WriteString(transaction, TriggerStateKey(id.ns, id.name), Encode(state));
}

Result<std::vector<std::pair<TriggerId, TriggerConfig>>> ListEnabled(
    store::Transaction& transaction) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         NamesInIndex(transaction, kTriggerIndexKey, "", kMaxTriggersAll));
  std::vector<std::pair<TriggerId, TriggerConfig>> enabled;
  for (const std::string& name : names) {
    const std::optional<TriggerId> id = ParseTriggerId(name);
    if (!id) continue;
    Result<std::optional<TriggerConfig>> found = FindTrigger(transaction, *id);
    if (!found.ok() && !IsRefusal(found.error(), Code::kStoreReadFailed)) return found.error();
    if (!found.ok() || !*found || !(*found)->enabled) continue;
    enabled.emplace_back(*id, **std::move(found));
  }
  return enabled;
}

Result<bool> TrimReadKeys(store::Transaction& transaction) {
  CAIRN_ASSIGN_OR_RETURN(const auto enabled, ListEnabled(transaction));
  doors::KeyLogTrim trim{.read_to = std::numeric_limits<uint64_t>::max(),
                         .oldest_ms = transaction.now().millis() - kKeyEventsKeptMs};
  for (const auto& [id, trigger] : enabled) {
    if (trigger.source.type != SourceType::kKeys) continue;
    CAIRN_ASSIGN_OR_RETURN(const auto state, FindTriggerState(transaction, id));
    trim.read_to = std::min(trim.read_to, state ? state->cursor : 0);
  }
  return doors::TrimKeyEvents(transaction, trim);
}

store::Topic TriggersTopic() { return store::Topic::Of(store::Space::kData, "functions.triggers"); }
store::Topic KeyTriggersTopic() {
  return store::Topic::Of(store::Space::kData, "functions.triggers.keys");
}
store::Topic TriggerTopic(const TriggerId& id) {
  return store::Topic::Of(store::Space::kData, "functions.trigger " + ResourceName(id));
}

Result<TriggerDetail> CreateTrigger(Context& context, const TriggerPlace& place,
                                    const TriggerId& id, TriggerConfig trigger, StartAt start) {
  CAIRN_RETURN_IF_ERROR(CheckNames(id));
  trigger.name = id.name;
  trigger.tenant = id.ns.tenant;
  trigger.ns = id.ns.name;
  trigger.created_at_ms = context.now_ms();
  CAIRN_RETURN_IF_ERROR(CheckSource(trigger.source));
  CAIRN_RETURN_IF_ERROR(CheckNumbers(trigger));
  CAIRN_RETURN_IF_ERROR(CheckRight(context, trigger.source));
  CAIRN_RETURN_IF_ERROR(CheckRef(context, trigger));
  store::Transaction& transaction = context.transaction;
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(transaction, TriggerKey(id.ns, id.name)));
  if (record) {
    return Refuse(Code::kConflict, fmt::format("the trigger \"{}\" exists", id.name));
  }
  const std::string set = TriggerSetKey(id.ns);
  CAIRN_ASSIGN_OR_RETURN(const size_t count, CountInSet(transaction, set));
  if (count >= kMaxTriggers) {
    return Refuse(Code::kTooLarge, fmt::format("a namespace may have {} triggers", kMaxTriggers));
  }
  if (trigger.enabled) CAIRN_RETURN_IF_ERROR(CheckRoom(transaction));
  const SourcePlace source{trigger.source, place.seats_prefix};
  TriggerState state;
  CAIRN_ASSIGN_OR_RETURN(state.cursor, start == StartAt::kOldest ? OldestOf(transaction, source)
                                                                 : NewestOf(transaction, source));
  CAIRN_RETURN_IF_ERROR(AddToSet(transaction, set, id.name));
  CAIRN_RETURN_IF_ERROR(SaveTrigger(transaction, id, trigger));
  CAIRN_RETURN_IF_ERROR(SaveTriggerState(transaction, id, state));
  return DetailOf(transaction, place, id, std::move(trigger));
}

Result<TriggerDetail> UpdateTrigger(Context& context, const TriggerPlace& place,
                                    const TriggerId& id, const TriggerUpdate& update) {
  CAIRN_ASSIGN_OR_RETURN(const TriggerConfig before, LoadTrigger(context, id));
  TriggerConfig trigger = before;
  Apply(update, trigger);
  if (trigger.source.type != before.source.type) {
    return Wrong("source.type cannot be changed; make another trigger");
  }
  CAIRN_RETURN_IF_ERROR(CheckSource(trigger.source));
  CAIRN_RETURN_IF_ERROR(CheckNumbers(trigger));
  // Enabling a trigger makes it use its source.
  const bool begins = trigger.enabled && !before.enabled;
  if (update.source || begins) CAIRN_RETURN_IF_ERROR(CheckRight(context, trigger.source));
  if (update.ref) CAIRN_RETURN_IF_ERROR(CheckRef(context, trigger));
  store::Transaction& transaction = context.transaction;
  if (begins) CAIRN_RETURN_IF_ERROR(CheckRoom(transaction));
  if (begins && trigger.source.type == SourceType::kKeys) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<TriggerState> found,
                           FindTriggerState(transaction, id));
    TriggerState state = found.value_or(TriggerState());
    CAIRN_ASSIGN_OR_RETURN(const uint64_t newest,
                           NewestOf(transaction, {trigger.source, place.seats_prefix}));
    state.cursor = std::max(state.cursor, newest);
    CAIRN_RETURN_IF_ERROR(SaveTriggerState(transaction, id, state));
  }
  CAIRN_RETURN_IF_ERROR(SaveTrigger(transaction, id, trigger));
  return DetailOf(transaction, place, id, std::move(trigger));
}

Result<TriggerDetail> GetTrigger(const Context& context, const TriggerPlace& place,
                                 const TriggerId& id) {
  CAIRN_ASSIGN_OR_RETURN(TriggerConfig trigger, LoadTrigger(context, id));
  return DetailOf(context.transaction, place, id, std::move(trigger));
}

Result<TriggerPage> ListTriggers(const Context& context, const TriggerPlace& place,
                                 const NamespaceName& ns, const Page& page) {
  CAIRN_RETURN_IF_ERROR(CheckNamespace(ns));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         NamesInSet(context.transaction, TriggerSetKey(ns)));
  TriggerPage listed;
  for (auto at = std::ranges::upper_bound(names, page.after); at != names.end(); ++at) {
    const TriggerId id{ns, *at};
    CAIRN_ASSIGN_OR_RETURN(std::optional<TriggerConfig> trigger,
                           FindTrigger(context.transaction, id));
    // Somebody has deleted the key by hand, or it is not for this caller.
    if (!trigger || !context.Allows(trigger->function())) continue;
    if (listed.triggers.size() == page.limit) {
      listed.cursor = listed.triggers.back().trigger.name;
      return listed;
    }
    CAIRN_ASSIGN_OR_RETURN(TriggerDetail detail,
                           DetailOf(context.transaction, place, id, *std::move(trigger)));
    listed.triggers.push_back(std::move(detail));
  }
  return listed;
}

Result<void> DeleteTrigger(Context& context, const TriggerId& id) {
  CAIRN_ASSIGN_OR_RETURN(const TriggerConfig trigger, LoadTrigger(context, id));
  store::Transaction& transaction = context.transaction;
  for (const std::string& key : {TriggerKey(id.ns, id.name), TriggerStateKey(id.ns, id.name)}) {
    CAIRN_RETURN_IF_ERROR(RemoveKey(transaction, key));
  }
  CAIRN_RETURN_IF_ERROR(RemoveFromSet(transaction, TriggerSetKey(id.ns), id.name));
  CAIRN_RETURN_IF_ERROR(RemoveFromIndex(transaction, kTriggerIndexKey, ResourceName(id)));
  transaction.Wake(TriggersTopic());
  if (trigger.source.type == SourceType::kKeys) transaction.Wake(KeyTriggersTopic());
  return {};
}

}  // namespace cairn::functions
