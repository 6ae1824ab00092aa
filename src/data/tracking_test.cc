#include "doors/resp/tracking.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/random.h"
#include "data/testing/script.h"
#include "doors/resp/dispatcher.h"
#include "tests/support/await.h"
#include "tests/support/test_store.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Invalidate(std::string_view keys) {
  return fmt::format("push[\"invalidate\", {}]", keys);
}

// Waits until the loops have done what commits have posted so far, and what that has posted.
void Settle(DataServer& server, size_t loops = 1) {
  for (int i = 0; i < 2; ++i) {
    std::latch done(static_cast<ptrdiff_t>(loops));
    server.instance().dispatchers().PostToAll([&](doors::Dispatcher&) { done.count_down(); });
    done.wait();
  }
}

class TrackingTest : public ::testing::Test {
 protected:
  void SetUp() override { CAIRN_TEST_ROCKS_ONLY("client tracking"); }

  TestClient Resp3() {
    TestClient client = server_.Connect();
    EXPECT_THAT(client.Run({"HELLO", "3"}), HasSubstr("\"proto\""));
    return client;
  }
  // A client that tracks, in RESP3.
  TestClient Tracker(std::string_view options = "") {
    TestClient client = Resp3();
    DataServer::Play(client, fmt::format("CLIENT TRACKING ON {} => OK", options));
    return client;
  }

  // The messages that are on their way to the client.
  std::vector<std::string> MessagesOf(TestClient& client) {
    Settle(server_);
    std::vector<std::string> messages;
    client.Send({"PING"});
    for (std::string reply = client.Receive(); reply != "PONG"; reply = client.Receive()) {
      if (reply == "no reply") break;
      messages.push_back(reply);
    }
    return messages;
  }

  std::string Info(std::string_view section) {
    TestClient client = server_.Connect();
    return client.RunValue({"INFO", section}).text;
  }

  DataServer server_;
};

TEST_F(TrackingTest, AKeyThatWasReadIsToldOfOnce) {
  TestClient client = Tracker();
  server_.Play("SET k 1\nSET unread 1");
  EXPECT_EQ(client.Run({"GET", "k"}), "\"1\"");
  server_.Play("SET unread 2\nSET k 2\nSET k 3");
  EXPECT_EQ(client.Receive(), Invalidate("[\"k\"]"));
  EXPECT_EQ(client.Run({"GET", "k"}), "\"3\"");
  EXPECT_EQ(client.Run({"SET", "k", "4"}), "OK");
  EXPECT_EQ(client.Receive(), Invalidate("[\"k\"]"));
  EXPECT_THAT(MessagesOf(client), ::testing::IsEmpty());
}

TEST_F(TrackingTest, AMissingKeyThatIsMadeIsToldOf) {
  TestClient client = Tracker();
  EXPECT_EQ(client.Run({"MGET", "a", "b"}), "[(nil), (nil)]");
  server_.Play("MSET b 1 a 1");
  EXPECT_EQ(client.Receive(), Invalidate("[\"b\"]"));
  EXPECT_EQ(client.Receive(), Invalidate("[\"a\"]"));
}

TEST_F(TrackingTest, MessagesWaitUntilTheCommitIsDurable) {
  TestClient client = Tracker();
  EXPECT_EQ(client.Run({"GET", "k"}), "(nil)");
  server_.store().CloseGate();
  TestClient writer = server_.Connect();
  writer.Send({"SET", "k", "1"});
  cairn::testing::Await("the key to be forgotten",
                        [&] { return server_.instance().traffic().tracking.totals().keys == 0; });
  Settle(server_);
  client.Send({"PING"});
  server_.store().MakeDurable();
  EXPECT_EQ(writer.Receive(), "OK");
  // The message was there before the question, and held the answer back.
  EXPECT_EQ(client.Receive(), Invalidate("[\"k\"]"));
  EXPECT_EQ(client.Receive(), "PONG");
}

TEST_F(TrackingTest, BroadcastTellsAllKeysOfACommitUnderAPrefixAtOnce) {
  TestClient client = Tracker("BCAST PREFIX a: PREFIX b:");
  server_.Play("MSET a:1 1 b:1 1 c:1 1 a:2 1");
  EXPECT_THAT(MessagesOf(client), ::testing::UnorderedElementsAre(Invalidate("[\"a:1\", \"a:2\"]"),
                                                                  Invalidate("[\"b:1\"]")));
  DataServer::Play(client, R"(
    CLIENT TRACKING ON BCAST PREFIX c:   => OK
    CLIENT TRACKING ON BCAST PREFIX c    => (error) ERR Prefix 'c' overlaps with an existing prefix 'c:'. Prefixes for a single client must not overlap.
    CLIENT TRACKING ON BCAST PREFIX d PREFIX da => (error) ERR Prefix 'd' overlaps with another provided prefix 'da'. Prefixes for a single client must not overlap.
  )");
  server_.Play("SET c:1 2");
  EXPECT_EQ(client.Receive(), Invalidate("[\"c:1\"]"));
  TestClient all = Tracker("BCAST");
  server_.Play("SET anything 1");
  EXPECT_EQ(all.Receive(), Invalidate("[\"anything\"]"));
  EXPECT_THAT(Info("stats"), HasSubstr("tracking_total_prefixes:4"));
}

