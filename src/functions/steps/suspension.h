#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/codeq/names.h"
#include "functions/model/records.h"
#include "functions/steps/history.h"
#include "jobs/ledger/context.h"
#include "jobs/operations/lease.h"

// Activations that wait, and hold nothing meanwhile: their message is put back until its time
// comes, or until what they wait for happens. All under the lane of cs.invoke.
namespace cairn::functions {

// Puts back the message of an activation that runs. It is given out again as soon as one of the
// records that wait has ended or can be tried again, which may be at once, and at `last_ms` at the
// latest. `activation` is what is to be stored of it; its status and suspension are filled in.
struct SuspendRequest {
  jobs::LeaseRef lease;
  int64_t last_ms = 0;
};
Result<void> Suspend(jobs::Context& context, const SuspendRequest& request, const History& history,
                     Activation& activation);

// Ends a suspension: `activation` is as it was stored, and runs from now on.
void Resume(int64_t now_ms, Activation& activation);

// Lets an activation look at what it waits for, if it is suspended.
Result<void> Wake(jobs::Context& context, const Activation& activation);

// Somebody tells a running, suspended or queued activation something: ctx.waitForEvent(name) gets
// the payload, now or whenever it is asked. An operation for whoever has a transaction, jobs and
// seats included: AddSignalScopes says what it locks.
//
// CS_NOT_FOUND: no such activation. CS_CONFLICT: it has ended. CS_TOO_LARGE: too many wait already.
struct SignalRequest {
  std::string tenant;
  std::string activation;
  std::string name;
  std::string payload = "null";  // JSON
};
// Refuses what makes no sense by itself; Signal does too.
Result<void> CheckSignal(const SignalRequest& request);
void AddSignalScopes(codeq::Locks& locks);
// The event's number among those of the activation. `names` are the functions that the caller may
// use; null: all.
Result<uint64_t> Signal(jobs::Context& context, const doors::NamePatterns* names,
                        const SignalRequest& request);

// An activation has ended: if a step of another one has invoked it, that one is woken.
Result<void> TellParent(jobs::Context& context, const Activation& child);
// `trigger.source` of an activation that a step has invoked, and how many invocations it is away
// from one that no step has.
std::string InvokeSource(std::string_view parent, uint32_t position, int64_t depth);
int64_t InvokeDepth(const Activation& activation);

}  // namespace cairn::functions
