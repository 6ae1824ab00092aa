#include "admin/keyring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "doors/testing/test_server.h"
#include "house/declarations.h"
#include "house/layer.h"
#include "tests/support/await.h"

namespace cairn::admin {
namespace {

using doors::testing::TestServer;
using house::Role;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ApiKey kKey{.hash = "h",
                  .name = "n",
                  .role = Role::kWorker,
                  .queue_scope = "q,r*",
                  .enabled = false,
                  .created = {7},
                  .expires = Timestamp{9}};

TEST(ApiKeyTest, IsStoredAsJson) {
  EXPECT_EQ(EncodeApiKey(kKey),
            R"({"name":"n","role":"worker","queue_scope":"q,r*","enabled":false,"created_us":7,)"
            R"("expires_us":9})");
  EXPECT_EQ(*DecodeApiKey("h", EncodeApiKey(kKey)), kKey);
  ApiKey lasting = kKey;
  lasting.expires.reset();
  EXPECT_EQ(*DecodeApiKey("h", EncodeApiKey(lasting)), lasting);
}

TEST(ApiKeyTest, GrantsAreStoredByKind) {
  ApiKey key = kKey;
  key.grants = {{"event", "summer"}, {"function", "t_abc123/shop/*,t_abc123/bill/pay"}};
  EXPECT_EQ(EncodeApiKey(key),
            R"({"name":"n","role":"worker","queue_scope":"q,r*","enabled":false,"created_us":7,)"
            R"("expires_us":9,"grants":{"event":"summer",)"
            R"("function":"t_abc123/shop/*,t_abc123/bill/pay"}})");
  EXPECT_EQ(*DecodeApiKey("h", EncodeApiKey(key)), key);
  // A limit that cannot be read must not become none.
  for (const std::string_view grants : {"{}", "[]", "null", R"({"event":1})"}) {
    EXPECT_FALSE(DecodeApiKey("h", fmt::format(R"({{"name":"n","role":"worker","queue_scope":"",)"
                                               R"("enabled":true,"created_us":7,"grants":{}}})",
                                               grants))
                     .ok())
        << grants;
  }
}

TEST(ApiKeyTest, WhatIsNoKeyIsRefused) {
  const std::string row = EncodeApiKey(kKey);
  for (size_t size = 0; size < row.size(); ++size) {
    EXPECT_FALSE(DecodeApiKey("h", BytesView(row).substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeApiKey("h", R"({"name":"n","role":"king","queue_scope":"","enabled":true,)"
                                 R"("created_us":7})")
                   .ok());
}

// A layer with commands for keys that are limited to some queues, and one that is not for them.
class ThingLayer final : public house::Layer {
 public:
  std::string_view name() const override { return "thing"; }
  void Declare(house::Declarations& declarations) const override {
    const auto queues = doors::Touches::Only(kQueueKind);
    declarations.AddResourceKind(kQueueKind);
    declarations.AllowCommands(house::CommandUse::kLook, queues, {"thing.look"});
    declarations.AllowCommands(house::CommandUse::kWork, queues, {"thing.work"});
    declarations.AllowCommands(house::CommandUse::kManage, queues, {"thing.manage"});
    declarations.AllowCommands(house::CommandUse::kManage, doors::Touches::Only("event"),
                               {"thing.event"});
  }
  void Register(house::Registry& /*registry*/) override {}
};

void AddThingCommands(doors::Instance& instance) {
  for (const std::string_view name :
       {"thing.look", "thing.work", "thing.manage", "thing.event", "thing.all"}) {
    instance.commands().Add({.name = name,
                             .arity = -1,
                             .flags = doors::kWrite,
                             .group = "things",
                             .since = "0.1.0",
                             .summary = "Does something.",
                             .run = [](doors::CommandContext& context) -> Result<void> {
                               context.reply.Ok();
                               return {};
                             }});
  }
}

house::Layers OneLayer(std::unique_ptr<house::Layer> layer) {
  house::Layers layers;
  layers.push_back(std::move(layer));
  return layers;
}

class KeyringTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(keyring_.Start().ok()); }

  void Put(const std::string& secret, ApiKey key) {
    key.hash = doors::SecretHash(secret);
    key.name = key.name.empty() ? secret : key.name;
    Change([&](store::Transaction& transaction) { PutKey(transaction, key); });
  }
  void Delete(const std::string& secret) {
    Change([&](store::Transaction& transaction) {
      DeleteKey(transaction, doors::SecretHash(secret));
    });
  }
  template <typename Step>
  void Change(Step step) {
    store::Scopes scopes;
    AddKeysScope(scopes);
    const auto done =
        server_.store().Run(scopes, [&](store::Transaction& transaction) -> Result<void> {
          step(transaction);
          return {};
        });
    ASSERT_TRUE(done.ok());
    ASSERT_TRUE(keyring_.Reload().ok());
  }
  std::string RoleOf(const std::string& secret) {
    const auto who = keyring_.Identify(secret);
    if (who == nullptr) return "nobody";
    return who->ended() ? "nobody any more" : who->role();
  }

  TestServer server_{{.add_commands = AddThingCommands}};
  const house::Layers layers_ = OneLayer(std::make_unique<ThingLayer>());
  const house::Declarations declarations_{layers_};
  Keyring keyring_{server_.instance(), declarations_.permissions()};
};

