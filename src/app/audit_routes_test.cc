// What the audit log shows, and what keeps a server from being open to those who should not be in.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/testing/access_fixture.h"

namespace cairn::app {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class AuditRoutesTest : public AccessTest {};

// --- The audit log ------------------------------------------------------------------------------

TEST_F(AuditRoutesTest, TheAuditLogHasWhoChangedWhatAtBothDoors) {
  MakeAdmin();
  const std::string op = MakeKey("op", R"("role":"operator")");
  const std::string reader = MakeKey("reader", "");
  const std::string job = Enqueue("q");
  AskOk(op, "POST", "/api/v1/queues/q/pause");
  AskOk(op, "POST", "/api/v1/queues/q/drain?timeout=0");
  Ask(reader, "POST", "/api/v1/queues/q/resume");
  AskOk(reader, "POST", "/api/v1/jobs/search", "{}");
  net::RespClient client = Connect();
  Run(client, {"AUTH", op});
  Run(client, {"JOB.HOLD", job});
  Run(client, {"MULTI"});
  Run(client, {"JOB.APPROVE", job});
  Run(client, {"EXEC"});
  Run(client, {"EVAL", "return redis.call('JOB.CANCEL', ARGV[1])", "0", job});
  Run(client, {"JOB.CANCEL", job});  // refused: it has ended
  const json::value log = AskOk(admin_, "GET", "/api/v1/audit-logs");
  std::vector<std::string> rows;
  for (const json::value& row : log.at("audit_logs").as_array()) {
    rows.push_back(fmt::format("{} {} {} {} {}", std::string_view(row.at("principal").as_string()),
                               std::string_view(row.at("role").as_string()),
                               std::string_view(row.at("method").as_string()),
                               std::string_view(row.at("path").as_string()),
                               row.at("status").as_int64()));
  }
  EXPECT_THAT(rows, ::testing::ElementsAre("op operator RESP JOB.CANCEL 400",
                                           "op operator RESP JOB.CANCEL " + job + " 200",
                                           "op operator RESP JOB.APPROVE " + job + " 200",
                                           "op operator RESP JOB.HOLD " + job + " 200",
                                           "reader readonly POST /api/v1/queues/q/resume 403",
                                           "op operator POST /api/v1/queues/q/drain 200",
                                           "op operator POST /api/v1/queues/q/pause 200",
                                           "root admin POST /api/v1/auth/keys 201",
                                           "root admin POST /api/v1/auth/keys 201",
                                           "default admin POST /api/v1/auth/keys 201"));
  const auto total = [&](const std::string& query) {
    return AskOk(admin_, "GET", "/api/v1/audit-logs?" + query).at("total").as_int64();
  };
  EXPECT_EQ(total("principal=op"), 6);
  EXPECT_EQ(total("method=RESP"), 4);
  EXPECT_EQ(total("path_prefix=/api/v1/queues"), 3);
  EXPECT_EQ(total("since=2100-01-01T00:00:00Z"), 0);
  EXPECT_EQ(total("until=2001-01-01T00:00:00Z"), 0);
  const json::value page = AskOk(admin_, "GET", "/api/v1/audit-logs?limit=2&offset=5");
  EXPECT_EQ(page.at("total"), 10);
  ASSERT_EQ(page.at("audit_logs").as_array().size(), 2U);
  EXPECT_EQ(page.at("audit_logs").at(0).at("path"), "/api/v1/queues/q/drain");
  EXPECT_EQ(page.at("audit_logs").at(0).at("metadata").at("query"), "timeout=0");
}

TEST_F(AuditRoutesTest, RefusedRequestsAreCountedAndPushNothingOut) {
  MakeAdmin();
  const std::string reader = MakeKey("reader", "");
  for (int i = 0; i < 500; ++i) {
    Ask(reader, "POST", fmt::format("/api/v1/queues/q{}/pause", i));
    Ask("", "GET", fmt::format("/api/v1/jobs/{}", i));  // without a key: a wrong one has to wait
  }
  Ask("wrong", "GET", "/api/v1/jobs/x");
  for (int i = 0; i < 20; ++i) Ask(admin_, "DELETE", "/api/v1/auth/keys", R"({"key_hash":"x"})");
  const json::value log = AskOk(admin_, "GET", "/api/v1/audit-logs");
  EXPECT_EQ(log.at("total"), 5);
  const auto row = [&](std::string_view principal, int64_t status) -> json::object {
    for (const json::value& each : log.at("audit_logs").as_array()) {
      if (std::string_view(each.at("principal").as_string()) == principal &&
          each.at("status") == status) {
        return each.as_object();
      }
    }
    return {};
  };
  const json::object refused = row("reader", 403);
  EXPECT_EQ(refused.at("path"), "/api/v1/queues/q499/pause");
  EXPECT_EQ(refused.at("metadata").at("count"), 500);
  EXPECT_NE(refused.at("metadata").at("first_at"), refused.at("created_at"));
  const json::object nobody = row("", 401);
  EXPECT_EQ(nobody.at("metadata").at("count"), 501);
  EXPECT_EQ(nobody.at("metadata").at("detail"), "from 127.0.0.1");
  EXPECT_EQ(row("root", 404).at("metadata").at("count"), 20);
}

TEST_F(AuditRoutesTest, TheAuditLogNamesTheKeyThatWasMadeOrRemoved) {
  MakeAdmin();
  const std::string secret = MakeKey("deploy", R"("role":"operator","queue_scope":"a,b")");
  const std::string hash = HashOf("deploy");
  DeleteKey("deploy");
  const json::value log = AskOk(admin_, "GET", "/api/v1/audit-logs?limit=2");
  for (const json::value& row : log.at("audit_logs").as_array()) {
    EXPECT_EQ(row.at("metadata").at("detail").as_string(), "key deploy (operator of a,b) " + hash);
  }
  EXPECT_THAT(json::serialize(log), Not(HasSubstr(secret)));
}

// The class: every route that changes something has a permission that is audited, or says why not;
// and the table does what the permission says.
TEST_F(AuditRoutesTest, EveryRouteThatChangesSomethingIsAuditedOrSaysWhyNot) {
  MakeAdmin();
  // What is asked for does not fit into a query.
  const std::set<std::string> asking = {"/api/v1/jobs/search", "/api/v1/jobs/bulk-get",
                                        "/v1/actors/{actor}/get"};
  std::vector<std::string> expected;
  std::string reader;
  size_t asked = 0;
  for (const Operation& operation : Operations()) {
    const house::Permission* const permission = permissions().Find(operation.permission);
    if (permission == nullptr) {
      EXPECT_EQ(operation.method, "GET") << operation.name();
      continue;
    }
    if (!permission->unaudited.empty()) {
      const bool reads = permission->unaudited == "only reads";
      // A function may do anything, whatever the method.
      const bool asks = (operation.method == "GET" || asking.contains(operation.path)) &&
                        !operation.path.starts_with("/v1/web/");
      EXPECT_EQ(reads, asks) << operation.name();
      continue;
    }
    // A key counts only so many kinds.
    if (asked++ % 50 == 0) reader = MakeKey(fmt::format("reader{}", asked), "");
    const std::string path = TargetOf(operation.path);
    EXPECT_EQ(Ask(reader, operation.method, path).status, 403) << operation.name();
    expected.push_back(operation.method + " " + path);
  }
  EXPECT_GT(expected.size(), 30U);
  std::vector<std::string> found;
  const json::value log = AskOk(admin_, "GET", "/api/v1/audit-logs?limit=1000");
  for (const json::value& row : log.at("audit_logs").as_array()) {
    if (row.at("status") != 403) continue;
    found.push_back(fmt::format("{} {}", std::string_view(row.at("method").as_string()),
                                std::string_view(row.at("path").as_string())));
  }
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(expected));
}

