#include "functions/control/aliases.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "functions/control/functions.h"
#include "functions/control/values.h"
#include "functions/control/versions.h"
#include "functions/control/warm.h"
#include "functions/model/names.h"

namespace cairn::functions {
namespace {

constexpr std::string_view kCompleted = "completed";
constexpr std::string_view kRolledBack = "rolled_back";
constexpr std::string_view kCancelled = "cancelled";
constexpr int64_t kAllPercent = 100;

Error NoAlias(const FunctionName& function, std::string_view alias) {
  return Refuse(Code::kNotFound,
                fmt::format("the function \"{}\" has no alias \"{}\"", function.name, alias));
}

Result<std::optional<Alias>> FindAlias(store::Transaction& transaction,
                                       const FunctionName& function, std::string_view alias) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(transaction, AliasKey(function, alias)));
  if (!record) return std::optional<Alias>();
  CAIRN_ASSIGN_OR_RETURN(Alias decoded, DecodeAlias(*record));
  return std::optional(std::move(decoded));
}

// Of a caller: the function is there, and the alias.
Result<Alias> LoadAlias(const Context& context, const FunctionName& function,
                        std::string_view alias) {
  CAIRN_RETURN_IF_ERROR(LoadFunction(context, function));
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kAlias, alias));
  CAIRN_ASSIGN_OR_RETURN(std::optional<Alias> found,
                         FindAlias(context.transaction, function, alias));
  if (!found) return NoAlias(function, alias);
  return *std::move(found);
}

Result<void> SaveAlias(store::Transaction& transaction, const FunctionName& function,
                       const Alias& alias) {
  if (alias.min_warm != 0) transaction.Wake(WarmTopic());
  return WriteString(transaction, AliasKey(function, alias.alias), Encode(alias));
}

struct ShiftTimer {
  FunctionName function;
  std::string alias;
};
std::optional<ShiftTimer> DecodeTimerOwner(std::string_view owner) {
  const size_t first = owner.find('/');
  const size_t second = first == std::string_view::npos ? first : owner.find('/', first + 1);
  const size_t colon = second == std::string_view::npos ? second : owner.find(':', second + 1);
  if (colon == std::string_view::npos) return std::nullopt;
  return ShiftTimer{{std::string(owner.substr(0, first)),
                     std::string(owner.substr(first + 1, second - first - 1)),
                     std::string(owner.substr(second + 1, colon - second - 1))},
                    std::string(owner.substr(colon + 1))};
}

void SetShiftTimer(store::Transaction& transaction, const FunctionName& function,
                   const Alias& alias) {
  transaction.SetTimer(Timestamp::FromMillis(alias.shift->next_step_at_ms), kTimerShift,
                       ShiftTimerOwner(function, alias.alias), alias.shift->id);
}

// The alias without its shift, which ends here. The target stays as it is.
Result<void> EndShift(store::Transaction& transaction, const FunctionName& function, Alias& alias,
                      std::string_view state, std::string reason) {
  if (!alias.shift) return {};
  CancelShiftTimer(transaction, function, alias);
  CAIRN_RETURN_IF_ERROR(RemoveKey(transaction, ShiftKey(function, alias.alias)));
  alias.last_shift = ShiftEnd{.from = alias.shift->from,
                              .to = alias.shift->to,
                              .state = std::string(state),
                              .reason = std::move(reason),
                              .ended_at_ms = transaction.now().millis()};
  alias.shift.reset();
  return {};
}

// What rollback returns to. While a shift goes on, the target before it is the first already.
void Remember(Alias& alias) {
  alias.history.insert(alias.history.begin(), {alias.target, alias.updated_at_ms});
  if (alias.history.size() > kAliasHistory) alias.history.resize(kAliasHistory);
}

void Forget(Alias& alias) {
  if (!alias.history.empty()) alias.history.erase(alias.history.begin());
}

// A new step begins: nothing has happened in it yet.
Result<void> BeginStep(store::Transaction& transaction, const FunctionName& function,
                       Alias& alias) {
  Shift& shift = *alias.shift;
  const int64_t now = transaction.now().millis();
  shift.next_step_at_ms = now + shift.interval_seconds * kSecondMs;
  alias.target = {.version = shift.from,
                  .second = Target::Weighted{shift.to, shift.step * shift.step_percent}};
  alias.updated_at_ms = now;
  SetShiftTimer(transaction, function, alias);
  const ShiftOutcomes none{.shift = shift.id, .version = shift.to, .step = shift.step};
  return WriteString(transaction, ShiftKey(function, alias.alias), Encode(none));
}

