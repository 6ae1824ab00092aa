#include "functions/web/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <optional>

#include "doors/resp/arg_parser.h"
#include "functions/model/base64.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"
#include "functions/web/send.h"
#include "net/http/message.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using doors::EqualsIgnoreCase;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// Names of headers that say where a request goes or how its body is framed: the server's own.
bool IsOurs(std::string_view name) {
  return EqualsIgnoreCase(name, "Host") || EqualsIgnoreCase(name, "Content-Length") ||
         EqualsIgnoreCase(name, "Transfer-Encoding") || EqualsIgnoreCase(name, "Connection") ||
         EqualsIgnoreCase(name, "Upgrade") || EqualsIgnoreCase(name, "Expect") ||
         EqualsIgnoreCase(name, "Proxy-Authorization");
}

bool IsToken(std::string_view text) {
  constexpr std::string_view kOther = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kOther.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool IsHeaderValue(std::string_view text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return c == '\t' || (c >= ' ' && c != 127); });
}

// [[text,text]…]; nullopt for anything else.
std::optional<Pairs> ReadPairs(std::string_view text) {
  namespace json = boost::json;
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_array()) return std::nullopt;
  Pairs pairs;
  for (const json::value& item : value.get_array()) {
    const json::array* const pair = item.if_array();
    if (pair == nullptr || pair->size() != 2) return std::nullopt;
    const json::string* const name = (*pair)[0].if_string();
    const json::string* const text_of = (*pair)[1].if_string();
    if (name == nullptr || text_of == nullptr) return std::nullopt;
    pairs.emplace_back(*name, *text_of);
  }
  return pairs;
}

Result<Pairs> ParseHeaders(std::string_view text) {
  Pairs headers;
  if (text.empty()) return headers;
  const auto bad = [](std::string_view what) {
    return Refuse(Code::kValidation, fmt::format("fetch: {}", what));
  };
  const std::optional<Pairs> pairs = ReadPairs(text);
  if (!pairs) return bad("headers must be pairs of strings");
  size_t bytes = 0;
  for (const auto& [name, value] : *pairs) {
    bytes += name.size() + value.size();
    if (!IsToken(name)) return bad("a header has a name that HTTP does not allow");
    if (!IsHeaderValue(value)) {
      return bad(fmt::format("the header {} has a value that HTTP does not allow", name));
    }
    if (!IsOurs(name)) headers.emplace_back(name, value);
  }
  if (pairs->size() > kMaxFetchHeaders || bytes > kMaxFetchHeaderBytes) {
    return bad(fmt::format("there may be {} headers of {} bytes together", kMaxFetchHeaders,
                           kMaxFetchHeaderBytes));
  }
  return headers;
}

std::optional<FetchCall::Redirect> ParseRedirect(std::string_view text) {
  if (text == "follow") return FetchCall::Redirect::kFollow;
  if (text == "manual") return FetchCall::Redirect::kManual;
  if (text == "error") return FetchCall::Redirect::kError;
  return std::nullopt;
}

outside::HttpCall CallOf(FetchCall call, const outside::AddressPolicy& policy,
                         const Capabilities& capabilities) {
  outside::HttpCall made;
  made.method = std::move(call.method);
  made.url = std::move(call.url);
  for (const auto& [name, value] : call.headers) {
    made.headers.push_back(fmt::format("{}: {}", name, value));
  }
  made.body = std::move(call.body);
  made.user_agent = "cairn-functions";
  made.policy = policy;
  made.plural = "requests of functions";
  made.timeout = std::min(call.timeout, std::chrono::milliseconds(capabilities.fetch_timeout_ms));
  made.connect_timeout = made.timeout;
  made.max_answer_bytes = kMaxFetchAnswerBytes;
  if (call.redirect == FetchCall::Redirect::kFollow) made.max_redirects = kMaxFetchRedirects;
  made.check_redirect = [capabilities](const std::string& url) {
    return CheckFetchUrl(capabilities, url);
  };
  return made;
}