TEST_F(TrackingTest, OptInAndOptOutAreAboutTheNextRequest) {
  TestClient in = Tracker("OPTIN");
  TestClient out = Tracker("OPTOUT");
  DataServer::Play(in, R"(
    GET a                => (nil)
    CLIENT CACHING YES   => OK
    GET b                => (nil)
    GET c                => (nil)
    CLIENT CACHING YES   => OK
    MULTI                => OK
    GET d                => QUEUED
    EXEC                 => [(nil)]
    GET e                => (nil)
    CLIENT CACHING NO    => (error) ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.
  )");
  DataServer::Play(out, R"(
    GET a                => (nil)
    CLIENT CACHING NO    => OK
    GET b                => (nil)
    GET c                => (nil)
  )");
  server_.Play("MSET a 1 b 1 c 1 d 1 e 1");
  EXPECT_THAT(MessagesOf(in), ::testing::ElementsAre(Invalidate("[\"b\"]"), Invalidate("[\"d\"]")));
  EXPECT_THAT(MessagesOf(out),
              ::testing::ElementsAre(Invalidate("[\"a\"]"), Invalidate("[\"c\"]")));
}

TEST_F(TrackingTest, NoLoopLeavesOutOwnChangesAndNothingElse) {
  TestClient client = Tracker("NOLOOP");
  DataServer::Play(client, "GET k => (nil)\nSET k 1 => OK");
  client.Run({"EVAL", "return redis.call('set', KEYS[1], 2)", "1", "k"});
  DataServer::Play(client, R"(
    MULTI                => OK
    INCR k               => QUEUED
    EXEC                 => [(integer) 3]
    SWAPDB 0 1           => OK
    SWAPDB 0 1           => OK
  )");
  EXPECT_THAT(MessagesOf(client), ::testing::IsEmpty());  // SWAPDB runs on the pool
  // The client may have kept what it wrote itself, so it hears of the next change all the same.
  server_.Play("SET k 4");
  EXPECT_EQ(client.Receive(), Invalidate("[\"k\"]"));
  TestClient all = Tracker("BCAST NOLOOP");
  DataServer::Play(all, "MSET a 1 b 1 => OK");
  server_.Play("SET c 1");
  EXPECT_EQ(all.Receive(), Invalidate("[\"c\"]"));
}

TEST_F(TrackingTest, WhatWasReadBeforeBroadcastIsToldOfOnce) {
  const TestClient other = Tracker();  // what nobody tracks is forgotten
  TestClient client = Tracker();
  client.Run({"GET", "k"});
  DataServer::Play(client, "CLIENT TRACKING OFF => OK\nCLIENT TRACKING ON BCAST => OK");
  server_.Play("SET k 1");
  EXPECT_THAT(MessagesOf(client), ::testing::ElementsAre(Invalidate("[\"k\"]")));
}

TEST_F(TrackingTest, MessagesCanBeRedirected) {
  TestClient resp2 = server_.Connect();
  const std::string id2(resp2.Run({"CLIENT", "ID"}).substr(10));
  resp2.Run({"SUBSCRIBE", "__redis__:invalidate"});
  TestClient resp3 = Resp3();
  const std::string id3(resp3.Run({"CLIENT", "ID"}).substr(10));
  TestClient a = Tracker("REDIRECT " + id2);
  TestClient b = server_.Connect();
  DataServer::Play(b, "CLIENT TRACKING ON REDIRECT " + id3 + " => OK");
  DataServer::Play(b, "CLIENT GETREDIR => (integer) " + id3);
  a.Run({"GET", "k"});
  b.Run({"GET", "k"});
  server_.Play("SET k 1");
  EXPECT_EQ(resp2.Receive(), "[\"message\", \"__redis__:invalidate\", [\"k\"]]");
  EXPECT_EQ(resp3.Receive(), Invalidate("[\"k\"]"));
  server_.Play("FLUSHALL");
  EXPECT_EQ(resp2.Receive(), "[\"message\", \"__redis__:invalidate\", (nil)]");
  EXPECT_EQ(resp3.Receive(), Invalidate("(nil)"));

  a.Run({"GET", "k"});
  EXPECT_EQ(resp2.Run({"QUIT"}), "OK");
  server_.Play("SET k 2");
  EXPECT_EQ(a.Receive(), "push[\"tracking-redir-broken\", (integer) " + id2 + "]");
  EXPECT_THAT(a.Run({"CLIENT", "TRACKINGINFO"}), HasSubstr("broken_redirect"));
  EXPECT_THAT(a.Run({"CLIENT", "INFO"}), HasSubstr("flags=tR "));
  DataServer::Play(a, "CLIENT TRACKING ON REDIRECT " + id2 +
                          " => (error) ERR The client ID you want redirect to does not exist");
}

