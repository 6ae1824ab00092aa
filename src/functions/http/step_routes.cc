#include "functions/http/step_routes.h"

#include <fmt/format.h>

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "doors/http/request_values.h"
#include "functions/codeq/access.h"
#include "functions/control/context.h"
#include "functions/http/invoke_routes.h"
#include "functions/http/invoke_support.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/steps/restart.h"
#include "functions/steps/suspension.h"
#include "functions/steps/views.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;
using SharedParts = std::shared_ptr<const StepParts>;

constexpr std::string_view kAny = R"({"type":"object","additionalProperties":true})";
constexpr std::string_view kRestartSchema = R"({"type":"object","required":["from"],
  "additionalProperties":false,"properties":{"from":{"type":"integer"},"event":{},
  "ref":{"type":"object","additionalProperties":false,"properties":{
    "alias":{"type":"string"},"version":{"type":"integer"}}}}})";
// An event, and what stands around it.
constexpr size_t kMaxRestartBodyBytes = kMaxEventBytes + 64UL * 1024;

HttpReply Refused(const Error& error, const RouteCall& call) {
  return HttpReply(Refusal(error, call.request.request_id));
}

// Runs `body` for the caller, in its own name: which functions it may use is checked inside.
awaitable<Result<void>> ChangeFor(const SharedParts& parts, codeq::Locks locks,
                                  const jobs::ChangeBody& body) {
  const jobs::StoreAccess access{parts->store};
  co_return co_await codeq::Change(access, std::move(locks), body);
}

awaitable<Result<HttpReply>> GetSteps(SharedParts parts, const RouteCall& call) {
  const Result<int64_t> from = doors::QueryNumber(call.request, "cursor", 0, 0, kMaxSteps);
  const Result<int64_t> limit =
      doors::QueryNumber(call.request, "limit", kDefaultPage, 1, kMaxPage);
  if (!from.ok() || !limit.ok()) {
    const Error error =
        Refuse(Code::kValidation, from.ok() ? limit.error().message : from.error().message);
    co_return Refused(error, call);
  }
  const StepsPage page{.from = static_cast<uint32_t>(*from), .limit = static_cast<size_t>(*limit)};
  std::string text;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(text, StepsText(transaction, FunctionsOf(call.principal.get()),
                                           call.PathValue("tenant"), call.PathValue("id"), page));
    return {};
  };
  const store::Scopes none;
  const Result<void> done = co_await parts->store.Read(none, task);
  if (!done.ok()) co_return Refused(done.error(), call);
  co_return HttpReply(HttpResponse::Json(200, std::move(text)));
}

awaitable<Result<HttpReply>> PostEvent(SharedParts parts, const RouteCall& call) {
  SignalRequest request{.tenant = call.PathValue("tenant"),
                        .activation = call.PathValue("id"),
                        .name = call.PathValue("event")};
  if (!call.request.body.empty()) request.payload = call.request.body;
  const Result<void> fits = CheckSignal(request);
  if (!fits.ok()) co_return Refused(fits.error(), call);
  codeq::Locks locks;
  AddSignalScopes(locks);
  uint64_t number = 0;
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(number, Signal(context, FunctionsOf(call.principal.get()), request));
    return {};
  };
  const Result<void> done = co_await ChangeFor(parts, std::move(locks), body);
  if (!done.ok()) co_return Refused(done.error(), call);
  co_return HttpReply(HttpResponse::Json(202, fmt::format(R"({{"number":{}}})", number)));
}

Result<RestartRequest> ParseRestart(const RouteCall& call, Random& random) {
  const auto read = [&](ObjectReader& object) {
    RestartRequest request{.tenant = call.PathValue("tenant"),
                           .activation = call.PathValue("id"),
                           .from = static_cast<uint32_t>(object.Integer("from", 0, kMaxSteps))};
    const std::string_view event = object.Raw("event");
    if (!event.empty()) request.event = std::string(event);
    if (object.Has("ref")) request.ref = ReadRef(object.Object("ref"), NamesFunction::kNo);
    object.RefuseOthers();
    return request;
  };
  CAIRN_ASSIGN_OR_RETURN(RestartRequest request,
                         ReadObject(call.request.body, Code::kValidation, read));
  request.principal = PrincipalOf(call);
  request.new_activation = NewActivationId(random);
  request.request_id = RequestIdOf(call, random);
  request.message_id = "msg_" + request.new_activation;
  return request;
}

awaitable<Result<HttpReply>> PostRestart(SharedParts parts, const RouteCall& call) {
  const Result<RestartRequest> request = ParseRestart(call, parts->random);
  if (!request.ok()) co_return Refused(request.error(), call);
  codeq::Locks locks;
  AddRestartScopes(locks);
  Restarted restarted;
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(restarted,
                           Restart(context, FunctionsOf(call.principal.get()), *request));
    return {};
  };
  const Result<void> done = co_await ChangeFor(parts, std::move(locks), body);
  if (!done.ok()) co_return Refused(done.error(), call);
  co_return HttpReply(HttpResponse::Json(202, RestartedText(restarted)));
}

using Handler = awaitable<Result<HttpReply>> (*)(SharedParts, const RouteCall&);

}  // namespace

void AddStepRoutes(const StepParts& step_parts, doors::RouteTable& table) {
  const auto parts = std::make_shared<const StepParts>(step_parts);
  const auto add = [&](doors::Route row, std::string_view permission, Handler handler) {
    row.permission = permission;
    row.touches = doors::Touches::Only(kFunctionKind);
    row.tag = "functions";
    row.handler = [parts, handler](const RouteCall& call) { return handler(parts, call); };
    table.Add(std::move(row));
  };
  add({.method = "GET",
       .path = "/v1/tenants/{tenant}/activations/{id}/steps",
       .summary = "The steps that an activation has recorded, and what it waits for.",
       .query = {{"cursor", "Where to begin: the cursor of the page before.", "integer"},
                 {"limit", "Steps of the page, 100 unless given.", "integer"}},
       .responses = {{200, "Steps, events that wait, and where the next page begins.", kAny}}},
      "functions.read", GetSteps);
  add({.method = "POST",
       .path = "/v1/tenants/{tenant}/activations/{id}/events/{event}",
       .summary = "Sends an event, any JSON, to an activation that waits for it or is going to.",
       .request_schema = "{}",
       .checks_body_itself = true,
       .responses = {{202, "It is kept until the activation takes it.", kAny}},
       .body_limit = kMaxEventPayloadBytes + 1024},
      kInvokePermission, PostEvent);
  add({.method = "POST",
       .path = "/v1/tenants/{tenant}/activations/{id}/restart",
       .summary = "Runs an activation that has ended again from one of its steps on, as a new one.",
       .request_schema = kRestartSchema,
       .checks_body_itself = true,
       .responses = {{202, "The new activation is queued.", kAny}},
       .body_limit = kMaxRestartBodyBytes},
      kInvokePermission, PostRestart);
}

}  // namespace cairn::functions
