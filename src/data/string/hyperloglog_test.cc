#include "data/string/hyperloglog.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "data/testing/script.h"

namespace cairn::data {
namespace {

using testing::DataServer;

HyperLogLog WithElements(int count, const std::string& prefix = "element:") {
  HyperLogLog sketch;
  for (int i = 0; i < count; ++i) sketch.Add(prefix + std::to_string(i));
  return sketch;
}

// As a Redis 7.0 has answered.
TEST(HyperLogLogTest, EstimatesEqualThoseOfRedis) {
  const std::vector<std::pair<int, uint64_t>> known = {
      {0, 0},      {1, 1},       {10, 10},       {100, 99},
      {1000, 997}, {3000, 3002}, {20000, 19986}, {100000, 100039},
  };
  for (const auto& [count, estimate] : known) {
    EXPECT_EQ(WithElements(count).Estimate(), estimate) << count;
  }
}

TEST(HyperLogLogTest, GoldenBytes) {
  HyperLogLog sketch;
  EXPECT_EQ(HexEncode(sketch.Encode()), "48594c4c0100000000000000000000807fff");
  for (const char* element : {"a", "b", "c"}) EXPECT_TRUE(sketch.Add(element));
  EXPECT_FALSE(sketch.Add("a"));
  EXPECT_EQ(HexEncode(sketch.Encode()), "48594c4c01000000000000000000008060f38050b1844bfb80425a");
}

TEST(HyperLogLogTest, BothEncodingsRoundTrip) {
  for (const int count : {0, 1, 500, 1500, 5000, 50000}) {
    const HyperLogLog sketch = WithElements(count);
    const Bytes bytes = sketch.Encode();
    const Result<HyperLogLog> decoded = HyperLogLog::Decode(bytes);
    ASSERT_TRUE(decoded.ok()) << count;
    EXPECT_EQ(decoded->Encode(), bytes);
    EXPECT_EQ(decoded->Estimate(), sketch.Estimate());
    EXPECT_EQ(bytes.size() == 12304, count >= 5000) << count;
  }
}

TEST(HyperLogLogTest, AKnownEstimateIsTakenFromTheHeader) {
  Bytes bytes = WithElements(10).Encode();
  bytes.replace(8, 8, std::string("\x07\0\0\0\0\0\0\0", 8));
  Result<HyperLogLog> decoded = HyperLogLog::Decode(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->Estimate(), 7U);
  decoded->Add("new");
  EXPECT_EQ(decoded->Estimate(), 11U);
}

TEST(HyperLogLogTest, DamagedBytesAreRefused) {
  const Bytes sparse = WithElements(100).Encode();
  const Bytes dense = WithElements(10000).Encode();
  for (size_t size = 0; size < sparse.size(); ++size) {
    EXPECT_FALSE(HyperLogLog::Decode(sparse.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(HyperLogLog::Decode(sparse + '\0').ok());
  EXPECT_FALSE(HyperLogLog::Decode(dense + '\0').ok());
  EXPECT_FALSE(HyperLogLog::Decode(dense.substr(0, 12303)).ok());
  Bytes full = dense;
  full.replace(16, 12288, std::string(12288, '\xff'));
  EXPECT_FALSE(HyperLogLog::Decode(full).ok());
  Bytes other = sparse;
  other[4] = 2;
  EXPECT_FALSE(HyperLogLog::Decode(other).ok());
}

class HyperLogLogCommandsTest : public ::testing::Test {
 protected:
  ~HyperLogLogCommandsTest() override { server_.CheckConsistency(); }

  DataServer server_;
};

TEST_F(HyperLogLogCommandsTest, AddCountMerge) {
  server_.Play(R"(
    PFADD h                   => (integer) 1
    PFADD h                   => (integer) 0
    PFADD h a b c             => (integer) 1
    PFADD h a b               => (integer) 0
    PFCOUNT h                 => (integer) 3
    PFCOUNT nosuch            => (integer) 0
    PFADD g c d
    PFCOUNT h g nosuch        => (integer) 4
    EXPIRE h 100
    PFMERGE h g nosuch        => OK
    PFCOUNT h                 => (integer) 4
    TTL h                     => (integer) 100
    PFMERGE new               => OK
    PFCOUNT new               => (integer) 0
    TYPE h                    => string
  )");
}

TEST_F(HyperLogLogCommandsTest, GrowsDenseAndOutlivesARestart) {
  auto client = server_.Connect();
  for (int i = 0; i < 20000; i += 500) {
    std::vector<std::string> command = {"PFADD", "h"};
    for (int j = i; j < i + 500; ++j) command.push_back("element:" + std::to_string(j));
    client.Run(command);
  }
  EXPECT_EQ(client.Run({"PFCOUNT", "h"}), "(integer) 19986");
  EXPECT_EQ(client.Run({"STRLEN", "h"}), "(integer) 12304");
  EXPECT_EQ(client.Run({"PFMERGE", "copy", "h"}), "OK");
  server_.Restart();
  EXPECT_EQ(server_.Run({"PFCOUNT", "h", "copy"}), "(integer) 19986");
  EXPECT_EQ(server_.Run({"PFCOUNT", "copy"}), "(integer) 19986");
}

TEST_F(HyperLogLogCommandsTest, DebugShowsHowItIsStored) {
  server_.Play(R"(
    PFADD h a b c
    PFDEBUG ENCODING h        => sparse
    PFDEBUG TODENSE h         => (integer) 1
    PFDEBUG TODENSE h         => (integer) 0
    PFDEBUG ENCODING h        => dense
    PFCOUNT h                 => (integer) 3
    STRLEN h                  => (integer) 12304
    PFDEBUG ENCODING nosuch   => (error) ERR The specified key does not exist
    PFDEBUG FOO h             => (error) ERR Unknown PFDEBUG subcommand 'FOO'
    PFSELFTEST                => OK
  )");
  const net::RespValue registers = server_.Connect().RunValue({"PFDEBUG", "GETREG", "h"});
  EXPECT_EQ(registers.items.size(), HyperLogLog::kRegisters);
}

TEST_F(HyperLogLogCommandsTest, OtherStringsAreRefused) {
  server_.Play(R"(
    SET s hello
    PFADD s a                 => (error) WRONGTYPE Key is not a valid HyperLogLog string value.
    PFCOUNT s                 => (error) WRONGTYPE Key is not a valid HyperLogLog string value.
    PFCOUNT nosuch s          => (error) WRONGTYPE Key is not a valid HyperLogLog string value.
    PFMERGE x s               => (error) WRONGTYPE Key is not a valid HyperLogLog string value.
    EXISTS x                  => (integer) 0
  )");
  server_.Run({"SET", "bad", std::string("HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x01", 17)});
  server_.Play("PFADD bad x => (error) INVALIDOBJ Corrupted HLL object detected");
}

}  // namespace
}  // namespace cairn::data
