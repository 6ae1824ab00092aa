#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/codeq/names.h"
#include "functions/codeq/topics.h"
#include "functions/control/aliases.h"
#include "functions/model/keys.h"
#include "functions/model/message.h"
#include "functions/model/records.h"
#include "jobs/ledger/context.h"
#include "store/transaction.h"

// How a request becomes an activation, whoever makes it: a door, a schedule. Accepting it is one
// commit, in which the activation is queued and the request published to cs.invoke.
//
//   CAIRN_ASSIGN_OR_RETURN(const QueuedRequest queued, PrepareRequest(request, options));
//   AddRequestScopes(queued, locks);
//   … CAIRN_RETURN_IF_ERROR(CheckRequest(transaction, request).error());   may it be run at all?
//     CAIRN_ASSIGN_OR_RETURN(const AcceptedRequest accepted, AcceptRequest(context, queued)); …
namespace cairn::functions {

// How long a request that nobody waits for may wait and be tried before it is answered `timeout`.
inline constexpr int64_t kAsyncDeadlineMs = 3'600'000;
// A synchronous caller waits so much longer than the function may run: its process may have to be
// killed (ChildTimes::grace), and the end be written.
inline constexpr int64_t kAnswerGraceMs = 1'500;

// `trigger.source` of a request of the API, by whether somebody waits for it.
// {"mode":"sync"}, or {"mode":"async","traceparent":"00-…"}.
std::string ApiSource(bool sync, std::string_view trace_parent);
// Whether ApiSource made it for one that is waited for.
bool IsSyncSource(std::string_view source);

FunctionName NameOf(const Activation& activation);
// What is known of an activation before it runs.
Activation ActivationOf(const InvocationRequest& request);
InvocationResult ResultOf(const Activation& activation);

// The same for the same key, for each function and reference: an id that is made of them.
std::string IdempotentActivationId(const FunctionName& function, const Ref& ref,
                                   std::string_view key);

// What a request would run. Refuses one that cannot be run: no such function, alias or version, a
// function that is disabled, a role that is missing.
Result<Resolved> CheckRequest(store::Transaction& transaction, const InvocationRequest& request);

// A request that was looked at, before the transaction that accepts it.
struct QueuedRequest {
  Activation activation;
  codeq::Outgoing message;
};
struct RequestOptions {
  std::string message_id;  // "msg_…"
  int64_t now_ms = 0;
  std::string trace_parent = {};  // W3C trace context of who asks; empty: none
  // A message of cs.invoke that has to end before this one is given out; empty: none.
  std::string after = {};
};
// Refuses a request that does not validate.
Result<QueuedRequest> PrepareRequest(const InvocationRequest& request, RequestOptions options);
void AddRequestScopes(const QueuedRequest& queued, codeq::Locks& locks);

struct AcceptedRequest {
  // The activation that was there already: then nothing was done.
  std::optional<Activation> existing = {};
  std::string message;  // of cs.invoke; empty if the activation existed
};
// A refusal has written nothing.
Result<AcceptedRequest> AcceptRequest(jobs::Context& context, const QueuedRequest& queued);

}  // namespace cairn::functions
