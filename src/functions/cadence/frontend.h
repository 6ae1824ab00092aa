#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "functions/cadence/wire.h"
#include "outside/http_service.h"

namespace cairn::functions {

struct FrontendOptions {
  std::string url;  // empty: there is none
  enum class Transport : uint8_t { kGrpc, kJson };
  Transport transport = Transport::kGrpc;
};

// The frontend of Cadence, as coroutines ask it. The first request starts the thread that sends
// them: without one there is none.
//
// Errors are those of Wire and of HttpService. Used on any loop; Stop on a thread that is not a
// loop's.
class Frontend {
 public:
  Frontend(const Clock& clock, FrontendOptions options);
  ~Frontend();
  Frontend(const Frontend&) = delete;
  Frontend& operator=(const Frontend&) = delete;

  bool configured() const { return wire_ != nullptr; }

  // nullopt: there was no task. Takes as long as the frontend likes to wait for one, or until the
  // coroutine is cancelled.
  boost::asio::awaitable<Result<std::optional<ActivityTask>>> Poll(PollRequest request);
  boost::asio::awaitable<Result<void>> Respond(TaskRef task, const TaskAnswer& answer);
  // Whether the activity is asked to end.
  boost::asio::awaitable<Result<bool>> Heartbeat(TaskRef task, std::string_view details);

  // Ends all requests.
  void Stop();

 private:
  boost::asio::awaitable<Result<outside::HttpAnswer>> Ask(outside::HttpCall call);
  std::shared_ptr<outside::HttpService> Service();

  const Clock& clock_;
  const std::unique_ptr<Wire> wire_;  // null: not configured
  std::mutex mutex_;
  bool stopped_ = false;
  std::shared_ptr<outside::HttpService> http_;
};

}  // namespace cairn::functions
