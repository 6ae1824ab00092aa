#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "doors/access/principal.h"
#include "doors/http/route_table.h"
#include "house/registry.h"
#include "net/http/server.h"

namespace cairn::admin {

// What a request presents: the bearer token of Authorization, or X-API-Key; empty if neither.
//
// A browser's event stream can send no such header. So a GET without them may also bring the cookie
// cairn_api_key, or corvo_api_key as clients of that API have it, percent-encoded. Only a GET: a
// browser sends cookies along with what other sites make it ask for.
std::string PresentedSecret(const net::HttpRequest& request);

// What a request that is refused has presented.
enum class Presented : uint8_t { kNothing, kWrongSecret };

struct GuardOptions {
  house::Registry::Identify identify;
  // How large a body may be where `inner` has no wish of its own (net::kDefaultBodyLimit).
  size_t default_body_limit = net::kDefaultBodyLimit;
  // Told of every request that gets 401, on the loop's thread. May be empty.
  std::function<void(const net::HttpRequest& request, Presented presented)> on_refused = {};
  // How long the answer to a wrong secret is held back, so that guessing is slow.
  std::chrono::milliseconds refusal_delay{100};
};

// Finds out who asks, and lets the routes answer them as what they are; the others get 401 and are
// not looked at further. /healthz and /readyz need no secret: a load balancer asks them, and they
// tell nothing about the data.
class Guard final : public net::HttpHandler {
 public:
  Guard(GuardOptions options, std::unique_ptr<doors::RouteDoor> inner);

  size_t BodyLimit(net::HttpRequest& head) override;
  boost::asio::awaitable<net::HttpReply> Handle(net::HttpRequest request) override;
  std::string RefusalBody(std::string_view path, int status, std::string_view message,
                          std::string_view request_id) override;

 private:
  std::shared_ptr<const doors::Principal> Who(const net::HttpRequest& request) const;

  const GuardOptions options_;
  const std::unique_ptr<doors::RouteDoor> inner_;
};

}  // namespace cairn::admin
