#pragma once

#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "doors/http/route.h"
#include "functions/model/message.h"
#include "net/http/message.h"

// What routes that run functions have in common.
namespace cairn::functions {

// Whom a version's roles are held against.
Principal PrincipalOf(const doors::RouteCall& call);
// The caller's own id of its request, if it can be one; else a new one.
std::string RequestIdOf(const doors::RouteCall& call, Random& random);
net::HttpResponse Refusal(const Error& error, std::string_view request_id);

}  // namespace cairn::functions
