#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/turn/route_store.h"
#include "functions/codeq/checked_message.h"
#include "functions/codeq/topics.h"
#include "jobs/ledger/context.h"
#include "store/scopes.h"
#include "store/transaction.h"

// Results, by the request that waits for them. Whoever publishes a result to cs.results writes, in
// the same commit, the correlation record
//
//   cs:req:TENANT:REQUEST:result     the InvocationResult, JSON; expires after ten minutes
//
// and that commit wakes who waits for it. A result is published once: the same activation's again,
// while its record is there, changes nothing and wakes nobody. One of an activation that does not
// exist, or has another request, becomes a dead letter.
//
// A later activation with the same request id replaces the record: a client may reuse its ids. Who
// waits names the activation too, so it never gets the other's result.
namespace cairn::functions::codeq {

struct ResultMessage {
  std::string tenant;
  std::string result;      // an InvocationResult (cs.results.v1), JSON
  std::string message_id;  // "msg_…", NewMessageId; made before the transaction
  int64_t ts_ms = 0;
  std::string trace_parent = {};
};
// For the invoker, in the transaction that ends the activation:
//
//   CAIRN_ASSIGN_OR_RETURN(const Outgoing outgoing, PrepareResult(message));
//   AddPublishScopes(outgoing, locks);
//   … CAIRN_ASSIGN_OR_RETURN(const Published published, Publish(context, outgoing)); …
Result<Outgoing> PrepareResult(const ResultMessage& message);

// What Publish does about a result before it enqueues it.
enum class Correlation : uint8_t {
  kFirst,     // the record is written, who waits will be woken
  kRepeated,  // it was published before
};
// Refuses (CS_NOT_FOUND) a result of nothing known.
Result<Correlation> Correlate(store::Transaction& transaction, const CheckedMessage& message);
void AddCorrelationScopes(const CheckedMessage& message, Locks& locks);

// Which result. An empty activation: whichever the request has.
struct AwaitedResult {
  std::string tenant;
  std::string request_id;
  std::string activation_id = {};
};
store::Topic ResultTopic(std::string_view tenant, std::string_view request_id);
// The InvocationResult; nullopt if there is none, or it is another activation's.
Result<std::optional<std::string>> FindResult(store::Transaction& transaction,
                                              const AwaitedResult& what);
// Waits for it, on a loop. nullopt at the deadline, and when the coroutine is cancelled. What it
// returns is durable.
boost::asio::awaitable<Result<std::optional<std::string>>> AwaitResult(
    doors::RouteStore& store, AwaitedResult what, std::chrono::steady_clock::time_point deadline);

}  // namespace cairn::functions::codeq
