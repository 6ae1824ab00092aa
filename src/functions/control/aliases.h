#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "functions/control/context.h"
#include "functions/model/records.h"
#include "store/scopes.h"
#include "store/timers.h"

// Aliases: names that point to a version, or to two by weight. Every change is one write of the
// alias's record, which also holds the earlier targets and the shift that is under way.
//
//   set        points it to a version; a shift that is under way is cancelled
//   rollback   points it to where it pointed before; from a shift, to where that began
//   shift      moves it step by step: each interval the new version gets step_percent more, until
//              it has everything. Too many errors of the new version undo it at once.
namespace cairn::functions {

// Stored: never renumber. store/timers.h has those of the layers below.
//
//   kind kTimerShift   owner TENANT/NAMESPACE/FUNCTION:ALIAS   payload id of the shift
inline constexpr uint8_t kTimerShift = 48;

void AddAliasScopes(const FunctionName& function, std::string_view alias, store::Scopes& scopes);

struct AliasUpdate {
  std::string alias;
  Target target;
  std::optional<int64_t> min_warm = {};  // as it was, unless given
};
// The versions exist, a weight is 1 … 99 and for another version; CS_TOO_LARGE if the function has
// kMaxAliases.
Result<Alias> SetAlias(Context& context, const FunctionName& function, const AliasUpdate& update);
// CS_NOT_FOUND if there is none.
Result<Alias> GetAlias(const Context& context, const FunctionName& function,
                       std::string_view alias);
// By name.
Result<std::vector<Alias>> ListAliases(const Context& context, const FunctionName& function);
Result<void> DeleteAlias(Context& context, const FunctionName& function, std::string_view alias);
// CS_CONFLICT if nothing is known of an earlier target.
Result<Alias> RollBackAlias(Context& context, const FunctionName& function, std::string_view alias);

struct ShiftRequest {
  std::string alias;
  std::string id;  // a new one
  uint64_t to = 0;
  int64_t step_percent = 0;      // 1 … 99
  int64_t interval_seconds = 0;  // kMinShiftIntervalSeconds … kMaxShiftIntervalSeconds
  double max_error_rate = 0;     // 0 … 1
};
// CS_CONFLICT if the alias is split or being shifted, or points there.
Result<Alias> StartShift(Context& context, const FunctionName& function,
                         const ShiftRequest& request);

// How an invocation ended that ResolveRef has counted for a shift.
struct Outcome {
  FunctionName function;
  std::string alias;
  std::string shift;  // Resolved::shift
  bool failed = false;
};
// Counts it, and ends the shift if its version has failed too often: more than max_error_rate of at
// least kMinShiftOutcomes. One of a shift or a step that is over does not count. Its scopes are
// AddAliasScopes.
Result<void> RecordOutcome(store::Transaction& transaction, const Outcome& outcome);

// Takes the next step of shifts. A step in which more than max_error_rate of the invocations have
// failed, however few they were, undoes the shift.
class ShiftTimers final : public store::TimerHandler {
 public:
  void AddScopes(const store::Timer& timer, store::Scopes& scopes) const override;
  Result<void> Fire(store::Transaction& transaction, const store::Timer& timer) override;
};

// What a ref means now, for one invocation.
struct Resolved {
  Function function;
  VersionMeta version;
  // If the invocation counts for a shift: its outcome is recorded. Else empty.
  std::string shift;
  int64_t min_warm = 0;  // of the alias
};
// `draw` is a random number, which decides between the two versions of a split alias. A version
// wins over an alias. CS_NOT_FOUND, or CS_FUNCTION_DISABLED; looks at no grants.
Result<Resolved> ResolveRef(store::Transaction& transaction, const NamespaceName& ns,
                            const Ref& ref, uint64_t draw);

// For the files beside this one: without looking at grants.
Result<std::vector<Alias>> LoadAliases(store::Transaction& transaction,
                                       const FunctionName& function);
Bytes ShiftTimerOwner(const FunctionName& function, std::string_view alias);
void CancelShiftTimer(store::Transaction& transaction, const FunctionName& function,
                      const Alias& alias);

}  // namespace cairn::functions
