#include "app/server_url.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <utility>

#include "app/tls.h"

namespace cairn::app {

Result<Url> ParseUrl(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return Error{ErrorCode::kInvalid,
                 fmt::format("--url '{}': expected http://HOST:PORT or https://HOST:PORT", text)};
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  Result<net::Address> address = net::ParseAddress(rest);
  if (!address.ok()) {
    return Error{ErrorCode::kInvalid, fmt::format("--url '{}': {}", text, address.error().message)};
  }
  url.address = *std::move(address);
  return url;
}

Result<Url> UrlOf(const Config& config) {
  Url url{.tls = HttpSpeaksTls(config), .address = config.http};
  if (url.address.host == "0.0.0.0") url.address.host = "127.0.0.1";
  if (url.address.host == "::") url.address.host = "::1";
  if (url.address.port == 0) {
    return Error{ErrorCode::kInvalid,
                 "the settings do not say where the server listens; say so with --url"};
  }
  return url;
}

net::HttpHeaders RequestHeaders(const Config& config) {
  net::HttpHeaders headers{{"Content-Type", "application/json"}};
  if (!config.password.empty()) headers.Add("Authorization", "Bearer " + config.password);
  return headers;
}

std::string MessageOf(const net::HttpResponse& response) {
  boost::system::error_code failure;
  const boost::json::value body = boost::json::parse(response.body, failure);
  // {"error":{"message":…}}, or in the job queue's way {"error":…}.
  for (const std::string_view where : {"/error/message", "/error"}) {
    const auto* message = failure ? nullptr : body.find_pointer(where, failure);
    failure.clear();
    if (message != nullptr && message->is_string()) return std::string(message->get_string());
  }
  return fmt::format("the server answered {} {}", response.status,
                     net::HttpReason(response.status));
}

}  // namespace cairn::app
