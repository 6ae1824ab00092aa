#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http/message.h"

// Which web pages may use a server (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol).
//
// A browser says in Origin which page makes a request, and shows that page the answer only if the
// answer allows it. Before most requests to another origin it asks with an OPTIONS, the preflight.
// Requests that a form could make, event streams and WebSockets it sends without asking, and what a
// WebSocket answers it shows to everybody: so the server itself refuses who is not allowed.
//
// No credentials are ever allowed: a cookie that comes with a request of another origin does not
// count. A page that has a secret sends it in a header.
namespace cairn::net {

// The origins that are allowed beside the server's own.
struct CorsPolicy {
  bool any = false;
  // Pages that were served on this machine, on whatever port: who can serve them can reach what
  // listens on loopback without a browser.
  bool local = false;
  std::vector<std::string> origins;  // in lower case: "https://app.example.com"

  friend bool operator==(const CorsPolicy&, const CorsPolicy&) = default;
};

// Reads "*", "none", or a list such as "local,https://app.example.com:8443". Nullopt for all else.
std::optional<CorsPolicy> ParseCorsPolicy(std::string_view text);
// What ParseCorsPolicy reads as this policy.
std::string FormatCorsPolicy(const CorsPolicy& policy);

// The Origin of a request that a page of another origin makes; empty if it is none. By the same
// origin is meant the host and port of the Host field: who terminates TLS in front of the server
// changes the scheme.
std::string ForeignOrigin(const HttpHeaders& request);

// Whether pages of `origin` may use the server.
bool Allows(const CorsPolicy& policy, std::string_view origin);

// Lets the page that asked, if it is allowed, read the response and those of its fields that are
// ours.
void AddCorsHeaders(const CorsPolicy& policy, std::string_view foreign_origin,
                    HttpHeaders& response);

// The answer to OPTIONS, on every path: what any request may be. AddCorsHeaders makes it the answer
// to a preflight.
HttpResponse OptionsResponse();

}  // namespace cairn::net
