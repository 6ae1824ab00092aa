// What clients of one node see of the others: several processes serve one database as one server.
#include "tests/nodes/nodes.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/await.h"
#include "tests/support/postgres_cluster.h"

namespace cairn::testing {
namespace {

class NodesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<PostgresCluster>(PostgresCluster::Options{});
    nodes_ = std::make_unique<Nodes>(cluster_->url(), 3);
  }
  static void TearDownTestSuite() {
    nodes_.reset();
    cluster_.reset();
  }

  static net::RespClient Connect(size_t node) {
    auto client = nodes_->Connect(node);
    CAIRN_CHECK(client.ok(), "{}", client.error().message);
    return *std::move(client);
  }
  static std::string Run(net::RespClient& client, std::initializer_list<std::string_view> args) {
    const auto reply = client.Command(args);
    return reply.ok() ? reply->ToString() : reply.error().message;
  }
  static std::string Run(size_t node, std::initializer_list<std::string_view> args) {
    return (*nodes_)[node].Command(args);
  }
  static std::string Receive(net::RespClient& client) {
    const auto reply = client.Receive();
    return reply.ok() ? reply->ToString() : reply.error().message;
  }
  // Asks until the answer is the expected one.
  static void Await(size_t node, std::initializer_list<std::string_view> args,
                    std::string_view expected) {
    cairn::testing::Await(fmt::format("{} to answer {}", *args.begin(), expected),
                          [&] { return Run(node, args) == expected; });
  }

  static std::unique_ptr<PostgresCluster> cluster_;
  static std::unique_ptr<Nodes> nodes_;
};

std::unique_ptr<PostgresCluster> NodesTest::cluster_;
std::unique_ptr<Nodes> NodesTest::nodes_;

TEST_F(NodesTest, WhatOneNodeAcknowledgedAllNodesSee) {
  for (int i = 0; i < 30; ++i) {
    const std::string value = std::to_string(i);
    ASSERT_EQ(Run(i % 3, {"SET", "seen", value}), "OK");
    ASSERT_EQ(Run((i + 1) % 3, {"GET", "seen"}), "\"" + value + "\"");
    ASSERT_EQ(Run((i + 2) % 3, {"INCR", "count"}), "(integer) " + std::to_string(i + 1));
  }
}

TEST_F(NodesTest, WatchNoticesAChangeOnAnotherNode) {
  net::RespClient client = Connect(0);
  EXPECT_EQ(Run(client, {"WATCH", "watched"}), "OK");
  EXPECT_EQ(Run(1, {"SET", "watched", "1"}), "OK");
  EXPECT_EQ(Run(client, {"MULTI"}), "OK");
  EXPECT_EQ(Run(client, {"SET", "watched", "2"}), "QUEUED");
  EXPECT_EQ(Run(client, {"EXEC"}), "(nil)");
  EXPECT_EQ(Run(2, {"GET", "watched"}), "\"1\"");
}

TEST_F(NodesTest, BlockedClientIsServedByAPushOnAnotherNode) {
  net::RespClient waiting = Connect(1);
  ASSERT_TRUE(waiting.Send({"BLPOP", "line", "0"}).ok());
  cairn::testing::Await("the client to wait", [] {
    return Run(1, {"INFO", "clients"}).find("blocked_clients:1") != std::string::npos;
  });
  EXPECT_EQ(Run(0, {"RPUSH", "line", "first"}), "(integer) 1");
  EXPECT_EQ(Receive(waiting), "[\"line\", \"first\"]");
  EXPECT_EQ(Run(2, {"EXISTS", "line"}), "(integer) 0");
}

TEST_F(NodesTest, MessagesReachListenersOfAllNodesInOrder) {
  std::vector<net::RespClient> listeners;
  for (size_t node = 0; node < nodes_->size(); ++node) {
    listeners.push_back(Connect(node));
    Run(listeners.back(), {"SUBSCRIBE", "news"});
  }
  net::RespClient pattern = Connect(2);
  Run(pattern, {"PSUBSCRIBE", "n*"});
  net::RespClient publisher = Connect(0);
  const std::string large(100'000, 'x');  // more than a notification holds
  for (int i = 0; i < 20; ++i) {
    // Those of its own process are counted, as in a cluster of Redis.
    EXPECT_EQ(Run(publisher, {"PUBLISH", "news", std::to_string(i)}), "(integer) 1");
  }
  Run(publisher, {"PUBLISH", "news", large});
  for (net::RespClient& listener : listeners) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(Receive(listener), "[\"message\", \"news\", \"" + std::to_string(i) + "\"]");
    }
    const auto last = listener.Receive();
    ASSERT_TRUE(last.ok() && last->items.size() == 3);
    EXPECT_TRUE(last->items[2].text == large);
  }
  EXPECT_EQ(Receive(pattern), "[\"pmessage\", \"n*\", \"news\", \"0\"]");
}