Result<ShiftOutcomes> LoadOutcomes(store::Transaction& transaction, const FunctionName& function,
                                   const Alias& alias) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(transaction, ShiftKey(function, alias.alias)));
  const Shift& shift = *alias.shift;
  ShiftOutcomes outcomes{.shift = shift.id, .version = shift.to, .step = shift.step};
  if (!record) return outcomes;
  CAIRN_ASSIGN_OR_RETURN(ShiftOutcomes stored, DecodeShiftOutcomes(*record));
  // Of an earlier shift, if somebody has put it back by hand.
  return stored.shift == shift.id && stored.step == shift.step ? stored : outcomes;
}

bool FailsTooOften(const Shift& shift, const ShiftOutcomes& outcomes) {
  return outcomes.total > 0 && static_cast<double>(outcomes.errors) >
                                   shift.max_error_rate * static_cast<double>(outcomes.total);
}

Result<void> UndoShift(store::Transaction& transaction, const FunctionName& function, Alias& alias,
                       const ShiftOutcomes& outcomes) {
  const uint64_t from = alias.shift->from;
  std::string reason =
      fmt::format("{} of {} invocations of version {} failed, which is more than {} of them",
                  outcomes.errors, outcomes.total, alias.shift->to, alias.shift->max_error_rate);
  CAIRN_RETURN_IF_ERROR(EndShift(transaction, function, alias, kRolledBack, std::move(reason)));
  alias.target = {.version = from};
  alias.updated_at_ms = transaction.now().millis();
  Forget(alias);
  return SaveAlias(transaction, function, alias);
}

Result<void> TakeStep(store::Transaction& transaction, const FunctionName& function, Alias& alias) {
  CAIRN_ASSIGN_OR_RETURN(const ShiftOutcomes outcomes, LoadOutcomes(transaction, function, alias));
  if (FailsTooOften(*alias.shift, outcomes)) {
    return UndoShift(transaction, function, alias, outcomes);
  }
  ++alias.shift->step;
  if (alias.shift->step * alias.shift->step_percent < kAllPercent) {
    CAIRN_RETURN_IF_ERROR(BeginStep(transaction, function, alias));
  } else {
    const uint64_t to = alias.shift->to;
    CAIRN_RETURN_IF_ERROR(EndShift(transaction, function, alias, kCompleted, ""));
    alias.target = {.version = to};
    alias.updated_at_ms = transaction.now().millis();
  }
  return SaveAlias(transaction, function, alias);
}

Result<void> CheckTarget(const Context& context, const FunctionName& function,
                         const Target& target) {
  CAIRN_RETURN_IF_ERROR(LoadVersionMeta(context.transaction, function, target.version));
  if (!target.second) return {};
  if (target.second->version == target.version) {
    return Refuse(Code::kValidation, "weights must name another version than the alias itself");
  }
  if (target.second->weight < 1 || target.second->weight >= kAllPercent) {
    return Refuse(Code::kValidation, "weights[0].weight must be an integer from 1 to 99");
  }
  CAIRN_RETURN_IF_ERROR(LoadVersionMeta(context.transaction, function, target.second->version));
  return {};
}

Result<void> CheckRoom(const Context& context, const FunctionName& function) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         KeysBehind(context.transaction, AliasPrefix(function)));
  if (names.size() < kMaxAliases) return {};
  return Refuse(Code::kTooLarge, fmt::format("a function may have {} aliases", kMaxAliases));
}

Result<void> CheckShift(const ShiftRequest& request) {
  if (request.step_percent < 1 || request.step_percent >= kAllPercent) {
    return Refuse(Code::kValidation, "step_percent must be an integer from 1 to 99");
  }
  if (request.interval_seconds < kMinShiftIntervalSeconds ||
      request.interval_seconds > kMaxShiftIntervalSeconds) {
    return Refuse(Code::kValidation,
                  fmt::format("interval_seconds must be an integer from {} to {}",
                              kMinShiftIntervalSeconds, kMaxShiftIntervalSeconds));
  }
  if (!(request.max_error_rate >= 0 && request.max_error_rate <= 1)) {
    return Refuse(Code::kValidation, "max_error_rate must be a number from 0 to 1");
  }
  return {};
}

}  // namespace

