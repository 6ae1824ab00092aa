#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "data/server/info.h"
#include "data/testing/script.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DiagnosticsTest : public ::testing::Test {
 protected:
  DataServer server_;
};

TEST_F(DiagnosticsTest, MemoryAndLatency) {
  server_.Play(R"(
    MEMORY PURGE              => OK
    MEMORY MALLOC-STATS       => "Stats not supported for the current allocator"
    LATENCY GRAPH x           => (error) ERR No samples available for event 'x'
    LATENCY LATEST            => []
    LATENCY HISTORY command   => []
    SET k v
  )");
  TestClient client = server_.Connect();
  EXPECT_THAT(client.RunValue({"MEMORY", "DOCTOR"}).text, StartsWith("Cairn "));
  client.Run({"HELLO", "3"});
  const net::RespValue stats = client.RunValue({"MEMORY", "STATS"});
  EXPECT_EQ(stats.type, net::RespValue::Type::kMap);
  std::map<std::string, net::RespValue> figures;
  for (size_t i = 0; i + 1 < stats.items.size(); i += 2) {
    figures.emplace(stats.items[i].text, stats.items[i + 1]);
  }
  EXPECT_EQ(figures.at("keys.count").integer, 1);
  EXPECT_EQ(figures.at("db.0").items.size(), 4U);
  EXPECT_FALSE(figures.contains("db.1"));
  EXPECT_TRUE(figures.contains("allocator-fragmentation.ratio"));
  EXPECT_TRUE(figures.contains("rss-overhead.bytes"));
}

TEST_F(DiagnosticsTest, DebugOffersWhatTestsOfClientsNeed) {
  server_.Play(R"(
    SET k 12
    DEBUG SLEEP 0             => OK
    DEBUG OBJECT nosuch       => (error) ERR no such key
    DEBUG SEGFAULT            => (error) ERR DEBUG SEGFAULT is not supported
    DEBUG RELOAD              => OK
    DEBUG SET-ACTIVE-EXPIRE 0 => OK
    DEBUG STRINGMATCH-LEN 9 a*b => (integer) 0
    DEBUG PROTOCOL string     => "Hello World"
    DEBUG PROTOCOL true       => (integer) 1
    MULTI
    DEBUG SLEEP 0.001         => QUEUED
    EXEC                      => [OK]
  )");
  EXPECT_THAT(server_.Run({"DEBUG", "OBJECT", "k"}), HasSubstr("encoding:int "));
}

TEST_F(DiagnosticsTest, DebugPopulatesAndFails) {
  server_.Play(R"(
    SET key:1 kept
    DEBUG POPULATE 3          => OK
    DBSIZE                    => (integer) 3
    GET key:0                 => "value:0"
    GET key:1                 => "kept"
    DEBUG POPULATE 2 p 3      => OK
    GET p:1                   => "val"
    STRLEN p:0                => (integer) 3
    DEBUG POPULATE 1 q 100    => OK
    STRLEN q:0                => (integer) 100
    DEBUG POPULATE x          => (error) ERR value is not an integer or out of range
    DEBUG ERROR "MINE it is"  => (error) MINE it is
  )");
  server_.CheckConsistency();
}

TEST_F(DiagnosticsTest, DigestsAreOfContentNotOfHowItCameAbout) {
  const std::string zeros(40, '0');
  EXPECT_EQ(server_.Run({"DEBUG", "DIGEST"}), zeros);
  server_.Play(R"(
    SADD a 1 2 3
    SADD b 3 2 1
    HSET h x 1 y 2
    HSET i y 2 x 1
    ZADD z 1 a 2 b
    RPUSH l a b
    RPUSH m b a
  )");
  const auto value = [&](const std::string& key) {
    return server_.Run({"DEBUG", "DIGEST-VALUE", key});
  };
  EXPECT_EQ(value("a"), value("b"));
  EXPECT_EQ(value("h"), value("i"));
  EXPECT_NE(value("l"), value("m"));
  EXPECT_NE(value("a"), value("h"));
  EXPECT_EQ(value("nosuch"), "[" + zeros + "]");
  const std::string before = server_.Run({"DEBUG", "DIGEST"});
  server_.Run({"EXPIRE", "a", "100"});
  const std::string expiring = server_.Run({"DEBUG", "DIGEST"});
  EXPECT_NE(expiring, before);
  server_.Run({"PERSIST", "a"});
  EXPECT_EQ(server_.Run({"DEBUG", "DIGEST"}), before);
  server_.Restart();
  EXPECT_EQ(server_.Run({"DEBUG", "DIGEST"}), before);
  server_.Run({"FLUSHALL"});
  EXPECT_EQ(server_.Run({"DEBUG", "DIGEST"}), zeros);
}

