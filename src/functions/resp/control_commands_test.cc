// The control plane over RESP.
#include "functions/resp/control_commands.h"

#include <gtest/gtest.h>

#include <string>

#include "data/commands.h"
#include "doors/testing/test_server.h"
#include "functions/control/verify.h"
#include "functions/model/manifest.h"

namespace cairn::functions {
namespace {

class ControlCommandsTest : public ::testing::Test {
 protected:
  ControlCommandsTest()
      : server_({.add_commands = [this](doors::Instance& instance) {
          data::AddDataCommands(instance);
          AddControlCommands(instance, secrets_, random_);
        }}) {}
  void TearDown() override {
    house::Verification verification;
    EXPECT_TRUE(VerifyFunctions(server_.store(), verification).ok());
    EXPECT_TRUE(verification.sound()) << verification.problems().front();
  }

  // Whether the reply has the text somewhere; shows the reply if not.
  void ExpectReply(std::initializer_list<std::string_view> args, std::string_view part) {
    const net::RespValue value = server_.Connect().RunValue(args);
    const std::string shown = value.ToString();
    const std::string& reply = shown.starts_with("(error)") ? shown : value.text;
    EXPECT_NE(reply.find(part), std::string::npos) << *args.begin() << ": " << reply;
  }
  void PublishOne() {
    ExpectReply({"FN.PUBLISH", kName, "FILES", "2", "function.js", "export default 1",
                 "manifest.json", manifest_},
                "version");
  }

  static constexpr std::string_view kName = "t_abc123/payments/reconcile";
  SeededRandom random_{3};
  SecretKeys secrets_;
  const std::string manifest_ = ManifestText({.memory_mb = 64});
  doors::testing::TestServer server_;
};

TEST_F(ControlCommandsTest, FromAFunctionToAnAlias) {
  ExpectReply({"FN.CREATE", kName}, "created_at_ms");
  PublishOne();
  ExpectReply({"FN.PUBLISH", kName, "FILES", "2", "function.js", "x", "manifest.json", manifest_,
               "ALIAS", "prod", "CONFIG", R"({"timeout_ms":9})"},
              R"("version":2)");
  ExpectReply({"FN.GET", kName}, R"("timeout_ms":9)");
  ExpectReply({"FN.LIST", "t_abc123/payments"}, "reconcile");
  ExpectReply({"FN.VERSIONS", kName, "LIMIT", "1"}, R"("cursor":"2")");
  ExpectReply({"FN.ALIAS", kName, "prod", "1", "WEIGHT", "2", "10"}, R"("weight":10)");
  ExpectReply({"FN.ROLLBACK", kName, "prod"}, R"("version":2)");
  ExpectReply({"FN.SHIFT", kName, "prod", "1", "STEP", "10", "EVERY", "60", "MAXERRORS", "0.05"},
              R"("shift")");
  ExpectReply({"FN.ALIASES", kName}, R"("max_error_rate":0.05)");
  ExpectReply({"FN.DELALIAS", kName, "prod"}, "deleted");
}

TEST_F(ControlCommandsTest, ADraftIsPublishedOnce) {
  ExpectReply({"FN.CREATE", kName}, "created_at_ms");
  const std::string reply =
      server_.Run({"FN.DRAFT", kName, "function.js", "x", "manifest.json", manifest_});
  const std::string draft = reply.substr(reply.find("drf_"), 30);
  ExpectReply({"FN.PUBLISH", kName, "DRAFT", draft}, R"("version":1)");
  ExpectReply({"FN.PUBLISH", kName, "DRAFT", draft}, "(error) CS_CONFLICT the draft");
}

TEST_F(ControlCommandsTest, RefusalsBeginWithTheirCode) {
  ExpectReply({"FN.GET", kName}, "(error) CS_NOT_FOUND there is no function");
  ExpectReply({"FN.GET", "reconcile"}, "(error) CS_VALIDATION_NAME_INVALID");
  ExpectReply({"FN.CREATE", "t_abc123/payments/NO"}, "(error) CS_VALIDATION_NAME_INVALID");
  ExpectReply({"FN.PUBLISH", kName, "DRAFT", "drf_x", "MORE"}, "(error) CS_VALIDATION_FAILED");
  ExpectReply({"FN.PUBLISH", kName, "FILES", "2", "function.js", "x"},
              "(error) CS_VALIDATION_FAILED FILES is followed by");
  ExpectReply({"FN.LIST", "t_abc123/payments", "LIMIT", "0"}, "LIMIT must be from 1 to 500");
  ExpectReply({"FN.ALIAS", kName, "prod", "0"}, "a version is a number from 1 on");
}

TEST_F(ControlCommandsTest, AFunctionAndDataChangeInOneCommit) {
  doors::testing::TestClient client = server_.Connect();
  EXPECT_EQ(client.Run({"MULTI"}), "OK");
  EXPECT_EQ(client.Run({"FN.CREATE", kName}), "QUEUED");
  EXPECT_EQ(client.Run({"SET", "deployed", "yes"}), "QUEUED");
  EXPECT_NE(client.Run({"EXEC"}).find("OK"), std::string::npos);
  EXPECT_EQ(server_.Run({"GET", "deployed"}), R"("yes")");
  ExpectReply({"FN.DELETE", kName}, "deleted_at_ms");
  ExpectReply({"FN.DISABLE", kName}, "CS_NOT_FOUND");
  ExpectReply({"FN.PURGE", kName}, "purged");
  EXPECT_EQ(server_.Run({"KEYS", "cs:*"}), "[]");
}

}  // namespace
}  // namespace cairn::functions