void AddAliasScopes(const FunctionName& function, std::string_view alias, store::Scopes& scopes) {
  AddScope(AliasKey(function, alias), scopes);
  AddScope(ShiftKey(function, alias), scopes);
}

Bytes ShiftTimerOwner(const FunctionName& function, std::string_view alias) {
  return fmt::format("{}:{}", ResourceName(function), alias);
}

void CancelShiftTimer(store::Transaction& transaction, const FunctionName& function,
                      const Alias& alias) {
  if (!alias.shift) return;
  transaction.CancelTimer(Timestamp::FromMillis(alias.shift->next_step_at_ms), kTimerShift,
                          ShiftTimerOwner(function, alias.alias));
}

Result<Alias> SetAlias(Context& context, const FunctionName& function, const AliasUpdate& update) {
  CAIRN_RETURN_IF_ERROR(LoadFunction(context, function));
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kAlias, update.alias));
  CAIRN_RETURN_IF_ERROR(CheckTarget(context, function, update.target));
  if (update.min_warm.value_or(0) < 0 || update.min_warm.value_or(0) > kMaxWarm) {
    return Refuse(Code::kValidation,
                  fmt::format("min_warm must be an integer from 0 to {}", kMaxWarm));
  }
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Alias> found,
                         FindAlias(context.transaction, function, update.alias));
  Alias alias{.alias = update.alias};
  if (found) {
    alias = *found;
    const bool shifting = alias.shift.has_value();
    CAIRN_RETURN_IF_ERROR(EndShift(context.transaction, function, alias, kCancelled,
                                   "the alias was set while the shift was under way"));
    if (!shifting && alias.target != update.target) Remember(alias);
  } else {
    CAIRN_RETURN_IF_ERROR(CheckRoom(context, function));
  }
  alias.target = update.target;
  alias.updated_at_ms = context.now_ms();
  const WarmChange warm{alias.min_warm, update.min_warm.value_or(alias.min_warm)};
  CAIRN_RETURN_IF_ERROR(NoteWarm(context, function, update.alias, warm));
  alias.min_warm = warm.after;
  CAIRN_RETURN_IF_ERROR(SaveAlias(context.transaction, function, alias));
  return alias;
}

Result<Alias> GetAlias(const Context& context, const FunctionName& function,
                       std::string_view alias) {
  return LoadAlias(context, function, alias);
}

Result<std::vector<Alias>> ListAliases(const Context& context, const FunctionName& function) {
  CAIRN_RETURN_IF_ERROR(LoadFunction(context, function));
  return LoadAliases(context.transaction, function);
}

Result<void> DeleteAlias(Context& context, const FunctionName& function, std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(Alias alias, LoadAlias(context, function, name));
  CAIRN_RETURN_IF_ERROR(NoteWarm(context, function, name, {.before = alias.min_warm}));
  CAIRN_RETURN_IF_ERROR(EndShift(context.transaction, function, alias, kCancelled, ""));
  CAIRN_RETURN_IF_ERROR(RemoveKey(context.transaction, AliasKey(function, name)));
  return {};
}

Result<Alias> RollBackAlias(Context& context, const FunctionName& function, std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(Alias alias, LoadAlias(context, function, name));
  if (alias.history.empty()) {
    return Refuse(Code::kConflict,
                  fmt::format("the alias \"{}\" has pointed nowhere else before", name));
  }
  CAIRN_RETURN_IF_ERROR(EndShift(context.transaction, function, alias, kCancelled,
                                 "the alias was rolled back while the shift was under way"));
  alias.target = alias.history.front().target;
  alias.updated_at_ms = context.now_ms();
  Forget(alias);
  CAIRN_RETURN_IF_ERROR(SaveAlias(context.transaction, function, alias));
  return alias;
}

Result<Alias> StartShift(Context& context, const FunctionName& function,
                         const ShiftRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckShift(request));
  CAIRN_ASSIGN_OR_RETURN(Alias alias, LoadAlias(context, function, request.alias));
  CAIRN_RETURN_IF_ERROR(LoadVersionMeta(context.transaction, function, request.to));
  if (alias.shift) {
    return Refuse(Code::kConflict, fmt::format("the alias \"{}\" is being shifted to version {}",
                                               alias.alias, alias.shift->to));
  }
  if (alias.target.second) {
    return Refuse(Code::kConflict,
                  fmt::format("the alias \"{}\" is split by weight; set it to one version first",
                              alias.alias));
  }
  if (alias.target.version == request.to) {
    return Refuse(Code::kConflict,
                  fmt::format("the alias \"{}\" points to version {}", alias.alias, request.to));
  }
  Remember(alias);
  alias.shift = Shift{.id = request.id,
                      .from = alias.target.version,
                      .to = request.to,
                      .step_percent = request.step_percent,
                      .interval_seconds = request.interval_seconds,
                      .max_error_rate = request.max_error_rate,
                      .step = 1,
                      .started_at_ms = context.now_ms()};
  CAIRN_RETURN_IF_ERROR(BeginStep(context.transaction, function, alias));
  CAIRN_RETURN_IF_ERROR(SaveAlias(context.transaction, function, alias));
  return alias;
}