TEST_F(DiagnosticsTest, LargeEntriesFillANodeOfAStreamByBytes) {
  const std::string large(1500, 'x');
  for (int i = 0; i < 20; ++i) server_.Run({"XADD", "s", "*", "f", large});
  // Two fit into a node of 4096 bytes, so "about one" may leave no more than that.
  server_.Run({"XTRIM", "s", "MAXLEN", "~", "1"});
  server_.Play("XLEN s => (integer) 2");
  for (int i = 0; i < 20; ++i) server_.Run({"XADD", "t", "MAXLEN", "~", "3", "*", "f", large});
  server_.Play(R"(
    XLEN t                    => (integer) 4
    CONFIG SET stream-node-max-bytes 0 => OK
  )");
  for (int i = 0; i < 20; ++i) server_.Run({"XADD", "u", "MAXLEN", "~", "3", "*", "f", large});
  server_.Play("XLEN u => (integer) 20");
  server_.CheckConsistency();
}

TEST_F(DiagnosticsTest, SlowCommandsAreLatencyEventsOnceThereIsAThreshold) {
  doors::LatencyEvents& events = server_.instance().observed().latency_events;
  server_.Play("CONFIG SET latency-monitor-threshold 100");
  EXPECT_TRUE(events.Wants(100'000));
  events.Add("command", server_.clock().Now(), 120);
  server_.clock().AdvanceMillis(2000);
  events.Add("command", server_.clock().Now(), 150);
  EXPECT_THAT(server_.Run({"LATENCY", "LATEST"}), HasSubstr("(integer) 150, (integer) 150"));
  EXPECT_THAT(server_.Run({"LATENCY", "HISTORY", "command"}), HasSubstr("(integer) 120"));
  EXPECT_THAT(server_.Run({"LATENCY", "GRAPH", "command"}), HasSubstr("at most 150 ms"));
  EXPECT_THAT(server_.Run({"LATENCY", "DOCTOR"}), HasSubstr("150 ms at most"));
  server_.Play("LATENCY RESET nosuch => (integer) 0\nLATENCY RESET => (integer) 1");
}

TEST_F(DiagnosticsTest, WhatHasNoEffectIsRefusedByName) {
  server_.Play(R"(
    CONFIG SET zset-max-ziplist-entries 0 => OK
    CONFIG GET zset-max-listpack-entries  => ["zset-max-listpack-entries", "0"]
    CONFIG SET zset-max-listpack-value 1kb => OK
    CONFIG GET zset-max-ziplist-value     => ["zset-max-ziplist-value", "1024"]
    CONFIG SET zset-max-ziplist-value 1k  => OK
    CONFIG GET zset-max-ziplist-value     => ["zset-max-ziplist-value", "1000"]
    CONFIG SET zset-max-ziplist-value 1x  => (error) ERR CONFIG SET failed (possibly related to argument 'zset-max-ziplist-value') - argument must be a memory value
    CONFIG SET hz 100 => (error) ERR CONFIG SET failed (possibly related to argument 'hz') - can't set immutable config: nothing runs by such a clock
    CONFIG SET hz 10                      => OK
    CONFIG SET repl-backlog-size 1mb      => OK
    CONFIG SET activedefrag yes => (error) ERR CONFIG SET failed (possibly related to argument 'activedefrag') - can't set immutable config: the store's memory needs no such upkeep
    CONFIG SET activedefrag NO            => OK
    CONFIG SET appendonly no => (error) ERR CONFIG SET failed (possibly related to argument 'appendonly') - can't set immutable config: there are no RDB or AOF files; start the server with --durability to say when a write is safe
    CONFIG SET maxmemory 1mb => (error) ERR CONFIG SET failed (possibly related to argument 'maxmemory') - can't set immutable config: Cairn keeps its data on disk and evicts nothing: give keys a time to live (EXPIRE, SET ... EX); what the server may use of memory is set at start with --memory
    CONFIG SET stream-node-max-entries 10 => OK
  )");
  for (int i = 0; i < 25; ++i) server_.Run({"XADD", "s", "*", "f", "v"});
  server_.Play("XTRIM s MAXLEN ~ 12 => (integer) 10");
  // A trim goes over at most a hundred nodes.
  server_.Play("CONFIG SET stream-node-max-entries 1");
  for (int i = 0; i < 102; ++i) server_.Run({"XADD", "t", "*", "f", "v"});
  server_.Play("XTRIM t MAXLEN ~ 1 => (integer) 100");
}

TEST_F(DiagnosticsTest, TheRest) {
  server_.Play(R"(
    BGREWRITEAOF              => Background append only file rewriting started
    CONFIG REWRITE            => OK
    LOLWUT VERSION x          => (error) ERR value is not an integer or out of range
  )");
  EXPECT_THAT(server_.Connect().RunValue({"LOLWUT"}).text, HasSubstr("Redis ver. 7.0."));
}

TEST_F(DiagnosticsTest, OneServerHasNoReplicasNoClusterAndNoModules) {
  server_.Play(R"(
    REPLICAOF NO ONE          => OK
    SLAVEOF no one            => OK
    REPLICAOF host 6379       => (error) ERR replication is not supported
    FAILOVER                  => (error) ERR FAILOVER requires connected replicas.
    FAILOVER ABORT            => (error) ERR No failover in progress.
    PSYNC ? -1                => (error) ERR replication is not supported
    CLUSTER INFO              => (error) ERR This instance has cluster support disabled
    CLUSTER SLOTS             => (error) ERR This instance has cluster support disabled
    CLUSTER nosuch            => (error) ERR unknown subcommand 'nosuch'. Try CLUSTER HELP.
    READONLY                  => (error) ERR This instance has cluster support disabled
    COMMAND GETKEYS MIGRATE host 1 k 0 100                       => ["k"]
    COMMAND GETKEYS MIGRATE host 1 "" 0 100 AUTH KEYS KEYS a b   => ["a", "b"]
    COMMAND GETKEYS MIGRATE host 1 "" 0 100 AUTH2 u KEYS KEYS a  => ["a"]
    MODULE LIST               => []
    MODULE LOAD x             => (error) ERR modules are not supported
  )");
}

TEST_F(DiagnosticsTest, ClientSideCachingStartsTurnedOff) {
  server_.Play(R"(
    CLIENT TRACKING OFF       => OK
    CLIENT TRACKING foo       => (error) ERR syntax error
    CLIENT GETREDIR           => (integer) -1
    CLIENT TRACKINGINFO       => ["flags", ["off"], "redirect", (integer) -1, "prefixes", []]
    CLIENT CACHING yes        => (error) ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled
  )");
}

TEST_F(DiagnosticsTest, ASettingThatIsFixedTakesItsOwnValue) {
  server_.Play(R"(
    CONFIG SET maxmemory 0 maxmemory-policy noeviction save "" => OK
    CONFIG GET maxmemory-policy => ["maxmemory-policy", "noeviction"]
    CONFIG SET maxmemory-policy allkeys-lru => (error) ERR CONFIG SET failed (possibly related to argument 'maxmemory-policy') - can't set immutable config: Cairn keeps its data on disk and evicts nothing: give keys a time to live (EXPIRE, SET ... EX); what the server may use of memory is set at start with --memory
    CONFIG GET client-output-buffer-limit => ["client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"]
    CONFIG SET client-output-buffer-limit "pubsub 1000 0 0" => OK
    CONFIG SET client-output-buffer-limit "normal 1mb 2k 3 replica 5gb 6 7" => OK
    CONFIG GET client-output-buffer-limit => ["client-output-buffer-limit", "normal 1048576 2000 3 slave 5368709120 6 7 pubsub 1000 0 0"]
    CONFIG SET client-output-buffer-limit "normal 1 2" => (error) ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Wrong number of arguments in buffer limit configuration.
    CONFIG SET client-output-buffer-limit "normal 1mbs 2 3" => (error) ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Error in hard, soft or soft_seconds setting in buffer limit configuration.
    CONFIG SET client-output-buffer-limit "foo 1 2 3" => (error) ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Invalid client class specified in buffer limit configuration.
  )");
  EXPECT_EQ(server_.server().output_limits(net::OutputClass::kPubSub).hard_bytes, 1000U);
  server_.Play(R"(
    CONFIG SET client-query-buffer-limit 2mb => OK
    CONFIG GET client-query-buffer-limit => ["client-query-buffer-limit", "2097152"]
    CONFIG SET client-query-buffer-limit 2 => (error) ERR CONFIG SET failed (possibly related to argument 'client-query-buffer-limit') - argument must be between 1048576 and 9223372036854775807 inclusive
    CONFIG SET proto-max-bulk-len lots => (error) ERR CONFIG SET failed (possibly related to argument 'proto-max-bulk-len') - argument must be a memory value
    CONFIG SET proto-max-bulk-len 1mb => OK
  )");
  TestClient client = server_.Connect();
  EXPECT_TRUE(client.raw().SendRaw("*2\r\n$4\r\nECHO\r\n$1048577\r\n").ok());
  EXPECT_EQ(client.raw().ReceiveUntilClosed().value(),
            "-ERR Protocol error: invalid bulk length\r\n");
}

TEST_F(DiagnosticsTest, ClientListShowsWhatConnectionsHold) {
  TestClient client = server_.Connect();
  const std::string own = client.RunValue({"CLIENT", "LIST"}).text;
  EXPECT_THAT(own, HasSubstr(" qbuf=26 "));
  EXPECT_THAT(own, HasSubstr(" multi-mem=0 "));
  EXPECT_THAT(own, HasSubstr(" obl=0 oll=0 omem=0 "));
  TestClient other = server_.Connect();
  other.Run({"CLIENT", "SETNAME", "other"});
  other.Run({"MULTI"});
  other.Run({"SET", "k", std::string(100'000, 'x')});
  std::string line = client.RunValue({"CLIENT", "LIST"}).text;
  line = line.substr(line.find("name=other"));
  const size_t multi = std::stoul(line.substr(line.find("multi-mem=") + 10));
  EXPECT_GE(multi, 100'000U);
  EXPECT_LT(multi, 110'000U);
}

TEST_F(DiagnosticsTest, ErrorsAreCountedByTheirCode) {
  server_.Run({"nosuch"});
  server_.Run({"LPUSH"});
  server_.Run({"EXEC"});
  server_.Run({"HELLO", "9"});
  TestClient client = server_.Connect();
  const std::string info = client.RunValue({"INFO", "errorstats", "stats", "modules"}).text;
  EXPECT_THAT(info, HasSubstr("errorstat_ERR:count=3\r\n"));
  EXPECT_THAT(info, HasSubstr("errorstat_NOPROTO:count=1\r\n"));
  EXPECT_THAT(info, HasSubstr("total_error_replies:4\r\n"));
  EXPECT_THAT(info, HasSubstr("# Modules\r\n"));
  client.Run({"CONFIG", "RESETSTAT"});
  EXPECT_EQ(client.RunValue({"INFO", "errorstats"}).text, "# Errorstats\r\n");
}

TEST_F(DiagnosticsTest, LatenciesAreKeptByCommand) {
  server_.Play("SET k v");
  server_.Play("CONFIG GET save");
  TestClient client = server_.Connect();
  const net::RespValue histogram = client.RunValue({"LATENCY", "HISTOGRAM", "set", "config"});
  ASSERT_EQ(histogram.items.size(), 4U);
  EXPECT_EQ(histogram.items[0].text, "set");
  EXPECT_EQ(histogram.items[1].items[1].integer, 1);
  EXPECT_EQ(histogram.items[2].text, "config|get");
  EXPECT_THAT(client.RunValue({"INFO", "latencystats"}).text,
              HasSubstr("latency_percentiles_usec_set:p50="));
}

TEST(CallTotalsTest, PercentilesAreTheEndsOfBuckets) {
  doors::CallTotals totals{.calls = 100};
  totals.latency[doors::LatencyBucketOf(500)] = 90;    // up to 1 µs
  totals.latency[doors::LatencyBucketOf(5'000)] = 10;  // up to 8 µs
  EXPECT_EQ(totals.PercentileUs(50), 1U);
  EXPECT_EQ(totals.PercentileUs(99), 8U);
  EXPECT_EQ(doors::LatencyBucketOf(UINT64_MAX), doors::kLatencyBuckets - 1);
}

TEST(RateMeterTest, MeasuresFromOneQuestionToTheNext) {
  RateMeter meter;
  EXPECT_EQ(meter.Measure(100, Timestamp{1'000'000}), 0);
  EXPECT_EQ(meter.Measure(300, Timestamp{2'000'000}), 200);
  EXPECT_EQ(meter.Measure(999, Timestamp{2'000'001}), 200);
  EXPECT_EQ(meter.Measure(5, Timestamp{3'000'000}), 200);  // began anew
  EXPECT_EQ(meter.Measure(55, Timestamp{3'500'000}), 100);
}

}  // namespace
}  // namespace cairn::data
