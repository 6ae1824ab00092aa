#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/address.h"
#include "net/http/message.h"

namespace cairn::net {

struct HttpClientOptions {
  bool tls = false;
  std::string ca_file;  // with tls: what to trust; empty: the system's store
  std::chrono::milliseconds timeout = std::chrono::seconds(30);  // of each request
  size_t body_limit = 256UL * 1024 * 1024;                       // of a response
};

// A blocking HTTP/1.1 client for tests and the command line. Keeps its connection open between
// requests and opens a new one when the server closed it. Used by one thread at a time.
class HttpClient {
 public:
  explicit HttpClient(Address server, HttpClientOptions options = {});
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  // A response of any status is a value; an Error means that no whole response arrived:
  // kUnavailable if the request cannot have been served, kOutcomeUnknown if it may have been. If
  // the server closed the connection since the last request, a new one is opened.
  Result<HttpResponse> Get(std::string_view target, const HttpHeaders& headers = {});
  Result<HttpResponse> Post(std::string_view target, std::string body,
                            const HttpHeaders& headers = {});
  Result<HttpResponse> Request(std::string_view method, std::string_view target, std::string body,
                               const HttpHeaders& headers);
  // Get for a body of any size: that of a 2xx goes to `take` piece by piece, and the response has
  // none. The time-out counts from the last piece. An error of `take` ends it and is returned.
  using TakePiece = std::function<Result<void>(std::string_view piece)>;
  Result<HttpResponse> Download(std::string_view target, const HttpHeaders& headers,
                                const TakePiece& take);
  void Close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::net