// --- Never open to other machines ---------------------------------------------------------------

TEST_F(AuditRoutesTest, TheLastKeyOfAServerThatOthersReachStays) {
  MakeAdmin();
  StartServer("", "0.0.0.0:0");
  ASSERT_EQ(failure_, "");
  const auto expect_refused = [&](const net::HttpResponse& response) {
    EXPECT_EQ(Refusal(response), "409 CONFLICT");
    EXPECT_THAT(response.body,
                AllOf(HasSubstr("can be reached from other machines"), HasSubstr("--insecure")));
  };
  expect_refused(DeleteKey("root"));
  expect_refused(
      Ask(admin_, "POST", "/api/v1/auth/keys",
          fmt::format(R"({{"name":"root","key":"{}","role":"admin","enabled":false}})", admin_)));
  EXPECT_EQ(Ask("", "GET", "/api/v1/queues").status, 401);
  // With a password it may go.
  net::RespClient client = Connect();
  Run(client, {"AUTH", admin_});
  EXPECT_EQ(Run(client, {"CONFIG", "SET", "requirepass", "sesame"}), "OK");
  EXPECT_EQ(DeleteKey("root").status, 200);
  EXPECT_EQ(Ask("", "GET", "/api/v1/queues").status, 401);
  EXPECT_EQ(Ask("sesame", "GET", "/api/v1/queues").status, 200);
}

