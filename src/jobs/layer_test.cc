#include "jobs/layer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "doors/testing/test_server.h"
#include "house/configuration.h"
#include "house/declarations.h"
#include "jobs/ledger/context.h"
#include "jobs/resp/commands.h"

namespace cairn::jobs {
namespace {

// A key that is limited to some queues is let as far as the operations, which check the queue; the
// one command that reads all queues is closed to it.
TEST(JobsLayerTest, CommandsAreOpenToKeysThatAreLimitedToQueues) {
  house::Layers layers;
  layers.push_back(MakeJobsLayer(nullptr));
  const house::Declarations declarations(layers);
  doors::testing::TestServer server({.add_commands = AddJobCommands});
  const doors::CommandTable& table = server.instance().commands();
  doors::Grants grants;
  grants.Add(std::string(kQueueKind), *doors::NamePatterns::Parse("mine"));
  const doors::AclRules rules =
      declarations.permissions().RulesOf(house::Role::kOperator, &grants, table);
  for (size_t i = 0; i < table.row_count(); ++i) {
    const doors::Command& command = table.row(i);
    if (command.group != "jobs") continue;
    const std::string_view args[] = {command.name, "x", "x", "x"};
    EXPECT_EQ(rules.Check(command, args).has_value(), command.name == "job.verify") << command.name;
  }
}

TEST(WebhookDefaultTest, ThisMachineIsATargetOnlyWhileNoOtherReachesTheServer) {
  const net::Address here{"127.0.0.1", 6666};
  const net::Address anywhere{"0.0.0.0", 6666};
  const auto targets = [](const net::Address& resp, const net::Address& http,
                          const std::string& allow = "") {
    house::Configuration configuration{.resp = resp, .http = http};
    if (!allow.empty()) configuration.settings["webhooks.allow"] = allow;
    return WebhookTargetsOf(configuration).ToString();
  };
  EXPECT_EQ(targets(here, here), "loopback");
  EXPECT_EQ(targets({"::1", 1}, {"localhost", 1}), "loopback");
  EXPECT_EQ(targets(anywhere, here), "public");
  EXPECT_EQ(targets(here, anywhere), "public");
  EXPECT_EQ(targets({"192.0.2.7", 1}, here), "public");
  // What is set counts, whoever can reach the server.
  EXPECT_EQ(targets(here, here, "public"), "public");
  EXPECT_EQ(targets(anywhere, anywhere, "loopback"), "loopback");
}

}  // namespace
}  // namespace cairn::jobs
