#include "doors/http/route_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "doors/access/error_table.h"
#include "doors/http/json_members.h"
#include "doors/resp/arg_parser.h"
#include "net/http/head.h"

namespace cairn::doors {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;

std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> segments;
  path.remove_prefix(1);
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return segments;
}

// Of what a segment of the row stands for, in a path that fits the row.
std::string ParameterValue(const RouteParameter& parameter, std::span<const std::string> segments) {
  if (parameter.rest) return fmt::format("{}", fmt::join(segments, "/"));
  const std::string& segment = segments.front();
  return segment.substr(0, segment.size() - parameter.suffix.size());
}

// Why a request does not fit its row.
struct Misfit {
  std::string_view code;
  std::string message;
};

Misfit Invalid(std::string message) { return {"invalid", std::move(message)}; }

// Why the principal may not have what the row gives.
std::optional<Error> WhyForbidden(const Principal& principal, const Route& route) {
  if (!principal.Allows(route.permission)) {
    return Error{ErrorCode::kForbidden,
                 fmt::format("the role {} does not allow {}", principal.role(), route.permission)};
  }
  if (route.touches.OpenTo(principal.grants())) return std::nullopt;
  return Error{ErrorCode::kForbidden,
               fmt::format("this key is limited to {}; {} {} touches more than that",
                           principal.grants()->Describe(), route.method, route.path)};
}

bool HasQueryType(std::string_view value, std::string_view type) {
  if (type == "integer") return ParseInteger(value).has_value();
  if (type == "boolean") return value == "true" || value == "false";
  return true;
}

std::optional<Misfit> CheckQuery(const Route& route, const net::HttpRequest& request) {
  if (route.any_query) return std::nullopt;
  for (const auto& [name, value] : request.query) {
    const auto parameter = std::ranges::find(route.query, name, &QueryParameter::name);
    if (parameter == route.query.end()) {
      return Invalid(fmt::format("unknown query parameter '{}'", name));
    }
    if (!HasQueryType(value, parameter->type)) {
      return Invalid(fmt::format("query parameter '{}' must be of type {}", name, parameter->type));
    }
  }
  for (const QueryParameter& parameter : route.query) {
    if (parameter.required && !request.Query(parameter.name)) {
      return Invalid(fmt::format("query parameter '{}' is missing", parameter.name));
    }
  }
  return std::nullopt;
}

std::optional<Misfit> ParseBody(const JsonSchema& schema, std::string_view text,
                                json::value& body) {
  boost::system::error_code error;
  body = json::parse(text, error);
  if (error) {
    return Misfit{"not_json", fmt::format("the body is not JSON: {}", error.message())};
  }
  if (const auto fault = schema.FindFault(body)) return Invalid(fmt::format("body: {}", *fault));
  return std::nullopt;
}

// The query as the audit log has it.
std::string QueryText(const net::HttpRequest& request) {
  std::string text;
  for (const auto& [name, value] : request.query) {
    if (!text.empty()) text.push_back('&');
    text += net::PercentEncode(name) + "=" + net::PercentEncode(value);
  }
  return text;
}

// A request whose outcome is to be kept.
struct AuditedChange {
  AuditSink sink;
  AuditEntry entry;
  const Clock& clock;
  uint64_t begin_ns = clock.MonotonicNs();
};
using SharedChange = std::shared_ptr<AuditedChange>;

awaitable<void> Keep(SharedChange change, int status) {
  AuditEntry entry = change->entry;
  entry.status = status;
  entry.duration_us =
      static_cast<int64_t>((change->clock.MonotonicNs() - change->begin_ns) / 1'000);
  co_await change->sink(std::move(entry));
}

// `run` stays where it is, in the reply.
awaitable<net::HttpResponse> RunAudited(SharedChange change,
                                        const std::function<awaitable<net::HttpResponse>()>* run) {
  net::HttpResponse response = co_await (*run)();
  co_await Keep(change, response.status);
  co_return response;
}

}  // namespace

const std::string& RouteCall::PathValue(std::string_view name) const {
  const auto found =
      std::ranges::find(path_values, name, &std::pair<std::string_view, std::string>::first);
  CAIRN_CHECK(found != path_values.end(), "{} has no {{{}}}", route.path, name);
  return found->second;
}

RouteTable::RouteTable(ApiInfo info) : info_(std::move(info)) {
  AddErrorForm({});
  Add({.method = "GET",
       .path = "/openapi.json",
       .touches = Touches::Nothing(),
       .summary = "This document: every route, for programs.",
       .responses = {{200, "The OpenAPI document of the server.",
                      R"({"type":"object","additionalProperties":true})"}},
       .handler = [this](const RouteCall&) -> awaitable<Result<net::HttpReply>> {
         co_return net::HttpReply(net::HttpResponse::Json(200, OpenApiOnce()));
       }});
}

