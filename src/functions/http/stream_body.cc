#include "functions/http/stream_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <string_view>
#include <utility>

#include "functions/model/errors.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;

struct Body {
  doors::RouteStore& routes;
  std::shared_ptr<LiveResponses::Place> place;
  bool events = false;
  std::string request_id;
};

// Knows whether what was sent ends between two events: with an empty line, or not begun.
class EventEdge {
 public:
  void Add(std::string_view bytes) {
    constexpr size_t kLongestEnd = 4;  // CR LF CR LF
    tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kLongestEnd)));
    if (tail_.size() > kLongestEnd) tail_.erase(0, tail_.size() - kLongestEnd);
  }
  bool between() const {
    return tail_.empty() || tail_.ends_with("\n\n") || tail_.ends_with("\r\r") ||
           tail_.ends_with("\r\n\r\n");
  }

 private:
  std::string tail_;
};

std::string ErrorEvent(const std::string& type, std::string_view request_id) {
  const Error error =
      Refuse(Code::kException, fmt::format("the function failed{}{}; its activation says why",
                                           type.empty() ? "" : " with ", type));
  return FormatServerEvent(net::ServerEvent("", "error", ErrorBody(error, request_id)));
}

awaitable<bool> Send(std::shared_ptr<const Body> body, net::BodySink* sink) {
  LiveResponse& live = *body->place->response();
  doors::RouteStore::Signal signal(body->routes);
  live.SetWaker(signal.waker());
  EventEdge edge;
  while (true) {
    LiveResponse::Next next = live.Take();
    if (!next.bytes.empty()) {
      const uint64_t size = next.bytes.size();
      if (body->events) edge.Add(next.bytes);
      const bool sent = co_await sink->Write(std::move(next.bytes));
      if (!sent) co_return false;
      live.Took(size);
      continue;
    }
    if (next.end == LiveResponse::End::kComplete) co_return true;
    if (next.end == LiveResponse::End::kBroken) {
      if (!body->events || !edge.between()) co_return false;
      std::string last = ErrorEvent(next.type, body->request_id);
      const bool sent = co_await sink->Write(std::move(last));
      co_return sent;
    }
    const bool woken = co_await signal.Wait();
    if (!woken) co_return false;
  }
}

}  // namespace

std::shared_ptr<net::HttpBodyStream> StreamBody(doors::RouteStore& routes,
                                                std::shared_ptr<LiveResponses::Place> place,
                                                bool events, std::string request_id) {
  auto body =
      std::make_shared<const Body>(Body{routes, std::move(place), events, std::move(request_id)});
  auto stream = std::make_shared<net::HttpBodyStream>();
  stream->watched = true;
  stream->run = [body](net::BodySink& sink) { return Send(body, &sink); };
  return stream;
}

}  // namespace cairn::functions
