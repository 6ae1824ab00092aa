#include "doors/resp/pubsub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doors/testing/test_server.h"
#include "tests/support/await.h"

namespace cairn::doors {
namespace {

using ::testing::HasSubstr;
using testing::TestClient;
using testing::TestServer;

// Writes a key and tells about it, as commands of the data layer do.
void AddPut(Instance& instance) {
  instance.commands().Add(
      {.name = "t.put",
       .arity = 2,
       .flags = kWrite,
       .keys = {{1, 1, 1, "RW"}},
       .group = "test",
       .since = "1.0.0",
       .summary = "For tests.",
       .run = [](CommandContext& context) -> Result<void> {
         context.transaction.Put({store::Space::kSystem, "t/put"}, context.args[1]);
         context.Notify(kEventString, "put", context.args[1]);
         context.reply.Ok();
         return {};
       }});
}

class PubSubTest : public ::testing::Test {
 protected:
  // Returns when the commit is made, and the message on its way, but not durable.
  void PublishBehindTheGate(TestClient& writer) {
    server_.store().CloseGate();
    writer.Send({"MULTI"});
    writer.Send({"t.put", "k"});
    writer.Send({"PUBLISH", "a", "1"});
    writer.Send({"EXEC"});
    const Command& publish = *server_.instance().commands().FindByName("publish");
    cairn::testing::Await("PUBLISH to run", [&] {
      return server_.instance().dispatchers().Totals(publish).calls != 0;
    });
    // Answered when the turn that published is over, and then when what it posted has run.
    for (int i = 0; i < 2; ++i) EXPECT_EQ(server_.Run({"PING"}), "PONG");
  }

