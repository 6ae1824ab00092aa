#include "jobs/http/route_support.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/value.hpp>

#include "base/json_text.h"
#include "doors/access/error_table.h"
#include "jobs/http/route_schemas.h"
#include "jobs/model/durations.h"
#include "jobs/model/json_members.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;

// What is refused before a route, or fails beneath one, in this API's words.
std::string_view CodeOf(std::string_view name) {
  struct Row {
    std::string_view name;
    std::string_view code;
  };
  static constexpr std::array kRows = {
      Row{"not_json", "PARSE_ERROR"},
      Row{"invalid", "VALIDATION_ERROR"},
      Row{"not_found", "NOT_FOUND"},
      Row{"conflict", "CONFLICT"},
      Row{"too_large", "PAYLOAD_TOO_LARGE"},
      Row{"too_many", "OVERLOADED"},
      Row{"unauthorized", "UNAUTHORIZED"},
      Row{"forbidden", "FORBIDDEN"},
      Row{"unavailable", "UNAVAILABLE"},
      Row{"outcome_unknown", "OUTCOME_UNKNOWN"},
      Row{"timeout", "TIMEOUT"},
      Row{"io", "UNAVAILABLE"},
  };
  for (const Row& row : kRows) {
    if (row.name == name) return row.code;
  }
  return "INTERNAL_ERROR";
}

std::string BodyWithCode(std::string_view code, std::string_view message) {
  return fmt::format(R"({{"error":{},"code":"{}"}})", JsonString(message), code);
}

}  // namespace

void AddRoute(const SharedParts& parts, doors::RouteTable& table, doors::Route route,
              RouteFunction function) {
  route.tag = "jobs";
  route.handler = [parts, function](const doors::RouteCall& call) {
    return function(PartsFor(parts, call), call);
  };
  table.Add(std::move(route));
}

SharedParts PartsFor(const SharedParts& parts, const doors::RouteCall& call) {
  if (call.principal == nullptr) return parts;
  auto own = std::make_shared<RouteParts>(*parts);
  own->principal = call.principal;
  return own;
}

net::HttpResponse Json(int status, std::string text) {
  return net::HttpResponse::Json(status, std::move(text));
}

net::HttpResponse StatusReply(int status, std::string_view word) {
  return Json(status, fmt::format(R"({{"status":"{}"}})", word));
}

net::HttpResponse ErrorReply(const Error& error) {
  net::HttpResponse response;
  if (const ReasonRow* row = FindReason(error)) {
    response = Json(row->http_status, BodyWithCode(row->name, RefusalText(error)));
  } else {
    response = Json(doors::ErrorRowOf(error.code).http_status,
                    ErrorBody(ErrorCodeName(error.code), error.message));
  }
  if (response.status == 429) response.headers.Add("Retry-After", "1");
  return response;
}

doors::RouteResponse Refused(int status, std::string_view description) {
  return {status, description, kErrorSchema};
}

std::string ErrorBody(std::string_view code, std::string_view message) {
  return BodyWithCode(CodeOf(code), message);
}

std::string_view RawOf(std::string_view object, std::string_view name) {
  std::string_view found;
  for (const RawMember& member : MembersOf(object).value_or(std::vector<RawMember>())) {
    if (member.name == name) found = member.json;
  }
  return found == "null" ? std::string_view() : found;
}

Result<std::optional<int64_t>> DurationOf(const json::value& body, std::string_view name) {
  const json::value* value = doors::MemberOf(body, name);
  if (value == nullptr) return std::optional<int64_t>();
  const std::optional<int64_t> ms = value->is_string()
                                        ? ParseDuration(std::string_view(value->as_string()))
                                        : doors::SecondsOf(body, name);
  if (!ms || *ms < 0 || *ms > kMaxDelayMs) {
    return Refuse(Reason::kValidation,
                  fmt::format("{} must be a duration such as 5s, or a number of seconds", name));
  }
  return ms;
}

std::string TraceOf(const net::HttpRequest& request) {
  return request.trace_parent ? request.trace_parent->ToString() : std::string();
}

doors::ErrorForm JobErrorForm() {
  return {.prefix = "/api/v1",
          .body =
              [](const doors::ToldError& error) {
                return error.is_refusal ? BodyWithCode(error.code, error.message)
                                        : ErrorBody(error.code, error.message);
              },
          .schema = kErrorSchema,
          .read_refusal = ReadRefusal};
}

void AddJobRoutes(const RouteParts& given, doors::RouteTable& table) {
  const auto parts = std::make_shared<const RouteParts>(given);
  table.SetErrorForm(JobErrorForm());
  AddProducerRoutes(parts, table);
  AddWorkerRoutes(parts, table);
  AddOneJobRoutes(parts, table);
  AddQueueRoutes(parts, table);
  AddEventRoutes(parts, table);
  AddWebhookRoutes(parts, table);
  AddScheduleRoutes(parts, table);
}

}  // namespace cairn::jobs
