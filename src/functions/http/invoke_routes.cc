#include "functions/http/invoke_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "doors/access/principal.h"
#include "doors/http/request_values.h"
#include "functions/activation/activations.h"
#include "functions/activation/views.h"
#include "functions/control/context.h"
#include "functions/http/invoke_support.h"
#include "functions/model/base64.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/web/gateway.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;
using SharedParts = std::shared_ptr<const InvokeParts>;
using SharedInvocation = std::shared_ptr<const Invocation>;

constexpr std::string_view kActivationHeader = "X-Cairn-Activation";
constexpr std::string_view kIdempotencyHeader = "Idempotency-Key";
constexpr size_t kMaxIdempotencyBytes = 256;
// An event, and what stands around it.
constexpr size_t kMaxInvokeBodyBytes = kMaxEventBytes + 64UL * 1024;
constexpr std::string_view kAny = R"({"type":"object","additionalProperties":true})";

// --- What a request names -----------------------------------------------------------------------

FunctionName FunctionOf(const RouteCall& call) {
  return {call.PathValue("tenant"), call.PathValue("namespace"), call.PathValue("name")};
}

Result<void> CheckAllowed(const RouteCall& call, const FunctionName& function) {
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kTenant, function.tenant));
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kNamespace, function.ns));
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kFunction, function.name));
  const doors::NamePatterns* const names = FunctionsOf(call.principal.get());
  if (names == nullptr || names->Allows(ResourceName(function))) return {};
  return Refuse(Code::kResourceMismatch,
                fmt::format("this key may not use the function {}", ResourceName(function)));
}

Result<Ref> ParseRef(const FunctionName& function, std::string_view text) {
  Ref ref{.function = function.name};
  ref.version = ParseVersion(text);
  if (ref.version) return ref;
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kAlias, text));
  ref.alias = text;
  return ref;
}

// Sets what an Idempotency-Key means for the activation.
Result<void> SetActivation(const RouteCall& call, Invocation& invocation) {
  const std::optional<std::string_view> key = call.request.headers.Get(kIdempotencyHeader);
  if (!key) return {};
  if (key->empty() || key->size() > kMaxIdempotencyBytes) {
    return Refuse(Code::kValidation,
                  fmt::format("{} has 1 to {} bytes", kIdempotencyHeader, kMaxIdempotencyBytes));
  }
  invocation.activation_id = IdempotentActivationId(invocation.function, invocation.ref, *key);
  return {};
}

// --- Answers ------------------------------------------------------------------------------------

awaitable<Result<HttpReply>> Refused(Error error, std::string request_id) {
  co_return HttpReply(Refusal(error, request_id));
}

// --- :invoke ------------------------------------------------------------------------------------

constexpr std::string_view kInvokeSchema = R"({"type":"object","required":["ref"],
  "additionalProperties":false,"properties":{
  "ref":{"type":"object","additionalProperties":false,"properties":{
    "alias":{"type":"string"},"version":{"type":"integer"}}},
  "mode":{"type":"string"},"event":{}}})";

Result<Invocation> ParseInvoke(const RouteCall& call, Random& random) {
  const FunctionName function = FunctionOf(call);
  CAIRN_RETURN_IF_ERROR(CheckAllowed(call, function));
  const auto read = [&](ObjectReader& object) {
    Invocation invocation{.function = function};
    const std::string mode = object.OptionalChoice("mode", {"sync", "async"}).value_or("sync");
    invocation.mode = mode == "sync" ? Invocation::Mode::kSync : Invocation::Mode::kAsync;
    invocation.ref = ReadRef(object.Object("ref"), NamesFunction::kNo);
    const std::string_view event = object.Raw("event");
    if (!event.empty()) invocation.event = event;
    object.RefuseOthers();
    return invocation;
  };
  CAIRN_ASSIGN_OR_RETURN(Invocation invocation,
                         ReadObject(call.request.body, Code::kValidation, read));
  if (invocation.event.size() > kMaxEventBytes) {
    return Refuse(Code::kTooLarge, fmt::format("an event has up to {} bytes", kMaxEventBytes));
  }
  invocation.ref.function = function.name;
  invocation.trigger.type = TriggerType::kApi;
  invocation.principal = PrincipalOf(call);
  invocation.request_id = RequestIdOf(call, random);
  CAIRN_RETURN_IF_ERROR(SetActivation(call, invocation));
  return invocation;
}

awaitable<HttpResponse> RunSync(SharedParts parts, SharedInvocation invocation) {
  Invocation copy = *invocation;
  const Result<Invoker::Answer> answer = co_await parts->invoker.Invoke(std::move(copy));
  if (!answer.ok()) co_return Refusal(answer.error(), invocation->request_id);
  co_return HttpResponse::Json(200, AnswerText(answer->result));
}