std::string AnswerText(const outside::HttpAnswer& answer, bool redirected) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Integer("status", answer.status);
  json.Text("statusText", net::HttpReason(answer.status));
  json.BeginArray("headers");
  for (const auto& [name, value] : answer.headers) {
    json.BeginArray();
    json.Text("", name);
    json.Text("", value);
    json.EndArray();
  }
  json.EndArray();
  json.Text("body", Base64Encode(answer.body));
  json.Text("url", answer.url);
  json.Switch("redirected", redirected);
  json.EndObject();
  return text;
}

}  // namespace

Result<FetchCall> ParseFetch(std::string_view arguments) {
  const auto read = [](ObjectReader& object) {
    FetchCall call;
    call.url = object.Text("url", {1, kMaxFetchUrlBytes});
    call.method = object.OptionalText("method", {1, 32}).value_or("GET");
    const std::string redirect =
        object.OptionalChoice("redirect", {"follow", "manual", "error"}).value_or("follow");
    call.redirect = ParseRedirect(redirect).value_or(FetchCall::Redirect::kFollow);
    call.timeout = std::chrono::milliseconds(
        object.OptionalInteger("timeoutMs", 1, INT64_MAX / 1'000'000).value_or(kMaxFetchTimeoutMs));
    const std::string body =
        object.OptionalText("body", {0, kMaxFetchBodyBytes * 4 / 3 + 4}).value_or("");
    if (const std::optional<Bytes> bytes = Base64Decode(body)) {
      call.body = *bytes;
    } else {
      object.Fail("body", "must be base64");
    }
    const Result<Pairs> headers = ParseHeaders(object.Raw("headers"));
    if (headers.ok()) {
      call.headers = *headers;
    } else {
      object.Fail("headers", RefusalText(headers.error()));
    }
    object.RefuseOthers();
    return call;
  };
  CAIRN_ASSIGN_OR_RETURN(FetchCall call, ReadObject(arguments, Code::kValidation, read));
  if (!IsToken(call.method) || EqualsIgnoreCase(call.method, "CONNECT") ||
      EqualsIgnoreCase(call.method, "TRACE")) {
    return Refuse(Code::kValidation,
                  fmt::format("fetch: '{}' is not a method that can be used", call.method));
  }
  if (call.body.size() > kMaxFetchBodyBytes) {
    return Refuse(Code::kTooLarge,
                  fmt::format("fetch: the body is larger than {} bytes", kMaxFetchBodyBytes));
  }
  return call;
}

Result<void> CheckFetchUrl(const Capabilities& capabilities, const std::string& url) {
  const std::string host = outside::HostOfUrl(url);
  if (host.empty()) return Refuse(Code::kValidation, "fetch: this is no URL of http or https");
  const auto named = [&](const std::string& allowed) { return EqualsIgnoreCase(allowed, host); };
  if (std::ranges::any_of(capabilities.allow_hosts, named)) return {};
  return Refuse(Code::kCapabilityDenied,
                fmt::format("the manifest does not allow requests to {}: add it to "
                            "capabilities.http.allowHosts",
                            host));
}

awaitable<Result<std::string>> Fetch(const FetchParts& parts, const Capabilities& capabilities,
                                     FetchCall call) {
  const Result<void> allowed = CheckFetchUrl(capabilities, call.url);
  if (!allowed.ok()) co_return allowed.error();
  const std::string url = call.url;
  const bool refuses_redirects = call.redirect == FetchCall::Redirect::kError;
  const Result<outside::HttpAnswer> answer =
      co_await Send(parts.http, CallOf(std::move(call), parts.policy, capabilities));
  if (!answer.ok()) co_return answer.error();
  if (refuses_redirects && answer->status >= 300 && answer->status < 400 &&
      answer->Header("Location")) {
    co_return Error{ErrorCode::kIo, "the answer is a redirect, which the request does not allow"};
  }
  co_return AnswerText(*answer, answer->url != url);
}

}  // namespace cairn::functions
