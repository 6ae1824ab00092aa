#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/http/client.h"
#include "net/resp/client.h"
#include "tests/support/process.h"

namespace cairn::testing {

struct ServerOptions {
  std::string data;                // the data directory
  std::vector<std::string> flags;  // added to the command line
  std::map<std::string, std::string> environment;
};

// The real binary (CAIRN_BINARY) serving a data directory on free ports of 127.0.0.1. With
// CAIRN_TEST_ENGINE=postgres a schema takes the directory's place (tests/support/test_store.h).
//
//   TempDirectory directory;
//   Result<Server> server = Server::Start({.data = directory / "data"});
//   server->Command({"SET", "k", "v"});
//   EXPECT_TRUE(server->Stop().ok());
//
// Killed at the end if it still runs. Used by one thread at a time.
class Server {
 public:
  // Returns when it serves; an error holds what it wrote to stderr.
  static Result<Server> Start(const ServerOptions& options,
                              std::chrono::milliseconds limit = std::chrono::seconds(60));

  // The same, for tests that need it to start: throws the error, which fails the test with it.
  static Server MustStart(const ServerOptions& options);

  Process& process() { return process_; }
  const net::Address& resp() const { return resp_; }
  const net::Address& http() const { return http_; }

  // A new connection.
  Result<net::RespClient> Connect() const { return net::RespClient::Connect(resp_); }
  net::HttpClient Http() const { return net::HttpClient(http_); }

  // One command on a connection of its own, its reply as RespValue::ToString shows it; the
  // failure's message if there was no reply.
  std::string Command(std::initializer_list<std::string_view> args) const;

  // SIGTERM, and waits for the end; killed past the limit.
  ExitStatus Stop(std::chrono::milliseconds limit = std::chrono::seconds(60));

 private:
  Server(Process process, net::Address resp, net::Address http)
      : process_(std::move(process)), resp_(std::move(resp)), http_(std::move(http)) {}

  Process process_;
  net::Address resp_;
  net::Address http_;
};

}  // namespace cairn::testing
