#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/keyspace/rdb_format.h"
#include "data/testing/script.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class DumpCommandsTest : public ::testing::Test {
 protected:
  ~DumpCommandsTest() override { server_.CheckConsistency(); }

  std::string Dump(const std::string& key) {
    return server_.Connect().RunValue({"DUMP", key}).text;
  }

  DataServer server_;
};

TEST_F(DumpCommandsTest, EveryTypeComesBack) {
  server_.Run({"SET", "large", std::string(20'000, 'x')});
  server_.Play(R"(
    SET s hello
    SET n 12345
    HSET h f v n 1
    SADD set a b
    RPUSH l a b c
  )");
  for (const char* key : {"large", "s", "n", "h", "set", "l"}) {
    EXPECT_EQ(server_.Run({"RESTORE", std::string("copy:") + key, "0", Dump(key)}), "OK") << key;
  }
  server_.Play(R"(
    GET copy:s                => "hello"
    INCR copy:n               => (integer) 12346
    HMGET copy:h f n          => ["v", "1"]
    HLEN copy:h               => (integer) 2
    SMISMEMBER copy:set a b c => [(integer) 1, (integer) 1, (integer) 0]
    SCARD copy:set            => (integer) 2
    LRANGE copy:l 0 -1        => ["a", "b", "c"]
    STRLEN copy:large         => (integer) 20000
    DUMP nosuch               => (nil)
  )");
}

TEST_F(DumpCommandsTest, SortedSetsComeBackInOrder) {
  RdbWriter given(RdbType::kSortedSet2);
  given.Length(300);
  RdbWriter ordered(RdbType::kSortedSet2);
  ordered.Length(300);
  for (int i = 0; i < 300; ++i) {
    given.String("m" + std::to_string(1299 - i));
    given.Double(-0.5 * i);
    ordered.String("m" + std::to_string(1000 + i));
    ordered.Double(-0.5 * (299 - i));
  }
  EXPECT_EQ(server_.Run({"RESTORE", "z", "0", std::move(given).Finish()}), "OK");
  EXPECT_EQ(server_.Run({"TYPE", "z"}), "zset");
  // There is one zero, so -0 comes back as 0.
  const std::optional<RdbValue> dumped = DecodeRdbValue(Dump("z"));
  const std::optional<RdbValue> expected = DecodeRdbValue(std::move(ordered).Finish());
  ASSERT_TRUE(dumped && expected);
  EXPECT_EQ(dumped->scores, expected->scores);
}

TEST_F(DumpCommandsTest, StreamsComeBackWithTheirGroups) {
  server_.Play(R"(
    XADD s 5-1 a 1 b two
    XADD s 5-2 a 300 b x
    XADD s 6-0 other 70000
    XADD s 7-3 a -5 b 5000000000
    XADD s 8-0 a "" b z a again
    XDEL s 5-2
    XGROUP CREATE s g 0
    XREADGROUP GROUP g c1 COUNT 2 STREAMS s >
    XREADGROUP GROUP g c2 COUNT 1 STREAMS s >
    XGROUP CREATECONSUMER s g idle
    XGROUP CREATE s h 8-0 ENTRIESREAD 5
    XADD empty 3-3 a b
    XDEL empty 3-3
  )");
  for (const char* key : {"s", "empty"}) {
    EXPECT_EQ(server_.Run({"RESTORE", std::string("copy:") + key, "0", Dump(key)}), "OK") << key;
    EXPECT_EQ(server_.Run({"XINFO", "STREAM", std::string("copy:") + key, "FULL"}),
              server_.Run({"XINFO", "STREAM", key, "FULL"}));
  }
  server_.Play(R"(
    XRANGE copy:s 6 7         => [["6-0", ["other", "70000"]], ["7-3", ["a", "-5", "b", "5000000000"]]]
    XADD copy:s 8-0 a b       => (error) ERR The ID specified in XADD is equal or smaller than the target stream top item
    XACK copy:s g 6-0 5-2     => (integer) 1
    XPENDING copy:s g         => [(integer) 2, "5-1", "7-3", [["c1", "1"], ["c2", "1"]]]
    XGROUP DELCONSUMER copy:s g c1 => (integer) 1
    XADD copy:empty 3-3 a b   => (error) ERR The ID specified in XADD is equal or smaller than the target stream top item
  )");
}

TEST_F(DumpCommandsTest, LongStreamsComeBack) {
  for (int i = 1; i <= 250; ++i) {
    server_.Run({"XADD", "s", std::to_string(i) + "-1", "f", std::string(100, 'v'), "i",
                 std::to_string(i * 1'000)});
  }
  server_.Run({"XADD", "s", "251-1", "large", std::string(10'000, 'v')});
  EXPECT_EQ(server_.Run({"RESTORE", "t", "0", Dump("s")}), "OK");
  EXPECT_EQ(server_.Run({"XRANGE", "t", "-", "+"}), server_.Run({"XRANGE", "s", "-", "+"}));
  // As in Redis: 35 such entries fill a node.
  server_.Play("XTRIM t MAXLEN ~ 120 => (integer) 105\nXLEN t => (integer) 146");
}

TEST_F(DumpCommandsTest, DocumentsComeBack) {
  const std::string large = std::string(R"({"list":[")") + std::string(3'000, 'x') +
                            R"(",1,-2.5,true,null],"n":18446744073709551615,"o":{}})";
  server_.Run({"JSON.SET", "large", "$", large});
  server_.Run({"JSON.SET", "small", "$", "[1,2]"});
  for (const char* key : {"large", "small"}) {
    EXPECT_EQ(server_.Run({"RESTORE", std::string("copy:") + key, "5000", Dump(key)}), "OK");
    EXPECT_EQ(server_.Run({"JSON.GET", std::string("copy:") + key}),
              server_.Run({"JSON.GET", key}));
  }
  server_.Play("PTTL copy:large => (integer) 5000");
}

TEST_F(DumpCommandsTest, ExpiryAndReplacement) {
  server_.Play("SET k v");
  const std::string dump = Dump("k");
  const auto restore = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> command = {"RESTORE", "k"};
    command.insert(command.end(), more);
    command.insert(command.begin() + 3, dump);
    return server_.Run(command);
  };
  EXPECT_EQ(restore({"0"}), "(error) BUSYKEY Target key name already exists.");
  server_.Play("DEL k\nRPUSH k x");
  EXPECT_EQ(restore({"5000", "REPLACE"}), "OK");
  server_.Play("GET k => \"v\"\nPTTL k => (integer) 5000");
  EXPECT_EQ(restore({"2000000000000", "REPLACE", "ABSTTL", "IDLETIME", "7"}), "OK");
  server_.Play("PEXPIRETIME k => (integer) 2000000000000");
  EXPECT_EQ(restore({"1", "REPLACE", "ABSTTL"}), "OK");
  server_.Play("EXISTS k => (integer) 0");
  EXPECT_EQ(restore({"0", "FREQ", "255"}), "OK");
  server_.Play("TTL k => (integer) -1");
}

TEST_F(DumpCommandsTest, BadRequestsChangeNothing) {
  server_.Play("SET k v");
  const std::string dump = Dump("k");
  std::string damaged = dump;
  damaged[1] ^= 1;
  RdbWriter empty(RdbType::kSet);
  empty.Length(0);
  const std::string bad = std::move(empty).Finish();
  const auto expect = [&](const std::vector<std::string>& args, const std::string& error) {
    std::vector<std::string> command = {"RESTORE"};
    command.insert(command.end(), args.begin(), args.end());
    EXPECT_EQ(server_.Run(command), "(error) " + error);
  };
  expect({"x", "0", damaged}, "ERR DUMP payload version or checksum are wrong");
  expect({"x", "0", "short"}, "ERR DUMP payload version or checksum are wrong");
  expect({"x", "0", bad}, "ERR Bad data format");
  expect({"x", "-1", dump}, "ERR Invalid TTL value, must be >= 0");
  expect({"x", "y", dump}, "ERR value is not an integer or out of range");
  expect({"x", "0", dump, "FOO"}, "ERR syntax error");
  expect({"x", "0", dump, "IDLETIME"}, "ERR syntax error");
  expect({"x", "0", dump, "IDLETIME", "-1"}, "ERR Invalid IDLETIME value, must be >= 0");
  expect({"x", "0", dump, "FREQ", "256"}, "ERR Invalid FREQ value, must be >= 0 and <= 255");
  expect({"x", "0", dump, "FREQ", "1", "IDLETIME", "1"}, "ERR syntax error");
  expect({"k", "0", bad, "REPLACE"}, "ERR Bad data format");
  server_.Play(R"(
    EXISTS x                  => (integer) 0
    GET k                     => "v"
  )");
}

}  // namespace
}  // namespace cairn::data
