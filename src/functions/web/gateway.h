#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/model/message.h"
#include "net/http/message.h"

// HTTP requests as events of functions, and their results as responses.
namespace cairn::functions {

// The request as a function sees it: AWS's API Gateway has the same form (version 2.0). `path` is
// the function's own part of the request's path, as it was sent. CS_TOO_LARGE for a query of more
// than kMaxHttpQueryBytes, and for header fields of more than kMaxHttpHeaderBytes.
Result<std::string> GatewayEvent(const net::HttpRequest& request, std::string_view path);

// What the function has answered. Headers that are the server's to set, and those that HTTP does
// not allow, are left out.
net::HttpResponse GatewayResponse(const FunctionResult& result);

}  // namespace cairn::functions