TEST_F(TrackingTest, ClearingADatabaseTellsToForgetEverything) {
  TestClient client = Tracker();
  TestClient all = Tracker("BCAST");
  server_.Play("SET k 1");
  EXPECT_EQ(all.Receive(), Invalidate("[\"k\"]"));
  EXPECT_EQ(client.Run({"GET", "k"}), "\"1\"");
  server_.Play("FLUSHDB");
  EXPECT_EQ(client.Receive(), Invalidate("(nil)"));
  EXPECT_THAT(MessagesOf(all), ::testing::ElementsAre(Invalidate("(nil)")));
  // So many that they go as a range.
  server_.Play("EVAL \"for i = 1, 5000 do redis.call('set', 'k' .. i, 'x') end\" 0");
  MessagesOf(all);
  EXPECT_EQ(client.Run({"GET", "k7"}), "\"x\"");
  EXPECT_EQ(client.Run({"FLUSHALL"}), "OK");
  EXPECT_EQ(client.Receive(), Invalidate("(nil)"));
  EXPECT_THAT(MessagesOf(client), ::testing::IsEmpty());
  EXPECT_THAT(Info("stats"), HasSubstr("tracking_total_keys:0"));
}

TEST_F(TrackingTest, AKeyThatExpiresIsToldOf) {
  TestClient client = Tracker();
  server_.Play("SET k 1 PX 10");
  EXPECT_EQ(client.Run({"GET", "k"}), "\"1\"");
  server_.clock().AdvanceMillis(10);
  server_.FireTimers();
  EXPECT_EQ(client.Receive(), Invalidate("[\"k\"]"));
}

TEST_F(TrackingTest, SwappedDatabasesAreToldOfKeyByKey) {
  TestClient client = Tracker();
  server_.Play("SET here 1\nSELECT 1\nSET there 1");
  EXPECT_EQ(client.Run({"MGET", "here", "there"}), "[\"1\", (nil)]");
  server_.Play("SWAPDB 0 1");
  EXPECT_THAT(MessagesOf(client),
              ::testing::UnorderedElementsAre(Invalidate("[\"here\"]"), Invalidate("[\"there\"]")));
}

TEST_F(TrackingTest, WhatAScriptReadsIsRemembered) {
  TestClient client = Tracker();
  client.Run({"EVAL", "redis.call('set', 'own', 1)", "1", "declared"});
  server_.Play("SET declared 1");
  EXPECT_THAT(MessagesOf(client), ::testing::IsEmpty());
  client.Run({"EVAL", "redis.call('get', 'other')", "1", "declared"});
  server_.Play("SET declared 2\nSET other 2");
  EXPECT_THAT(MessagesOf(client),
              ::testing::ElementsAre(Invalidate("[\"declared\"]"), Invalidate("[\"other\"]")));
  client.Run({"EVAL_RO", "redis.call('ping')", "1", "declared"});
  server_.Play("SET declared 3");
  EXPECT_THAT(MessagesOf(client), ::testing::IsEmpty());
}

// The commands of a transaction run before those about the connection that were queued with them.
TEST_F(TrackingTest, ReadsBehindTrackingInOneTransactionAreNotToBeCached) {
  TestClient client = Resp3();
  DataServer::Play(client, R"(
    MULTI                => OK
    CLIENT TRACKING ON   => QUEUED
    GET k                => QUEUED
    EXEC                 => [OK, (nil)]
  )");
  EXPECT_EQ(client.Receive(), Invalidate("[\"k\"]"));
}

TEST_F(TrackingTest, ABlockedClientIsAnsweredBeforeItIsToldOfWhatItDid) {
  TestClient client = Tracker();
  server_.Play("RPUSH to a");
  EXPECT_EQ(client.Run({"LRANGE", "to", "0", "-1"}), "[\"a\"]");
  client.Send({"BLMOVE", "from", "to", "LEFT", "LEFT", "0"});
  cairn::testing::Await("the client to wait",
                        [&] { return server_.instance().traffic().waiters.count() != 0; });
  server_.Play("RPUSH from b");
  EXPECT_EQ(client.Receive(), "\"b\"");
  EXPECT_EQ(client.Receive(), Invalidate("[\"to\"]"));
}

