#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop.h"
#include "net/resp/client.h"
#include "net/tls.h"
#include "tests/support/await.h"

namespace cairn::net::testing {

// What a ToyHttpHandler saw. Safe to read from any thread.
struct ToyHttpLog {
  std::atomic<int> handled = 0;
  std::atomic<int> streams_ended = 0;
  std::atomic<int> sockets_ended = 0;
  std::atomic<int> late_waiting = 0;
  std::atomic<int> late_unsent = 0;
};

// A handler with just enough routes to try a server:
//   /echo               answers the request's body
//   /describe           answers what arrived, as text
//   /status/N           answers N without a body
//   /big/N              answers N bytes
//   /limit/N            accepts a body of at most N bytes, answers its size
//   /throw              throws
//   /wait               answers when `proceed` is called
//   /late               answers when `proceed` is called or its wait is cancelled, and says which
//   /events/N           an event stream of N events; /events/forever does not end by itself
//   /body/N             a streamed body of N pieces; /body/broken has one and is then given up
//   /socket             a WebSocket that echoes
class ToyHttpHandler final : public HttpHandler {
 public:
  ToyHttpHandler(ToyHttpLog& log, Loop& loop) : log_(log), gate_(loop.io()) {
    gate_.expires_at(boost::asio::steady_timer::time_point::max());
  }

  size_t BodyLimit(HttpRequest& head) override {
    if (head.segments.size() == 2 && head.segments[0] == "limit") {
      return std::stoul(head.segments[1]);
    }
    return HttpHandler::BodyLimit(head);
  }

  boost::asio::awaitable<HttpReply> Handle(HttpRequest request) override {
    ++log_.handled;
    const std::string name = request.segments.empty() ? "" : request.segments[0];
    if (name == "echo") {
      HttpResponse response = HttpResponse::Text(200, std::move(request.body));
      co_return response;
    }
    if (name == "describe") co_return HttpResponse::Text(200, Describe(request));
    if (name == "status") co_return HttpResponse::Empty(std::stoi(request.segments[1]));
    if (name == "big") {
      co_return HttpResponse::Text(200, std::string(std::stoul(request.segments[1]), 'x'));
    }
    if (name == "limit") co_return HttpResponse::Text(200, std::to_string(request.body.size()));
    if (name == "throw") throw std::runtime_error("thrown on purpose");
    if (name == "wait") {
      co_await gate_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
      co_return HttpResponse::Text(200, "waited");
    }
    if (name == "late") {
      HttpLateResponse late = Late();
      co_return late;
    }
    if (name == "watched") {
      HttpLateResponse late = Watched();
      co_return late;
    }
    if (name == "events") {
      HttpEventStream stream = Events(request.segments[1]);
      co_return stream;
    }
    if (name == "body") {
      HttpBodyStream stream;
      stream.headers.Set("Content-Type", "text/plain");
      stream.run = [this, count = request.segments[1]](BodySink& sink) {
        return SendPieces(sink, count);
      };
      co_return stream;
    }
    if (name == "socket") {
      HttpWebSocket socket = Echoing();
      co_return socket;
    }
    co_return HttpResponse::Json(404, "{}");
  }

  // Lets go all requests to /wait. On the loop's thread.
  void Proceed() { gate_.cancel(); }

 private:
  static std::string Describe(const HttpRequest& request) {
    std::string text = request.method + " " + request.path + "\n";
    for (const auto& [name, value] : request.query) text += name + "=" + value + "\n";
    text += "id " + request.request_id + "\n";
    if (request.trace_parent) text += "trace " + request.trace_parent->trace_id + "\n";
    text += request.tls ? "tls\n" : "plain\n";
    text += "x-test " + std::string(request.headers.Get("x-test").value_or("-")) + "\n";
    text += "cookie " + std::string(request.headers.Get("Cookie").value_or("-")) + "\n";
    return text;
  }

  HttpLateResponse Late() {
    HttpLateResponse late;
    late.run = [this] { return RunLate(); };
    late.unsent = [this]() -> boost::asio::awaitable<void> {
      ++log_.late_unsent;
      co_return;
    };
    return late;
  }

  boost::asio::awaitable<HttpResponse> RunLate() {
    ++log_.late_waiting;
    co_await gate_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    const auto state = co_await boost::asio::this_coro::cancellation_state;
    const bool cancelled = state.cancelled() != boost::asio::cancellation_type::none;
    co_return HttpResponse::Text(200, cancelled ? "cancelled" : "late");
  }

  // A response whose body begins, and goes on once the gate opens.
  HttpLateResponse Watched() {
    HttpLateResponse late;
    late.run = []() -> boost::asio::awaitable<HttpResponse> {
      HttpResponse response = HttpResponse::Empty(202);
      response.headers.Set("Content-Type", "text/plain");
      co_return response;
    };
    late.body = [this] {
      auto stream = std::make_shared<HttpBodyStream>();
      stream->watched = true;
      stream->run = [this](BodySink& sink) { return SendWatched(sink); };
      return stream;
    };
    return late;
  }

