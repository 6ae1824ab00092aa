#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "net/address.h"
#include "net/http/cors.h"
#include "net/http/host.h"
#include "net/http/message.h"

namespace cairn::net {

class BufferBudget;
class Loop;
class LoopGroup;
class TlsContext;

// One Server-Sent Event. Data may have several lines. (Like WebSocketMessage no aggregate, because
// g++ 12 destroys a braced aggregate twice when it is an argument inside a co_await.)
struct ServerEvent {
  ServerEvent() = default;
  ServerEvent(std::string with_id, std::string of_event, std::string with_data)
      : id(std::move(with_id)), event(std::move(of_event)), data(std::move(with_data)) {}

  std::string id;     // omitted if empty; line breaks become spaces
  std::string event;  // omitted if empty ("message" to the browser); line breaks become spaces
  std::string data;
};

// The event as it goes over the wire, the empty line at its end included.
std::string FormatServerEvent(const ServerEvent& event);

// Where an event stream writes. Used on the loop's thread, one call at a time.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // Returns false, at once and from then on, when the client is gone or the server drains.
  virtual boost::asio::awaitable<bool> Send(const ServerEvent& event) = 0;
  virtual bool gone() const = 0;
};

// A response that stays open and carries events until `run` returns. When the client leaves or the
// server drains, whatever `run` awaits is cancelled (Asio's terminal cancellation), and the next
// Send returns false. While nothing is sent a comment goes out every `heartbeat`, so that proxies
// keep the stream open and a dead client is noticed.
struct HttpEventStream {
  HttpHeaders headers;
  std::function<boost::asio::awaitable<void>(EventSink&)> run;
  std::chrono::milliseconds heartbeat = std::chrono::seconds(15);
};

struct WebSocketMessage {
  static WebSocketMessage Text(std::string data) { return {false, std::move(data)}; }
  static WebSocketMessage Binary(std::string data) { return {true, std::move(data)}; }

  WebSocketMessage() = default;
  WebSocketMessage(bool is_binary, std::string with_data)
      : binary(is_binary), data(std::move(with_data)) {}

  bool binary = false;
  std::string data;
};

// An open WebSocket. Used on the loop's thread; one Read at a time, and Sends from any number of
// coroutines, which go out in the order of the calls. Pings are answered by the server.
class WebSocket {
 public:
  virtual ~WebSocket() = default;
  // The next message, its fragments joined. kUnavailable: the peer closed or is gone; kTooLarge:
  // the message exceeded the limit and the connection is closed.
  virtual boost::asio::awaitable<Result<WebSocketMessage>> Read() = 0;
  virtual boost::asio::awaitable<Result<void>> Send(WebSocketMessage message) = 0;
  virtual boost::asio::awaitable<Result<void>> Ping() = 0;
  virtual boost::asio::awaitable<void> Close(uint16_t code, std::string reason) = 0;
};

// Accepts a WebSocket upgrade: `run` owns the conversation until it returns, after which the server
// closes. A drain cancels what `run` awaits. Answering a request without `websocket` so is a bug of
// the handler and gives 500.
struct HttpWebSocket {
  HttpHeaders headers;
  std::function<boost::asio::awaitable<void>(WebSocket&)> run;
  size_t message_limit = 1024 * 1024;
};

struct HttpBodyStream;

// A response that is made while the server watches whether the client is still there: for a request
// that waits for something. When the client leaves or the server drains, whatever `run` awaits is
// cancelled (Asio's terminal cancellation), and what it then returns is sent if there is somebody
// to send it to.
struct HttpLateResponse {
  std::function<boost::asio::awaitable<HttpResponse>()> run;
  // Called once, after `run`, if the response could not be sent. May be empty.
  std::function<boost::asio::awaitable<void>()> unsent;
  // Asked once, after `run`, for a body that is made piece by piece: then the one of the response
  // is empty, and the stream's headers count for nothing. May be empty, and give null.
  std::function<std::shared_ptr<HttpBodyStream>()> body = {};
};

// Where the body of a streamed response goes. Used on the loop's thread, one call at a time.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // Returns when there is room for more: a client that reads slowly slows down who writes. False,
  // at once and from then on, when the client is gone or the server drains.
  virtual boost::asio::awaitable<bool> Write(std::string piece) = 0;
};

