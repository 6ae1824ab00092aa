#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "functions/control/context.h"
#include "functions/control/functions.h"
#include "functions/trigger/record.h"
#include "functions/trigger/sources.h"
#include "store/scopes.h"
#include "store/transaction.h"

// Triggers: functions that are invoked because something has happened. Each function here is one
// step inside a transaction, with the rules of control/functions.h. A trigger belongs to whoever
// may use its function; making one, or giving it another source, needs the right to the source too:
//
//   queue, jobs   the queues; of a pattern, all that it can name
//   seats         a caller without grants
//   keys          the same, and one who may read every key
//
//   create ─→ enabled ⇄ disabled          batches.h says what an enabled one does
//                └── delete ─→ gone
//
// The record (…:meta) says what is wanted and the state (…:state) how far it has come.
namespace cairn::functions {

// The scopes of everything that changes one trigger's state; and of creating, changing and deleting
// it.
void AddTriggerStateScopes(const TriggerId& trigger, store::Scopes& scopes);
void AddTriggerScopes(const TriggerId& trigger, store::Scopes& scopes);

// Where a trigger is.
struct TriggerPosition {
  uint64_t cursor = 0;
  uint64_t newest = 0;  // number of the log
  bool behind = false;  // there is something that it asks for and has not begun with
  int64_t lag_ms = 0;   // since when
};
struct TriggerDetail {
  TriggerConfig trigger;
  TriggerState state;
  std::string paused;  // why it does nothing although it is enabled; empty: it does
  TriggerPosition position;
};

// From where a new event trigger reads.
enum class StartAt : uint8_t { kNewest, kOldest };

// What triggers know of the server they are in.
struct TriggerPlace {
  std::string seats_prefix = {};
};

// The tenant, namespace, name and times of `trigger` are set here. CS_CONFLICT if there is one of
// this name, CS_NOT_FOUND if its function, alias or version does not exist, CS_TOO_LARGE if there
// are too many, CS_AUTHZ_RESOURCE_MISMATCH for a source that is not the caller's.
Result<TriggerDetail> CreateTrigger(Context& context, const TriggerPlace& place,
                                    const TriggerId& id, TriggerConfig trigger,
                                    StartAt start = StartAt::kNewest);
// What is given replaces what was; the rest stays. The type of a source stays too.
struct TriggerUpdate {
  std::optional<TriggerSource> source = {};
  std::optional<Ref> ref = {};
  std::optional<int64_t> batch_size = {};
  std::optional<int64_t> window_ms = {};
  std::optional<int64_t> concurrency = {};
  std::optional<bool> enabled = {};
};
// One of keys that is enabled again goes on with what happens from then on: before, nothing was
// recorded.
Result<TriggerDetail> UpdateTrigger(Context& context, const TriggerPlace& place,
                                    const TriggerId& id, const TriggerUpdate& update);
Result<TriggerDetail> GetTrigger(const Context& context, const TriggerPlace& place,
                                 const TriggerId& id);
// By name; those of functions that the caller may not use are left out. `cursor` is the next page's
// `after`, empty if there is none.
struct TriggerPage {
  std::vector<TriggerDetail> triggers;
  std::string cursor;
};
Result<TriggerPage> ListTriggers(const Context& context, const TriggerPlace& place,
                                 const NamespaceName& ns, const Page& page);
// Activations of its batches go on, and their jobs end with them.
Result<void> DeleteTrigger(Context& context, const TriggerId& id);

// --- For what runs them, and for checks ----------------------------------------------------------

// nullopt: there is none.
Result<std::optional<TriggerConfig>> FindTrigger(store::Transaction& transaction,
                                                 const TriggerId& id);
Result<std::optional<TriggerState>> FindTriggerState(store::Transaction& transaction,
                                                     const TriggerId& id);
Result<void> SaveTriggerState(store::Transaction& transaction, const TriggerId& id,
                              const TriggerState& state);
// All that are enabled. One whose record cannot be read is left out.
Result<std::vector<std::pair<TriggerId, TriggerConfig>>> ListEnabled(
    store::Transaction& transaction);

// Removes events of keys that every enabled trigger of keys has read, or that are too old. Whether
// there is more to remove. Scope: doors::AddKeyLogScope.
Result<bool> TrimReadKeys(store::Transaction& transaction);

// Woken by each change of what ListEnabled tells; the second one only by changes of triggers of
// keys.
store::Topic TriggersTopic();
store::Topic KeyTriggersTopic();
// Woken when a batch of the trigger has ended.
store::Topic TriggerTopic(const TriggerId& id);

}  // namespace cairn::functions