TEST_F(KeyringTest, TheFirstEnabledKeyClosesTheDoor) {
  EXPECT_EQ(RoleOf(""), "admin");
  Put("off", {.role = Role::kAdmin, .enabled = false});
  EXPECT_EQ(RoleOf("whatever"), "admin");
  Put("boss", {.role = Role::kAdmin});
  EXPECT_EQ(RoleOf(""), "nobody");
  EXPECT_EQ(RoleOf("off"), "nobody");
  EXPECT_EQ(RoleOf("boss"), "admin");
  EXPECT_THAT(server_.Connect().Run({"PING"}), HasSubstr("NOAUTH"));
  Delete("boss");
  EXPECT_EQ(RoleOf(""), "admin");
}

TEST_F(KeyringTest, AKeyThatExpiresEndsAndLeavesTheDoorClosed) {
  const Timestamp soon{server_.clock().Now().us + 1'000'000};
  Put("brief", {.role = Role::kWorker, .expires = soon});
  doors::testing::TestClient client = server_.Connect();
  EXPECT_EQ(client.Run({"AUTH", "brief", "brief"}), "OK");
  const auto who = keyring_.Identify("brief");
  ASSERT_NE(who, nullptr);
  EXPECT_FALSE(who->ended());
  server_.clock().AdvanceMillis(1'000);
  EXPECT_EQ(RoleOf("brief"), "nobody any more");
  EXPECT_FALSE(keyring_.Identify("brief")->Allows("jobs.read"));
  keyring_.EndExpired();
  EXPECT_TRUE(who->ended());
  EXPECT_EQ(RoleOf(""), "nobody");
  EXPECT_TRUE(keyring_.any_enabled());
  // Its loop hears of it.
  cairn::testing::Await("the connection's end",
                        [&] { return !client.raw().Command({"PING"}).ok(); });
}

TEST_F(KeyringTest, AChangedKeyIsAnotherPrincipal) {
  Put("k", {.role = Role::kReadonly});
  const auto before = keyring_.Identify("k");
  ASSERT_TRUE(keyring_.Reload().ok());
  EXPECT_EQ(keyring_.Identify("k"), before);
  Put("k", {.role = Role::kReadonly, .queue_scope = "q"});
  EXPECT_TRUE(before->ended());
  EXPECT_FALSE(keyring_.Identify("k")->ended());
  EXPECT_EQ(keyring_.Identify("k")->grants()->Describe(), "queue q");
}

TEST_F(KeyringTest, AnotherServersKeysAreHeardOf) {
  Keyring other(server_.instance(), declarations_.permissions());
  ASSERT_TRUE(other.Start().ok());
  Put("k", {.role = Role::kWorker});
  // The wake-up reaches its thread.
  cairn::testing::Await("the other server to hear of the key", [&] {
    const auto who = other.Identify("k");
    return who != nullptr && who->role() == "worker";
  });
}

TEST_F(KeyringTest, UsesAreWrittenDownOnceAMinute) {
  Put("k", {.role = Role::kWorker});
  const std::string hash = doors::SecretHash("k");
  const auto stored = [&] {
    const auto snapshot = server_.store().Read();
    return LoadLastUse(**snapshot, hash)->value_or(Timestamp{}).us;
  };
  const int64_t first = server_.clock().Now().us;
  keyring_.Identify("k");
  ASSERT_TRUE(keyring_.WriteUses().ok());
  EXPECT_EQ(stored(), first);
  server_.clock().AdvanceMillis(59'000);
  keyring_.Identify("k");
  ASSERT_TRUE(keyring_.WriteUses().ok());
  EXPECT_EQ(stored(), first);
  EXPECT_EQ(keyring_.LastUse(hash)->us, first + 59'000'000);
  server_.clock().AdvanceMillis(1'000);
  keyring_.Identify("k");
  ASSERT_TRUE(keyring_.WriteUses().ok());
  EXPECT_EQ(stored(), first + 60'000'000);
  Delete("k");
  EXPECT_EQ(stored(), 0);
}

TEST_F(KeyringTest, EveryRoleMayCallWhatItsRulesName) {
  const doors::CommandTable& table = server_.instance().commands();
  doors::Grants grants;
  grants.Add("queue", *doors::NamePatterns::Parse("q"));
  for (const Role role : {Role::kAdmin, Role::kOperator, Role::kWorker, Role::kReadonly}) {
    for (const doors::Grants* const given :
         std::initializer_list<const doors::Grants*>{nullptr, &grants}) {
      const doors::AclRules rules = declarations_.permissions().RulesOf(role, given, table);
      EXPECT_TRUE(rules.on());
      EXPECT_EQ(rules.AllowsEverything(), role == Role::kAdmin && given == nullptr);
    }
  }
  // With grants, what layers have allowed for them, as far as the role goes.
  const auto allowed = [&](Role role) {
    const doors::AclRules rules = declarations_.permissions().RulesOf(role, &grants, table);
    std::vector<std::string_view> names;
    for (size_t i = 0; i < table.row_count(); ++i) {
      const doors::Command& command = table.row(i);
      const std::string_view args[] = {command.name};
      if (command.group == "things" && !rules.Check(command, args)) names.push_back(command.name);
    }
    return names;
  };
  EXPECT_THAT(allowed(Role::kAdmin), ElementsAre("thing.look", "thing.work", "thing.manage"));
  EXPECT_THAT(allowed(Role::kWorker), ElementsAre("thing.look", "thing.work"));
  EXPECT_THAT(allowed(Role::kReadonly), ElementsAre("thing.look"));
}

}  // namespace
}  // namespace cairn::admin
