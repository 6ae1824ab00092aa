#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doors/http/route_table.h"
#include "doors/testing/test_server.h"
#include "doors/turn/route_store.h"
#include "jobs/ledger/event.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop.h"

namespace cairn::jobs::testing {

// A server with the queue's routes, in the test's process. Every answer is checked against the
// schema of its row. Time stands still unless the test moves it.
class RouteServer {
 public:
  // What its webhooks say they are from.
  static constexpr std::string_view kOrigin = "test-store";

  RouteServer();
  ~RouteServer();
  RouteServer(const RouteServer&) = delete;
  RouteServer& operator=(const RouteServer&) = delete;

  // On the test's own thread; others take a NewClient.
  net::HttpResponse Ask(std::string_view method, const std::string& target,
                        const std::string& body = "", const net::HttpHeaders& headers = {});
  net::HttpResponse Post(const std::string& path, const std::string& body = "") {
    return Ask("POST", "/api/v1" + path, body);
  }
  net::HttpResponse Get(const std::string& path) { return Ask("GET", "/api/v1" + path); }
  net::HttpResponse Delete(const std::string& path) { return Ask("DELETE", "/api/v1" + path); }

  // The JSON of an answer that must be a 2xx.
  boost::json::value PostOk(const std::string& path, const std::string& body = "");
  boost::json::value GetOk(const std::string& path);
  // "400 VALIDATION_ERROR" of an answer that must be an error.
  std::string Refusal(const net::HttpResponse& response);

  // Adds {"queue":queue, …more} and returns the job's id.
  std::string Enqueue(const std::string& queue, const std::string& more = "");
  // One job at once, as /fetch/batch gives it; null if there is none.
  boost::json::value Fetch(const std::string& queue, const std::string& more = "");
  std::string StateOf(const std::string& id);

  net::HttpClient NewClient() const { return net::HttpClient({"127.0.0.1", port_}); }
  uint16_t port() const { return port_; }

  // Does what is due, after moving the clock.
  void Advance(int64_t ms);
  void FireTimers();
  // Fails the test if the queue's invariants do not hold.
  void ExpectSound();
  // The event log keeps its newest events alone, so many.
  void KeepEvents(uint64_t count);
  EventGaps& gaps() { return *gaps_; }

  doors::testing::TestServer& server() { return server_; }
  doors::RouteTable& table() { return table_; }

 private:
  net::HttpHandlerFactory Factory();
  void CheckSchema(std::string_view method, const std::string& target,
                   const net::HttpResponse& response);

  doors::testing::TestServer server_;
  SeededRandom random_{7};
  std::shared_ptr<EventGaps> gaps_ = std::make_shared<EventGaps>();
  net::LoopGroup loops_{1};
  doors::RouteTable table_;
  doors::RouteStore store_;
  net::HttpServer http_;
  uint16_t port_ = 0;
  std::unique_ptr<net::HttpClient> client_;
};

// One open event stream, read as it comes.
class EventReader {
 public:
  EventReader(uint16_t port, const std::string& query, const std::string& last_event_id = "");

  // The next event as "type queue", or as "position", or "gap".
  std::string Next();
  const std::string& last_id() const { return last_id_; }
  const boost::json::value& data() const { return data_; }

 private:
  bool ReadMore();

  net::RespClient client_;
  std::string text_;
  std::string last_id_;
  boost::json::value data_;
};

}  // namespace cairn::jobs::testing