// A response whose body is made piece by piece, so that nobody has to hold all of it. `run` returns
// whether the body is complete. If it is not, the connection ends without the mark that HTTP/1.1
// has for the end of a body, and the client knows.
struct HttpBodyStream {
  HttpHeaders headers;
  std::function<boost::asio::awaitable<bool>(BodySink&)> run;
  // The client is watched also while nothing is written: when it leaves, or the server drains,
  // whatever `run` awaits is cancelled (Asio's terminal cancellation).
  bool watched = false;
};

using HttpReply =
    std::variant<HttpResponse, HttpEventStream, HttpWebSocket, HttpLateResponse, HttpBodyStream>;

// What the server calls, always on the loop's thread: one handler object per loop. The requests of
// one connection are handled one after the other; those of different connections interleave where a
// handler awaits.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  // Asked when the head has arrived and before the body is read: how large the body may be. More
  // gives 413. `head.body` is empty; `head.note` may be set.
  virtual size_t BodyLimit(HttpRequest& head);

  // An exception that escapes gives 500 and is logged with the request id.
  virtual boost::asio::awaitable<HttpReply> Handle(HttpRequest request) = 0;

  // The body with which the server itself refuses a request (400, 408, 413, 500 …); HttpErrorBody
  // unless the handler's clients expect another. `path` is empty if the head could not be read.
  virtual std::string RefusalBody(std::string_view path, int status, std::string_view message,
                                  std::string_view request_id);
};

struct HttpServerOptions {
  size_t max_connections = 10'000;  // further ones get 503
  size_t header_limit = 16 * 1024;  // request line and fields; more gives 431
  std::chrono::milliseconds header_timeout =
      std::chrono::seconds(10);  // first byte to empty line; 408
  std::chrono::milliseconds body_timeout = std::chrono::seconds(60);   // the whole body; 408
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(75);   // between requests; closes
  std::chrono::milliseconds write_timeout = std::chrono::seconds(60);  // without progress; closes
  // Instead of idle_timeout until a request has succeeded: who has no key holds nothing for long.
  std::chrono::milliseconds stranger_timeout = std::chrono::seconds(75);
  // Which web pages may use the server; the others get 403, and their requests reach no handler.
  // Asked for each request, on the loop's thread; the reference holds while the server exists.
  // Empty: pages of the server's own origin only.
  std::function<const CorsPolicy&()> cors;
  // Under which names the server may be asked; others get 421, likewise. Null, or empty: any.
  std::function<const AllowedHosts*()> hosts;
  // What bodies of requests and responses may take together, with other servers; null: no bound.
  std::shared_ptr<BufferBudget> budget;
};

// The default of HttpHandler::BodyLimit.
inline constexpr size_t kDefaultBodyLimit = 1024 * 1024;

struct HttpServerStats {
  uint64_t connections_received = 0;
  uint64_t connections_rejected = 0;
  uint64_t connections_open = 0;
  uint64_t requests = 0;
};

using HttpHandlerFactory = std::function<std::unique_ptr<HttpHandler>(Loop&)>;

// An HTTP/1.1 server: keep-alive, pipelining (answers in request order), WebSocket, event streams,
// TLS. Answers malformed, oversized and late requests by itself, with the JSON body of
// HttpErrorBody; and OPTIONS, on every path. Construct before the group starts or while it runs;
// destroy before the group, after Drain or Stop of the group. Its functions may be called from any
// thread that is not a loop's.
class HttpServer {
 public:
  HttpServer(const HttpServerOptions& options, LoopGroup& loops,
             const HttpHandlerFactory& make_handler, const Clock& clock, Random& random, Log log);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // May be called several times; with `tls`, clients must speak TLS on this address. Returns the
  // port.
  Result<uint16_t> Listen(const Address& address, std::shared_ptr<TlsContext> tls = nullptr);

  // Stops accepting, closes idle connections, cancels event streams and WebSockets, lets running
  // requests finish with "Connection: close"; what is left after `limit` is closed as it is.
  // Returns when all connections are closed. The loops must be running.
  void Drain(std::chrono::milliseconds limit);

  HttpHandler& handler(Loop& loop);
  HttpServerStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::net