void RouteTable::Add(Route route) {
  CAIRN_CHECK(route.path.starts_with('/'), "{}", route.path);
  CAIRN_CHECK(
      !route.method.empty() && !route.summary.empty() && !route.responses.empty() && route.handler,
      "{} {} lacks something", route.method, route.path);
  Row row{.segments = SplitPath(route.path)};
  CAIRN_CHECK(tree_.Add(row.segments, route.method, rows_.size()), "{} {} is there twice",
              route.method, route.path);
  const auto parse = [&](std::string_view text) -> std::optional<JsonSchema> {
    if (text.empty()) return std::nullopt;
    Result<JsonSchema> schema = JsonSchema::Parse(text);
    CAIRN_CHECK(schema.ok(), "{} {}: {}", route.method, route.path, schema.error().message);
    return *std::move(schema);
  };
  row.request_schema = parse(route.request_schema);
  for (const RouteResponse& response : route.responses) {
    row.response_schemas.push_back(parse(response.schema));
  }
  row.route = std::move(route);
  rows_.push_back(std::move(row));
}

void RouteTable::AddErrorForm(ErrorForm form) {
  Result<JsonSchema> schema = JsonSchema::Parse(form.schema);
  CAIRN_CHECK(schema.ok(), "{}: {}", form.prefix, schema.error().message);
  error_schemas_.push_back(*std::move(schema));
  error_forms_.push_back(std::move(form));
}

void RouteTable::SetErrorForm(ErrorForm form) {
  CAIRN_CHECK(
      std::ranges::find(error_forms_, form.prefix, &ErrorForm::prefix) == error_forms_.end(),
      "{} has an error form already", form.prefix);
  AddErrorForm(std::move(form));
}

void RouteTable::SetAudit(const std::function<bool(const Route&)>& which, const Clock& clock,
                          AuditSink sink) {
  audit_clock_ = &clock;
  for (Row& row : rows_) row.audited = which(row.route);
  audit_ = std::move(sink);
}

const ErrorForm& RouteTable::FormOf(std::string_view path) const {
  const ErrorForm* found = &error_forms_.front();
  for (const ErrorForm& form : error_forms_) {
    const size_t size = form.prefix.size();
    const bool fits = path.starts_with(form.prefix) && (path.size() == size || path[size] == '/');
    if (fits && size > found->prefix.size()) found = &form;
  }
  return *found;
}

const JsonSchema* RouteTable::ResponseSchema(size_t index, int status) const {
  const Row& row = rows_[index];
  for (size_t i = 0; i < row.route.responses.size(); ++i) {
    const RouteResponse& response = row.route.responses[i];
    if (response.status != status) continue;
    if (row.response_schemas[i]) return &*row.response_schemas[i];
    if (status >= 400) return &error_schemas_[&FormOf(row.route.path) - error_forms_.data()];
  }
  return nullptr;
}

const RouteTable::Row* RouteTable::Find(const net::HttpRequest& request) const {
  std::string_view method = request.method;
  if (method == "HEAD") method = "GET";
  const std::optional<size_t> row = tree_.Find(request.segments, method);
  return row ? &rows_[*row] : nullptr;
}

const std::string& RouteTable::OpenApiOnce() const {
  std::call_once(open_api_made_, [this] { open_api_ = OpenApi(); });
  return open_api_;
}

// The routes behind one loop.
class RouteHttpHandler final : public RouteDoor {
 public:
  explicit RouteHttpHandler(const RouteTable& table) : table_(table) {}

  size_t BodyLimit(net::HttpRequest& head) override {
    const RouteTable::Row* const row = table_.Find(head);
    return row == nullptr ? net::kDefaultBodyLimit : row->route.body_limit;
  }

  awaitable<net::HttpReply> Handle(net::HttpRequest request) override {
    return HandleFor(nullptr, std::move(request));
  }

  // No coroutine itself, and those below take nothing that a move could throw on: GCC 12 warns of
  // the frame that would be freed then.
  awaitable<net::HttpReply> HandleFor(std::shared_ptr<const Principal> principal,
                                      net::HttpRequest request) override {
    const RouteTable::Row* const row = table_.Find(request);
    if (row == nullptr) return Ready(std::make_shared<net::HttpReply>(NoRoute(request)));
    const bool audited = row->audited && principal != nullptr;
    auto call = std::make_shared<RouteCall>(RouteCall{.route = row->route,
                                                      .request = std::move(request),
                                                      .path_values = {},
                                                      .body = {},
                                                      .principal = std::move(principal),
                                                      .audit_detail = {}});
    return audited ? AnswerAudited(*row, std::move(call)) : Answer(*row, std::move(call));
  }

  std::string RefusalBody(std::string_view path, int status, std::string_view message,
                          std::string_view request_id) override {
    return table_.FormOf(path).body(
        {.code = net::HttpErrorCode(status), .message = message, .request_id = request_id});
  }

