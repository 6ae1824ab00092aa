#pragma once

#include "doors/http/route_table.h"

namespace cairn::functions {

// Whatever is refused below /v1/tenants, /v1/web and /v1/codeq has a code of the functions API
// (model/errors.h), also what the server refuses before a route is asked: a path that is not there,
// a key that is missing, a body that does not fit.
void SetErrorForms(doors::RouteTable& table);

}  // namespace cairn::functions
