#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "data/info.h"
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
  bool found = false;
  for (size_t i = 0; i + 1 < stats.items.size(); i += 2) {
    if (stats.items[i].text != "keys.count") continue;
    found = true;
    EXPECT_EQ(stats.items[i + 1].integer, 1);
  }
  EXPECT_TRUE(found);
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

TEST_F(DiagnosticsTest, SlowCommandsAreLatencyEventsOnceThereIsAThreshold) {
  doors::LatencyEvents& events = server_.instance().latency_events();
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

TEST_F(DiagnosticsTest, TuningOfRedisCanBeSetAndChangesNothing) {
  server_.Play(R"(
    CONFIG SET zset-max-ziplist-entries 0 => OK
    CONFIG GET zset-max-listpack-entries  => ["zset-max-listpack-entries", "0"]
    CONFIG SET hz ten => (error) ERR CONFIG SET failed (possibly related to argument 'hz') - argument couldn't be parsed into an integer
    CONFIG SET activedefrag maybe => (error) ERR CONFIG SET failed (possibly related to argument 'activedefrag') - argument must be 'yes' or 'no'
    CONFIG SET activedefrag YES           => OK
    CONFIG GET activedefrag               => ["activedefrag", "yes"]
    CONFIG SET maxmemory 1mb => (error) ERR CONFIG SET failed (possibly related to argument 'maxmemory') - can't set immutable config
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
    CONFIG REWRITE            => (error) ERR The server is running without a config file
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
    MODULE LIST               => []
    MODULE LOAD x             => (error) ERR modules are not supported
  )");
}

TEST_F(DiagnosticsTest, ClientSideCachingIsOff) {
  server_.Play(R"(
    CLIENT TRACKING OFF       => OK
    CLIENT TRACKING ON        => (error) ERR client tracking is not supported
    CLIENT TRACKING foo       => (error) ERR syntax error
    CLIENT GETREDIR           => (integer) -1
    CLIENT TRACKINGINFO       => ["flags", ["off"], "redirect", (integer) -1, "prefixes", []]
    CLIENT CACHING yes        => (error) ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled
  )");
}

TEST_F(DiagnosticsTest, ASettingThatIsFixedTakesItsOwnValue) {
  server_.Play(R"(
    CONFIG SET maxmemory-policy noeviction save "" => OK
    CONFIG SET maxmemory-policy allkeys-lru => (error) ERR CONFIG SET failed (possibly related to argument 'maxmemory-policy') - can't set immutable config
    CONFIG GET client-output-buffer-limit => ["client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 0 0"]
    CONFIG SET client-output-buffer-limit "pubsub 1000 0 0" => OK
    CONFIG SET client-output-buffer-limit "foo 1 2 3" => (error) ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Invalid client class specified in buffer limit configuration.
  )");
  EXPECT_EQ(server_.instance().pubsub().output_limit(), 1000U);
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
