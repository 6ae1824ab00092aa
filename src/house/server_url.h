#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "net/address.h"
#include "net/http/client.h"
#include "net/http/message.h"

namespace cairn::house {

// Where a running server's HTTP door is, for the commands that ask it.
struct Url {
  bool tls = false;
  net::Address address;
};

// "http://HOST:PORT" or "https://HOST:PORT", as far as it can name a Cairn server.
Result<Url> ParseUrl(std::string_view text);

// What a request to it carries: JSON, and the password unless it is empty.
net::HttpHeaders RequestHeaders(std::string_view password);
// What the server says is wrong, from {"error":{"message":…}} or {"error":…}; else the status.
std::string MessageOf(const net::HttpResponse& response);

}  // namespace cairn::house