awaitable<Result<HttpReply>> PostInvoke(SharedParts parts, const RouteCall& call) {
  Result<Invocation> parsed = ParseInvoke(call, parts->random);
  if (!parsed.ok()) co_return HttpReply(Refusal(parsed.error(), call.request.request_id));
  if (parsed->mode == Invocation::Mode::kSync) {
    auto invocation = std::make_shared<const Invocation>(*std::move(parsed));
    net::HttpLateResponse late;
    late.run = [parts, invocation] { return RunSync(parts, invocation); };
    co_return HttpReply(std::move(late));
  }
  const std::string request_id = parsed->request_id;
  const Result<Accepted> accepted = co_await parts->invoker.Accept(*std::move(parsed));
  if (!accepted.ok()) co_return HttpReply(Refusal(accepted.error(), request_id));
  const Status status = accepted->result ? accepted->result->status : Status::kQueued;
  co_return HttpReply(HttpResponse::Json(202, AcceptedText(accepted->activation_id, status)));
}

// --- The gateway --------------------------------------------------------------------------------

// What follows the ref of the path, as it was sent.
std::string_view OwnPath(const net::HttpRequest& request) {
  constexpr int kSegmentsBefore = 6;  // v1 web TENANT NAMESPACE FUNCTION REF
  std::string_view path = request.path;
  for (int i = 0; i < kSegmentsBefore && !path.empty(); ++i) {
    path.remove_prefix(std::min(path.find('/', 1), path.size()));
  }
  return path.empty() ? "/" : path;
}

HttpResponse ResponseOf(const Result<Invoker::Answer>& answer, const Invocation& invocation) {
  if (!answer.ok()) return Refusal(answer.error(), invocation.request_id);
  const InvocationResult& result = answer->result;
  HttpResponse response;
  if (result.result) {
    response = GatewayResponse(*result.result);
  } else if (result.status == Status::kTimeout) {
    response = Refusal(Refuse(Code::kRuntimeTimeout, "the function did not answer in time"),
                       invocation.request_id);
    response.status = 504;
  } else {
    const std::string type = result.error ? result.error->type : "";
    response = Refusal(
        Refuse(Code::kException, fmt::format("the function failed{}{}; its activation says why",
                                             type.empty() ? "" : " with ", type)),
        invocation.request_id);
  }
  response.headers.Set(kActivationHeader, result.activation_id);
  return response;
}

awaitable<HttpResponse> RunWeb(SharedParts parts, SharedInvocation invocation) {
  Invocation copy = *invocation;
  const Result<Invoker::Answer> answer = co_await parts->invoker.Invoke(std::move(copy));
  co_return ResponseOf(answer, *invocation);
}

Result<Invocation> ParseWeb(const RouteCall& call, Random& random) {
  Invocation invocation{.function = FunctionOf(call)};
  CAIRN_RETURN_IF_ERROR(CheckAllowed(call, invocation.function));
  CAIRN_ASSIGN_OR_RETURN(invocation.ref, ParseRef(invocation.function, call.PathValue("ref")));
  CAIRN_ASSIGN_OR_RETURN(invocation.event, GatewayEvent(call.request, OwnPath(call.request)));
  invocation.trigger.type = TriggerType::kHttp;
  if (call.request.trace_parent) {
    invocation.trigger.source =
        fmt::format(R"({{"traceparent":"{}"}})", call.request.trace_parent->ToString());
  }
  invocation.principal = PrincipalOf(call);
  invocation.request_id = RequestIdOf(call, random);
  CAIRN_RETURN_IF_ERROR(SetActivation(call, invocation));
  return invocation;
}

awaitable<Result<HttpReply>> AnyWeb(SharedParts parts, const RouteCall& call) {
  Result<Invocation> parsed = ParseWeb(call, parts->random);
  if (!parsed.ok()) return Refused(parsed.error(), call.request.request_id);
  auto invocation = std::make_shared<const Invocation>(*std::move(parsed));
  net::HttpLateResponse late;
  late.run = [parts = std::move(parts), invocation] { return RunWeb(parts, invocation); };
  auto reply = std::make_shared<HttpReply>(std::move(late));
  return [](std::shared_ptr<HttpReply> made) -> awaitable<Result<HttpReply>> {
    co_return std::move(*made);
  }(std::move(reply));
}

// --- Activations --------------------------------------------------------------------------------

awaitable<Result<HttpReply>> GetActivation(SharedParts parts, const RouteCall& call) {
  std::string text;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const Activation activation,
                           FindActivation(transaction, FunctionsOf(call.principal.get()),
                                          call.PathValue("tenant"), call.PathValue("id")));
    text = Encode(activation);
    return {};
  };
  const store::Scopes none;
  const Result<void> done = co_await parts->store.Read(none, task);
  if (!done.ok()) co_return HttpReply(Refusal(done.error(), call.request.request_id));
  co_return HttpReply(HttpResponse::Json(200, std::move(text)));
}

