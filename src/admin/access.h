#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

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
  // How the answer to a wrong secret is held back, for doors::FailedLogins::DelayAfter. Empty: by a
  // timer of the loop.
  std::function<boost::asio::awaitable<void>(std::chrono::milliseconds)> pause = {};
};

// How often each connection has presented a wrong secret in a row, by its address. Remembers the
// last kMaxGuessers connections that did.
class Guessers {
 public:
  // Returns the failures, this one included.
  uint32_t Failed(std::string_view peer);
  void Succeeded(std::string_view peer);

 private:
  struct Guesser {
    std::string peer;
    uint32_t failures = 0;
  };
  std::list<Guesser> guessers_;  // the last one first
  std::unordered_map<std::string_view, std::list<Guesser>::iterator> by_peer_;
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
  Guessers guessers_;
  const std::unique_ptr<doors::RouteDoor> inner_;
};

}  // namespace cairn::admin
