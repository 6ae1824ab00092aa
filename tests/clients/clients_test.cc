// Real clients and a real program built on Redis, unmodified, against the real binary. The scripts
// take the server's address, so each can also be run by hand against any server:
//
//   /usr/bin/python3 tests/clients/redis_py.py 127.0.0.1:6379

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/clients/hiredis_client.h"
#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The packages of Debian's Python are seen by Debian's Python only; node may come from elsewhere.
constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kCli = "/usr/bin/redis-cli";
constexpr const char* kBenchmark = "/usr/bin/redis-benchmark";
// Far beyond what any of them takes: for a client that hangs, not for one that is slow.
constexpr std::chrono::seconds kLimit{600};

class ClientsTest : public ::testing::Test {
 protected:
  std::string port() const { return std::to_string(server_.resp().port); }
  std::string address() const { return "127.0.0.1:" + port(); }

  // Runs to the end; whatever goes wrong is shown with all that was printed.
  Finished Run(std::vector<std::string> args) {
    const std::string program = args.front();
    Finished run = RunToEnd({.args = std::move(args), .environment = {}, .directory = ""}, kLimit);
    EXPECT_TRUE(run.status.ok()) << program << " failed\n" << run.out << run.err;
    EXPECT_TRUE(server_.process().running()) << server_.process().err();
    return run;
  }

  Finished Cli(std::vector<std::string> args) {
    args.insert(args.begin(), {kCli, "-h", "127.0.0.1", "-p", port()});
    return Run(std::move(args));
  }

  // redis-cli reading its commands from `input`, a file.
  Finished CliFrom(const std::string& input, const std::string& flags = "") {
    return Run({"/bin/sh", "-c",
                std::string(kCli) + " -h 127.0.0.1 -p " + port() + " " + flags + " < " + input});
  }

  void RunPython(const std::string& script) {
    Run({kPython, "tests/clients/" + script, address()});
  }
  void RunNode(const std::string& script) {
    Run({"/usr/bin/env", "node", "tests/clients/" + script, address()});
  }

  TempDirectory directory_;
  Server server_ = Server::MustStart(
      {.data = directory_ / "data", .flags = {"--durability", "os"}, .environment = {}});
};

TEST_F(ClientsTest, RedisCliPlaysAScript) {
  const std::string script = directory_.Write("script",
                                              "SET greeting \"hello world\"\n"
                                              "GET greeting\n"
                                              "RPUSH queue a b c\n"
                                              "LRANGE queue 0 -1\n"
                                              "HSET user:1 name Ada born 1815\n"
                                              "HGETALL user:1\n"
                                              "ZADD board 3 carol 1 alice 2 bob\n"
                                              "ZRANGE board 0 -1 WITHSCORES\n"
                                              "INCR queue\n"
                                              "MULTI\n"
                                              "INCR n\n"
                                              "INCR n\n"
                                              "EXEC\n"
                                              "EVAL \"return {KEYS[1], ARGV[1]}\" 1 k v\n"
                                              "GET missing\n");
  EXPECT_EQ(CliFrom(script).out,
            "OK\nhello world\n3\na\nb\nc\n2\nname\nAda\nborn\n1815\n3\n"
            "alice\n1\nbob\n2\ncarol\n3\n"
            "WRONGTYPE Operation against a key holding the wrong kind of value\n\n"
            "OK\nQUEUED\nQUEUED\n1\n2\nk\nv\n\n");
  EXPECT_EQ(CliFrom(script, "--no-raw").out.substr(0, 17), "OK\n\"hello world\"\n");
}

TEST_F(ClientsTest, RedisCliSpeaksResp3) {
  Cli({"HSET", "h", "field", "value"});
  EXPECT_EQ(Cli({"-3", "--no-raw", "HGETALL", "h"}).out, "1# \"field\" => \"value\"\n");
  EXPECT_EQ(Cli({"-3", "--json", "HGETALL", "h"}).out, "{\"field\":\"value\"}\n");
  Cli({"ZADD", "z", "1.5", "m"});
  EXPECT_EQ(Cli({"-3", "--no-raw", "ZSCORE", "z", "m"}).out, "(double) 1.5\n");
}