TEST_F(NodesTest, ExpiryIsToldOnceOnEachNode) {
  std::vector<net::RespClient> listeners;
  for (size_t node = 0; node < nodes_->size(); ++node) {
    EXPECT_EQ(Run(node, {"CONFIG", "SET", "notify-keyspace-events", "Ex"}), "OK");
    listeners.push_back(Connect(node));
    Run(listeners.back(), {"SUBSCRIBE", "__keyevent@0__:expired"});
  }
  constexpr int kKeys = 20;
  for (int i = 0; i < kKeys; ++i) {
    Run(i % 3, {"SET", "brief:" + std::to_string(i), "x", "PX", "50"});
  }
  for (net::RespClient& listener : listeners) {
    std::set<std::string> heard;
    for (int i = 0; i < kKeys; ++i) {
      EXPECT_TRUE(heard.insert(Receive(listener)).second) << "an expiry was told twice";
    }
  }
  for (size_t node = 0; node < nodes_->size(); ++node) {
    EXPECT_EQ(Run(node, {"CONFIG", "SET", "notify-keyspace-events", ""}), "OK");
  }
}

TEST_F(NodesTest, UsersChangeOnAllNodes) {
  EXPECT_EQ(Run(0, {"ACL", "SETUSER", "ann", "on", ">secret", "~*", "+get", "+ping"}), "OK");
  Await(1, {"AUTH", "ann", "secret"}, "OK");
  net::RespClient client = Connect(1);
  EXPECT_EQ(Run(client, {"AUTH", "ann", "secret"}), "OK");
  EXPECT_EQ(Run(client, {"SET", "k", "v"}),
            "(error) NOPERM this user has no permissions to run the 'set' command");
  // A server that has not heard of the last change yet says that there is a conflict.
  Await(2, {"ACL", "SETUSER", "ann", "+set"}, "OK");
  cairn::testing::Await("her right to SET", [&] { return Run(client, {"SET", "k", "v"}) == "OK"; });
  Await(0, {"ACL", "DELUSER", "ann"}, "(integer) 1");
  // Her connections end on all nodes.
  cairn::testing::Await("her connection's end", [&] { return !client.Command({"PING"}).ok(); });
}

TEST_F(NodesTest, FunctionsChangeOnAllNodes) {
  const auto library = [](int version) {
    return "#!lua name=lib\nredis.register_function('version', function() return " +
           std::to_string(version) + " end)";
  };
  for (int version = 1; version <= 3; ++version) {
    EXPECT_EQ(Run(version % 3, {"FUNCTION", "LOAD", "REPLACE", library(version)}), "\"lib\"");
    for (size_t node = 0; node < nodes_->size(); ++node) {
      EXPECT_EQ(Run(node, {"FCALL", "version", "0"}), "(integer) " + std::to_string(version));
    }
  }
  EXPECT_EQ(Run(0, {"FUNCTION", "DELETE", "lib"}), "OK");
  EXPECT_EQ(Run(1, {"FCALL", "version", "0"}), "(error) ERR Function not found");
}

TEST_F(NodesTest, APipelineKeepsItsOrderWhateverIsInIt) {
  net::RespClient client = Connect(0);
  const std::vector<std::pair<std::vector<std::string>, std::string>> steps = {
      {{"SET", "p", "1"}, "OK"},
      {{"INCR", "p"}, "(integer) 2"},
      {{"NOSUCH"}, "(error) ERR unknown command 'NOSUCH', with args beginning with: "},
      {{"GET", "p"}, "\"2\""},
      {{"LPUSH", "p", "x"},
       "(error) WRONGTYPE Operation against a key holding the wrong kind of value"},
      {{"MULTI"}, "OK"},
      {{"INCR", "p"}, "QUEUED"},
      {{"EXEC"}, "[(integer) 3]"},
      {{"PING"}, "PONG"},
      {{"SELECT", "1"}, "OK"},
      {{"GET", "p"}, "(nil)"},
      {{"SELECT", "0"}, "OK"},
      {{"EVAL", "return redis.call('INCR', 'p')", "0"}, "(integer) 4"},
      {{"GET", "p"}, "\"4\""},
      {{"RPUSH", "p:list", "a"}, "(integer) 1"},
      {{"BLPOP", "p:list", "0"}, "[\"p:list\", \"a\"]"},
      {{"DEL", "p"}, "(integer) 1"},
  };
  for (int round = 0; round < 20; ++round) {
    for (const auto& [request, reply] : steps) ASSERT_TRUE(client.Send(request).ok());
    for (const auto& [request, reply] : steps) EXPECT_EQ(Receive(client), reply) << request[0];
  }
}

TEST_F(NodesTest, AClientThatStopsSendingStillGetsItsReplies) {
  net::RespClient client = Connect(0);
  ASSERT_TRUE(client.SendRaw("SET half 1\r\nGET half\r\n*1\r\n$x\r\n").ok());
  client.FinishSending();
  const auto all = client.ReceiveUntilClosed();
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(*all, "+OK\r\n$1\r\n1\r\n-ERR Protocol error: invalid bulk length\r\n");
}

}  // namespace
}  // namespace cairn::testing
