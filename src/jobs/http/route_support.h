#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/http/route_table.h"
#include "jobs/http/routes.h"
#include "jobs/operations/operations.h"
#include "jobs/operations/store_access.h"

// What the files of routes share.
namespace cairn::jobs {

using SharedParts = std::shared_ptr<const RouteParts>;
using boost::asio::awaitable;

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

// --- Requests -----------------------------------------------------------------------------------

// Members of a body that its schema has checked; a body that was left out has none.
std::string TextOf(const boost::json::value& body, std::string_view name);
std::optional<int64_t> NumberOf(const boost::json::value& body, std::string_view name);
// Seconds, a fraction allowed, as milliseconds.
std::optional<int64_t> SecondsOf(const boost::json::value& body, std::string_view name);
std::vector<std::string> StringsOf(const boost::json::value& body, std::string_view name);
// The text of a member of a JSON object, as it was given; the last if there are several, empty if
// there is none or it is null.
std::string_view RawOf(std::string_view object, std::string_view name);
// A duration such as "5s", or a number of seconds; an error names the member.
Result<std::optional<int64_t>> DurationOf(const boost::json::value& body, std::string_view name);

// "a,b" as {"a","b"}; empty parts are left out.
std::vector<std::string> SplitList(std::string_view text);
// A number of the query, `otherwise` if it is not there; refused out of bounds.
Result<int64_t> QueryNumber(const net::HttpRequest& request, std::string_view name,
                            int64_t otherwise, int64_t least, int64_t most);

// The traceparent of the request, empty if it has none.
std::string TraceOf(const net::HttpRequest& request);

}  // namespace cairn::jobs
