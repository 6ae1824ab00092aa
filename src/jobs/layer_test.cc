#include "jobs/layer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "doors/testing/test_server.h"
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

}  // namespace
}  // namespace cairn::jobs
