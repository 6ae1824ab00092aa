#include "house/server_url.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <utility>

namespace cairn::house {

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

net::HttpHeaders RequestHeaders(std::string_view password) {
  net::HttpHeaders headers{{"Content-Type", "application/json"}};
  if (!password.empty()) headers.Add("Authorization", fmt::format("Bearer {}", password));
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

}  // namespace cairn::house
