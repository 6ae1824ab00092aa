#pragma once

#include <string>
#include <string_view>

#include "app/settings.h"
#include "base/result.h"
#include "net/address.h"
#include "net/http/client.h"
#include "net/http/message.h"

namespace cairn::app {

// Where a running server's HTTP door is, for the commands that ask it.
struct Url {
  bool tls = false;
  net::Address address;
};

// "http://HOST:PORT" or "https://HOST:PORT", as far as it can name a Cairn server.
Result<Url> ParseUrl(std::string_view text);
// Where this machine reaches the server that runs with these settings; an error if they let the
// system choose the port.
Result<Url> UrlOf(const Config& config);

// What a request to it carries: JSON, and the password if there is one.
net::HttpHeaders RequestHeaders(const Config& config);
// What the server says is wrong, from {"error":{"message":…}} or {"error":…}; else the status.
std::string MessageOf(const net::HttpResponse& response);

}  // namespace cairn::app