TEST_F(ClientsTest, RedisCliInsertsInMassThroughAPipe) {
  constexpr int kKeys = 50'000;
  std::string commands;
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = "key:" + std::to_string(i);
    const std::string value = "value " + std::to_string(i);
    commands += "*3\r\n$3\r\nSET\r\n$" + std::to_string(key.size()) + "\r\n" + key + "\r\n$" +
                std::to_string(value.size()) + "\r\n" + value + "\r\n";
  }
  EXPECT_THAT(CliFrom(directory_.Write("mass", commands), "--pipe").out,
              HasSubstr("errors: 0, replies: " + std::to_string(kKeys)));
  EXPECT_EQ(Cli({"DBSIZE"}).out, std::to_string(kKeys) + "\n");
  EXPECT_EQ(Cli({"GET", "key:49999"}).out, "value 49999\n");
}

TEST_F(ClientsTest, RedisCliScansAndFindsBigKeys) {
  std::string script;
  for (int i = 0; i < 1'000; ++i) script += "SET user:" + std::to_string(i) + " x\n";
  for (int i = 0; i < 500; ++i) script += "RPUSH big:list " + std::to_string(i) + "\n";
  for (int i = 0; i < 300; ++i) script += "HSET big:hash f" + std::to_string(i) + " v\n";
  script += "SADD a:set 1 2 3\nZADD a:zset 1 a 2 b\nXADD a:stream * f v\n";
  CliFrom(directory_.Write("fill", script));

  const std::string users = Cli({"--scan", "--pattern", "user:*"}).out;
  EXPECT_EQ(std::count(users.begin(), users.end(), '\n'), 1'000);
  EXPECT_EQ(Cli({"--scan", "--pattern", "*:zset"}).out, "a:zset\n");
  EXPECT_THAT(
      Cli({"--bigkeys"}).out,
      AllOf(HasSubstr("Sampled 1005 keys in the keyspace!"),
            HasSubstr("1000 strings with 1000 bytes"), HasSubstr("'\"big:list\"' has 500 items"),
            HasSubstr("'\"big:hash\"' has 300 fields"), HasSubstr("1 lists with 500 items"),
            HasSubstr("1 hashs with 300 fields"), HasSubstr("1 sets with 3 members"),
            HasSubstr("1 zsets with 2 members"), HasSubstr("1 streams with 1 entries")));
}

TEST_F(ClientsTest, RedisBenchmarkRunsAllItsTests) {
  const Finished run =
      Run({kBenchmark, "-h", "127.0.0.1", "-p", port(), "-q", "-n", "2000", "-r", "1000"});
  EXPECT_THAT(run.out + run.err,
              AllOf(Not(HasSubstr("rror")), HasSubstr("MSET (10 keys)"), HasSubstr("ZADD"),
                    HasSubstr("LRANGE_600"), HasSubstr("SPOP"), HasSubstr("ZPOPMIN")));
  Run({kBenchmark, "-h", "127.0.0.1", "-p", port(), "-q", "-n", "2000", "-r", "1000", "-P", "16",
       "-3"});
}

TEST_F(ClientsTest, Hiredis) { RunHiredis("127.0.0.1", server_.resp().port); }
TEST_F(ClientsTest, RedisPy) { RunPython("redis_py.py"); }
TEST_F(ClientsTest, TicketingWithRedisPy) { RunPython("ticketing.py"); }
TEST_F(ClientsTest, IoRedis) { RunNode("ioredis.mjs"); }
TEST_F(ClientsTest, NodeRedis) { RunNode("node_redis.mjs"); }
TEST_F(ClientsTest, BullMq) { RunNode("bullmq.mjs"); }

// Cairn's own client for TypeScript, compiled and run as its users do.
TEST_F(ClientsTest, TypeScript) {
  const std::string out = directory_ / "typescript";
  Run({"/usr/bin/env", "node", "build-npm/node_modules/typescript/bin/tsc", "-p",
       "clients/typescript", "--typeRoots", "build-npm/node_modules/@types", "--outDir", out});
  directory_.Write("typescript/package.json", R"({"type":"module"})");
  for (const char* name : {"client", "worker", "events"}) {
    const Finished run =
        RunToEnd({.args = {"/usr/bin/env", "node", "--test", out + "/test/" + name + ".test.js"},
                  .environment = {{"CAIRN_URL", "http://" + net::ToString(server_.http())}},
                  .directory = ""},
                 kLimit);
    EXPECT_TRUE(run.status.ok()) << name << " failed\n" << run.out << run.err;
  }
}

}  // namespace
}  // namespace cairn::testing
