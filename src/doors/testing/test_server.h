#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "doors/resp/instance.h"
#include "doors/testing/gated_store.h"
#include "doors/turn/route_store.h"
#include "net/loop.h"
#include "net/resp/client.h"
#include "net/resp/server.h"

namespace cairn::doors::testing {

// One connection of a test, with replies as text:  OK  (integer) 1  "bytes"  (nil)  (error) ERR …
// Used by one thread at a time. What the protocol cannot say becomes a test failure.
class TestClient {
 public:
  explicit TestClient(net::RespClient client) : client_(std::move(client)) {}

  std::string Run(std::initializer_list<std::string_view> args);
  std::string Run(const std::vector<std::string>& args);
  net::RespValue RunValue(std::initializer_list<std::string_view> args);

  // Pipelining: any number of Sends, then as many Receives.
  void Send(std::initializer_list<std::string_view> args);
  std::string Receive();

  net::RespClient& raw() { return client_; }

 private:
  net::RespClient client_;
};

struct TestServerOptions {
  std::function<void(Instance&)> add_commands = {};  // besides the connection commands
  // The same for those whose work goes on in coroutines on the server's loops.
  std::function<void(Instance&, RouteStore&)> add_coroutine_commands = {};
  std::string password = {};
  size_t loops = 1;
  size_t buffer_bytes = net::BufferBudget::kUnlimited;  // of all connections
  size_t reply_bytes = net::BufferBudget::kUnlimited;   // of one reply
};

// A whole command door in this process: a store in a directory of its own, the tables, the loops
// and a listener on a free port. Time stands still unless the test moves `clock`.
class TestServer {
 public:
  explicit TestServer(TestServerOptions options = {});
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  // Stops and starts again on the same directory, as after a clean shutdown. Clients are cut off.
  void Restart();

  TestClient Connect();
  // On a connection that is kept for it.
  std::string Run(std::initializer_list<std::string_view> args);
  std::string Run(const std::vector<std::string>& args);

  ManualClock& clock() { return clock_; }
  GatedStore& store() { return *store_; }
  Instance& instance() { return *instance_; }
  net::RespServer& server() { return *server_; }
  uint16_t port() const { return port_; }

 private:
  void Start();
  void Stop();
  TestClient& kept_client();

  const TestServerOptions options_;
  std::string directory_;
  ManualClock clock_;
  SeededRandom random_{42};
  std::unique_ptr<GatedStore> store_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<net::LoopGroup> loops_;
  std::unique_ptr<RouteStore> routes_;
  std::unique_ptr<net::RespServer> server_;
  uint16_t port_ = 0;
  std::unique_ptr<TestClient> client_;
};

}  // namespace cairn::doors::testing
