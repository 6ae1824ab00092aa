#include "net/http/web_socket.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/error.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <cstdint>
#include <exception>
#include <utility>

#include "net/http/async_lock.h"

namespace cairn::net {
namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using asio::awaitable;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

template <typename Stream>
class StreamWebSocket final : public WebSocketConnection {
 public:
  StreamWebSocket(Stream stream, const HttpServerOptions& options, size_t message_limit)
      : socket_(std::move(stream)), sending_(socket_.get_executor()) {
    socket_.set_option(websocket::stream_base::timeout{options.header_timeout, options.idle_timeout,
                                                       /*keep_alive_pings=*/true});
    socket_.read_message_max(message_limit);
  }

  awaitable<std::string> Run(
      const boost::beast::http::request<boost::beast::http::string_body>& request,
      const HttpHeaders& headers, HttpWebSocket& upgrade, StreamHost& host) override {
    using namespace asio::experimental::
        awaitable_operators;  // NOLINT(google-build-using-namespace)
    socket_.set_option(
        websocket::stream_base::decorator([&headers](websocket::response_type& response) {
          for (const auto& [name, value] : headers.fields()) response.set(name, value);
        }));
    const auto [failure] = co_await socket_.async_accept(request, kTuple);
    if (failure) co_return std::string();
    co_await (RunHandler(upgrade) || CloseOnStop(host));
    co_await Close(websocket::close_code::normal, "");
    co_return problem_;
  }

  awaitable<Result<WebSocketMessage>> Read() override {
    boost::beast::flat_buffer buffer;
    const auto [failure, size] = co_await socket_.async_read(buffer, kTuple);
    if (failure == websocket::error::message_too_big) {
      co_return Error{ErrorCode::kTooLarge, "the message is larger than accepted"};
    }
    if (failure) co_return Gone();
    WebSocketMessage message;
    message.binary = socket_.got_binary();
    message.data = boost::beast::buffers_to_string(buffer.data());
    co_return message;
  }

  awaitable<Result<void>> Send(WebSocketMessage message) override {
    const bool acquired = co_await sending_.Acquire();
    if (!acquired) co_return Gone();
    socket_.binary(message.binary);
    const auto [failure, size] = co_await socket_.async_write(asio::buffer(message.data), kTuple);
    sending_.Release();
    if (failure) co_return Gone();
    co_return Result<void>();
  }

  awaitable<Result<void>> Ping() override {
    const auto [failure] = co_await socket_.async_ping({}, kTuple);
    if (failure) co_return Gone();
    co_return Result<void>();
  }

  awaitable<void> Close(uint16_t code, std::string reason) override {
    if (!socket_.is_open() || std::exchange(closing_, true)) co_return;
    websocket::close_reason why(code);
    why.reason.assign(reason.data(), std::min(reason.size(), why.reason.max_size()));
    co_await socket_.async_close(why, kTuple);
  }

  void Abort() override {
    boost::system::error_code ignored;
    boost::beast::get_lowest_layer(socket_).close(ignored);
  }

 private:
  static Error Gone() { return {ErrorCode::kUnavailable, "the WebSocket is closed"}; }

  awaitable<void> RunHandler(HttpWebSocket& upgrade) {
    co_await asio::this_coro::throw_if_cancelled(false);
    try {
      co_await upgrade.run(*this);
    } catch (const std::exception& thrown) {
      if (!stopping_) problem_ = thrown.what();
    }
  }

  awaitable<void> CloseOnStop(StreamHost& host) {
    co_await host.AwaitStop();
    // Cancelled because the handler has ended: nothing to tell anybody.
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) co_return;
    stopping_ = true;
    co_await Close(websocket::close_code::going_away, "the server is stopping");
  }

  // Without compression, which would keep large buffers for every connection.
  websocket::stream<Stream, /*deflateSupported=*/false> socket_;
  AsyncLock sending_;
  bool closing_ = false;
  bool stopping_ = false;
  std::string problem_;
};

}  // namespace

std::unique_ptr<WebSocketConnection> MakeWebSocket(TcpStream stream,
                                                   const HttpServerOptions& options,
                                                   size_t message_limit) {
  return std::make_unique<StreamWebSocket<TcpStream>>(std::move(stream), options, message_limit);
}

std::unique_ptr<WebSocketConnection> MakeWebSocket(TlsStream stream,
                                                   const HttpServerOptions& options,
                                                   size_t message_limit) {
  return std::make_unique<StreamWebSocket<TlsStream>>(std::move(stream), options, message_limit);
}

}  // namespace cairn::net
