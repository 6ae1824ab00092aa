#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "doors/access/grants.h"
#include "net/http/server.h"

// An HTTP route is one row: what it answers to, who may use it, what it takes and gives, and what
// runs. The OpenAPI document is made of the rows, and requests are checked against them.
//
//   table.Add({.method = "GET", .path = "/v1/events/{id}", .permission = "events.read",
//              .summary = "One event.", .responses = {{200, "The event.", kEventSchema}},
//              .handler = GetEvent});
namespace cairn::doors {

struct Route;
class Principal;

// One request for a route, complete and checked against its row.
struct RouteCall {
  const Route& route;
  net::HttpRequest request;
  // What stands for each {name} of the path, decoded.
  std::vector<std::pair<std::string_view, std::string>> path_values;
  // The body, for a route with a request schema; null otherwise, and where it was left out.
  boost::json::value body;
  // Who asks; null where nobody is asked who they are.
  std::shared_ptr<const Principal> principal;
  // What the audit log shows besides the path: which key was made. Set by the handler before it
  // returns, on the connection's loop; never a secret.
  mutable std::string audit_detail = {};

  // The value of {name}, which the path must have.
  const std::string& PathValue(std::string_view name) const;
};

// Runs on the connection's loop and must not wait other than by co_await. An Error becomes the
// status and the body that error_table.h has for it.
using RouteHandler =
    std::function<boost::asio::awaitable<Result<net::HttpReply>>(const RouteCall& call)>;

// A parameter behind the question mark. One that is not named in the row is refused.
struct QueryParameter {
  std::string_view name;
  std::string_view description;
  std::string_view type = "string";  // or integer, boolean
  bool required = false;
};

// An answer that a route can give, besides the errors that all routes share.
struct RouteResponse {
  int status = 200;
  std::string_view description;
  std::string_view schema = {};  // JSON schema (json_schema.h); empty: no JSON body
  std::string_view content_type = "application/json";
};

struct Route {
  std::string_view method;           // "GET", "POST", …; HEAD is answered as GET without its body
  std::string_view path;             // "/v1/events/{id}"; route_tree.h has all forms
  std::string_view permission = {};  // what a key must allow; empty: open to everyone
  Touches touches = Touches::Anything();  // closed to callers with grants unless it says otherwise
  std::string_view summary;
  std::string_view tag = "server";
  std::vector<QueryParameter> query = {};
  bool any_query = false;                // the handler reads the query itself
  std::string_view request_schema = {};  // JSON schema; empty: the body is not looked at
  bool optional_body = false;            // a request without a body is complete too
  bool checks_body_itself = false;       // the schema is for readers; RouteCall::body stays null
  int malformed_status = 400;            // for what does not fit the row; 422 says the same
  std::vector<RouteResponse> responses;
  size_t body_limit = net::kDefaultBodyLimit;
  RouteHandler handler;
};

}  // namespace cairn::doors
