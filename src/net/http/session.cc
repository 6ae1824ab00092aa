
#include <fmt/format.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/id.h"
#include "net/http/cors.h"
#include "net/http/event_stream.h"
#include "net/http/head.h"
#include "net/http/host.h"
#include "net/http/shard.h"
#include "net/http/web_socket.h"
#include "net/loop.h"
#include "net/tls.h"

namespace cairn::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::awaitable;
using boost::system::error_code;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr SteadyTime kNever = SteadyTime::max();
// What the input buffer holds beyond a head: the framing of chunks.
constexpr size_t kBufferSlack = 16 * 1024;
constexpr size_t kReadBytes = 8 * 1024;
// A body up to this size is sent in one piece with its head.
constexpr size_t kOnePieceBytes = 32 * 1024;
// After the last response the client's remaining input is thrown away for a while: closing a socket
// with input unread would reset the connection and could take the response with it.
constexpr std::chrono::seconds kLingerTime{1};
constexpr size_t kLingerBytes = 16 * 1024 * 1024;

// Of the name that a refusal repeats.
constexpr size_t kMaxShownHost = 128;

// The client is gone, or the connection is at its end: nobody to answer to.
struct Gone {};
using ReadResult = std::variant<Gone, HttpRefusal, HttpRequest>;

template <typename Stream>
class Session final : public HttpSession, public StreamHost, public BodySink {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  Session(std::shared_ptr<HttpShard> shard, Stream stream, std::string peer)
      : shard_(std::move(shard)),
        stream_(std::move(stream)),
        peer_(std::move(peer)),
        buffer_(shard_->options().header_limit + kBufferSlack),
        stop_(shard_->loop().io(), kNever) {
    shard_->Enter(*this);
    share_.emplace(shard_->budget(), *shard_, id);
  }
  ~Session() override { shard_->Leave(*this); }

  // The whole life of the connection.
  awaitable<void> Run() {
    if constexpr (kTls) {
      SetDeadline(shard_->options().header_timeout);
      const auto [failure] = co_await stream_.async_handshake(TlsStream::server, kTuple);
      if (failure) co_return;
    }
    bool more = true;
    while (more) more = co_await ServeRequest();
    if (!socket_given_away_) co_await Finish();
  }

  void CheckDeadline(SteadyTime now) override {
    if (now < deadline_) return;
    deadline_ = kNever;
    expired_ = true;
    Cancel();
  }

  void Drain() override {
    if (idle_) Abort();
    stop_.cancel();
  }

  void Abort() override {
    aborted_ = true;
    stop_.cancel();
    error_code ignored;
    if (!socket_given_away_) beast::get_lowest_layer(stream_).close(ignored);
    if (on_abort_ != nullptr) on_abort_();
  }

  // Writes `first` and then `second`. The deadline counts from the last progress. False: the client
  // is gone.
  awaitable<bool> Write(std::string_view first, std::string_view second) override {
    while (!first.empty() || !second.empty()) {
      SetDeadline(shard_->options().write_timeout);
      const std::array<asio::const_buffer, 2> buffers = {
          asio::buffer(first.data(), first.size()), asio::buffer(second.data(), second.size())};
      const auto [failure, written] = co_await stream_.async_write_some(buffers, kTuple);
      deadline_ = kNever;
      if (failure) co_return false;
      const size_t of_first = std::min(written, first.size());
      first.remove_prefix(of_first);
      second.remove_prefix(written - of_first);
    }
    co_return true;
  }

  // A piece of a streamed body.
  awaitable<bool> Write(std::string piece) override {
    if (body_broken_ || shard_->draining()) co_return false;
    if (piece.empty()) co_return true;  // as a chunk it would be the last
    if (chunked_) piece = fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
    const bool sent = co_await Write(std::string_view(piece), {});
    body_broken_ = !sent;
    co_return sent;
  }

  // Returns when the client has left. What it sends meanwhile is ignored.
  awaitable<void> AwaitClientGone() override {
    std::array<char, 1024> ignored;
    while (true) {
      const auto [failure, size] = co_await stream_.async_read_some(asio::buffer(ignored), kTuple);
      if (failure) co_return;
    }
  }

  // Returns when the server stops.
  awaitable<void> AwaitStop() override {
    if (!shard_->draining() && !aborted_) co_await stop_.async_wait(kTuple);
  }

 private:
  // --- One request ------------------------------------------------------------------------------

