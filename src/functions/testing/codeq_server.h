#pragma once

#include <boost/json/value.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "doors/http/route_table.h"
#include "doors/testing/test_server.h"
#include "doors/turn/route_store.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop.h"

namespace cairn::functions::testing {

// A server with codeQ at both doors, and the commands of data and jobs beside it. Every answer is
// checked against the schema of its row. Time stands still unless the test moves it.
class CodeqServer {
 public:
  CodeqServer();
  ~CodeqServer();
  CodeqServer(const CodeqServer&) = delete;
  CodeqServer& operator=(const CodeqServer&) = delete;

  // On the test's own thread; others take a NewClient.
  net::HttpResponse Ask(std::string_view method, const std::string& target,
                        const std::string& body = "", const net::HttpHeaders& headers = {});
  // The JSON of an answer that must have the status.
  boost::json::value Json(int status, std::string_view method, const std::string& target,
                          const std::string& body = "", const net::HttpHeaders& headers = {});
  // "400 CS_VALIDATION_FAILED text" of an answer in the form of this layer.
  static std::string Refusal(const net::HttpResponse& response);

  // A reply of the other door, as text.
  std::string Run(const std::vector<std::string>& args) { return server_.Run(args); }

  net::HttpClient NewClient() const { return net::HttpClient({"127.0.0.1", port_}); }
  doors::testing::TestServer& server() { return server_; }
  doors::RouteStore& store() { return store_; }
  net::LoopGroup& loops() { return loops_; }
  ManualClock& clock() { return server_.clock(); }

  // Moves time and fires what is due, also what that leads to.
  void Advance(int64_t ms);
  // Fails the test if the invariants of jobs do not hold.
  void ExpectSound();

 private:
  net::HttpHandlerFactory Factory();

  doors::testing::TestServer server_;
  SeededRandom random_{7};
  net::LoopGroup loops_{1};
  doors::RouteTable table_;
  doors::RouteStore store_;
  net::HttpServer http_;
  uint16_t port_ = 0;
  std::unique_ptr<net::HttpClient> client_;
};

// Messages as tests send them.
inline constexpr std::string_view kTenant = "t_abc123";
std::string ActivationId(int number);
std::string RequestId(int number);
// `more` is put in front of the members of the body, so that one of them can be given twice or
// instead; `without` names one that is left out.
std::string RequestMessage(int number, std::string_view without = "", std::string_view more = "");
std::string ResultMessage(int number, std::string_view without = "", std::string_view more = "");
std::string MessageAround(std::string_view type, std::string_view body, int number = 1);

}  // namespace cairn::functions::testing
