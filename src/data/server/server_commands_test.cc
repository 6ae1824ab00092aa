#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "data/testing/script.h"
#include "tests/support/await.h"

namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ServerCommandsTest : public ::testing::Test {
 protected:
  std::string Info(std::initializer_list<std::string_view> args) {
    TestClient client = server_.Connect();
    return client.RunValue(args).text;
  }

  DataServer server_;
};

TEST_F(ServerCommandsTest, InfoHasItsSections) {
  server_.Play(R"(
    MSET a 1 b 2
    EXPIRE a 100
    GET a
  )");
  const std::string info = Info({"INFO"});
  for (const char* section : {"# Server\r\n", "# Clients\r\n", "# Memory\r\n", "# Persistence\r\n",
                              "# Stats\r\n", "# Replication\r\n", "# CPU\r\n", "# Keyspace\r\n"}) {
    EXPECT_THAT(info, HasSubstr(section));
  }
  EXPECT_THAT(info, Not(HasSubstr("# Commandstats")));
  EXPECT_THAT(info, HasSubstr("redis_version:7.0."));
  EXPECT_THAT(info, HasSubstr("role:master\r\n"));
  EXPECT_THAT(info, HasSubstr("db0:keys=2,expires=1,avg_ttl=0\r\n"));
  EXPECT_THAT(Info({"INFO", "all"}), HasSubstr("cmdstat_get:calls=1,usec="));
  EXPECT_THAT(Info({"INFO", "COMMANDSTATS"}), StartsWith("# Commandstats\r\n"));
  EXPECT_EQ(Info({"INFO", "nosuch"}), "");
  EXPECT_THAT(Info({"INFO", "keyspace", "cpu"}), Not(HasSubstr("# Server")));
}

TEST_F(ServerCommandsTest, ConfigGetAndSet) {
  server_.Play(R"(
    CONFIG GET save           => ["save", ""]
    CONFIG GET appendonly nosuch => ["appendonly", "yes"]
    CONFIG GET slowlog-*      => ["slowlog-log-slower-than", "10000", "slowlog-max-len", "128"]
    CONFIG SET slowlog-max-len -1 => (error) ERR CONFIG SET failed (possibly related to argument 'slowlog-max-len') - argument must be between 0 and 1000000 inclusive
    CONFIG SET slowlog-max-len x => (error) ERR CONFIG SET failed (possibly related to argument 'slowlog-max-len') - argument couldn't be parsed into an integer
    CONFIG SET slowlog-max-len 5 slowlog-log-slower-than 1 => OK
    CONFIG GET slowlog-max-len => ["slowlog-max-len", "5"]
    CONFIG SET maxmemory 1    => (error) ERR CONFIG SET failed (possibly related to argument 'maxmemory') - can't set immutable config: Cairn keeps its data on disk and evicts nothing: give keys a time to live (EXPIRE, SET ... EX); what the server may use of memory is set at start with --memory
    CONFIG SET nosuch 1       => (error) ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'
    CONFIG SET a 1 b          => (error) ERR wrong number of arguments for 'config|set' command
  )");
}

TEST_F(ServerCommandsTest, APasswordSetWhileRunningAppliesToNewConnections) {
  TestClient old = server_.Connect();
  EXPECT_EQ(old.Run({"CONFIG", "SET", "requirepass", "secret"}), "OK");
  EXPECT_EQ(old.Run({"PING"}), "PONG");
  TestClient fresh = server_.Connect();
  EXPECT_EQ(fresh.Run({"PING"}), "(error) NOAUTH Authentication required.");
  EXPECT_EQ(fresh.Run({"AUTH", "secret"}), "OK");
  EXPECT_EQ(old.Run({"CONFIG", "SET", "requirepass", ""}), "OK");
  TestClient open = server_.Connect();
  EXPECT_EQ(open.Run({"PING"}), "PONG");
}