TEST_F(AuditRoutesTest, ThePasswordOfAServerThatOthersReachStays) {
  StartServer("sesame", "0.0.0.0:0");
  ASSERT_EQ(failure_, "");
  admin_ = "sesame";
  net::RespClient client = Connect();
  ASSERT_EQ(Run(client, {"AUTH", "sesame"}), "OK");
  const auto why = HasSubstr("can be reached from other machines");
  const std::vector<std::vector<std::string>> opening = {
      {"CONFIG", "SET", "requirepass", ""},
      {"CONFIG", "SET", "timeout", "7", "requirepass", ""},
      {"ACL", "SETUSER", "default", "nopass"},
      {"ACL", "SETUSER", "default", "reset", "on", "nopass", "~*", "+@all"}};
  for (const auto& command : opening) {
    EXPECT_THAT(Run(client, command), AllOf(StartsWith("ERR"), why)) << command.back();
  }
  EXPECT_THAT(Run(client, {"CONFIG", "GET", "timeout"}), HasSubstr("0"));
  net::RespClient stranger = Connect();
  EXPECT_THAT(Run(stranger, {"PING"}), StartsWith("NOAUTH"));
  EXPECT_THAT(Run(stranger, {"AUTH", "anything"}), StartsWith("WRONGPASS"));
  EXPECT_EQ(Ask("", "GET", "/api/v1/queues").status, 401);
  // What keeps it closed is allowed.
  EXPECT_EQ(Run(client, {"CONFIG", "SET", "requirepass", "other"}), "OK");
  admin_ = "other";
  MakeKey("root", R"("role":"admin")");
  EXPECT_EQ(Run(client, {"CONFIG", "SET", "requirepass", ""}), "OK");
  EXPECT_THAT(Run(stranger, {"AUTH", "anything"}), StartsWith("WRONGPASS"));
  EXPECT_EQ(Ask("anything", "GET", "/api/v1/queues").status, 401);
}

TEST_F(AuditRoutesTest, OnLoopbackTheLastKeyAndThePasswordMayGo) {
  MakeAdmin();
  EXPECT_EQ(DeleteKey("root").status, 200);
  EXPECT_EQ(Ask("", "GET", "/api/v1/queues").status, 200);
  StartServer("sesame");
  net::RespClient client = Connect();
  Run(client, {"AUTH", "sesame"});
  EXPECT_EQ(Run(client, {"CONFIG", "SET", "requirepass", ""}), "OK");
  EXPECT_EQ(Ask("", "GET", "/api/v1/queues").status, 200);
}

// --- Names of the server ------------------------------------------------------------------------

TEST_F(AuditRoutesTest, AServerOnLoopbackThatAsksNobodyAnswersToNamesOfThisMachineOnly) {
  const auto ask = [&](const std::string& host) {
    const auto response = http_->Request("GET", "/api/v1/queues", "", {{"Host", host}});
    return response.ok() ? *response : net::HttpResponse::Text(0, response.error().message);
  };
  const net::HttpResponse refused = ask("rebound.example:8080");
  EXPECT_EQ(refused.status, 421);
  EXPECT_THAT(refused.body, AllOf(HasSubstr("rebound.example"), HasSubstr("allowed_hosts")));
  EXPECT_EQ(ask("localhost:8080").status, 200);
  EXPECT_EQ(ask("[::1]:8080").status, 200);
  // Where a secret is needed, any name will do.
  MakeAdmin();
  EXPECT_EQ(ask("rebound.example:8080").status, 401);
  // Configured ones.
  DeleteKey("root");
  EXPECT_EQ(ask("rebound.example:8080").status, 421);
  more_flags_ = {{"allowed_hosts", "cairn.internal"}};
  StartServer();
  EXPECT_EQ(ask("cairn.internal").status, 200);
  EXPECT_EQ(ask("rebound.example").status, 421);
  // One that others reach knows its names even less.
  more_flags_ = {{"insecure", "true"}};
  StartServer("", "0.0.0.0:0");
  EXPECT_EQ(ask("rebound.example").status, 200);
}

}  // namespace
}  // namespace cairn::app
