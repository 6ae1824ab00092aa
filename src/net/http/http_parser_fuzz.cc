// The way a request head takes from bytes to an HttpRequest, and the functions over text it passes.
// However the bytes are split, the outcome must be the same.

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "net/http/head.h"
#include "net/http/message.h"

namespace cairn::net {
namespace {

namespace http = boost::beast::http;

struct Outcome {
  bool complete = false;
  int refused = 0;
  std::string request;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::string Describe(const HttpRequest& request) {
  std::string text = request.method + " " + request.target;
  for (const std::string& segment : request.segments) text += "/" + segment;
  for (const auto& [name, value] : request.query) text += "?" + name + "=" + value;
  for (const auto& [name, value] : request.headers.fields()) text += "\n" + name + ":" + value;
  text += request.websocket ? " websocket " : " ";
  text += request.request_id;
  if (request.trace_parent) text += request.trace_parent->ToString();
  return text;
}

Outcome Read(std::string_view bytes, size_t step) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(4096);
  boost::system::error_code failure;
  size_t end = 0;
  size_t consumed = 0;
  Outcome outcome;
  while (!parser.is_header_done()) {
    if (end == bytes.size()) return outcome;
    end = std::min(end + step, bytes.size());
    const std::string available(bytes.substr(consumed, end - consumed));
    consumed += parser.put(boost::asio::buffer(available), failure);
    if (failure && failure != http::error::need_more) return outcome;
  }
  outcome.complete = true;
  auto head = ReadHead(parser.get().base());
  if (const auto* refusal = std::get_if<HttpRefusal>(&head)) {
    CAIRN_CHECK(refusal->status >= 400 && refusal->status < 600);
    outcome.refused = refusal->status;
    return outcome;
  }
  const auto& request = std::get<HttpRequest>(head);
  CAIRN_CHECK(request.path.starts_with('/'));
  for (const std::string& segment : request.segments) {
    CAIRN_CHECK(segment != "." && segment != "..");
    CAIRN_CHECK(PercentDecode(PercentEncode(segment)) == segment);
  }
  CAIRN_CHECK(request.request_id.empty() || IsValidRequestId(request.request_id));
  if (request.trace_parent) {
    CAIRN_CHECK(ParseTraceParent(request.trace_parent->ToString()) == request.trace_parent);
  }
  // What a response says of the request must stay one head, whatever the request held.
  const std::string echoed = SerializeHead(200, {{"X-Target", request.target}});
  CAIRN_CHECK(echoed.find("\r\n\r\n") == echoed.size() - 4);
  outcome.request = Describe(request);
  return outcome;
}

}  // namespace
}  // namespace cairn::net

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = cairn::net::Read(bytes, std::max<size_t>(bytes.size(), 1));
  const auto split = cairn::net::Read(bytes, data[0] % 32 + 1);
  // Beast looks for the end of the head before it looks at its lines, so input that is cut short
  // may be refused or not, by where it is cut; a complete head may not.
  if (whole.complete && split.complete) CAIRN_CHECK(whole == split);

  // The same bytes as each of the texts a request carries.
  (void)cairn::net::ParseTarget(bytes);
  (void)cairn::net::ParseTraceParent(bytes);
  (void)cairn::net::PercentDecode(bytes);
  const std::string body = cairn::net::HttpErrorBody("invalid", bytes, "id");
  CAIRN_CHECK(body.find('\n') == std::string::npos);
  return 0;
}
