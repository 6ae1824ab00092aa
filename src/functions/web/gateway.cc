#include "functions/web/gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/bytes.h"
#include "functions/model/errors.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

// Headers that are the server's to set.
bool IsOurs(std::string_view name) {
  constexpr std::array<std::string_view, 8> kOurs = {
      "connection", "content-length",    "date",    "keep-alive",
      "trailer",    "transfer-encoding", "upgrade", "proxy-connection"};
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kOurs, lower) != kOurs.end();
}

bool IsHeaderText(std::string_view text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return c == '\t' || (c >= ' ' && c != 127); });
}

bool IsHeaderName(std::string_view text) {
  constexpr std::string_view kOther = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kOther.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

Result<std::string> GatewayEvent(const net::HttpRequest& request, std::string_view path) {
  const size_t question = request.target.find('?');
  const std::string_view query =
      question == std::string::npos ? "" : std::string_view(request.target).substr(question + 1);
  if (query.size() > kMaxHttpQueryBytes) {
    return Refuse(Code::kTooLarge,
                  fmt::format("the query has more than {} bytes", kMaxHttpQueryBytes));
  }
  size_t header_bytes = 0;
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : request.headers.fields()) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    header_bytes += name.size() + value.size();
    if (lower == "authorization") continue;  // the caller's secret for this server
    std::string& joined = headers[lower];
    if (!joined.empty()) joined += ",";
    joined += value;
  }
  if (header_bytes > kMaxHttpHeaderBytes) {
    return Refuse(Code::kTooLarge,
                  fmt::format("the headers have more than {} bytes", kMaxHttpHeaderBytes));
  }
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("version", "2.0");
  json.Text("routeKey", "$default");
  json.Text("rawPath", path);
  json.Text("rawQueryString", query);
  json.BeginObject("headers");
  for (const auto& [name, value] : headers) json.Text(name, value);
  json.EndObject();
  json.BeginObject("requestContext");
  json.Text("requestId", request.request_id);
  json.BeginObject("http");
  json.Text("method", request.method);
  json.Text("path", path);
  json.Text("sourceIp", request.peer.substr(0, request.peer.rfind(':')));
  json.EndObject();
  json.EndObject();
  json.Text("body", Base64Encode(request.body));
  json.Switch("isBase64Encoded", true);
  json.EndObject();
  return text;
}

net::HttpResponse GatewayResponse(const FunctionResult& result) {
  net::HttpResponse response;
  response.status = result.status_code < 200 ? 200 : result.status_code;  // no interim answers
  for (const auto& [name, value] : result.headers) {
    if (IsOurs(name) || !IsHeaderName(name) || !IsHeaderText(value)) continue;
    response.headers.Add(name, value);
  }
  for (const std::string& cookie : result.cookies) {
    if (IsHeaderText(cookie)) response.headers.Add("Set-Cookie", cookie);
  }
  response.body = result.body;
  if (result.is_base64) {
    std::optional<Bytes> bytes = Base64Decode(result.body);
    if (bytes) response.body = *std::move(bytes);
  }
  return response;
}

}  // namespace cairn::functions