TEST_F(TrackingTest, KeysBeyondTheLimitAreForgottenWithAMessage) {
  TestClient client = Tracker();
  EXPECT_EQ(client.Run({"MGET", "a", "b", "c"}), "[(nil), (nil), (nil)]");
  server_.Play("CONFIG SET tracking-table-max-keys 1 => OK");
  EXPECT_EQ(MessagesOf(client).size(), 2U);
  EXPECT_THAT(Info("stats"), HasSubstr("tracking_total_keys:1"));
  // Reads keep to it, too.
  EXPECT_EQ(client.Run({"MGET", "d", "e"}), "[(nil), (nil)]");
  EXPECT_EQ(MessagesOf(client).size(), 2U);
  server_.Play("CONFIG GET tracking-table-max-keys => [\"tracking-table-max-keys\", \"1\"]");
}

TEST_F(TrackingTest, LongKeysAreBoundedByWhatTheyTake) {
  TestClient client = Tracker();
  const std::string tail(1 << 20, 'x');
  for (int i = 0; i < 200; ++i) {
    client.Send({"EXISTS", std::to_string(i) + tail});
    std::string reply = client.Receive();
    while (reply != "(integer) 0" && reply != "no reply") reply = client.Receive();
  }
  const size_t kept = server_.instance().traffic().tracking.totals().keys;
  EXPECT_LE(kept, doors::kMaxTrackingBytes / tail.size());
  EXPECT_GE(kept, doors::kMaxTrackingBytes / tail.size() / 2);
}

TEST_F(TrackingTest, ClientsThatAreGoneTakeNoRoomInTheListsOfLivingKeys) {
  const TestClient stays = Tracker();
  for (int i = 0; i < 100; ++i) {
    TestClient client = Tracker();
    client.Run({"GET", "hot"});
    EXPECT_EQ(client.Run({"QUIT"}), "OK");
    cairn::testing::Await("the client to be forgotten", [&] {
      return server_.instance().traffic().tracking.totals().clients == 1;
    });
  }
  EXPECT_LE(server_.instance().traffic().tracking.totals().items, 16U);
}

TEST_F(TrackingTest, FiguresAndFlagsTellTheTruth) {
  TestClient client = Tracker();
  TestClient other = Tracker("BCAST NOLOOP PREFIX p");
  client.Run({"MGET", "a", "b"});
  EXPECT_THAT(Info("clients"), HasSubstr("tracking_clients:2"));
  EXPECT_THAT(Info("stats"), ::testing::AllOf(HasSubstr("tracking_total_keys:2"),
                                              HasSubstr("tracking_total_items:2"),
                                              HasSubstr("tracking_total_prefixes:1")));
  EXPECT_THAT(client.Run({"CLIENT", "INFO"}), HasSubstr("flags=t db=0"));
  EXPECT_THAT(client.Run({"CLIENT", "INFO"}), HasSubstr("redir=0 "));
  EXPECT_THAT(other.Run({"CLIENT", "INFO"}), HasSubstr("flags=tB "));
  EXPECT_THAT(server_.Run({"CLIENT", "INFO"}), HasSubstr("redir=-1 "));
  DataServer::Play(other, "RESET => RESET");
  DataServer::Play(other, R"(
    CLIENT TRACKINGINFO  => ["flags", ["off"], "redirect", (integer) -1, "prefixes", []]
  )");
  DataServer::Play(client, "CLIENT TRACKING OFF => OK");
  EXPECT_EQ(server_.instance().traffic().tracking.totals().clients, 0U);
  EXPECT_EQ(server_.instance().traffic().tracking.totals().keys, 0U);
  EXPECT_FALSE(server_.instance().traffic().tracking.anyone());
}

TEST_F(TrackingTest, OptionsThatDoNotGoTogetherAreRefusedAsRedisDoes) {
  TestClient client = server_.Connect();
  DataServer::Play(client, R"(
    CLIENT TRACKING maybe            => (error) ERR syntax error
    CLIENT TRACKING ON PREFIX        => (error) ERR syntax error
    CLIENT TRACKING ON NONSENSE      => (error) ERR syntax error
    CLIENT TRACKING ON REDIRECT x    => (error) ERR value is not an integer or out of range
    CLIENT TRACKING ON REDIRECT 4711 => (error) ERR The client ID you want redirect to does not exist
    CLIENT TRACKING ON PREFIX a      => (error) ERR PREFIX option requires BCAST mode to be enabled
    CLIENT TRACKING ON BCAST OPTIN   => (error) ERR OPTIN and OPTOUT are not compatible with BCAST
    CLIENT TRACKING ON OPTIN OPTOUT  => (error) ERR You can't use both OPTIN and OPTOUT
    CLIENT CACHING YES               => (error) ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled
    CLIENT TRACKING ON OPTIN         => OK
    CLIENT TRACKING ON OPTOUT        => (error) ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.
    CLIENT TRACKING ON BCAST         => (error) ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.
    CLIENT CACHING YES               => OK
    CLIENT TRACKINGINFO              => ["flags", ["on", "optin", "caching-yes"], "redirect", (integer) 0, "prefixes", []]
    CLIENT CACHING perhaps           => (error) ERR syntax error
    CLIENT TRACKING OFF              => OK
    CLIENT GETREDIR                  => (integer) -1
  )");
  std::vector<std::string> many = {"CLIENT", "TRACKING", "ON", "BCAST"};
  for (int i = 0; i < 1001; ++i) many.insert(many.end(), {"PREFIX", fmt::format("{:04}", i)});
  EXPECT_EQ(client.Run(many), "(error) ERR a client can track at most 1000 prefixes");
}

