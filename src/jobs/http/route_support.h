#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/http/request_values.h"
#include "doors/http/route_table.h"
#include "jobs/http/routes.h"
#include "jobs/operations/operation.h"
#include "jobs/operations/operations.h"
#include "jobs/operations/store_access.h"

// What the files of routes share.
namespace cairn::jobs {

using SharedParts = std::shared_ptr<const RouteParts>;
using boost::asio::awaitable;
using doors::NumberOf;
using doors::QueryNumber;
using doors::SecondsOf;
using doors::SplitList;
using doors::StringsOf;
using doors::TextOf;

// A handler of a route of this layer.
using RouteFunction = awaitable<Result<net::HttpReply>> (*)(SharedParts, const doors::RouteCall&);
// Adds a row whose handler is `function`.
void AddRoute(const SharedParts& parts, doors::RouteTable& table, doors::Route route,
              RouteFunction function);

// The parts as the call's caller may use them.
SharedParts PartsFor(const SharedParts& parts, const doors::RouteCall& call);

// Each file's rows.
void AddProducerRoutes(const SharedParts& parts, doors::RouteTable& table);
void AddWorkerRoutes(const SharedParts& parts, doors::RouteTable& table);
void AddOneJobRoutes(const SharedParts& parts, doors::RouteTable& table);
void AddQueueRoutes(const SharedParts& parts, doors::RouteTable& table);
void AddEventRoutes(const SharedParts& parts, doors::RouteTable& table);
void AddWebhookRoutes(const SharedParts& parts, doors::RouteTable& table);
void AddScheduleRoutes(const SharedParts& parts, doors::RouteTable& table);

// --- Answers ------------------------------------------------------------------------------------

net::HttpResponse Json(int status, std::string text);
// {"status":STATUS}
net::HttpResponse StatusReply(int status, std::string_view word);
// {"error":text,"code":CODE} with the status of the refusal, or of the error's code.
net::HttpResponse ErrorReply(const Error& error);
// The body alone, from a code as ErrorCodeName has it.
std::string ErrorBody(std::string_view code, std::string_view message);

// A row's answer that is an error.
doors::RouteResponse Refused(int status, std::string_view description);

// --- Operations ---------------------------------------------------------------------------------

template <typename Answer>
using Replier = net::HttpResponse (*)(const Answer&);

// Answers a route by an operation that it shares with the commands: locks what the request names,
// runs it, and answers. A request that was refused is the answer.
//
//   return Perform(parts, FailOf(call), operations::kFail, FailedReply);
template <typename Request, typename Answer>
awaitable<Result<net::HttpReply>> Perform(SharedParts parts, Result<Request> request,
                                          Operation<Request, Answer> operation,
                                          Replier<Answer> reply) {
  if (!request.ok()) co_return net::HttpReply(ErrorReply(request.error()));
  Held held;
  operation.scopes(*request, held);
  std::optional<Answer> answer;
  const ChangeBody body = [&](Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(answer, operation.run(context, *request));
    return {};
  };
  const Result<void> done = co_await Change(*parts, std::move(held), body);
  if (!done.ok()) co_return net::HttpReply(ErrorReply(done.error()));
  co_return net::HttpReply(reply(*answer));
}

// The answer is {"status":STATUS}.
template <typename Request>
awaitable<Result<net::HttpReply>> Perform(SharedParts parts, Result<Request> request,
                                          Operation<Request, void> operation,
                                          std::string_view status) {
  if (!request.ok()) co_return net::HttpReply(ErrorReply(request.error()));
  Held held;
  operation.scopes(*request, held);
  const ChangeBody body = [&](Context& context) { return operation.run(context, *request); };
  const Result<void> done = co_await Change(*parts, std::move(held), body);
  if (!done.ok()) co_return net::HttpReply(ErrorReply(done.error()));
  co_return net::HttpReply(StatusReply(200, status));
}

// The same for an operation that only reads.
template <typename Request, typename Answer>
awaitable<Result<net::HttpReply>> PerformRead(SharedParts parts, Request request,
                                              Operation<Request, Answer> operation,
                                              Replier<Answer> reply) {
  Held held;
  operation.scopes(request, held);
  std::optional<Answer> answer;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    Context context{transaction, held, parts->queues()};
    CAIRN_ASSIGN_OR_RETURN(answer, operation.run(context, request));
    return {};
  };
  const Result<void> done = co_await Look(*parts, held, body);
  if (!done.ok()) co_return net::HttpReply(ErrorReply(done.error()));
  co_return net::HttpReply(reply(*answer));
}

// --- Requests -----------------------------------------------------------------------------------

// The text of a member of a JSON object, as it was given; the last if there are several, empty if
// there is none or it is null.
std::string_view RawOf(std::string_view object, std::string_view name);
// A duration such as "5s", or a number of seconds; an error names the member.
Result<std::optional<int64_t>> DurationOf(const boost::json::value& body, std::string_view name);

// The traceparent of the request, empty if it has none.
std::string TraceOf(const net::HttpRequest& request);

}  // namespace cairn::jobs
