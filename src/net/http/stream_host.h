#pragma once

#include <boost/asio/awaitable.hpp>
#include <string_view>

namespace cairn::net {

// What a connection offers to a response that stays open. Used on the loop's thread.
class StreamHost {
 public:
  // Writes `first` and then `second`; one call at a time. False: the client is gone, or reads too
  // slowly.
  virtual boost::asio::awaitable<bool> Write(std::string_view first, std::string_view second) = 0;
  // Returns when the client has left. What it sends meanwhile is ignored.
  virtual boost::asio::awaitable<void> AwaitClientGone() = 0;
  // Returns when the server wants the response to end.
  virtual boost::asio::awaitable<void> AwaitStop() = 0;

 protected:
  ~StreamHost() = default;
};

}  // namespace cairn::net