TEST_F(TrackingTest, Resp2HearsNothingOfItsOwn) {
  TestClient client = server_.Connect();
  DataServer::Play(client, "CLIENT TRACKING ON => OK\nGET k => (nil)");
  server_.Play("SET k 1");
  EXPECT_THAT(MessagesOf(client), ::testing::IsEmpty());
  EXPECT_THAT(client.Run({"HELLO", "3"}), Not(HasSubstr("invalidate")));
}

TEST(TrackingOnASharedStoreTest, IsRefused) {
  if (cairn::testing::OnRocks()) GTEST_SKIP() << "only a shared store refuses tracking";
  DataServer server;
  server.Play(R"(
    CLIENT TRACKING ON        => (error) ERR CLIENT TRACKING is not available on a store that several servers share (PostgreSQL): what another server changes would stay in your cache
    CLIENT TRACKING OFF       => OK
  )");
}

// --- Every write --------------------------------------------------------------------------------

// A call of each command that may change keys: what has to be there before, the call, and a key
// that it changes.
struct WriteCase {
  std::string_view before;
  std::string_view call;
  std::string_view key = "k";
};

const std::map<std::string_view, WriteCase>& WriteCases() {
  static const std::map<std::string_view, WriteCase> kCases = {
      // strings
      {"set", {"", "SET k v"}},
      {"setnx", {"", "SETNX k v"}},
      {"setex", {"", "SETEX k 10 v"}},
      {"psetex", {"", "PSETEX k 10000 v"}},
      {"getset", {"", "GETSET k v"}},
      {"getdel", {"SET k v", "GETDEL k"}},
      {"getex", {"SET k v", "GETEX k EX 10"}},
      {"mset", {"", "MSET a 1 k 2"}},
      {"msetnx", {"", "MSETNX a 1 k 2"}},
      {"append", {"SET k v", "APPEND k w"}},
      {"setrange", {"SET k value", "SETRANGE k 2 x"}},
      {"incr", {"", "INCR k"}},
      {"decr", {"", "DECR k"}},
      {"incrby", {"", "INCRBY k 2"}},
      {"decrby", {"", "DECRBY k 2"}},
      {"incrbyfloat", {"", "INCRBYFLOAT k 0.5"}},
      {"setbit", {"SET k v", "SETBIT k 100000 1"}},
      {"bitfield", {"SET k v", "BITFIELD k SET u8 0 7"}},
      {"bitop", {"SET a v", "BITOP NOT k a"}},
      {"pfadd", {"", "PFADD k a"}},
      {"pfmerge", {"PFADD a x", "PFMERGE k a"}},
      {"pfdebug", {"PFADD k a", "PFDEBUG TODENSE k"}},
      // keys
      {"del", {"SET k v", "DEL k"}},
      {"unlink", {"SET k v", "UNLINK k"}},
      {"rename", {"SET k v", "RENAME k a"}},
      {"renamenx", {"SET a v", "RENAMENX a k"}},
      {"copy", {"SET a v", "COPY a k"}},
      {"move", {"SET k v", "MOVE k 1"}},
      {"expire", {"SET k v", "EXPIRE k 10"}},
      {"pexpire", {"SET k v", "PEXPIRE k 10000"}},
      {"expireat", {"SET k v", "EXPIREAT k 99999999999"}},
      {"pexpireat", {"SET k v", "PEXPIREAT k 99999999999999"}},
      {"persist", {"SET k v EX 10", "PERSIST k"}},
      {"sort", {"RPUSH a 2 1", "SORT a STORE k"}},
      {"swapdb", {"SET k v", "SWAPDB 0 1"}},
      {"flushdb", {"SET k v", "FLUSHDB", ""}},
      {"flushall", {"SET k v", "FLUSHALL", ""}},
      // lists
      {"lpush", {"", "LPUSH k v"}},
      {"rpush", {"", "RPUSH k v"}},
      {"lpushx", {"RPUSH k v", "LPUSHX k v"}},
      {"rpushx", {"RPUSH k v", "RPUSHX k v"}},
      {"lpop", {"RPUSH k v w", "LPOP k"}},
      {"rpop", {"RPUSH k v w", "RPOP k"}},
      {"lset", {"RPUSH k v w", "LSET k 1 x"}},
      {"lrem", {"RPUSH k v w", "LREM k 1 v"}},
      {"ltrim", {"RPUSH k v w", "LTRIM k 0 0"}},
      {"linsert", {"RPUSH k v w", "LINSERT k BEFORE w x"}},
      {"lmove", {"RPUSH a v w", "LMOVE a k LEFT LEFT"}},
      {"rpoplpush", {"RPUSH k v w", "RPOPLPUSH k a"}},
      {"lmpop", {"RPUSH k v w", "LMPOP 1 k LEFT"}},
      {"blpop", {"RPUSH k v w", "BLPOP k 0"}},
      {"brpop", {"RPUSH k v w", "BRPOP k 0"}},
      {"blmove", {"RPUSH a v w", "BLMOVE a k LEFT LEFT 0"}},
      {"brpoplpush", {"RPUSH a v w", "BRPOPLPUSH a k 0"}},
      {"blmpop", {"RPUSH k v w", "BLMPOP 0 1 k LEFT"}},
      // hashes
      {"hset", {"HSET k a 1", "HSET k a 2"}},
      {"hsetnx", {"HSET k a 1", "HSETNX k b 2"}},
      {"hmset", {"HSET k a 1", "HMSET k a 2"}},
      {"hdel", {"HSET k a 1 b 2", "HDEL k a"}},
      {"hincrby", {"HSET k a 1", "HINCRBY k a 1"}},
      {"hincrbyfloat", {"HSET k a 1", "HINCRBYFLOAT k a 1"}},
      // sets
      {"sadd", {"SADD k a", "SADD k b"}},
      {"srem", {"SADD k a b", "SREM k a"}},
      {"spop", {"SADD k a b", "SPOP k"}},
      {"smove", {"SADD a x", "SMOVE a k x"}},
      {"sinterstore", {"SADD a x", "SINTERSTORE k a a"}},
      {"sunionstore", {"SADD a x", "SUNIONSTORE k a"}},
      {"sdiffstore", {"SADD a x", "SDIFFSTORE k a"}},
      // sorted sets
      {"zadd", {"ZADD k 1 a", "ZADD k 2 a"}},
      {"zincrby", {"ZADD k 1 a", "ZINCRBY k 1 a"}},
      {"zrem", {"ZADD k 1 a 2 b", "ZREM k a"}},
      {"zpopmin", {"ZADD k 1 a 2 b", "ZPOPMIN k"}},
      {"zpopmax", {"ZADD k 1 a 2 b", "ZPOPMAX k"}},
      {"zmpop", {"ZADD k 1 a 2 b", "ZMPOP 1 k MIN"}},
      {"bzpopmin", {"ZADD k 1 a 2 b", "BZPOPMIN k 0"}},
      {"bzpopmax", {"ZADD k 1 a 2 b", "BZPOPMAX k 0"}},
      {"bzmpop", {"ZADD k 1 a 2 b", "BZMPOP 0 1 k MIN"}},
      {"zremrangebyrank", {"ZADD k 1 a 2 b", "ZREMRANGEBYRANK k 0 0"}},
      {"zremrangebyscore", {"ZADD k 1 a 2 b", "ZREMRANGEBYSCORE k 1 1"}},
      {"zremrangebylex", {"ZADD k 1 a 1 b", "ZREMRANGEBYLEX k [a [a"}},
      {"zrangestore", {"ZADD a 1 x", "ZRANGESTORE k a 0 -1"}},
      {"zunionstore", {"ZADD a 1 x", "ZUNIONSTORE k 1 a"}},
      {"zinterstore", {"ZADD a 1 x", "ZINTERSTORE k 1 a"}},
      {"zdiffstore", {"ZADD a 1 x", "ZDIFFSTORE k 1 a"}},
      {"geoadd", {"", "GEOADD k 13.36 38.11 Palermo"}},
      {"geosearchstore",
       {"GEOADD a 13.36 38.11 x", "GEOSEARCHSTORE k a FROMMEMBER x BYRADIUS 1 km"}},
      {"georadius", {"GEOADD a 13.36 38.11 x", "GEORADIUS a 13.36 38.11 1 km STORE k"}},
      {"georadiusbymember", {"GEOADD a 13.36 38.11 x", "GEORADIUSBYMEMBER a x 1 km STORE k"}},
      // streams
      {"xadd", {"XADD k 1-1 a b", "XADD k 2-1 a b"}},
      {"xdel", {"XADD k 1-1 a b", "XDEL k 1-1"}},
      {"xtrim", {"XADD k 1-1 a b", "XTRIM k MAXLEN 0"}},
      {"xsetid", {"XADD k 1-1 a b", "XSETID k 9-9"}},
      {"xgroup|create", {"XADD k 1-1 a b", "XGROUP CREATE k g 0"}},
      {"xgroup|setid", {"XGROUP CREATE k g 0 MKSTREAM", "XGROUP SETID k g 1"}},
      {"xgroup|destroy", {"XGROUP CREATE k g 0 MKSTREAM", "XGROUP DESTROY k g"}},
      {"xgroup|createconsumer", {"XGROUP CREATE k g 0 MKSTREAM", "XGROUP CREATECONSUMER k g c"}},
      {"xgroup|delconsumer",
       {"XGROUP CREATE k g 0 MKSTREAM\nXGROUP CREATECONSUMER k g c", "XGROUP DELCONSUMER k g c"}},
      {"xreadgroup",
       {"XGROUP CREATE k g 0 MKSTREAM\nXADD k 1-1 a b",
        "XREADGROUP GROUP g c COUNT 1 STREAMS k >"}},
      {"xack",
       {"XGROUP CREATE k g 0 MKSTREAM\nXADD k 1-1 a b\nXREADGROUP GROUP g c STREAMS k >",
        "XACK k g 1-1"}},
      {"xclaim",
       {"XGROUP CREATE k g 0 MKSTREAM\nXADD k 1-1 a b\nXREADGROUP GROUP g c STREAMS k >",
        "XCLAIM k g d 0 1-1"}},
      {"xautoclaim",
       {"XGROUP CREATE k g 0 MKSTREAM\nXADD k 1-1 a b\nXREADGROUP GROUP g c STREAMS k >",
        "XAUTOCLAIM k g d 0 0"}},
      // JSON
      {"json.set", {"JSON.SET k $ {\"a\":1}", "JSON.SET k $.a 2"}},
      {"json.mset", {"", "JSON.MSET a $ 1 k $ 2"}},
      {"json.merge", {"JSON.SET k $ {\"a\":1}", "JSON.MERGE k $.a 2"}},
      {"json.del", {"JSON.SET k $ {\"a\":1}", "JSON.DEL k $.a"}},
      {"json.forget", {"JSON.SET k $ {\"a\":1}", "JSON.FORGET k $.a"}},
      {"json.numincrby", {"JSON.SET k $ {\"a\":1}", "JSON.NUMINCRBY k $.a 1"}},
      {"json.nummultby", {"JSON.SET k $ {\"a\":1}", "JSON.NUMMULTBY k $.a 2"}},
      {"json.strappend", {"JSON.SET k $ {\"a\":\"x\"}", "JSON.STRAPPEND k $.a '\"y\"'"}},
      {"json.arrappend", {"JSON.SET k $ {\"a\":[1]}", "JSON.ARRAPPEND k $.a 2"}},
      {"json.arrinsert", {"JSON.SET k $ {\"a\":[1]}", "JSON.ARRINSERT k $.a 0 2"}},
      {"json.arrpop", {"JSON.SET k $ {\"a\":[1]}", "JSON.ARRPOP k $.a"}},
      {"json.arrtrim", {"JSON.SET k $ {\"a\":[1,2]}", "JSON.ARRTRIM k $.a 0 0"}},
      {"json.toggle", {"JSON.SET k $ {\"a\":true}", "JSON.TOGGLE k $.a"}},
      {"json.clear", {"JSON.SET k $ {\"a\":[1]}", "JSON.CLEAR k $.a"}},
      // scripts
      {"eval", {"", "EVAL redis.call('set',KEYS[1],1) 1 k"}},
  };
  return kCases;
}

