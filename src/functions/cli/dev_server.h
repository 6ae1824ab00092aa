#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "functions/cli/local.h"
#include "net/http/server.h"

namespace cairn::functions::cli {

// Serves one local function over HTTP on 127.0.0.1, for who develops it: every path and method is
// an event, as the gateway of a server makes it, and the result is the response. An error is a 500
// that says what went wrong, with the stack.
//
// Concurrency: Show and Fail from any thread; the rest from the thread that made the runtime.
class DevServer {
 public:
  // `runtime` outlives it.
  explicit DevServer(LocalRuntime& runtime);
  ~DevServer();  // ends connections
  DevServer(const DevServer&) = delete;
  DevServer& operator=(const DevServer&) = delete;

  // Returns the port; 0 lets the system choose.
  Result<uint16_t> Listen(uint16_t port);

  // Requests from now on run this.
  void Show(std::shared_ptr<const LocalFunction> function);
  // The code cannot be run: requests are answered with `why` until Show is called.
  void Fail(std::string why);

 private:
  class Handler;
  struct Shown {
    std::mutex mutex;
    std::shared_ptr<const LocalFunction> function;
    std::string failure;
  };

  LocalRuntime& runtime_;
  const std::shared_ptr<Shown> shown_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace cairn::functions::cli
