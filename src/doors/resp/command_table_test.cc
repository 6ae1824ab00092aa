#include "doors/resp/command_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/bytes.h"

namespace cairn::doors {
namespace {

Command Row(std::string_view name, int arity = -1) {
  return {.name = name,
          .arity = arity,
          .group = "test",
          .since = "1.0.0",
          .summary = "For tests.",
          .connection = [](ConnectionContext&) {}};
}

Command Container(std::string_view name) {
  return {.name = name, .arity = -2, .group = "test", .since = "1.0.0", .summary = "For tests."};
}

CommandTable::Lookup Find(const CommandTable& table, std::vector<std::string_view> args) {
  return table.Find(args);
}

TEST(CommandTableTest, FindsInAnyCase) {
  CommandTable table;
  table.Add(Row("get"));
  EXPECT_EQ(Find(table, {"GeT"}).command, table.FindByName("get"));
  EXPECT_NE(table.FindByName("GET"), nullptr);
  EXPECT_EQ(Find(table, {"got"}).command, nullptr);
  EXPECT_EQ(Find(table, {""}).command, nullptr);
  EXPECT_EQ(Find(table, {std::string(100'000, 'g')}).command, nullptr);
}

TEST(CommandTableTest, FindsSubcommandsThroughTheirContainer) {
  CommandTable table;
  table.Add(Container("client"));
  table.Add(Row("client|list"));
  EXPECT_EQ(Find(table, {"CLIENT", "LIST"}).command, table.FindByName("client|list"));
  EXPECT_EQ(Find(table, {"client"}).command, table.FindByName("client"));
  EXPECT_FALSE(Find(table, {"client"}).unknown_subcommand);
  const CommandTable::Lookup unknown = Find(table, {"client", "nosuch"});
  EXPECT_EQ(unknown.command, table.FindByName("client"));
  EXPECT_TRUE(unknown.unknown_subcommand);
  EXPECT_EQ(Find(table, {"client|list"}).command, nullptr);
  EXPECT_EQ(table.commands().size(), 1U);
  EXPECT_EQ(table.row_count(), 2U);
}

TEST(CommandTableTest, FindsEachOfManyAfterGrowing) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("command-" + std::to_string(i));
  CommandTable table;
  for (const std::string& name : names) table.Add(Row(name));
  for (const std::string& name : names) {
    ASSERT_NE(table.FindByName(name), nullptr) << name;
    EXPECT_EQ(table.FindByName(name)->name, name);
  }
}

TEST(CommandTableDeathTest, RefusesRowsThatContradictThemselves) {
  CommandTable table;
  table.Add(Row("get"));
  EXPECT_DEATH(table.Add(Row("get")), "twice");
  EXPECT_DEATH(table.Add(Row("GET")), "lower case");
  EXPECT_DEATH(table.Add(Row("nosuch|sub")), "before its container");
  Command writer = Row("put");
  writer.flags = kWrite;
  EXPECT_DEATH(table.Add(writer), "outside a transaction");
  Command syntax = Row("bad");
  syntax.syntax = "[";
  EXPECT_DEATH(table.Add(syntax), "syntax");
}

TEST(CommandTest, ArityIsExactOrAtLeast) {
  EXPECT_TRUE(Row("a", 2).AcceptsArity(2));
  EXPECT_FALSE(Row("a", 2).AcceptsArity(3));
  EXPECT_TRUE(Row("a", -2).AcceptsArity(3));
  EXPECT_FALSE(Row("a", -2).AcceptsArity(1));
}

TEST(CommandTest, FindsKeysAtTheirPlaces) {
  Command mset = Row("mset");
  mset.keys = {{1, -1, 2, ""}};
  const std::vector<std::string_view> args = {"mset", "a", "1", "b", "2"};
  EXPECT_EQ(FindKeys(mset, args), (std::vector<size_t>{1, 3}));

  Command blpop = Row("blpop");
  blpop.keys = {{1, -2, 1, ""}};
  const std::vector<std::string_view> pop = {"blpop", "a", "b", "0"};
  EXPECT_EQ(FindKeys(blpop, pop), (std::vector<size_t>{1, 2}));

  Command odd = Row("odd");
  odd.find_keys = [](Args call) { return std::vector<size_t>{call.size() - 1}; };
  EXPECT_EQ(FindKeys(odd, args), (std::vector<size_t>{4}));
}

TEST(CommandTest, ScopesFollowFromKeysAndDatabase) {
  Command command = Row("touch");
  command.keys = {{1, -1, 1, ""}};
  const std::vector<std::string_view> args = {"touch", "a", "b"};
  Bytes scratch;
  store::Scopes scopes;
  AddScopes(Call(command, args), 3, scopes, scratch);
  store::Scopes expected;
  AddKeyScope(3, "a", expected, scratch);
  AddKeyScope(3, "b", expected, scratch);
  EXPECT_EQ(scopes.hashes(), expected.hashes());

  store::Scopes other_db;
  AddScopes(Call(command, args), 4, other_db, scratch);
  EXPECT_NE(other_db.hashes(), scopes.hashes());

  command.scopes = ScopeRule::kNothing;
  store::Scopes none;
  AddScopes(Call(command, args), 3, none, scratch);
  EXPECT_TRUE(none.empty());

  command.scopes = ScopeRule::kEverything;
  AddScopes(Call(command, args), 3, none, scratch);
  EXPECT_TRUE(none.exclusive());
}

TEST(OwnedArgsTest, OutlivesWhatItWasMadeOfAndBeingMoved) {
  std::string text = "some bytes";
  std::vector<std::string_view> args = {"set", text, ""};
  OwnedArgs owned(args);
  text.assign(text.size(), 'x');
  const OwnedArgs moved = std::move(owned);
  ASSERT_EQ(moved.view().size(), 3U);
  EXPECT_EQ(moved.view()[1], "some bytes");
  EXPECT_EQ(moved.view()[2], "");
  EXPECT_EQ(moved.bytes(), 13U + 3 * sizeof(std::string_view));
}

}  // namespace
}  // namespace cairn::doors