// Commands that may write but change no key of a user, or that other tests have.
const std::set<std::string_view> kWithoutKeys = {
    "function|load", "function|delete", "function|flush", "function|restore", "fcall",
    "evalsha",       "restore",         "restore-asking", "debug|populate",   "debug",
    "script|load",   "script|flush",    "migrate",        "pfselftest",
};

std::vector<std::string> Words(std::string_view call) {
  std::vector<std::string> words;
  while (!call.empty()) {
    const bool quoted = call.front() == '\'';
    if (quoted) call.remove_prefix(1);
    const size_t end = std::min(call.find(quoted ? '\'' : ' '), call.size());
    words.emplace_back(call.substr(0, end));
    call.remove_prefix(std::min(end + (quoted ? 2 : 1), call.size()));
  }
  return words;
}

TEST_F(TrackingTest, EveryCommandThatChangesAKeyTellsWhoHasReadIt) {
  TestClient writer = server_.Connect();
  const doors::CommandTable& commands = server_.instance().commands();
  for (size_t row = 0; row < commands.row_count(); ++row) {
    const doors::Command& command = commands.row(row);
    if (!command.Has(doors::kWrite) || kWithoutKeys.contains(command.name)) continue;
    const auto found = WriteCases().find(command.name);
    if (found == WriteCases().end()) {
      ADD_FAILURE() << "a call of " << command.name << " is missing among the cases";
      continue;
    }
    const WriteCase& write = found->second;
    writer.Run({"FLUSHALL"});
    for (std::string_view rest = write.before; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      EXPECT_THAT(writer.Run(Words(rest.substr(0, end))), Not(HasSubstr("(error)"))) << rest;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    TestClient client = Tracker();
    client.Run({"TYPE", "k"});
    EXPECT_THAT(writer.Run(Words(write.call)), Not(HasSubstr("(error)"))) << write.call;
    const std::string key = write.key.empty() ? "(nil)" : fmt::format("[\"{}\"]", write.key);
    EXPECT_THAT(MessagesOf(client), ::testing::Contains(Invalidate(key))) << write.call;
  }
}

TEST_F(TrackingTest, RestoredKeysAndFunctionsAreToldOf) {
  TestClient writer = server_.Connect();
  writer.Run({"SET", "from", "v"});
  const net::RespValue dump = writer.RunValue({"DUMP", "from"});
  writer.Run({"FUNCTION", "LOAD",
              "#!lua name=l\nredis.register_function('f', function(keys) return "
              "redis.call('incr', keys[1]) end)"});
  TestClient client = Tracker();
  client.Run({"GET", "k"});
  EXPECT_EQ(writer.Run({"RESTORE", "k", "0", dump.text}), "OK");
  EXPECT_EQ(client.Receive(), Invalidate("[\"k\"]"));
  client.Run({"GET", "n"});
  EXPECT_EQ(writer.Run({"FCALL", "f", "1", "n"}), "(integer) 1");
  EXPECT_EQ(client.Receive(), Invalidate("[\"n\"]"));
}

// --- Many at once -------------------------------------------------------------------------------

// A client with a cache, which reads in each of the ways there are.
class CachingClient {
 public:
  explicit CachingClient(TestClient client) : client_(std::move(client)) {
    client_.Run({"HELLO", "3"});
    client_.Run({"CLIENT", "TRACKING", "ON"});
  }

  void Read(const std::string& key, uint64_t way) {
    if (cache_.contains(key)) return;
    std::string reply;
    switch (way % 4) {
      case 0:
        client_.Send({"GET", key});
        reply = Reply();
        break;
      case 1:
        client_.Send({"EVAL", "return redis.call('get', KEYS[1])", "1", key});
        reply = Reply();
        break;
      case 2:  // goes to the pool
        client_.Send({"LCS", key, key});
        reply = Reply();
        break;
      default:
        client_.Send({"MULTI"});
        client_.Send({"GET", key});
        client_.Send({"EXEC"});
        Reply();
        Reply();
        reply = Reply();
        reply = reply.substr(1, reply.size() - 2);
    }
    cache_[key] = reply;
  }

  // Takes in what has been sent, and compares with what is there.
  void Check(TestClient& with) {
    client_.Send({"PING"});
    Reply();
    for (const auto& [key, value] : cache_) EXPECT_EQ(value, with.Run({"GET", key})) << key;
  }

 private:
  // The next reply; what is told before it leaves the cache.
  std::string Reply() {
    for (;;) {
      const Result<net::RespValue> value = client_.raw().Receive();
      if (!value.ok()) {
        ADD_FAILURE() << value.error().message;
        return "";
      }
      if (value->type != net::RespValue::Type::kPush) return value->ToString();
      for (const net::RespValue& key : value->items.at(1).items) cache_.erase(key.text);
    }
  }

  TestClient client_;
  std::map<std::string, std::string> cache_;
};

TEST(TrackingLoopsTest, NoStaleValueStaysInACache) {
  CAIRN_TEST_ROCKS_ONLY("client tracking");
  constexpr int kRounds = 20;
  constexpr size_t kLoops = 3;
  constexpr int kKeys = 8;
  DataServer server(kLoops);
  TestClient judge = server.Connect();
  for (int i = 0; i < kKeys; ++i) judge.Run({"SET", "k" + std::to_string(i), "0"});
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<bool> stop{false};
    std::vector<CachingClient> caches;
    for (int i = 0; i < 3; ++i) caches.emplace_back(server.Connect());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < caches.size(); ++i) {
      threads.emplace_back([&, i] {
        SeededRandom random(static_cast<uint64_t>(round) * 100 + i);
        while (!stop) {
          caches[i].Read("k" + std::to_string(random.Below(kKeys)), random.Below(4));
        }
      });
    }
    std::vector<std::thread> writers;
    for (uint64_t i = 0; i < 2; ++i) {
      writers.emplace_back([&, i, client = server.Connect()]() mutable {
        SeededRandom random(static_cast<uint64_t>(round) * 100 + 50 + i);
        for (int n = 0; n < 100; ++n) {
          client.Run({"INCR", "k" + std::to_string(random.Below(kKeys))});
        }
      });
    }
    for (std::thread& writer : writers) writer.join();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    Settle(server, kLoops);
    for (CachingClient& cache : caches) cache.Check(judge);
  }
}

}  // namespace
}  // namespace cairn::data