  TestServer server_{{.add_commands = AddPut}};
};

TEST_F(PubSubTest, MessagesReachChannelsAndPatterns) {
  TestClient listener = server_.Connect();
  EXPECT_EQ(listener.Run({"SUBSCRIBE", "news"}), "[\"subscribe\", \"news\", (integer) 1]");
  EXPECT_EQ(listener.Run({"PSUBSCRIBE", "n*"}), "[\"psubscribe\", \"n*\", (integer) 2]");
  EXPECT_EQ(server_.Run({"PUBLISH", "news", "hello"}), "(integer) 2");
  EXPECT_EQ(listener.Receive(), "[\"message\", \"news\", \"hello\"]");
  EXPECT_EQ(listener.Receive(), "[\"pmessage\", \"n*\", \"news\", \"hello\"]");
  EXPECT_EQ(server_.Run({"PUBLISH", "other", "hello"}), "(integer) 0");
}

TEST_F(PubSubTest, ShardChannelsAreApart) {
  TestClient listener = server_.Connect();
  EXPECT_EQ(listener.Run({"SSUBSCRIBE", "c"}), "[\"ssubscribe\", \"c\", (integer) 1]");
  EXPECT_EQ(server_.Run({"PUBLISH", "c", "no"}), "(integer) 0");
  EXPECT_EQ(server_.Run({"SPUBLISH", "c", "yes"}), "(integer) 1");
  EXPECT_EQ(listener.Receive(), "[\"smessage\", \"c\", \"yes\"]");
  EXPECT_EQ(server_.Run({"PUBSUB", "SHARDCHANNELS"}), "[\"c\"]");
  EXPECT_EQ(server_.Run({"PUBSUB", "SHARDNUMSUB", "c", "d"}),
            "[\"c\", (integer) 1, \"d\", (integer) 0]");
  EXPECT_EQ(listener.Run({"SUNSUBSCRIBE"}), "[\"sunsubscribe\", \"c\", (integer) 0]");
}

TEST_F(PubSubTest, UnsubscribingNamesWhatEnds) {
  TestClient listener = server_.Connect();
  EXPECT_EQ(listener.Run({"UNSUBSCRIBE"}), "[\"unsubscribe\", (nil), (integer) 0]");
  listener.Send({"SUBSCRIBE", "a", "b", "a"});
  EXPECT_EQ(listener.Receive(), "[\"subscribe\", \"a\", (integer) 1]");
  EXPECT_EQ(listener.Receive(), "[\"subscribe\", \"b\", (integer) 2]");
  EXPECT_EQ(listener.Receive(), "[\"subscribe\", \"a\", (integer) 2]");
  EXPECT_EQ(listener.Run({"UNSUBSCRIBE", "x"}), "[\"unsubscribe\", \"x\", (integer) 2]");
  listener.Send({"UNSUBSCRIBE"});
  EXPECT_EQ(listener.Receive(), "[\"unsubscribe\", \"a\", (integer) 1]");
  EXPECT_EQ(listener.Receive(), "[\"unsubscribe\", \"b\", (integer) 0]");
  EXPECT_EQ(server_.Run({"PUBSUB", "CHANNELS"}), "[]");
}

TEST_F(PubSubTest, ARespTwoListenerCanDoLittleElse) {
  TestClient listener = server_.Connect();
  listener.Run({"SUBSCRIBE", "a"});
  EXPECT_EQ(listener.Run({"CLIENT", "ID"}),
            "(error) ERR Can't execute 'client|id': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING "
            "/ QUIT / RESET are allowed in this context");
  EXPECT_EQ(listener.Run({"PING"}), "[\"pong\", \"\"]");
  EXPECT_EQ(listener.Run({"PING", "x"}), "[\"pong\", \"x\"]");
  EXPECT_EQ(listener.Run({"RESET"}), "RESET");
  EXPECT_EQ(listener.Run({"PING"}), "PONG");
  EXPECT_EQ(server_.Run({"PUBSUB", "NUMSUB", "a"}), "[\"a\", (integer) 0]");
}

TEST_F(PubSubTest, ARespThreeListenerGoesOnWithCommands) {
  TestClient listener = server_.Connect();
  listener.Run({"HELLO", "3"});
  EXPECT_EQ(listener.RunValue({"SUBSCRIBE", "a"}).type, net::RespValue::Type::kPush);
  EXPECT_EQ(listener.Run({"PING"}), "PONG");
  EXPECT_EQ(listener.Run({"PUBLISH", "a", "me"}), "(integer) 1");
  const auto message = listener.raw().Receive();
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(message->type, net::RespValue::Type::kPush);
  EXPECT_EQ(message->items[2].text, "me");
}

TEST_F(PubSubTest, WhoListensIsToldByPubSubAndClientList) {
  TestClient one = server_.Connect();
  TestClient two = server_.Connect();
  one.Run({"SUBSCRIBE", "a"});
  one.Run({"PSUBSCRIBE", "a*"});
  two.Run({"PSUBSCRIBE", "a*"});
  EXPECT_EQ(server_.Run({"PUBSUB", "CHANNELS"}), "[\"a\"]");
  EXPECT_EQ(server_.Run({"PUBSUB", "CHANNELS", "b*"}), "[]");
  EXPECT_EQ(server_.Run({"PUBSUB", "NUMPAT"}), "(integer) 1");
  EXPECT_EQ(server_.Run({"PUBSUB", "NUMSUB"}), "[]");
  EXPECT_EQ(server_.Run({"PUBSUB", "CHANNELS", "a", "b"}),
            "(error) ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try "
            "PUBSUB HELP.");
  const std::string list = server_.Connect().RunValue({"CLIENT", "LIST", "TYPE", "pubsub"}).text;
  EXPECT_THAT(list, HasSubstr("flags=P db=0 sub=1 psub=1 ssub=0"));
  EXPECT_THAT(list, HasSubstr("flags=P db=0 sub=0 psub=1 ssub=0"));
  EXPECT_EQ(server_.Run({"CLIENT", "KILL", "TYPE", "pubsub"}), "(integer) 2");
  EXPECT_FALSE(one.raw().Receive().ok());
}

TEST_F(PubSubTest, AMessageFromATransactionComesWithItsCommit) {
  TestClient listener = server_.Connect();
  listener.Run({"SUBSCRIBE", "a"});
  TestClient writer = server_.Connect();
  writer.Run({"MULTI"});
  writer.Run({"t.put", "k"});
  writer.Run({"PUBLISH", "a", "1"});
  writer.Run({"PUBLISH", "a", "2"});
  EXPECT_EQ(writer.Run({"EXEC"}), "[OK, (integer) 1, (integer) 1]");
  EXPECT_EQ(listener.Receive(), "[\"message\", \"a\", \"1\"]");
  EXPECT_EQ(listener.Receive(), "[\"message\", \"a\", \"2\"]");
}

TEST_F(PubSubTest, AMessageWaitsUntilItsCommitIsDurable) {
  TestClient listener = server_.Connect();
  listener.Run({"SUBSCRIBE", "a"});
  TestClient writer = server_.Connect();
  PublishBehindTheGate(writer);
  listener.Send({"PING"});
  server_.store().MakeDurable();
  for (int i = 0; i < 3; ++i) writer.Receive();
  EXPECT_EQ(writer.Receive(), "[OK, (integer) 1]");
  // The message was there before the question, and held the answer back.
  EXPECT_EQ(listener.Receive(), "[\"message\", \"a\", \"1\"]");
  EXPECT_EQ(listener.Receive(), "[\"pong\", \"\"]");
}

TEST_F(PubSubTest, NothingIsToldOfACommitThatFailed) {
  TestClient listener = server_.Connect();
  listener.Run({"SUBSCRIBE", "a"});
  TestClient writer = server_.Connect();
  PublishBehindTheGate(writer);
  server_.store().FailSync("disk");
  for (int i = 0; i < 3; ++i) writer.Receive();
  EXPECT_THAT(writer.Receive(), HasSubstr("IOERR"));
  EXPECT_EQ(listener.Run({"PING"}), "[\"pong\", \"\"]");
}

TEST_F(PubSubTest, AListenerThatDoesNotReadIsCutOff) {
  server_.instance().server()->set_output_limits(net::OutputClass::kPubSub, {.hard_bytes = 1000});
  TestClient listener = server_.Connect();
  listener.Run({"SUBSCRIBE", "a"});
  const std::string payload(1 << 20, 'x');
  int sent = 0;
  while (sent < 1000 && server_.Run({"PUBLISH", "a", payload}) == "(integer) 1") ++sent;
  EXPECT_LT(sent, 1000);
}

TEST_F(PubSubTest, KeyEventsAreToldToWhoeverAsked) {
  TestClient listener = server_.Connect();
  listener.Run({"PSUBSCRIBE", "__key*"});
  EXPECT_EQ(server_.Run({"t.put", "silent"}), "OK");
  server_.instance().traffic().pubsub.set_key_events(*ParseKeyEvents("KE$"));
  EXPECT_EQ(server_.Run({"t.put", "k"}), "OK");
  EXPECT_EQ(listener.Receive(), "[\"pmessage\", \"__key*\", \"__keyspace@0__:k\", \"put\"]");
  EXPECT_EQ(listener.Receive(), "[\"pmessage\", \"__key*\", \"__keyevent@0__:put\", \"k\"]");
  server_.instance().traffic().pubsub.set_key_events(*ParseKeyEvents("El"));
  EXPECT_EQ(server_.Run({"t.put", "k"}), "OK");
  EXPECT_EQ(listener.Run({"PING"}), "[\"pong\", \"\"]");
}

TEST(PubSubLoopsTest, MessagesCrossLoopsInOrder) {
  TestServer server({.loops = 3});
  std::vector<TestClient> listeners;
  for (int i = 0; i < 6; ++i) {
    listeners.push_back(server.Connect());
    listeners.back().Run({"SUBSCRIBE", "a"});
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(server.Run({"PUBLISH", "a", std::to_string(i)}), "(integer) 6");
  }
  for (TestClient& listener : listeners) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(listener.Receive(), "[\"message\", \"a\", \"" + std::to_string(i) + "\"]");
    }
  }
}

TEST(KeyEventsTest, LettersAreGivenBackInRedisOrder) {
  for (const auto& [given, canonical] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"KEA", "AKE"},
                                                        {"KEx", "xKE"},
                                                        {"mnEg", "gnEm"},
                                                        {"Kg$lshzxetmdn", "AKm"},
                                                        {"Kg$lshzxet", "g$lshzxetK"}}) {
    const auto classes = ParseKeyEvents(given);
    ASSERT_TRUE(classes.has_value()) << given;
    EXPECT_EQ(FormatKeyEvents(*classes), canonical);
  }
  EXPECT_FALSE(ParseKeyEvents("q").has_value());
}

}  // namespace
}  // namespace cairn::doors