 private:
  static awaitable<net::HttpReply> Ready(std::shared_ptr<net::HttpReply> reply) {
    co_return std::move(*reply);
  }

  awaitable<net::HttpReply> Answer(const RouteTable::Row& row,
                                   std::shared_ptr<RouteCall> call) const {
    const net::HttpRequest& request = call->request;
    if (call->principal != nullptr) {
      const std::optional<Error> why = WhyForbidden(*call->principal, row.route);
      if (why) co_return ErrorResponse(request.path, *why, request.request_id);
    }
    if (const std::optional<Misfit> misfit = Check(row, *call)) {
      co_return net::HttpResponse::Json(row.route.malformed_status,
                                        table_.FormOf(request.path)
                                            .body({.code = misfit->code,
                                                   .message = misfit->message,
                                                   .request_id = request.request_id}));
    }
    Result<net::HttpReply> reply = co_await row.route.handler(*call);
    if (!reply.ok()) co_return ErrorResponse(request.path, reply.error(), request.request_id);
    co_return *std::move(reply);
  }

  awaitable<net::HttpReply> AnswerAudited(const RouteTable::Row& row,
                                          std::shared_ptr<RouteCall> call) const {
    auto change = std::make_shared<AuditedChange>(
        AuditedChange{.sink = table_.audit_,
                      .entry = {.principal = call->principal->name(),
                                .role = call->principal->role(),
                                .method = call->request.method,
                                .path = call->request.path,
                                .query = QueryText(call->request),
                                .kind = std::string(row.route.path)},
                      .clock = *table_.audit_clock_});
    net::HttpReply reply = co_await Answer(row, call);
    change->entry.detail = call->audit_detail;
    if (auto* const late = std::get_if<net::HttpLateResponse>(&reply)) {
      late->run = [change, run = std::move(late->run)] { return RunAudited(change, &run); };
      co_return reply;
    }
    const auto* const response = std::get_if<net::HttpResponse>(&reply);
    co_await Keep(change, response == nullptr ? 200 : response->status);
    co_return reply;
  }

  net::HttpResponse ErrorResponse(std::string_view path, const Error& error,
                                  std::string_view request_id) const {
    const ErrorForm& form = table_.FormOf(path);
    int status = ErrorRowOf(error.code).http_status;
    ToldError told{
        .code = ErrorCodeName(error.code), .message = error.message, .request_id = request_id};
    const auto refusal = form.read_refusal ? form.read_refusal(error) : std::nullopt;
    if (refusal) {
      status = refusal->http_status;
      told = {.code = refusal->reason,
              .is_refusal = true,
              .message = refusal->text,
              .request_id = request_id,
              .subject = refusal->subject};
    }
    net::HttpResponse response = net::HttpResponse::Json(status, form.body(told));
    if (status == 429) response.headers.Add("Retry-After", "1");
    return response;
  }

  net::HttpReply NoRoute(const net::HttpRequest& request) const {
    const std::vector<std::string_view> allowed = table_.tree_.MethodsOf(request.segments);
    if (allowed.empty()) {
      return ErrorResponse(request.path,
                           {ErrorCode::kNotFound, fmt::format("there is no {}", request.path)},
                           request.request_id);
    }
    const std::string why = fmt::format("{} does not take {}", request.path, request.method);
    net::HttpResponse response =
        net::HttpResponse::Json(405, table_.FormOf(request.path)
                                         .body({.code = ErrorCodeName(ErrorCode::kInvalid),
                                                .message = why,
                                                .request_id = request.request_id}));
    response.headers.Add("Allow", fmt::format("{}", fmt::join(allowed, ", ")));
    return response;
  }

  // Fills what the call takes from the request.
  static std::optional<Misfit> Check(const RouteTable::Row& row, RouteCall& call) {
    if (auto misfit = CheckQuery(row.route, call.request)) return misfit;
    for (size_t i = 0; i < row.segments.size(); ++i) {
      const std::optional<RouteParameter> parameter = ParseParameter(row.segments[i]);
      if (!parameter) continue;
      const auto rest = std::span(call.request.segments).subspan(i);
      call.path_values.emplace_back(parameter->name, ParameterValue(*parameter, rest));
    }
    const bool left_out = row.route.optional_body && call.request.body.empty();
    if (!row.request_schema || left_out) return std::nullopt;
    if (!row.route.checks_body_itself) {
      auto misfit = ParseBody(*row.request_schema, call.request.body, call.body);
      if (misfit) return misfit;
    }
    const std::optional<std::string> repeated = FindRepeatedMember(call.request.body);
    if (!repeated) return std::nullopt;
    return Invalid(fmt::format("body: the member '{}' is there twice", *repeated));
  }

  const RouteTable& table_;
};

std::unique_ptr<RouteDoor> RouteTable::MakeHandler(net::Loop& /*loop*/) {
  return std::make_unique<RouteHttpHandler>(*this);
}

}  // namespace cairn::doors
