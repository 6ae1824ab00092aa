#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "data/testing/script.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class BitCommandsTest : public ::testing::Test {
 protected:
  ~BitCommandsTest() override { server_.CheckConsistency(); }

  DataServer server_;
};

TEST_F(BitCommandsTest, OneBitOrderForAllCommands) {
  server_.Play(R"(
    BITFIELD b SET u2 #0 1 SET u2 #1 1 SET u2 #9 2 SET u2 #10 2 => [(integer) 0, (integer) 0, (integer) 0, (integer) 0]
    STRLEN b                  => (integer) 3
    GETBIT b 1                => (integer) 1
    GETBIT b 3                => (integer) 1
    GETBIT b 18               => (integer) 1
    GETBIT b 20               => (integer) 1
    BITCOUNT b                => (integer) 4
    BITPOS b 1                => (integer) 1
    BITFIELD_RO b GET u2 #9 GET u8 0 GET i8 16 => [(integer) 2, (integer) 80, (integer) 40]
    SETBIT c 1 1
    SETBIT c 3 1
    SETBIT c 18 1
    SETBIT c 20 1
  )");
  EXPECT_EQ(server_.Run({"GET", "b"}), R"("P\x00(")");
  EXPECT_EQ(server_.Run({"GET", "c"}), R"("P\x00(")");
  EXPECT_EQ(server_.Run({"GETRANGE", "b", "2", "2"}), R"("(")");
}

TEST_F(BitCommandsTest, SingleBits) {
  server_.Play(R"(
    SETBIT k 7 1              => (integer) 0
    SETBIT k 7 1              => (integer) 1
    SETBIT k 7 0              => (integer) 1
    GETBIT k 7                => (integer) 0
    GETBIT k 100              => (integer) 0
    GETBIT nosuch 0           => (integer) 0
    SETBIT zero 9 0           => (integer) 0
    STRLEN zero               => (integer) 2
    SETBIT k -1 1             => (error) ERR bit offset is not an integer or out of range
    SETBIT k x 1              => (error) ERR bit offset is not an integer or out of range
    SETBIT k 4294967296 1     => (error) ERR bit offset is not an integer or out of range
    SETBIT k 0 2              => (error) ERR bit is not an integer or out of range
    SETBIT k 0 x              => (error) ERR bit is not an integer or out of range
    GETBIT k 4294967296       => (error) ERR bit offset is not an integer or out of range
    SET t a EX 100
    SETBIT t 0 1              => (integer) 0
    TTL t                     => (integer) 100
  )");
}

TEST_F(BitCommandsTest, TheLastBitOfTheLongestString) {
  server_.Play(R"(
    SETBIT k 4294967295 1     => (integer) 0
    STRLEN k                  => (integer) 536870912
    GETBIT k 4294967295       => (integer) 1
    GETBIT k 4294967294       => (integer) 0
    BITCOUNT k                => (integer) 1
    BITCOUNT k 0 -2           => (integer) 0
    BITPOS k 1                => (integer) 4294967295
    BITPOS k 0                => (integer) 0
    BITPOS k 0 -1             => (integer) 4294967288
    APPEND k x                => (error) ERR string exceeds maximum allowed size (proto-max-bulk-len)
    SETRANGE k 536870911 xx   => (error) ERR string exceeds maximum allowed size (proto-max-bulk-len)
    BITFIELD k SET u8 4294967290 1 => (error) ERR string exceeds maximum allowed size (proto-max-bulk-len)
  )");
  EXPECT_EQ(server_.Run({"GETRANGE", "k", "-2", "-1"}), R"("\x00\x01")");
}

TEST_F(BitCommandsTest, CountingRanges) {
  server_.Play(R"(
    SET k foobar
    BITCOUNT k                => (integer) 26
    BITCOUNT k 0 0            => (integer) 4
    BITCOUNT k 1 1            => (integer) 6
    BITCOUNT k 1 1 BYTE       => (integer) 6
    BITCOUNT k 5 30 BIT       => (integer) 17
    BITCOUNT k 0 -1 BIT       => (integer) 26
    BITCOUNT k -6 -7          => (integer) 0
    BITCOUNT k -6 -7 FOO      => (integer) 0
    BITCOUNT k 6 100          => (integer) 0
    BITCOUNT k 0              => (error) ERR syntax error
    BITCOUNT k 0 1 FOO        => (error) ERR syntax error
    BITCOUNT k x 1            => (error) ERR value is not an integer or out of range
    BITCOUNT k 0 1 BIT x      => (error) ERR syntax error
    BITCOUNT nosuch           => (integer) 0
    BITCOUNT nosuch 0         => (integer) 0
  )");
}

TEST_F(BitCommandsTest, FindingBits) {
  auto client = server_.Connect();
  client.Run({"SET", "ones", "\xff\xff\xff"});
  client.Run({"SET", "k", std::string("\xff\xf0\x00", 3)});
  client.Run({"SET", "z", std::string("\x00\x00\x00", 3)});
  server_.Play(R"(
    BITPOS k 0                => (integer) 12
    BITPOS k 1                => (integer) 0
    BITPOS k 1 2              => (integer) -1
    BITPOS k 1 9 20 BIT       => (integer) 9
    BITPOS k 0 3 10 BIT       => (integer) -1
    BITPOS k 0 0 0            => (integer) -1
    BITPOS k 0 2 -1 BYTE      => (integer) 16
    BITPOS k 1 -2             => (integer) 8
    BITPOS z 1                => (integer) -1
    BITPOS z 0 1              => (integer) 8
    BITPOS ones 0             => (integer) 24
    BITPOS ones 0 1           => (integer) 24
    BITPOS ones 0 0 -1        => (integer) -1
    BITPOS ones 0 7 15 BIT    => (integer) -1
    BITPOS ones 0 5           => (integer) -1
    BITPOS nosuch 0           => (integer) 0
    BITPOS nosuch 1           => (integer) -1
    BITPOS k 2                => (error) ERR The bit argument must be 1 or 0.
    BITPOS k x                => (error) ERR value is not an integer or out of range
    BITPOS k 1 0 1 FOO        => (error) ERR syntax error
    BITPOS k 1 0 1 BIT x      => (error) ERR syntax error
    BITPOS k 1 0 BIT          => (error) ERR value is not an integer or out of range
  )");
}

TEST_F(BitCommandsTest, Combining) {
  auto client = server_.Connect();
  client.Run({"SET", "a", "\xf0\x0f"});
  client.Run({"SET", "b", "\xff"});
  server_.Play(R"(
    BITOP AND and a b         => (integer) 2
    BITOP OR or a b           => (integer) 2
    BITOP xor xor a b nosuch  => (integer) 2
    BITOP NOT not a           => (integer) 2
    BITOP NOT not a b         => (error) ERR BITOP NOT must be called with a single source key.
    BITOP FOO x a             => (error) ERR syntax error
    SET t x EX 100
    BITOP AND t a             => (integer) 2
    TTL t                     => (integer) -1
    BITOP AND t nosuch        => (integer) 0
    EXISTS t                  => (integer) 0
    BITOP OR a a b            => (integer) 2
  )");
  EXPECT_EQ(server_.Run({"GET", "and"}), R"("\xf0\x00")");
  EXPECT_EQ(server_.Run({"GET", "or"}), R"("\xff\x0f")");
  EXPECT_EQ(server_.Run({"GET", "xor"}), R"("\x0f\x0f")");
  EXPECT_EQ(server_.Run({"GET", "not"}), R"("\x0f\xf0")");
  EXPECT_EQ(server_.Run({"GET", "a"}), R"("\xff\x0f")");
}

TEST_F(BitCommandsTest, CombiningLargeStrings) {
  const std::string a(300'000, '\x3c');
  const std::string b(20'000, '\x0f');
  auto client = server_.Connect();
  client.Run({"SET", "a", a});
  client.Run({"SET", "b", b});
  EXPECT_EQ(client.Run({"BITOP", "AND", "b", "a", "b"}), "(integer) 300000");
  EXPECT_EQ(client.RunValue({"GET", "b"}).text,
            std::string(20'000, '\x0c') + std::string(280'000, '\0'));
  EXPECT_EQ(client.Run({"BITOP", "NOT", "a", "a"}), "(integer) 300000");
  EXPECT_EQ(client.RunValue({"GET", "a"}).text, std::string(300'000, '\xc3'));
  EXPECT_EQ(client.Run({"BITCOUNT", "b"}), "(integer) 40000");
}

TEST_F(BitCommandsTest, AVeryLowValueSaturatesUpwardsAsInRedis) {
  server_.Play(R"(
    BITFIELD b OVERFLOW SAT SET i32 17 -9223372036854775808 GET i32 17 => [(integer) 0, (integer) 2147483647]
    BITFIELD c OVERFLOW SAT SET i32 17 -9223372000000000000 GET i32 17 => [(integer) 0, (integer) -2147483648]
    BITFIELD d OVERFLOW SAT SET i32 17 -5000000000 GET i32 17          => [(integer) 0, (integer) -2147483648]
  )");
}

TEST_F(BitCommandsTest, PlacesBeforeTheBeginningInTheWrongOrder) {
  server_.Play(R"(
    SET s abc
    BITPOS s 0 -8 -9     => (integer) 0
    BITCOUNT s -8 -9     => (integer) 0
  )");
}

TEST_F(BitCommandsTest, FieldsOverflowAsAskedFor) {
  server_.Play(R"(
    BITFIELD k SET u8 0 255                     => [(integer) 0]
    BITFIELD k INCRBY u8 0 1                    => [(integer) 0]
    BITFIELD k OVERFLOW SAT INCRBY u8 0 300     => [(integer) 255]
    BITFIELD k OVERFLOW FAIL INCRBY u8 0 1      => [(nil)]
    BITFIELD k OVERFLOW SAT INCRBY u8 0 -300    => [(integer) 0]
    BITFIELD k OVERFLOW FAIL INCRBY u8 0 -1     => [(nil)]
    BITFIELD k INCRBY u8 0 -1                   => [(integer) 255]
    BITFIELD i SET i8 0 127 INCRBY i8 0 1       => [(integer) 0, (integer) -128]
    BITFIELD i OVERFLOW SAT INCRBY i8 0 -1      => [(integer) -128]
    BITFIELD i OVERFLOW SAT SET i8 0 1000 GET i8 0 => [(integer) -128, (integer) 127]
    BITFIELD i OVERFLOW FAIL SET i8 0 1000 GET i8 0 => [(nil), (integer) 127]
    BITFIELD i SET i8 0 -129 GET i8 0           => [(integer) 127, (integer) 127]
    BITFIELD u OVERFLOW SAT SET u4 0 -1 GET u4 0 => [(integer) 0, (integer) 15]
    BITFIELD w SET i64 3 -9223372036854775808 INCRBY i64 3 -1 => [(integer) 0, (integer) 9223372036854775807]
    BITFIELD w OVERFLOW SAT INCRBY i64 3 1      => [(integer) 9223372036854775807]
    BITFIELD w SET u63 3 -1 GET u63 3 GET u1 66 => [(integer) 4611686018427387903, (integer) 9223372036854775807, (integer) 1]
    BITFIELD none                               => []
    EXISTS none                                 => (integer) 0
    BITFIELD none GET u8 100                    => [(integer) 0]
    EXISTS none                                 => (integer) 0
    BITFIELD none OVERFLOW FAIL INCRBY u2 0 9   => [(nil)]
    STRLEN none                                 => (integer) 1
  )");
}

TEST_F(BitCommandsTest, FieldArgumentsAreChecked) {
  const std::string type =
      "(error) ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not "
      "supported "
      "but i64 is.";
  for (const char* bad : {"u64", "i65", "u0", "x8", "u", "i-1"}) {
    server_.Play("BITFIELD k GET " + std::string(bad) + " 0 => " + type);
  }
  server_.Play(R"(
    BITFIELD k GET u8         => (error) ERR syntax error
    BITFIELD k FOO u8 0       => (error) ERR syntax error
    BITFIELD k SET u8 0       => (error) ERR syntax error
    BITFIELD k GET u8 -1      => (error) ERR bit offset is not an integer or out of range
    BITFIELD k GET u8 #-1     => (error) ERR bit offset is not an integer or out of range
    BITFIELD k GET u8 #9223372036854775807 => (error) ERR bit offset is not an integer or out of range
    BITFIELD k SET u8 0 x     => (error) ERR value is not an integer or out of range
    BITFIELD k OVERFLOW FOO   => (error) ERR Invalid OVERFLOW type specified
    BITFIELD k OVERFLOW       => (error) ERR syntax error
    BITFIELD_RO k SET u8 0 1  => (error) ERR BITFIELD_RO only supports the GET subcommand
    EXISTS k                  => (integer) 0
  )");
}

// All bit commands on strings around the size at which they become segmented, against a vector of
// bits.
class BitModelTest : public BitCommandsTest, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(BitModelTest, AgreesWithAVectorOfBits) {
  constexpr size_t kBits = 100'000;
  SeededRandom random(GetParam());
  std::vector<bool> model;
  const auto number = [](auto value) { return "(integer) " + std::to_string(value); };
  for (int step = 0; step < 400 && !HasFailure(); ++step) {
    const size_t bit = random.Below(step < 100 ? 60'000 : kBits);
    const size_t end = bit + random.Below(40'000);
    switch (random.Below(6)) {
      case 0:
      case 1: {
        const bool value = random.Below(2) == 1;
        if (model.size() <= bit) model.resize((bit / 8 + 1) * 8);
        EXPECT_EQ(server_.Run({"SETBIT", "k", std::to_string(bit), value ? "1" : "0"}),
                  number(model[bit] ? 1 : 0));
        model[bit] = value;
        break;
      }
      case 2:
        EXPECT_EQ(server_.Run({"GETBIT", "k", std::to_string(bit)}),
                  number(bit < model.size() && model[bit] ? 1 : 0));
        break;
      case 3: {
        size_t count = 0;
        for (size_t i = bit; i <= end && i < model.size(); ++i) count += model[i] ? 1 : 0;
        EXPECT_EQ(server_.Run({"BITCOUNT", "k", std::to_string(bit), std::to_string(end), "BIT"}),
                  number(count));
        break;
      }
      case 4: {
        const bool value = random.Below(2) == 1;
        int64_t found = -1;
        for (size_t i = bit; i <= end && i < model.size() && found < 0; ++i) {
          if (model[i] == value) found = static_cast<int64_t>(i);
        }
        if (model.empty() && !value) found = 0;
        EXPECT_EQ(server_.Run({"BITPOS", "k", value ? "1" : "0", std::to_string(bit),
                               std::to_string(end), "BIT"}),
                  number(found));
        break;
      }
      default: {
        const size_t width = 1 + random.Below(63);
        const uint64_t value = random.Below(UINT64_MAX) & ((uint64_t{1} << width) - 1);
        if (model.size() < bit + width) model.resize((bit + width + 7) / 8 * 8);
        const std::string type = "u" + std::to_string(width);
        EXPECT_EQ(server_
                      .Run({"BITFIELD", "k", "SET", type, std::to_string(bit),
                            std::to_string(value), "GET", type, std::to_string(bit)})
                      .ends_with(number(value) + "]"),
                  true);
        for (size_t i = 0; i < width; ++i) model[bit + i] = (value >> (width - 1 - i) & 1) != 0;
        break;
      }
    }
    if (step % 150 == 149) server_.Restart();
  }
  EXPECT_EQ(server_.Run({"STRLEN", "k"}), number(model.size() / 8));
}

INSTANTIATE_TEST_SUITE_P(Seeds, BitModelTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace cairn::data
