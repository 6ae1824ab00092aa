#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "app/settings.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "net/address.h"

namespace cairn::app {

struct ServerHooks {
  // Called when a client asks the server to stop (SHUTDOWN), from any thread; must not wait.
  std::function<void()> request_stop;
};

// One running server, as the settings say: the store, the layers put together over it
// (house/assembly.h), and the two listeners.
//
//   store ─ assembly ┬ RESP server
//                    └ guard ─ HTTP server
class Server {
 public:
  // Returns when both addresses accept connections. An error says what could not be had, in a form
  // fit for the command line. `clock` and `random` outlive the server.
  static Result<std::unique_ptr<Server>> Start(const Config& config, const ServerHooks& hooks,
                                               const Clock& clock, Random& random, const Log& log);
  // Closes connections as they are, then the store. Nothing acknowledged is lost.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Where it really listens: the ports are never 0.
  net::Address resp() const;
  net::Address http() const;

  // Accepts nothing more, lets running requests finish and replies leave, for at most `limit`.
  void Drain(std::chrono::milliseconds limit);

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::app