  // False when the connection is at its end.
  awaitable<bool> ServeRequest() {
    ReadResult read = co_await ReadRequest();
    deadline_ = kNever;
    if (std::holds_alternative<Gone>(read)) co_return false;
    keep_alive_ = false;
    started_ns_ = shard_->shared().clock.MonotonicNs();
    if (auto* refusal = std::get_if<HttpRefusal>(&read)) {
      const HttpResponse response = ErrorResponse(refusal->status, refusal->message);
      lingers_ = co_await Respond(response);
      co_return false;
    }
    ++shard_->shared().requests;
    HttpRequest request = std::get<HttpRequest>(std::move(read));
    head_only_ = request.method == "HEAD";
    const bool websocket = request.websocket;
    const std::string what = request.method + " " + request.path;

    HttpReply reply = co_await CallHandler(std::move(request));
    std::function<awaitable<void>()> unsent;
    std::shared_ptr<HttpBodyStream> late_body;
    if (auto* late = std::get_if<HttpLateResponse>(&reply)) {
      std::optional<HttpResponse> response = co_await AwaitLate(*late);
      unsent = std::move(late->unsent);
      if (!response) {
        if (unsent) co_await unsent();
        co_return false;
      }
      if (late->body) late_body = late->body();
      reply = *std::move(response);
    }
    keep_alive_ = parser_->keep_alive() && !shard_->draining();
    const int status = std::holds_alternative<HttpResponse>(reply)
                           ? std::get<HttpResponse>(reply).status
                           : (websocket ? 101 : 200);
    LogRequest(what, status);
    known_ = known_ || status < 400;
    if (auto* events = std::get_if<HttpEventStream>(&reply)) {
      co_await SendEvents(*events);
      co_return false;
    }
    if (auto* stream = std::get_if<HttpBodyStream>(&reply)) {
      co_await SendBody(200, stream->headers, *stream);
      co_return false;
    }
    if (auto* upgrade = std::get_if<HttpWebSocket>(&reply)) {
      if (websocket && buffer_.size() == 0) {
        co_await Upgrade(*upgrade);
        co_return false;
      }
      // Bytes after the upgrade request came before the client could know that it is accepted.
      reply = websocket ? ErrorResponse(400, "data before the upgrade was accepted")
                        : ErrorResponse(500, "the request is not for a WebSocket");
      keep_alive_ = false;
    }
    const HttpResponse& response = std::get<HttpResponse>(reply);
    if (late_body != nullptr) {
      const bool begun = co_await SendBody(response.status, response.headers, *late_body);
      if (!begun && unsent) co_await unsent();
      co_return false;
    }
    const bool sent = co_await Respond(response);
    if (!sent && unsent) co_await unsent();
    lingers_ = sent && !keep_alive_;
    co_return sent&& keep_alive_;
  }

  awaitable<ReadResult> ReadRequest() {
    const HttpServerOptions& options = shard_->options();
    request_id_.clear();
    path_.clear();
    foreign_origin_.clear();
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(options.header_limit));
    parser_->body_limit(boost::none);

    if (buffer_.size() == 0) {
      if (shard_->draining()) co_return Gone{};
      SetDeadline(known_ ? options.idle_timeout
                         : std::min(options.idle_timeout, options.stranger_timeout));
      idle_ = true;
      idle_since = std::chrono::steady_clock::now();
      const auto [failure, size] =
          co_await stream_.async_read_some(buffer_.prepare(kReadBytes), kTuple);
      idle_ = false;
      idle_since = kNever;
      if (failure) co_return Gone{};
      buffer_.commit(size);
    }
    SetDeadline(options.header_timeout);
    const auto [head_failure, head_size] =
        co_await http::async_read_header(stream_, buffer_, *parser_, kTuple);
    if (head_failure) co_return Refusal(head_failure);

    auto head = ReadHead(parser_->get().base());
    if (auto* refusal = std::get_if<HttpRefusal>(&head)) co_return std::move(*refusal);
    HttpRequest request = std::get<HttpRequest>(std::move(head));
    if (request.request_id.empty()) request.request_id = NewRequestId();
    request_id_ = request.request_id;
    path_ = request.path;
    request.peer = peer_;
    request.tls = kTls;
    if (auto refusal = CheckHost(request)) co_return *std::move(refusal);
    if (auto refusal = CheckOrigin(request)) co_return *std::move(refusal);