awaitable<Result<LogPage>> ReadPage(const SharedParts& parts, const RouteCall& call, uint64_t from,
                                    size_t limit) {
  LogPage page;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(
        page, ReadLog(transaction, FunctionsOf(call.principal.get()), call.PathValue("tenant"),
                      call.PathValue("id"), from, limit));
    return {};
  };
  const store::Scopes none;
  const Result<void> done = co_await parts->store.Read(none, task);
  if (!done.ok()) co_return done.error();
  co_return page;
}

// Each chunk as an event, until the activation has ended.
awaitable<void> FollowLog(SharedParts parts, std::shared_ptr<const RouteCall> call, uint64_t from,
                          net::EventSink* sink) {
  doors::RouteStore::Signal signal(
      parts->store, ActivationTopic(call->PathValue("tenant"), call->PathValue("id")));
  while (!sink->gone()) {
    const Result<LogPage> page = co_await ReadPage(parts, *call, from, kMaxPage);
    if (!page.ok()) co_return;
    for (const LogChunk& chunk : page->chunks) {
      net::ServerEvent event(fmt::to_string(chunk.number + 1), "log", chunk.text);
      if (!co_await sink->Send(event)) co_return;
      from = chunk.number + 1;
    }
    if (page->ended && page->chunks.size() < static_cast<size_t>(kMaxPage)) {
      const net::ServerEvent end(fmt::to_string(from), "end", "");
      co_await sink->Send(end);
      co_return;
    }
    if (!page->ended && !co_await signal.Wait()) co_return;
  }
}

awaitable<Result<HttpReply>> GetLogs(SharedParts parts, const RouteCall& call) {
  const Result<int64_t> from =
      doors::QueryNumber(call.request, "cursor", 0, 0, std::numeric_limits<int64_t>::max());
  const Result<int64_t> limit =
      doors::QueryNumber(call.request, "limit", kDefaultPage, 1, kMaxPage);
  if (!from.ok() || !limit.ok()) {
    const Error error =
        Refuse(Code::kValidation, from.ok() ? limit.error().message : from.error().message);
    co_return HttpReply(Refusal(error, call.request.request_id));
  }
  const auto begin = static_cast<uint64_t>(*from);
  const Result<LogPage> page = co_await ReadPage(parts, call, begin, static_cast<size_t>(*limit));
  if (!page.ok()) co_return HttpReply(Refusal(page.error(), call.request.request_id));
  const std::string_view accept = call.request.headers.Get("Accept").value_or("");
  if (accept.find("text/event-stream") != std::string_view::npos) {
    auto kept = std::make_shared<const RouteCall>(call);
    net::HttpEventStream stream;
    stream.run = [parts, kept, begin](net::EventSink& sink) {
      return FollowLog(parts, kept, begin, &sink);
    };
    co_return HttpReply(std::move(stream));
  }
  co_return HttpReply(HttpResponse::Json(200, LogText(*page)));
}

using Handler = awaitable<Result<HttpReply>> (*)(SharedParts, const RouteCall&);

}  // namespace

void AddInvokeRoutes(const InvokeParts& invoke_parts, doors::RouteTable& table) {
  const auto parts = std::make_shared<const InvokeParts>(invoke_parts);
  const auto add = [&](doors::Route row, std::string_view permission, Handler handler) {
    row.permission = permission;
    row.touches = doors::Touches::Only(kFunctionKind);
    row.tag = "functions";
    row.handler = [parts, handler](const RouteCall& call) { return handler(parts, call); };
    table.Add(std::move(row));
  };
  add({.method = "POST",
       .path = "/v1/tenants/{tenant}/namespaces/{namespace}/functions/{name}:invoke",
       .summary = "Runs a function and answers with its result, or queues it (mode async).",
       .request_schema = kInvokeSchema,
       .checks_body_itself = true,
       .responses = {{200, "How it ended.", kAny}, {202, "It is queued.", kAny}},
       .body_limit = kMaxInvokeBodyBytes},
      kInvokePermission, PostInvoke);
  add({.method = "GET",
       .path = "/v1/tenants/{tenant}/activations/{id}",
       .summary = "An activation: how far it is, or how it ended.",
       .responses = {{200, "The activation.", kAny}}},
      "functions.read", GetActivation);
  add({.method = "GET",
       .path = "/v1/tenants/{tenant}/activations/{id}/logs",
       .summary = "The log of an activation, also while it runs: a page, or a stream of events.",
       .query = {{"cursor", "Where to begin: the cursor of the page before.", "integer"},
                 {"limit", "Chunks of the page, 100 unless given.", "integer"}},
       .responses = {{200, "Chunks, and where the next page begins.", kAny}}},
      "functions.read", GetLogs);
  for (const std::string_view method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
    add({.method = method,
         .path = "/v1/web/{tenant}/{namespace}/{name}/{ref}/{path...}",
         .summary = "Runs a function with the request as its event; its result is the response.",
         .any_query = true,
         .responses = {{200, "Whatever the function returns.", {}, "*/*"}},
         .body_limit = kMaxEventBytes},
        kInvokePermission, AnyWeb);
  }
}

}  // namespace cairn::functions
