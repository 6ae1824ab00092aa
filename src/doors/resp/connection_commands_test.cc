#include "doors/resp/connection_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include "doors/testing/test_server.h"

namespace cairn::doors {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TestClient;
using testing::TestServer;

TEST(ConnectionCommandsTest, PingAndEcho) {
  TestServer server;
  EXPECT_EQ(server.Run({"PING"}), "PONG");
  EXPECT_EQ(server.Run({"PING", "hi"}), "\"hi\"");
  EXPECT_EQ(server.Run({"PING", "a", "b"}),
            "(error) ERR wrong number of arguments for 'ping' command");
  EXPECT_EQ(server.Run({"ECHO", "hi"}), "\"hi\"");
}

TEST(ConnectionCommandsTest, SelectKnowsSixteenDatabases) {
  TestServer server;
  EXPECT_EQ(server.Run({"SELECT", "15"}), "OK");
  EXPECT_EQ(server.Run({"SELECT", "16"}), "(error) ERR DB index is out of range");
  EXPECT_EQ(server.Run({"SELECT", "x"}), "(error) ERR value is not an integer or out of range");
}

TEST(ConnectionCommandsTest, HelloChangesTheProtocol) {
  TestServer server;
  TestClient client = server.Connect();
  EXPECT_EQ(client.RunValue({"HELLO"}).type, net::RespValue::Type::kArray);
  EXPECT_EQ(client.RunValue({"HELLO", "3"}).type, net::RespValue::Type::kMap);
  EXPECT_EQ(client.RunValue({"CLIENT", "GETNAME"}).type, net::RespValue::Type::kNull);
  EXPECT_EQ(client.RunValue({"HELLO", "2", "SETNAME", "me"}).type, net::RespValue::Type::kArray);
  EXPECT_EQ(client.Run({"CLIENT", "GETNAME"}), "\"me\"");
  EXPECT_EQ(client.Run({"HELLO", "4"}), "(error) NOPROTO unsupported protocol version");
  EXPECT_EQ(client.Run({"HELLO", "x"}),
            "(error) ERR Protocol version is not an integer or out of range");
  EXPECT_EQ(client.Run({"HELLO", "3", "foo"}), "(error) ERR Syntax error in HELLO option 'foo'");
}

TEST(ConnectionCommandsTest, TheAnswerToAWrongPasswordIsHeldBackAndHoldsUpNobodyElse) {
  TestServer server({.password = "secret"});
  TestClient guesser = server.Connect();
  TestClient other = server.Connect();
  other.Run({"AUTH", "secret"});
  const auto began = std::chrono::steady_clock::now();
  // What is sent behind a guess waits with it, and in order.
  guesser.Send({"AUTH", "wrong"});
  guesser.Send({"AUTH", "secret"});
  guesser.Send({"PING"});
  EXPECT_EQ(other.Run({"PING"}), "PONG");
  EXPECT_THAT(guesser.Receive(), StartsWith("(error) WRONGPASS"));
  EXPECT_GE(std::chrono::steady_clock::now() - began, FailedLogins::DelayAfter(1));
  EXPECT_EQ(guesser.Receive(), "OK");
  EXPECT_EQ(guesser.Receive(), "PONG");
  EXPECT_EQ(server.instance().observed().failed_logins.count(), 1U);
}

TEST(ConnectionCommandsTest, NothingWorksBeforeAuthentication) {
  TestServer server({.password = "secret"});
  TestClient client = server.Connect();
  EXPECT_EQ(client.Run({"PING"}), "(error) NOAUTH Authentication required.");
  EXPECT_THAT(client.Run({"HELLO", "3"}), StartsWith("(error) NOAUTH HELLO must be called"));
  EXPECT_THAT(client.Run({"AUTH", "wrong"}), StartsWith("(error) WRONGPASS"));
  EXPECT_THAT(client.Run({"AUTH", "root", "secret"}), StartsWith("(error) WRONGPASS"));
  EXPECT_EQ(client.Run({"AUTH", "secret"}), "OK");
  EXPECT_EQ(client.Run({"PING"}), "PONG");
  EXPECT_EQ(client.Run({"RESET"}), "RESET");
  EXPECT_EQ(client.Run({"PING"}), "(error) NOAUTH Authentication required.");
  EXPECT_EQ(client.RunValue({"HELLO", "3", "AUTH", "default", "secret"}).type,
            net::RespValue::Type::kMap);
  EXPECT_EQ(client.Run({"PING"}), "PONG");
}

TEST(ConnectionCommandsTest, AuthWithoutAPasswordConfiguredSaysSo) {
  TestServer server;
  EXPECT_THAT(server.Run({"AUTH", "x"}),
              StartsWith("(error) ERR AUTH <password> called without any password configured"));
  EXPECT_EQ(server.Run({"AUTH", "default", "x"}), "OK");
  EXPECT_EQ(server.Run({"AUTH", "a", "b", "c"}), "(error) ERR syntax error");
}

TEST(ConnectionCommandsTest, QuitAnswersThenCloses) {
  TestServer server;
  TestClient client = server.Connect();
  client.Send({"PING"});
  client.Send({"QUIT"});
  client.Send({"PING"});
  const auto all = client.raw().ReceiveUntilClosed();
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(*all, "+PONG\r\n+OK\r\n");
}

TEST(ConnectionCommandsTest, ResetForgetsEverything) {
  TestServer server;
  TestClient client = server.Connect();
  client.Run({"SELECT", "3"});
  client.Run({"CLIENT", "SETNAME", "me"});
  client.Run({"HELLO", "3"});
  client.Run({"MULTI"});
  EXPECT_EQ(client.Run({"RESET"}), "RESET");
  EXPECT_EQ(client.Run({"EXEC"}), "(error) ERR EXEC without MULTI");
  EXPECT_EQ(client.Run({"CLIENT", "GETNAME"}), "(nil)");
  EXPECT_THAT(client.Run({"CLIENT", "INFO"}), HasSubstr(" db=0 "));
  EXPECT_THAT(client.RunValue({"CLIENT", "INFO"}).text, HasSubstr(" resp=2 "));
}

// --- CLIENT -------------------------------------------------------------------------------------

TEST(ClientCommandsTest, DescribeTheConnection) {
  TestServer server;
  TestClient client = server.Connect();
  EXPECT_EQ(client.Run({"CLIENT", "SETNAME", "worker-1"}), "OK");
  EXPECT_EQ(client.Run({"CLIENT", "SETINFO", "LIB-NAME", "lib"}), "OK");
  EXPECT_EQ(client.Run({"CLIENT", "SETINFO", "lib-ver", "1.2"}), "OK");
  EXPECT_EQ(client.Run({"CLIENT", "NO-EVICT", "on"}), "OK");
  client.Run({"SELECT", "7"});
  server.clock().AdvanceMillis(5000);
  const std::string info = client.RunValue({"CLIENT", "INFO"}).text;
  for (const char* field : {" name=worker-1 ", " age=5 ", " db=7 ", " flags=e ", " multi=-1 ",
                            " cmd=client|info ", " user=default ", " lib-name=lib "}) {
    EXPECT_THAT(info, HasSubstr(field));
  }
  EXPECT_THAT(client.Run({"CLIENT", "SETNAME", "a b"}),
              StartsWith("(error) ERR Client names cannot contain"));
  EXPECT_THAT(client.Run({"CLIENT", "SETINFO", "x", "y"}),
              StartsWith("(error) ERR Unrecognized option"));
}

TEST(ClientCommandsTest, ListsByIdAndType) {
  TestServer server;
  TestClient one = server.Connect();
  TestClient two = server.Connect();
  const std::string id = std::to_string(one.RunValue({"CLIENT", "ID"}).integer);
  two.Run({"PING"});
  EXPECT_THAT(two.RunValue({"CLIENT", "LIST", "ID", id, "999"}).text, StartsWith("id=" + id + " "));
  EXPECT_EQ(std::ranges::count(two.RunValue({"CLIENT", "LIST", "TYPE", "normal"}).text, '\n'), 2);
  EXPECT_EQ(two.Run({"CLIENT", "LIST", "TYPE", "pubsub"}), "\"\"");
  EXPECT_EQ(two.Run({"CLIENT", "LIST", "TYPE", "x"}), "(error) ERR Unknown client type 'x'");
  EXPECT_EQ(two.Run({"CLIENT", "LIST", "ID", "x"}), "(error) ERR Invalid client ID");
  // As often as they are named, and in that order.
  const std::string own = std::to_string(two.RunValue({"CLIENT", "ID"}).integer);
  const std::string lines = two.RunValue({"CLIENT", "LIST", "ID", own, id, own}).text;
  EXPECT_EQ(std::ranges::count(lines, '\n'), 3);
  EXPECT_THAT(lines, StartsWith("id=" + own + " "));
  EXPECT_GT(lines.rfind("id=" + own + " "), lines.find("\nid=" + id + " "));
}

TEST(ClientCommandsTest, KillByAddressIdAndMyself) {
  TestServer server;
  TestClient me = server.Connect();
  TestClient other = server.Connect();
  const std::string id = std::to_string(other.RunValue({"CLIENT", "ID"}).integer);
  EXPECT_EQ(me.Run({"CLIENT", "KILL", "1.2.3.4:5"}), "(error) ERR No such client");
  EXPECT_EQ(me.Run({"CLIENT", "KILL", "ID", id}), "(integer) 1");
  EXPECT_FALSE(other.raw().Receive().ok());
  EXPECT_EQ(me.Run({"CLIENT", "KILL", "ID", id}), "(integer) 0");
  EXPECT_EQ(me.Run({"CLIENT", "KILL", "TYPE", "normal"}), "(integer) 0");  // skips me
  EXPECT_EQ(me.Run({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"}), "(integer) 1");
  EXPECT_FALSE(me.raw().Receive().ok());
}

TEST(ClientCommandsTest, RepliesCanBeTurnedOffAndSkipped) {
  TestServer server;
  TestClient client = server.Connect();
  client.Send({"CLIENT", "REPLY", "OFF"});
  client.Send({"PING"});
  client.Send({"nosuch"});
  client.Send({"CLIENT", "REPLY", "ON"});
  client.Send({"ECHO", "1"});
  client.Send({"CLIENT", "REPLY", "SKIP"});
  client.Send({"ECHO", "2"});
  client.Send({"ECHO", "3"});
  EXPECT_EQ(client.Receive(), "OK");
  EXPECT_EQ(client.Receive(), "\"1\"");
  EXPECT_EQ(client.Receive(), "\"3\"");
}

// --- COMMAND ------------------------------------------------------------------------------------

TEST(CommandCommandsTest, DescribeTheTable) {
  TestServer server;
  TestClient client = server.Connect();
  const auto count = static_cast<size_t>(client.RunValue({"COMMAND", "COUNT"}).integer);
  EXPECT_EQ(client.RunValue({"COMMAND"}).items.size(), count);
  EXPECT_EQ(client.RunValue({"COMMAND", "INFO"}).items.size(), count);
  EXPECT_EQ(client.RunValue({"COMMAND", "DOCS"}).items.size(), 2 * count);
  EXPECT_EQ(client.Run({"COMMAND", "INFO", "echo", "nosuch"}),
            "[[\"echo\", (integer) 2, [loading, stale, fast], (integer) 0, (integer) 0, (integer) "
            "0, [@fast, @connection], [], [], []], (nil)]");
  EXPECT_EQ(client.Run({"COMMAND", "INFO", "client|id"}).substr(0, 15), "[[\"client|id\", ");
}

TEST(CommandCommandsTest, FindKeysInACall) {
  TestServer server;
  EXPECT_EQ(server.Run({"COMMAND", "GETKEYS", "watch", "a", "b"}), "[\"a\", \"b\"]");
  EXPECT_EQ(server.Run({"COMMAND", "GETKEYSANDFLAGS", "watch", "a"}), "[[\"a\", [RO]]]");
  EXPECT_EQ(server.Run({"COMMAND", "GETKEYS", "ping", "a"}),
            "(error) ERR The command has no key arguments");
  EXPECT_EQ(server.Run({"COMMAND", "GETKEYS", "nosuch", "a"}),
            "(error) ERR Invalid command specified");
}

TEST(CommandCommandsTest, ListByPatternAndCategory) {
  TestServer server;
  EXPECT_EQ(server.Run({"COMMAND", "LIST", "FILTERBY", "PATTERN", "ech*"}), "[\"echo\"]");
  EXPECT_EQ(server.Run({"COMMAND", "LIST", "FILTERBY", "ACLCAT", "transaction"}),
            "[\"multi\", \"exec\", \"discard\", \"watch\", \"unwatch\"]");
  EXPECT_EQ(server.Run({"COMMAND", "LIST", "FILTERBY", "MODULE", "x"}), "[]");
  EXPECT_EQ(server.Run({"COMMAND", "LIST", "x"}), "(error) ERR syntax error");
}

TEST(CommandCommandsTest, HelpListsSubcommands) {
  TestServer server;
  EXPECT_THAT(server.Run({"COMMAND", "HELP"}), HasSubstr("GETKEYS command [arg ...]"));
  EXPECT_THAT(server.Run({"CLIENT", "HELP"}), HasSubstr("KILL "));
}

TEST(CommandCommandsTest, EveryRowSaysWhatItDoesInOneSentence) {
  TestServer server;
  const CommandTable& table = server.instance().commands();
  for (size_t i = 0; i < table.row_count(); ++i) {
    EXPECT_TRUE(table.row(i).summary.ends_with('.')) << table.row(i).name;
  }
}

}  // namespace
}  // namespace cairn::doors
