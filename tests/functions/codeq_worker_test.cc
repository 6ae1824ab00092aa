// codeQ's API as its clients use it: a producer and a worker that know nothing else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/functions/functions_server.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;

class CodeqWorkerTest : public ::testing::Test {
 protected:
  std::string Create(std::string_view command, std::string_view more = "") {
    const JsonAnswer answer =
        server_.Call("POST", "/v1/codeq/tasks",
                     fmt::format(R"({{"command":"{}","payload":{{"n":1}}{}}})", command, more));
    EXPECT_EQ(answer.status, 202) << answer.text;
    return answer.status == 202 ? std::string(answer.body.at("id").as_string()) : "";
  }
  JsonAnswer Claim(const std::string& body, const net::HttpHeaders& headers = {}) {
    return server_.Call("POST", "/v1/codeq/tasks/claim", body, headers);
  }

  FunctionsServer server_;
  net::HttpHeaders admin_;  // of an administrator, once there is one
};

TEST_F(CodeqWorkerTest, ATaskGoesFromItsProducerToAWorkerAndBack) {
  // With members that this server does not know, as a client of another version sends them.
  const std::string id = Create("RENDER", R"(,"priority":7,"futureMember":{"a":1})");
  const JsonAnswer claimed =
      Claim(R"({"workerId":"w1","commands":["RENDER"],"leaseSeconds":60,"futureMember":1})");
  ASSERT_EQ(claimed.status, 200) << claimed.text;
  EXPECT_EQ(claimed.body.at("id").as_string(), id);
  EXPECT_EQ(claimed.body.at("status").as_string(), "IN_PROGRESS");
  const auto act = [&](std::string_view what, std::string_view body) {
    return server_.Call("POST", fmt::format("/v1/codeq/tasks/{}/{}", id, what), std::string(body))
        .status;
  };
  EXPECT_EQ(act("heartbeat", R"({"workerId":"w1","extendSeconds":60})"), 200);
  EXPECT_EQ(act("nack", R"({"workerId":"w1","delaySeconds":0,"reason":"again"})"), 200);
  ASSERT_EQ(Claim(R"({"workerId":"w1","commands":["RENDER"],"waitSeconds":10})").status, 200);
  EXPECT_EQ(act("result", R"({"workerId":"w1","status":"COMPLETED","result":{"ok":true}})"), 200);
  const JsonAnswer result =
      server_.Call("GET", fmt::format("/v1/codeq/tasks/{}/result?waitSeconds=10", id));
  ASSERT_EQ(result.status, 200) << result.text;
  EXPECT_EQ(result.body.at("result").at("result"), json::parse(R"({"ok":true})"));
}

TEST_F(CodeqWorkerTest, AWorkerOfAllCommandsTakesWhatThereIs) {
  EXPECT_EQ(Claim(R"({"workerId":"w1"})").status, 204);
  std::set<std::string> created = {Create("RENDER"), Create("MAIL")};
  // Messages of the platform are not for whoever comes.
  server_.Publish("quick", "export default () => 1");
  EXPECT_EQ(server_.Call("POST", "/api/v1/queues/cs.invoke/pause").status, 200);
  ASSERT_NE(server_.InvokeLater("quick"), "");
  for (int i = 0; i < 2; ++i) {
    const JsonAnswer claimed = Claim(R"({"workerId":"w1"})");
    ASSERT_EQ(claimed.status, 200) << claimed.text;
    EXPECT_EQ(created.erase(std::string(claimed.body.at("id").as_string())), 1U);
  }
  EXPECT_EQ(server_.Call("POST", "/api/v1/queues/cs.invoke/resume").status, 200);
  EXPECT_EQ(Claim(R"({"workerId":"w1"})").status, 204);
}

TEST_F(CodeqWorkerTest, AKeyWithAPatternClaimsWhatFitsIt) {
  const auto key = [&](std::string_view name, std::string_view more) {
    const JsonAnswer made =
        server_.Call("POST", "/api/v1/auth/keys",
                     fmt::format(R"({{"name":"{}","role":{}}})", name, more), admin_);
    EXPECT_EQ(made.status, 201) << made.text;
    return net::HttpHeaders{
        {"Authorization", "Bearer " + std::string(made.body.at("key").as_string())}};
  };
  Create("mail.one");
  Create("video.one");
  admin_ = key("root", R"("admin")");
  const net::HttpHeaders worker = key("worker", R"("worker","queue_scope":"mail.*")");
  const JsonAnswer claimed = Claim("{}", worker);
  ASSERT_EQ(claimed.status, 200) << claimed.text;
  EXPECT_EQ(claimed.body.at("command").as_string(), "mail.one");
  EXPECT_EQ(claimed.body.at("workerId").as_string(), "worker");
  EXPECT_EQ(Claim("{}", worker).status, 204);
}

}  // namespace
}  // namespace cairn::testing
