#pragma once

#include <boost/json/value.hpp>
#include <chrono>
#include <string>
#include <string_view>

#include "app/server_url.h"
#include "app/settings.h"
#include "base/result.h"
#include "net/http/client.h"

namespace cairn::app {

// Where a command finds its server.
struct ServerChoice {
  std::string url;      // empty: the one the settings name
  std::string ca_file;  // for https
};

// One running server, asked over HTTP by a command. An answer of 300 or more is an Error with the
// server's own words.
class ApiClient {
 public:
  static Result<ApiClient> Connect(const Config& config, const ServerChoice& choice,
                                   std::chrono::milliseconds timeout = std::chrono::seconds(30));

  ApiClient(const Config& config, const Url& url, const std::string& ca_file,
            std::chrono::milliseconds timeout = std::chrono::seconds(30));

  Result<boost::json::value> Get(const std::string& path) { return Request("GET", path, ""); }
  Result<boost::json::value> Post(const std::string& path, std::string body = "") {
    return Request("POST", path, std::move(body));
  }
  Result<boost::json::value> Request(std::string_view method, const std::string& path,
                                     std::string body);
  // The body of a GET, piece by piece.
  Result<void> Download(const std::string& path, const net::HttpClient::TakePiece& take);

 private:
  net::HttpHeaders headers_;
  net::HttpClient client_;
};

}  // namespace cairn::app
