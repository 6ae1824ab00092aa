#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/activation/ending.h"
#include "functions/codeq/names.h"
#include "functions/trigger/record.h"
#include "functions/trigger/triggers.h"
#include "jobs/ledger/context.h"
#include "store/transaction.h"

// What an enabled trigger does, in two commits to a batch.
//
//   begin   the batch is taken and its activation accepted (activation/accept.h):
//           a queue's jobs become active, under a lease that outlasts the activation's deadline;
//           an event trigger's cursor moves behind the last event of the batch
//   end     the activation ends, whoever ran it and however often (invoker/invoker.h):
//           each job is acknowledged or has failed; the trigger may begin another batch
//
// So a job is acknowledged by the commit that says that its activation has succeeded, and by no
// other; and an event is in one accepted activation. What code does may happen twice, as everywhere
// (docs/functions.md).
//
// A batch of a queue is not tried again by itself: its jobs are, each as its retry policy says. A
// batch of events is, as its version says (max_retries, on_failure); then the trigger goes on.
//
// No more is taken than `concurrency` batches at once, and nothing while the function cannot be
// run, so a queue's jobs wait in the queue.
namespace cairn::functions {

// Who invokes a function when a trigger does: one of these roles is in invoke_schedule_roles, if
// the version has that list.
inline constexpr std::string_view kTriggerSubject = "sp:cs-trigger";
inline constexpr std::string_view kTriggerRole = "role:worker";

// A lease of jobs ends so long after the deadline of the activation that has them: a server may die
// with it, and another has to find out.
inline constexpr int64_t kTriggerLeaseGraceMs = 5L * 60 * kSecondMs;

// Whether the function of a trigger can be run now; the refusal says why not.
Result<void> CheckMayRun(store::Transaction& transaction, const TriggerConfig& trigger);

// What is known before the transaction that begins batches.
struct BatchPlan {
  TriggerId id;
  TriggerConfig trigger;
  std::string seats_prefix = {};
  std::vector<std::string> activations;  // ids of new ones: so many batches at most
  // Up to this number of its log there is nothing for the trigger, as an earlier look has shown.
  uint64_t known_to = 0;
};
struct BatchOutcome {
  size_t batches = 0;
  bool changed = false;                    // the trigger is another by now, and nothing was done
  bool more = false;                       // there may be more to do at once
  std::optional<int64_t> look_at_ms = {};  // when time alone brings something
  uint64_t known_to = 0;                   // for the next plan
  // Why nothing could be begun, although there was something.
  std::optional<Error> paused = {};
};
void AddBatchScopes(const BatchPlan& plan, codeq::Locks& locks);
// An error says that the store could not answer, or that a request was refused; nothing is written
// then.
Result<BatchOutcome> BeginBatches(jobs::Context& context, const BatchPlan& plan);

// Shows what keeps a trigger from going on. Writes nothing if that is shown already.
Result<void> NoteTrouble(store::Transaction& transaction, const TriggerId& id,
                         std::string_view text);

class TriggerEnding final : public ActivationEnding {
 public:
  bool Concerns(const Activation& activation) const override;
  void AddScopes(const Activation& activation, codeq::Locks& locks) const override;
  Result<void> End(jobs::Context& context, const Activation& activation) const override;
};

// What an activation's answer says about the jobs of its batch.
//
//   {"batchItemFailures":[{"itemIdentifier" or "job_id":ID,"error":…}],"results":{ID:…}}
//
// Both are optional. Any other answer says that all is well, unless its status is 400 or more.
struct BatchVerdict {
  struct OfJob {
    bool failed = false;
    std::string error;   // of one that failed
    std::string result;  // JSON; empty: none
  };
  std::vector<OfJob> jobs;  // in the order of the ids
};
BatchVerdict JudgeBatch(const Activation& activation, const std::vector<std::string>& ids);

}  // namespace cairn::functions
