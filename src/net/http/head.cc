#include "net/http/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <iterator>
#include <string_view>
#include <utility>

namespace cairn::net {
namespace {

namespace http = boost::beast::http;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::optional<HttpRefusal> CheckFraming(const http::request_header<http::fields>& head) {
  if (head.version() != 10 && head.version() != 11) {
    return HttpRefusal{505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  }
  const auto hosts = head.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && head.version() == 11)) {
    return HttpRefusal{400, "a request needs exactly one Host field"};
  }
  // Beast reads a chunked body; with any other coding it could not tell where the request ends.
  if (head.count(http::field::transfer_encoding) > 1 ||
      (head.count(http::field::transfer_encoding) == 1 &&
       !boost::beast::iequals(head[http::field::transfer_encoding], "chunked"))) {
    return HttpRefusal{501, "the only transfer coding spoken here is chunked"};
  }
  if (head.count(http::field::expect) > 0 &&
      !boost::beast::iequals(head[http::field::expect], "100-continue")) {
    return HttpRefusal{417, "the only expectation met here is 100-continue"};
  }
  return std::nullopt;
}

}  // namespace

std::variant<HttpRequest, HttpRefusal> ReadHead(const http::request_header<http::fields>& head) {
  if (auto refusal = CheckFraming(head)) return *std::move(refusal);

  HttpRequest request;
  request.method = View(head.method_string());
  request.target = View(head.target());
  auto target = ParseTarget(request.target);
  if (!target.ok()) return HttpRefusal{400, target.error().message};
  request.path = std::move(target->path);
  request.segments = std::move(target->segments);
  request.query = std::move(target->query);

  for (const auto& field : head) {
    request.headers.Add(std::string(View(field.name_string())), std::string(View(field.value())));
  }
  if (const auto id = request.headers.Get("X-Request-Id"); id && IsValidRequestId(*id)) {
    request.request_id = *id;
  }
  if (const auto trace = request.headers.Get("traceparent")) {
    request.trace_parent = ParseTraceParent(*trace);
  }
  request.websocket = boost::beast::websocket::is_upgrade(head);
  return request;
}

std::string_view HttpErrorCode(int status) {
  switch (status) {
    case 401:
      return "unauthorized";
    case 403:
      return "forbidden";
    case 404:
      return "not_found";
    case 408:
      return "timeout";
    case 413:
    case 431:
      return "too_large";
    case 500:
      return "internal";
    case 503:
      return "unavailable";
    default:
      return "invalid";
  }
}

std::string SerializeHead(int status, const HttpHeaders& headers) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", status, HttpReason(status));
  for (const auto& [name, value] : headers.fields()) {
    fmt::format_to(std::back_inserter(text), "{}: ", name);
    std::replace_copy_if(
        value.begin(), value.end(), std::back_inserter(text),
        [](char c) { return c == '\r' || c == '\n'; }, ' ');
    text += "\r\n";
  }
  text += "\r\n";
  return text;
}

}  // namespace cairn::net