  boost::asio::awaitable<bool> SendWatched(BodySink& sink) {
    const Ended ended(log_.streams_ended);
    const bool begun = co_await sink.Write("begun\n");
    if (!begun) co_return false;
    ++log_.late_waiting;
    co_await gate_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    const bool sent = co_await sink.Write("done\n");
    co_return sent;
  }

  boost::asio::awaitable<bool> SendPieces(BodySink& sink, std::string count) {
    const Ended ended(log_.streams_ended);
    const int pieces = count == "broken" ? 1 : std::stoi(count);
    for (int i = 1; i <= pieces; ++i) {
      const bool sent = co_await sink.Write(std::string("piece ") + std::to_string(i) + "\n");
      if (!sent) co_return false;
    }
    co_return count != "broken";
  }

  HttpEventStream Events(const std::string& count) {
    HttpEventStream stream;
    stream.heartbeat = std::chrono::milliseconds(10);
    stream.run = [this, count](EventSink& sink) { return SendEvents(sink, count); };
    return stream;
  }

  boost::asio::awaitable<void> SendEvents(EventSink& sink, std::string count) {
    const Ended ended(log_.streams_ended);
    const int events = count == "forever" ? 1 : std::stoi(count);
    for (int i = 1; i <= events; ++i) {
      const ServerEvent event(std::to_string(i), "tick", "line 1\nline 2");
      const bool sent = co_await sink.Send(event);
      if (!sent) co_return;
    }
    if (count == "forever") {
      boost::asio::steady_timer never(co_await boost::asio::this_coro::executor);
      never.expires_at(boost::asio::steady_timer::time_point::max());
      co_await never.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
      EXPECT_TRUE(sink.gone());
      const bool sent = co_await sink.Send({});
      EXPECT_FALSE(sent);
    }
  }

  HttpWebSocket Echoing() {
    HttpWebSocket socket;
    socket.message_limit = 100'000;
    socket.run = [this](WebSocket& peer) { return Echo(peer); };
    return socket;
  }

  boost::asio::awaitable<void> Echo(WebSocket& peer) {
    const Ended ended(log_.sockets_ended);
    while (true) {
      auto message = co_await peer.Read();
      if (!message.ok()) co_return;
      if (message->data == "close") {
        co_await peer.Close(4000, "as you wish");
        co_return;
      }
      auto sent = co_await peer.Send(*std::move(message));
      if (!sent.ok()) co_return;
    }
  }

  struct Ended {
    explicit Ended(std::atomic<int>& counter) : count(counter) {}
    ~Ended() { ++count; }
    Ended(const Ended&) = delete;
    Ended& operator=(const Ended&) = delete;
    std::atomic<int>& count;
  };

  ToyHttpLog& log_;
  boost::asio::steady_timer gate_;
};

// An HttpServer with a ToyHttpHandler on 127.0.0.1.
class HttpServerTest : public ::testing::Test {
 protected:
  void Start(const HttpServerOptions& options = {}, std::shared_ptr<TlsContext> tls = nullptr,
             size_t loops = 1) {
    loops_ = std::make_unique<LoopGroup>(loops);
    loops_->Start();
    server_ = std::make_unique<HttpServer>(
        options, *loops_,
        [this](Loop& loop) { return std::make_unique<ToyHttpHandler>(log_, loop); }, clock_,
        random_, Log::Silent());
    auto port = server_->Listen({"127.0.0.1", 0}, std::move(tls));
    ASSERT_TRUE(port.ok()) << port.error().message;
    port_ = *port;
  }

  Address address() const { return {"127.0.0.1", port_}; }
  HttpClient Client() const { return HttpClient(address()); }

  // Bytes as they are, over a connection of their own.
  RespClient Raw() const {
    auto client = RespClient::Connect(address());
    EXPECT_TRUE(client.ok());
    return *std::move(client);
  }
  // Sends `bytes`, and returns all that comes until the server closes.
  std::string Exchange(std::string_view bytes) const {
    RespClient client = Raw();
    EXPECT_TRUE(client.SendRaw(bytes).ok());
    return All(client);
  }
  // All that comes until the server closes.
  static std::string All(RespClient& client) {
    auto received = client.ReceiveUntilClosed();
    return received.ok() ? *std::move(received) : received.error().message;
  }

  void OnLoop(const std::function<void()>& function) {
    std::promise<void> done;
    loops_->at(0).Post([&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }
  void Proceed() {
    OnLoop([&] { static_cast<ToyHttpHandler&>(server_->handler(loops_->at(0))).Proceed(); });
  }

  static void WaitUntil(const std::function<bool()>& condition,
                        const std::source_location& where = std::source_location::current()) {
    cairn::testing::Await("what that line says", condition, cairn::testing::kAwaitLimit, where);
  }

  ManualClock clock_;
  SeededRandom random_{1};
  ToyHttpLog log_;
  std::unique_ptr<LoopGroup> loops_;
  std::unique_ptr<HttpServer> server_;
  uint16_t port_ = 0;
};

}  // namespace cairn::net::testing
