#pragma once

#include <sys/types.h>

#include <boost/json/value.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {

// An HTTP answer whose body is JSON; null if it is none.
struct JsonAnswer {
  int status = 0;
  boost::json::value body;
  net::HttpHeaders headers;
  std::string text;
};

// The real binary, with functions that a test publishes: what a user of the API does, in a line
// each. The namespace is t_test01/shop.
class FunctionsServer {
 public:
  explicit FunctionsServer(std::vector<std::string> flags = {});

  JsonAnswer Call(std::string_view method, std::string_view target, std::string body = "",
                  const net::HttpHeaders& headers = {});

  // Publishes `source` as the next version of `name`, which is created if it is not there, under
  // the alias "live". `manifest` members replace those of the usual one; `config` is that of the
  // publish. Throws, which fails the test, unless it is published.
  void Publish(std::string_view name, std::string_view source, std::string_view manifest = "{}",
               std::string_view config = "{}");

  // The answer of :invoke, with the alias "live".
  JsonAnswer Invoke(std::string_view name, std::string_view event = "{}",
                    const net::HttpHeaders& headers = {});
  // The id of an activation that was queued.
  std::string InvokeLater(std::string_view name, std::string_view event = "{}",
                          const net::HttpHeaders& headers = {});
  boost::json::value Activation(std::string_view id);
  // The same once it has ended.
  boost::json::value Ended(std::string_view id);
  std::string LogOf(std::string_view id);

  Server& server() { return server_; }
  // Kills it with -9 and starts it again on the same data.
  void Kill();

 private:
  TempDirectory directory_;
  const std::vector<std::string> flags_;
  Server server_;
};

// All processes below `pid`, the nearest first.
std::vector<pid_t> Descendants(pid_t pid);

std::string Base64(std::string_view bytes);

}  // namespace cairn::testing