    const size_t body_limit = shard_->handler().BodyLimit(request);
    const auto announced = parser_->content_length();
    if (announced && *announced > body_limit) co_return TooLarge();
    parser_->body_limit(body_limit);
    // Room for what is announced is there from now on, and filled as it arrives.
    if (!parser_->is_done()) share_->Set(announced.value_or(body_limit));
    if (!parser_->is_done()) {
      if (request.headers.Has("Expect")) {
        const bool sent = co_await Write("HTTP/1.1 100 Continue\r\n\r\n", {});
        if (!sent) co_return Gone{};
      }
      SetDeadline(options.body_timeout);
      const auto [body_failure, body_size] =
          co_await http::async_read(stream_, buffer_, *parser_, kTuple);
      if (body_failure) co_return Refusal(body_failure);
    }
    request.body = std::move(parser_->get().body());
    co_return request;
  }

  // A client of HTTP/1.0 need not say whom it asks; browsers always do.
  std::optional<HttpRefusal> CheckHost(const HttpRequest& request) const {
    const AllowedHosts* const hosts = shard_->hosts();
    const auto host = request.headers.Get("Host");
    if (hosts == nullptr || !host || AllowsHost(*hosts, *host)) return std::nullopt;
    return HttpRefusal{
        421, fmt::format("this server asks nobody for a password or a key, so it answers only as "
                         "localhost, not as {}: set a password, make a key, or name the host in "
                         "allowed_hosts",
                         host->substr(0, kMaxShownHost))};
  }

  // Refuses a page that may not use the server, and takes its cookies from one that may.
  std::optional<HttpRefusal> CheckOrigin(HttpRequest& request) {
    foreign_origin_ = ForeignOrigin(request.headers);
    if (foreign_origin_.empty()) return std::nullopt;
    if (!Allows(shard_->cors(), foreign_origin_)) {
      return HttpRefusal{
          403, "pages of " + foreign_origin_ + " may not use this server: see cors.origins"};
    }
    request.headers.Remove("Cookie");
    return std::nullopt;
  }

  static HttpRefusal TooLarge() { return {413, "the body is larger than this route accepts"}; }

  // What a failed read means: a refusal if there is still somebody to hear it.
  ReadResult Refusal(const error_code& failure) {
    if (expired_) return HttpRefusal{408, "the request did not arrive in time"};
    if (failure == http::error::header_limit || failure == http::error::buffer_overflow) {
      return HttpRefusal{431, "the request's head is too large"};
    }
    if (failure == http::error::body_limit) return TooLarge();
    if (failure == http::error::bad_version) {
      return HttpRefusal{505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
    }
    if (failure == http::error::end_of_stream || failure == http::error::partial_message) {
      return Gone{};
    }
    if (failure.category() == http::make_error_code(http::error::bad_method).category()) {
      return HttpRefusal{400, "malformed request: " + failure.message()};
    }
    return Gone{};
  }

  awaitable<HttpReply> CallHandler(HttpRequest request) {
    if (request.method == "OPTIONS") co_return OptionsResponse();
    std::string problem;
    try {
      HttpReply reply = co_await shard_->handler().Handle(std::move(request));
      co_return reply;
    } catch (const std::exception& thrown) {
      problem = thrown.what();
    }
    LogFailure("a request handler failed", problem);
    co_return ErrorResponse(500, "internal error");
  }

  // The response, or nullopt if the client left meanwhile.
  awaitable<std::optional<HttpResponse>> AwaitLate(HttpLateResponse& late) {
    using namespace asio::experimental::
        awaitable_operators;  // NOLINT(google-build-using-namespace)
    std::optional<HttpResponse> response;
    bool gone = false;
    co_await (RunLate(late, response) || WatchClient(gone) || AwaitStop());
    if (gone) co_return std::nullopt;
    co_return response;
  }

  awaitable<void> RunLate(HttpLateResponse& late, std::optional<HttpResponse>& response) {
    // It is told by what it awaits, not by an exception at its next co_await.
    co_await asio::this_coro::throw_if_cancelled(false);
    std::string problem;
    try {
      response = co_await late.run();
    } catch (const std::exception& thrown) {
      problem = thrown.what();
    }
    LogFailure("a request handler failed", problem);
    if (!response) response = ErrorResponse(500, "internal error");
  }

  // Returns when the client has left. Requests that it sends ahead are kept; when there are too
  // many of them to look beyond, nobody looks.
  awaitable<void> WatchClient(bool& gone) {
    while (buffer_.size() < kReadBytes) {
      const auto [failure, size] =
          co_await stream_.async_read_some(buffer_.prepare(kReadBytes), kTuple);
      if (failure) {
        gone = failure != asio::error::operation_aborted;  // else there is a response
        co_return;
      }
      buffer_.commit(size);
    }
    asio::steady_timer never(shard_->loop().io(), kNever);
    co_await never.async_wait(kTuple);
  }

  std::string NewRequestId() { return Uuid::V4(shard_->shared().random).ToString(); }

  HttpResponse ErrorResponse(int status, std::string_view message) {
    if (request_id_.empty()) request_id_ = NewRequestId();
    return HttpResponse::Json(status,
                              shard_->handler().RefusalBody(path_, status, message, request_id_));
  }

  void LogFailure(std::string_view what, const std::string& problem) {
    if (problem.empty()) return;
    shard_->shared().log.Error(what, {{"request_id", request_id_}, {"reason", problem}});
  }

  uint64_t TookUs() const { return (shard_->shared().clock.MonotonicNs() - started_ns_) / 1000; }

  void LogRequest(const std::string& what, int status) {
    const Log& log = shard_->shared().log;
    if (!log.enabled(LogLevel::kDebug)) return;
    log.Debug(
        "request",
        {{"request", what}, {"status", status}, {"request_id", request_id_}, {"us", TookUs()}});
  }

  // --- Answering --------------------------------------------------------------------------------

  HttpHeaders CommonHeaders(const HttpHeaders& from_handler) {
    HttpHeaders headers = from_handler;
    headers.Set("Date", shard_->Date());
    headers.Set("X-Request-Id", request_id_);
    headers.Set("Server-Timing",
                fmt::format("proc;dur={:.3f}", static_cast<double>(TookUs()) / 1000));
    AddCorsHeaders(shard_->cors(), foreign_origin_, headers);
    return headers;
  }

  awaitable<bool> Respond(const HttpResponse& response) {
    share_->Set(response.body.size());
    HttpHeaders headers = CommonHeaders(response.headers);
    const bool bodiless = response.status == 204 || response.status == 304;
    if (!bodiless) headers.Set("Content-Length", std::to_string(response.body.size()));
    if (!keep_alive_) {
      headers.Set("Connection", "close");
    } else if (parser_->get().version() == 10) {
      headers.Set("Connection", "keep-alive");
    }
    std::string head = SerializeHead(response.status, headers);
    std::string_view body = response.body;
    if (bodiless || head_only_) body = {};
    if (body.size() <= kOnePieceBytes) {
      head.append(body);
      body = {};
    }
    const bool sent = co_await Write(head, body);
    share_->Set(0);
    co_return sent;
  }

  awaitable<void> SendEvents(HttpEventStream& events) {
    keep_alive_ = false;
    const bool chunked = parser_->get().version() == 11;
    HttpHeaders headers = CommonHeaders(events.headers);
    headers.Set("Content-Type", "text/event-stream");
    headers.Set("Cache-Control", "no-cache");
    headers.Set("Connection", "close");
    if (chunked) headers.Set("Transfer-Encoding", "chunked");
    const std::string head = SerializeHead(200, headers);
    const bool sent = co_await Write(head, {});
    if (!sent || head_only_) co_return;
    EventStreamRun run(*this, shard_->loop().io().get_executor(), chunked);
    const std::string problem = co_await run.Run(events);
    LogFailure("an event stream failed", problem);
    lingers_ = !run.broken();
  }

  // False if not even the head could be sent.
  awaitable<bool> SendBody(int status, const HttpHeaders& own_headers, HttpBodyStream& stream) {
    keep_alive_ = false;
    chunked_ = parser_->get().version() == 11;
    HttpHeaders headers = CommonHeaders(own_headers);
    headers.Set("Connection", "close");
    const bool bodiless = status == 204 || status == 304;
    if (chunked_ && !bodiless) headers.Set("Transfer-Encoding", "chunked");
    const std::string head = SerializeHead(status, headers);
    const bool sent = co_await Write(head, {});
    if (!sent || head_only_ || bodiless) co_return sent;
    bool complete = false;
    if (stream.watched) {
      using namespace asio::experimental::
          awaitable_operators;  // NOLINT(google-build-using-namespace)
      bool gone = true;
      co_await (RunBodyInto(stream, complete, gone) || AwaitClientGone() || AwaitStop());
      body_broken_ = body_broken_ || gone;
    } else {
      complete = co_await RunBody(stream);
    }
    if (!complete || body_broken_) co_return true;
    if (chunked_) co_await Write("0\r\n\r\n", {});
    lingers_ = true;
    co_return true;
  }

  awaitable<void> RunBodyInto(HttpBodyStream& stream, bool& complete, bool& gone) {
    // It is told by Write and by what it awaits, not by an exception at its next co_await.
    co_await asio::this_coro::throw_if_cancelled(false);
    complete = co_await RunBody(stream);
    const auto state = co_await asio::this_coro::cancellation_state;
    gone = state.cancelled() != asio::cancellation_type::none;
  }

  awaitable<bool> RunBody(HttpBodyStream& stream) {
    std::string problem;
    try {
      const bool complete = co_await stream.run(*this);
      co_return complete;
    } catch (const std::exception& thrown) {
      problem = thrown.what();
    }
    LogFailure("a streamed response failed", problem);
    co_return false;
  }

  awaitable<void> Upgrade(HttpWebSocket& upgrade) {
    socket_given_away_ = true;
    const HttpHeaders headers = CommonHeaders(upgrade.headers);
    const auto socket = MakeWebSocket(std::move(stream_), shard_->options(), upgrade.message_limit);
    on_abort_ = [&socket] { socket->Abort(); };
    const std::string problem = co_await socket->Run(parser_->get(), headers, upgrade, *this);
    on_abort_ = nullptr;
    LogFailure("a WebSocket handler failed", problem);
  }

  // --- The end ----------------------------------------------------------------------------------

  awaitable<void> Finish() {
    if (aborted_) co_return;
    idle_ = true;
    SetDeadline(kLingerTime);
    if constexpr (kTls) {
      co_await stream_.async_shutdown(kTuple);
    }
    error_code ignored;
    auto& socket = beast::get_lowest_layer(stream_);
    socket.shutdown(asio::socket_base::shutdown_send, ignored);
    std::array<char, 4096> discarded;
    size_t total = 0;
    while (lingers_ && total < kLingerBytes && !aborted_ && !shard_->draining()) {
      const auto [failure, size] = co_await socket.async_read_some(asio::buffer(discarded), kTuple);
      if (failure) break;
      total += size;
    }
    socket.close(ignored);
  }

  void SetDeadline(std::chrono::milliseconds timeout) {
    expired_ = false;
    deadline_ = std::chrono::steady_clock::now() + timeout;
  }

  void Cancel() {
    error_code ignored;
    if (!socket_given_away_) beast::get_lowest_layer(stream_).cancel(ignored);
  }

  const std::shared_ptr<HttpShard> shard_;
  Stream stream_;
  const std::string peer_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<BufferBudget::Share> share_;
  asio::steady_timer stop_;
  std::function<void()> on_abort_;  // closes the socket once a WebSocket has it
  SteadyTime deadline_ = kNever;
  std::string request_id_;
  std::string path_;
  std::string foreign_origin_;  // of the page that made the request; empty if none did
  uint64_t started_ns_ = 0;     // when the request had arrived
  bool expired_ = false;        // the deadline ended the last wait
  bool idle_ = false;           // between requests
  bool known_ = false;          // a request of it has succeeded
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool lingers_ = false;
  bool chunked_ = false;      // of a streamed body
  bool body_broken_ = false;  // nobody reads it any more
  bool aborted_ = false;
  bool socket_given_away_ = false;
};

