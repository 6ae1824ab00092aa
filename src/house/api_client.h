#pragma once

#include <boost/json/value.hpp>
#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "house/server_url.h"
#include "net/http/client.h"

namespace cairn::house {

// Where a server is, and what to present there.
struct ServerAccess {
  Url url;
  std::string ca_file;   // for https; empty: the authorities of this machine
  std::string password;  // or a key; empty: none
};

// One running server, asked over HTTP by a command. An answer of 300 or more is an Error with the
// server's own words; its code says whose fault it is: kUnavailable is the server's, any other the
// request's.
class ApiClient {
 public:
  explicit ApiClient(const ServerAccess& server,
                     std::chrono::milliseconds timeout = std::chrono::seconds(30));

  Result<boost::json::value> Get(const std::string& path) { return Request("GET", path, ""); }
  Result<boost::json::value> Post(const std::string& path, std::string body = "") {
    return Request("POST", path, std::move(body));
  }
  Result<boost::json::value> Request(std::string_view method, const std::string& path,
                                     std::string body, const net::HttpHeaders& more = {});
  // The body of a GET, piece by piece. `more` are further headers.
  Result<void> Download(const std::string& path, const net::HttpClient::TakePiece& take,
                        const net::HttpHeaders& more = {});

 private:
  net::HttpHeaders headers_;
  net::HttpClient client_;
};

}  // namespace cairn::house