Result<void> RecordOutcome(store::Transaction& transaction, const Outcome& outcome) {
  CAIRN_ASSIGN_OR_RETURN(std::optional<Alias> alias,
                         FindAlias(transaction, outcome.function, outcome.alias));
  if (!alias || !alias->shift || alias->shift->id != outcome.shift) return {};
  CAIRN_ASSIGN_OR_RETURN(ShiftOutcomes outcomes,
                         LoadOutcomes(transaction, outcome.function, *alias));
  ++outcomes.total;
  outcomes.errors += outcome.failed ? 1 : 0;
  if (outcomes.total >= kMinShiftOutcomes && FailsTooOften(*alias->shift, outcomes)) {
    return UndoShift(transaction, outcome.function, *alias, outcomes);
  }
  return WriteString(transaction, ShiftKey(outcome.function, outcome.alias), Encode(outcomes));
}

void ShiftTimers::AddScopes(const store::Timer& timer, store::Scopes& scopes) const {
  const std::optional<ShiftTimer> shift = DecodeTimerOwner(timer.owner);
  if (shift) AddAliasScopes(shift->function, shift->alias, scopes);
}

Result<void> ShiftTimers::Fire(store::Transaction& transaction, const store::Timer& timer) {
  const std::optional<ShiftTimer> shift = DecodeTimerOwner(timer.owner);
  if (!shift) return Error{ErrorCode::kCorruption, "a shift's timer without an alias"};
  Result<std::optional<Alias>> alias = FindAlias(transaction, shift->function, shift->alias);
  // Somebody has written over the record: there is no shift to go on with.
  if (!alias.ok() && IsRefusal(alias.error(), Code::kStoreReadFailed)) return {};
  if (!alias.ok()) return alias.error();
  // One that has failed is fired again later than it was due.
  const bool due = alias->has_value() && (*alias)->shift && (*alias)->shift->id == timer.payload &&
                   (*alias)->shift->next_step_at_ms <= timer.due.millis();
  return due ? TakeStep(transaction, shift->function, **alias) : Result<void>();
}

Result<std::vector<Alias>> LoadAliases(store::Transaction& transaction,
                                       const FunctionName& function) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         KeysBehind(transaction, AliasPrefix(function)));
  std::vector<Alias> aliases;
  for (const std::string& name : names) {
    CAIRN_ASSIGN_OR_RETURN(std::optional<Alias> alias, FindAlias(transaction, function, name));
    if (alias) aliases.push_back(*std::move(alias));
  }
  return aliases;
}

Result<Resolved> ResolveRef(store::Transaction& transaction, const NamespaceName& ns,
                            const Ref& ref, uint64_t draw) {
  const FunctionName name{ns.tenant, ns.name, ref.function};
  const Context anybody{transaction};
  Resolved resolved;
  CAIRN_ASSIGN_OR_RETURN(resolved.function, LoadFunction(anybody, name));
  if (!resolved.function.enabled) {
    return Refuse(Code::kDisabled, fmt::format("the function \"{}\" is disabled", name.name));
  }
  uint64_t version = ref.version.value_or(0);
  if (!ref.version) {
    CAIRN_ASSIGN_OR_RETURN(const Alias alias, LoadAlias(anybody, name, ref.alias));
    const auto& second = alias.target.second;
    const bool takes_second = second && static_cast<int64_t>(draw % kAllPercent) < second->weight;
    version = takes_second ? second->version : alias.target.version;
    if (takes_second && alias.shift) resolved.shift = alias.shift->id;
    resolved.min_warm = alias.min_warm;
  }
  CAIRN_ASSIGN_OR_RETURN(resolved.version, LoadVersionMeta(transaction, name, version));
  return resolved;
}

}  // namespace cairn::functions
