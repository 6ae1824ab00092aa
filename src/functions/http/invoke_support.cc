#include "functions/http/invoke_support.h"

#include "doors/access/principal.h"
#include "functions/model/errors.h"
#include "functions/model/names.h"

namespace cairn::functions {

Principal PrincipalOf(const doors::RouteCall& call) {
  // Where nobody is asked who they are, everybody may do everything.
  if (call.principal == nullptr) return {.sub = "anonymous", .roles = {"role:admin"}};
  const std::string& role = call.principal->role();
  return {.sub = call.principal->name(), .roles = {role, "role:" + role}};
}

std::string RequestIdOf(const doors::RouteCall& call, Random& random) {
  const std::string& id = call.request.request_id;
  return IsName(NameKind::kRequest, id) ? id : NewRequestId(random);
}

net::HttpResponse Refusal(const Error& error, std::string_view request_id) {
  net::HttpResponse response =
      net::HttpResponse::Json(CodeRowOf(error).http_status, ErrorBody(error, request_id));
  if (response.status == 429) response.headers.Add("Retry-After", "1");
  return response;
}

}  // namespace cairn::functions
