#pragma once

#include <boost/json/value.hpp>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "actors/operations/context.h"
#include "base/random.h"
#include "doors/http/route_table.h"
#include "doors/testing/test_server.h"
#include "doors/turn/route_store.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop.h"

namespace cairn::actors::testing {

// A server with the commands and the routes of actors, in the test's process. Every answer over
// HTTP is checked against the schema of its row. Time stands still unless the test moves it.
class ActorServer {
 public:
  ActorServer();
  ~ActorServer();
  ActorServer(const ActorServer&) = delete;
  ActorServer& operator=(const ActorServer&) = delete;

  net::HttpResponse Ask(std::string_view method, const std::string& target,
                        const std::string& body = "");
  // The JSON of an answer that must be a 2xx.
  boost::json::value Ok(std::string_view method, const std::string& target,
                        const std::string& body = "");
  // "409 duplicate_key {"existing_actor_id":…}" of an answer that must be an error.
  std::string Refusal(std::string_view method, const std::string& target,
                      const std::string& body = "");

  std::string Run(std::initializer_list<std::string_view> args) { return server_.Run(args); }
  // A bulk reply's text.
  std::string Text(std::initializer_list<std::string_view> args);
  // A new actor default/thing with this key; its id.
  std::string Create(std::string_view key = "a");

  // Fails the test if the layer's invariants do not hold.
  void ExpectSound();
  doors::testing::TestServer& server() { return server_; }

 private:
  net::HttpHandlerFactory Factory();
  void CheckSchema(std::string_view method, const std::string& target,
                   const net::HttpResponse& response);

  SeededRandom random_{7};
  Policy policy_{.random = random_};
  doors::testing::TestServer server_;
  net::LoopGroup loops_{1};
  doors::RouteTable table_;
  doors::RouteStore store_;
  net::HttpServer http_;
  std::unique_ptr<net::HttpClient> client_;
};

}  // namespace cairn::actors::testing