// Keeps the session alive as long as it is served.
template <typename Stream>
awaitable<void> Serve(std::shared_ptr<Session<Stream>> session) {
  co_await session->Run();
}

template <typename Stream>
void Spawn(std::shared_ptr<HttpShard> shard, Stream stream, std::string peer) {
  asio::io_context& io = shard->loop().io();
  auto session =
      std::make_shared<Session<Stream>>(std::move(shard), std::move(stream), std::move(peer));
  asio::co_spawn(io, Serve(std::move(session)), asio::detached);
}

}  // namespace

void StartHttpSession(std::shared_ptr<HttpShard> shard, FileDescriptor fd,
                      const std::shared_ptr<TlsContext>& tls) {
  const SocketAddress peer = PeerOf(fd.get());
  const auto protocol =
      LocalOf(fd.get()).family() == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4();
  asio::ip::tcp::socket socket(shard->loop().io());
  error_code failure;
  socket.assign(protocol, fd.get(), failure);
  if (failure) {
    shard->shared().log.Warn("cannot watch a connection", {{"reason", failure.message()}});
    --shard->shared().open;
    return;
  }
  fd.Release();
  if (tls == nullptr) {
    Spawn<TcpStream>(std::move(shard), std::move(socket), peer.ToString());
  } else {
    TlsStream stream(std::move(socket), tls->context());
    Spawn<TlsStream>(std::move(shard), std::move(stream), peer.ToString());
  }
}

}  // namespace cairn::net
