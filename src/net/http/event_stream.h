#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>

#include "net/http/async_lock.h"
#include "net/http/server.h"
#include "net/http/stream_host.h"

namespace cairn::net {

// One event stream while it is open: runs the handler's coroutine beside the heartbeat and the
// watch for a client that leaves, and ends all of them when one of them ends.
class EventStreamRun final : public EventSink {
 public:
  // `chunked`: frame what is sent as HTTP/1.1 chunks.
  EventStreamRun(StreamHost& host, const boost::asio::any_io_executor& executor, bool chunked)
      : host_(host), chunked_(chunked), executor_(executor), writing_(executor) {}

  // Returns what the handler threw, empty if nothing.
  boost::asio::awaitable<std::string> Run(HttpEventStream& stream);

  boost::asio::awaitable<bool> Send(const ServerEvent& event) override;
  bool gone() const override { return broken_ || ended_; }
  // Whether the connection is broken, so that nothing more can be sent.
  bool broken() const { return broken_; }

 private:
  boost::asio::awaitable<bool> Write(std::string text);
  boost::asio::awaitable<void> RunHandler(HttpEventStream& stream);
  boost::asio::awaitable<void> Beat(std::chrono::milliseconds period);
  boost::asio::awaitable<void> AwaitClientGone();
  boost::asio::awaitable<void> AwaitStop();

  StreamHost& host_;
  const bool chunked_;
  const boost::asio::any_io_executor executor_;
  AsyncLock writing_;
  bool wrote_ = false;   // since the last heartbeat
  bool broken_ = false;  // the client left, or a write failed
  bool ended_ = false;   // one of the parts has ended, and the others are to follow
  std::string problem_;
};

}  // namespace cairn::net