TEST_F(ServerCommandsTest, StatisticsCanBeReset) {
  server_.Play("GET k");
  server_.Play("CONFIG RESETSTAT => OK");
  server_.Play("PING");  // after what the reset has posted
  EXPECT_THAT(Info({"INFO", "commandstats"}), Not(HasSubstr("cmdstat_get:")));
}

TEST_F(ServerCommandsTest, SlowLog) {
  server_.Play(R"(
    CONFIG SET slowlog-log-slower-than 0
    SLOWLOG RESET             => OK
    SET k v
    CONFIG SET slowlog-log-slower-than -1
    GET k
    SLOWLOG LEN               => (integer) 2
    SLOWLOG GET x             => (error) ERR count should be greater than or equal to -1
  )");
  TestClient client = server_.Connect();
  const net::RespValue entries = client.RunValue({"SLOWLOG", "GET", "-1"});
  ASSERT_EQ(entries.items.size(), 2U);
  EXPECT_EQ(entries.items[0].items[3].ToString(), R"(["SET", "k", "v"])");
  EXPECT_EQ(entries.items[1].items[3].ToString(), R"(["SLOWLOG", "RESET"])");
}

TEST_F(ServerCommandsTest, SettingsOutliveTheServer) {
  server_.Play(R"(
    CONFIG SET notify-keyspace-events KEA slowlog-max-len 7 => OK
    CONFIG SET lua-time-limit 1234 hash-max-ziplist-entries 9 => OK
    CONFIG SET requirepass "" => OK
    MULTI
    CONFIG SET latency-monitor-threshold 55 => QUEUED
    EXEC                      => [OK]
    CONFIG REWRITE            => OK
  )");
  server_.Restart();
  server_.Play(R"(
    CONFIG GET notify-keyspace-events => ["notify-keyspace-events", "AKE"]
    CONFIG GET slowlog-max-len => ["slowlog-max-len", "7"]
    CONFIG GET busy-reply-threshold => ["busy-reply-threshold", "1234"]
    CONFIG GET lua-time-limit => ["lua-time-limit", "1234"]
    CONFIG GET hash-max-listpack-entries => ["hash-max-listpack-entries", "9"]
    CONFIG GET latency-monitor-threshold => ["latency-monitor-threshold", "55"]
    CONFIG SET slowlog-max-len 128 notify-keyspace-events "" => OK
  )");
  server_.Restart();
  server_.Play(R"(
    CONFIG GET slowlog-max-len => ["slowlog-max-len", "128"]
    CONFIG GET notify-keyspace-events => ["notify-keyspace-events", ""]
    CONFIG GET busy-reply-threshold => ["busy-reply-threshold", "1234"]
  )");
}

TEST_F(ServerCommandsTest, WhatIsRefusedIsNotStored) {
  server_.Play(R"(
    CONFIG SET slowlog-max-len 7 hz 500 => (error) ERR CONFIG SET failed (possibly related to argument 'hz') - can't set immutable config: nothing runs by such a clock
    CONFIG GET slowlog-max-len => ["slowlog-max-len", "128"]
  )");
  server_.Restart();
  server_.Play("CONFIG GET slowlog-max-len => [\"slowlog-max-len\", \"128\"]");
}

TEST_F(ServerCommandsTest, ResetStatStartsEverythingAnew) {
  for (int i = 0; i < 20; ++i) server_.Connect().Run({"GET", "nosuch"});
  server_.Run({"NOSUCH"});
  const auto figure = [&](const std::string& name) {
    const std::string info = Info({"INFO", "stats"});
    const size_t at = info.find(name + ":");
    return at == std::string::npos ? -1 : std::stoi(info.substr(at + name.size() + 1));
  };
  EXPECT_GE(figure("total_connections_received"), 20);
  EXPECT_GE(figure("total_commands_processed"), 20);
  EXPECT_GE(figure("keyspace_misses"), 20);
  server_.Play("SET k v\nGET k");
  EXPECT_GE(figure("keyspace_hits"), 1);
  TestClient client = server_.Connect();
  EXPECT_EQ(client.Run({"CONFIG", "RESETSTAT"}), "OK");
  EXPECT_LT(figure("total_connections_received"), 5);
  EXPECT_LT(figure("total_commands_processed"), 5);
  EXPECT_LT(figure("total_net_input_bytes"), 500);
  EXPECT_EQ(figure("total_error_replies"), 0);
  EXPECT_EQ(figure("keyspace_misses"), 0);
  EXPECT_EQ(figure("keyspace_hits"), 0);
}

