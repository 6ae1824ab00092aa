#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "functions/model/records.h"

namespace cairn::functions {

// Where one running activation's heartbeats go. Used on the loop that runs it.
class ActivityHeart {
 public:
  virtual ~ActivityHeart() = default;
  // `details` is JSON. Returns {"cancelRequested":…}: whether the function is asked to end.
  virtual boost::asio::awaitable<Result<std::string>> Beat(std::string details) = 0;
  // The run is over: nothing is sent any more.
  virtual void End() = 0;
};

// Null for an activation that nobody expects heartbeats of. Empty: that is so for all.
using HeartMaker = std::function<std::shared_ptr<ActivityHeart>(const Activation& activation)>;

}  // namespace cairn::functions
