#include "functions/http/control_support.h"

#include <utility>

#include "doors/http/request_values.h"
#include "functions/http/control_schemas.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;

StoreAccess AccessOf(const ControlParts& parts, const RouteCall& call) {
  return {.store = parts.store,
          .principal = call.principal,
          .secrets = &parts.secrets,
          .random = &parts.random};
}

}  // namespace

Result<size_t> LimitOf(const RouteCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const int64_t limit,
                         doors::QueryNumber(call.request, "limit", kDefaultPage, 1, kMaxPage));
  return static_cast<size_t>(limit);
}

HttpReply ErrorReply(const Error& error, const RouteCall& call) {
  return HttpResponse::Json(CodeRowOf(error).http_status,
                            ErrorBody(error, call.request.request_id));
}

awaitable<Result<HttpReply>> Refused(Error error, const RouteCall& call) {
  co_return ErrorReply(error, call);
}

awaitable<Result<HttpReply>> Answer(SharedControl parts, const RouteCall& call, Where where,
                                    Maker maker) {
  std::string text;
  const OperationBody body = [&](Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(text, maker(context));
    return {};
  };
  StoreAccess access = AccessOf(*parts, call);
  const Result<void> done = co_await Look(std::move(access), where, body);
  if (!done.ok()) co_return ErrorReply(done.error(), call);
  co_return HttpReply(HttpResponse::Json(200, std::move(text)));
}

awaitable<Result<HttpReply>> Apply(SharedControl parts, const RouteCall& call,
                                   ChangeOptions options, Maker maker) {
  std::string text;
  const OperationBody body = [&](Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(text, maker(context));
    return {};
  };
  StoreAccess access = AccessOf(*parts, call);
  const Result<void> done =
      co_await Change(std::move(access), std::move(options.scopes), options.where, body);
  if (!done.ok()) co_return ErrorReply(done.error(), call);
  co_return HttpReply(HttpResponse::Json(options.status, std::move(text)));
}

void ControlRows::Add(doors::Route route, Function function) {
  route.tag = "functions";
  route.touches = doors::Touches::Only(kFunctionKind);
  route.checks_body_itself = !route.request_schema.empty();
  route.body_limit = route.request_schema.empty() ? route.body_limit : kMaxRequestBytes;
  for (const auto& [status, what] :
       {std::pair<int, std::string_view>{400, "A name or a member is wrong."},
        {403, "The key does not reach this function."},
        {404, "There is nothing of this name."},
        {409, "It is in another state than the request needs."},
        {410, "It existed but has expired."},
        {413, "It is too large, or there are too many."},
        {503, "The store takes no requests now."}}) {
    route.responses.push_back({status, what, kFunctionErrorSchema});
  }
  route.handler = [parts = parts_, function](const RouteCall& call) {
    return function(parts, call);
  };
  CountRequests(parts_->figures, parts_->clock, route);
  table_.Add(std::move(route));
}

}  // namespace cairn::functions