TEST_F(ServerCommandsTest, LatencyTrackingIsShownAsTheSettingsSay) {
  server_.Play("SET k v");
  EXPECT_THAT(Info({"INFO", "latencystats"}), HasSubstr("latency_percentiles_usec_set:p50="));
  server_.Play(R"(
    CONFIG SET latency-tracking-info-percentiles "0.0 50.50 100.0" => OK
    CONFIG GET latency-tracking-info-percentiles => ["latency-tracking-info-percentiles", "0 50.5 100"]
    CONFIG SET latency-tracking-info-percentiles "50 101" => (error) ERR CONFIG SET failed (possibly related to argument 'latency-tracking-info-percentiles') - percentiles must be numbers from 0 to 100
  )");
  EXPECT_THAT(Info({"INFO", "latencystats"}), HasSubstr(",p50.5="));
  server_.Play(R"(
    CONFIG SET latency-tracking no => OK
    LATENCY HISTOGRAM set     => []
  )");
  EXPECT_THAT(Info({"INFO", "latencystats"}), Not(HasSubstr("percentiles")));
}

TEST_F(ServerCommandsTest, SaveWaitsUntilEverythingIsDurable) {
  server_.store().CloseGate();
  TestClient writer = server_.Connect();
  TestClient saver = server_.Connect();
  writer.Send({"SET", "k", "v"});
  const doors::Command& set = *server_.instance().commands().FindByName("set");
  cairn::testing::Await("SET to run",
                        [&] { return server_.instance().dispatchers().Totals(set).calls != 0; });
  saver.Send({"SAVE"});
  server_.store().MakeDurable();
  EXPECT_EQ(writer.Receive(), "OK");
  EXPECT_EQ(saver.Receive(), "OK");
}

TEST_F(ServerCommandsTest, TheRest) {
  server_.Play(R"(
    TIME                      => ["1700000000", "0"]
    LASTSAVE                  => (integer) 1700000000
    BGSAVE                    => Background saving started
    BGSAVE SCHEDULE           => Background saving started
    BGSAVE foo                => (error) ERR syntax error
    ROLE                      => ["master", (integer) 0, []]
    WAIT 1 0                  => (integer) 0
    WAIT 1 -1                 => (error) ERR timeout is negative
    WAIT x 1                  => (error) ERR value is not an integer or out of range
    LATENCY LATEST            => []
    LATENCY HISTORY x         => []
    LATENCY RESET             => (integer) 0
    LATENCY HISTOGRAM nosuch  => []
    MEMORY USAGE nosuch       => (nil)
    MEMORY USAGE k FOO        => (error) ERR syntax error
    SET k 12345678
    MEMORY USAGE k SAMPLES 5  => (integer) 20
    SHUTDOWN foo              => (error) ERR syntax error
    SHUTDOWN ABORT            => (error) ERR No shutdown in progress.
    SHUTDOWN                  => (error) ERR Errors trying to SHUTDOWN. Check logs.
  )");
}

TEST_F(ServerCommandsTest, ShutdownAsksTheApplication) {
  std::atomic<bool> asked = false;
  server_.instance().hooks().shutdown = [&] { asked = true; };
  TestClient client = server_.Connect();
  client.Send({"SHUTDOWN", "NOSAVE"});
  client.Send({"PING"});
  EXPECT_EQ(client.Receive(), "PONG");  // SHUTDOWN itself has no reply
  EXPECT_TRUE(asked);
}

}  // namespace
}  // namespace cairn::data
