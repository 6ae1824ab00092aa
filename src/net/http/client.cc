#include "net/http/client.h"

#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <cerrno>
#include <optional>
#include <utility>

namespace cairn::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

std::string ToStdString(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

class HttpClient::Impl {
 public:
  Impl(Address server, HttpClientOptions options)
      : server_(std::move(server)), options_(std::move(options)) {}

  Result<HttpResponse> Request(std::string_view method, std::string_view target, std::string body,
                               const HttpHeaders& headers) {
    CAIRN_ASSIGN_OR_RETURN(const auto request, Prepare(method, target, std::move(body), headers));
    auto response = options_.tls ? Exchange(*tls_, request) : Exchange(*plain_, request);
    if (!response.ok()) Close();
    return response;
  }

  Result<HttpResponse> Download(std::string_view target, const HttpHeaders& headers,
                                const TakePiece& take) {
    CAIRN_ASSIGN_OR_RETURN(const auto request, Prepare("GET", target, {}, headers));
    auto response = options_.tls ? Fetch(*tls_, request, take) : Fetch(*plain_, request, take);
    if (!response.ok()) Close();
    return response;
  }

  void Close() {
    tls_.reset();
    plain_.reset();
    buffer_.clear();
  }

 private:
  // The request, with a connection to send it on.
  Result<http::request<http::string_body>> Prepare(std::string_view method, std::string_view target,
                                                   std::string body, const HttpHeaders& headers) {
    if (tls_.has_value() || plain_.has_value()) {
      if (!IsStillOpen()) Close();
    }
    if (!tls_.has_value() && !plain_.has_value()) CAIRN_RETURN_IF_ERROR(Connect());

    http::request<http::string_body> request;
    request.version(11);
    request.method_string({method.data(), method.size()});
    request.target({target.data(), target.size()});
    if (!headers.Has("Host")) request.set(http::field::host, ToString(server_));
    for (const auto& [name, value] : headers.fields()) request.insert(name, value);
    request.body() = std::move(body);
    request.prepare_payload();
    return request;
  }

  beast::tcp_stream& socket() { return options_.tls ? beast::get_lowest_layer(*tls_) : *plain_; }

  // Whether the server has neither closed nor said anything since the last response.
  bool IsStillOpen() {
    char byte = 0;
    const ssize_t peeked =
        recv(socket().socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return peeked < 0 && errno == EAGAIN;
  }

  Result<void> Connect() {
    const std::string host = server_.host == "localhost" ? "127.0.0.1" : server_.host;
    error_code failure;
    const auto address = asio::ip::make_address(host, failure);
    if (failure) return Unavailable("\"" + server_.host + "\" is not a numeric address", failure);
    if (options_.tls) {
      CAIRN_RETURN_IF_ERROR(PrepareTls());
    } else {
      plain_.emplace(io_);
    }
    socket().expires_after(options_.timeout);
    failure = Await([&](auto done) {
      socket().async_connect(asio::ip::tcp::endpoint(address, server_.port), done);
    });
    if (failure) return GiveUp("cannot connect to " + ToString(server_), failure);
    socket().socket().set_option(asio::ip::tcp::no_delay(true), failure);
    if (options_.tls) {
      failure =
          Await([&](auto done) { tls_->async_handshake(asio::ssl::stream_base::client, done); });
      if (failure) return GiveUp("TLS handshake with " + ToString(server_), failure);
    }
    return {};
  }

  Result<void> PrepareTls() {
    error_code failure;
    context_.emplace(asio::ssl::context::tls_client);
    context_->set_verify_mode(asio::ssl::verify_peer);
    if (options_.ca_file.empty()) {
      context_->set_default_verify_paths(failure);
    } else {
      context_->load_verify_file(options_.ca_file, failure);
    }
    if (failure) return Unavailable("cannot load \"" + options_.ca_file + "\"", failure);
    tls_.emplace(io_, *context_);
    tls_->set_verify_callback(asio::ssl::host_name_verification(server_.host), failure);
    return {};
  }

  template <typename Stream>
  Result<HttpResponse> Exchange(Stream& stream, const http::request<http::string_body>& request) {
    socket().expires_after(options_.timeout);
    error_code failure =
        Await([&](auto done) { http::async_write(stream, request, Dropping(done)); });
    // A server that refuses a large body may answer and stop reading: its answer is worth a look.
    http::response_parser<http::string_body> parser;
    parser.body_limit(options_.body_limit);
    if (request.method() == http::verb::head) parser.skip(true);
    const error_code read_failure =
        Await([&](auto done) { http::async_read(stream, buffer_, parser, Dropping(done)); });
    if (read_failure) return NoResponse(read_failure);
    HttpResponse response = HeadOf(parser);
    response.body = std::move(parser.get().body());
    if (failure || !parser.keep_alive()) Close();
    return response;
  }

  template <typename Stream>
  Result<HttpResponse> Fetch(Stream& stream, const http::request<http::string_body>& request,
                             const TakePiece& take) {
    socket().expires_after(options_.timeout);
    error_code failure =
        Await([&](auto done) { http::async_write(stream, request, Dropping(done)); });
    if (failure) return NoResponse(failure);
    http::response_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    failure =
        Await([&](auto done) { http::async_read_header(stream, buffer_, parser, Dropping(done)); });
    if (failure) return NoResponse(failure);
    HttpResponse response = HeadOf(parser);
    std::string& body = parser.get().body();
    while (!parser.is_done()) {
      socket().expires_after(options_.timeout);
      failure =
          Await([&](auto done) { http::async_read_some(stream, buffer_, parser, Dropping(done)); });
      if (failure) return NoResponse(failure);
      if (response.status < 300) {
        CAIRN_RETURN_IF_ERROR(take(body));
        body.clear();
      } else if (body.size() > options_.body_limit) {
        return Error{ErrorCode::kTooLarge, "the answer of " + ToString(server_) + " is too large"};
      }
    }
    response.body = std::move(body);
    if (!parser.keep_alive()) Close();
    return response;
  }

  static HttpResponse HeadOf(const http::response_parser<http::string_body>& parser) {
    HttpResponse response;
    response.status = static_cast<int>(parser.get().result_int());
    for (const auto& field : parser.get().base()) {
      response.headers.Add(ToStdString(field.name_string()), ToStdString(field.value()));
    }
    return response;
  }

  Error NoResponse(const error_code& failure) const {
    return {ErrorCode::kOutcomeUnknown,
            "no whole response from " + ToString(server_) + ": " + failure.message()};
  }

  // Runs one asynchronous operation to its end.
  template <typename Start>
  error_code Await(const Start& start) {
    error_code result;
    io_.restart();
    start([&result](const error_code& failure) { result = failure; });
    io_.run();
    return result;
  }

  // A handler that ignores how many bytes were moved.
  template <typename Done>
  static auto Dropping(Done done) {
    return [done](const error_code& failure, size_t /*bytes*/) { done(failure); };
  }

  Error GiveUp(std::string what, const error_code& failure) {
    Close();
    return Unavailable(std::move(what), failure);
  }

  static Error Unavailable(std::string what, const error_code& failure) {
    return {ErrorCode::kUnavailable, std::move(what) + ": " + failure.message()};
  }

  const Address server_;
  const HttpClientOptions options_;
  asio::io_context io_{1};
  std::optional<asio::ssl::context> context_;
  std::optional<beast::tcp_stream> plain_;
  std::optional<beast::ssl_stream<beast::tcp_stream>> tls_;
  beast::flat_buffer buffer_;
};

HttpClient::HttpClient(Address server, HttpClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(server), std::move(options))) {}

HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::Get(std::string_view target, const HttpHeaders& headers) {
  return Request("GET", target, {}, headers);
}

Result<HttpResponse> HttpClient::Post(std::string_view target, std::string body,
                                      const HttpHeaders& headers) {
  return Request("POST", target, std::move(body), headers);
}

Result<HttpResponse> HttpClient::Request(std::string_view method, std::string_view target,
                                         std::string body, const HttpHeaders& headers) {
  return impl_->Request(method, target, std::move(body), headers);
}

Result<HttpResponse> HttpClient::Download(std::string_view target, const HttpHeaders& headers,
                                          const TakePiece& take) {
  return impl_->Download(target, headers, take);
}

void HttpClient::Close() { impl_->Close(); }

}  // namespace cairn::net
