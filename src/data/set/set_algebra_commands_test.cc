#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "data/testing/script.h"
#include "data/value/entry.h"

namespace cairn::data {
namespace {

using testing::DataServer;
using Texts = std::vector<std::string>;

class SetAlgebraTest : public ::testing::Test {
 protected:
  SetAlgebraTest() {
    server_.Play(R"(
      SADD a 1 2 3 4
      SADD b 3 4 5
      SADD c 4 5 6 7 8 9
      SET text v
    )");
  }
  ~SetAlgebraTest() override { server_.CheckConsistency(); }

  Texts Sorted(std::initializer_list<std::string_view> command) {
    doors::testing::TestClient client = server_.Connect();
    Texts texts;
    for (const net::RespValue& item : client.RunValue(command).items) texts.push_back(item.text);
    std::ranges::sort(texts);
    return texts;
  }

  DataServer server_;
};

TEST_F(SetAlgebraTest, Intersection) {
  EXPECT_EQ(Sorted({"SINTER", "a"}), (Texts{"1", "2", "3", "4"}));
  EXPECT_EQ(Sorted({"SINTER", "a", "b"}), (Texts{"3", "4"}));
  EXPECT_EQ(Sorted({"SINTER", "c", "b", "a"}), (Texts{"4"}));
  EXPECT_EQ(Sorted({"SINTER", "a", "a"}), (Texts{"1", "2", "3", "4"}));
  EXPECT_EQ(Sorted({"SINTER", "a", "nosuch", "b"}), Texts());
}

TEST_F(SetAlgebraTest, Union) {
  EXPECT_EQ(Sorted({"SUNION", "a", "b", "nosuch", "a"}), (Texts{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(Sorted({"SUNION", "b"}), (Texts{"3", "4", "5"}));
  EXPECT_EQ(Sorted({"SUNION", "nosuch"}), Texts());
}

TEST_F(SetAlgebraTest, Difference) {
  EXPECT_EQ(Sorted({"SDIFF", "a"}), (Texts{"1", "2", "3", "4"}));
  EXPECT_EQ(Sorted({"SDIFF", "a", "b"}), (Texts{"1", "2"}));
  EXPECT_EQ(Sorted({"SDIFF", "b", "a", "c"}), Texts());
  EXPECT_EQ(Sorted({"SDIFF", "a", "c"}), (Texts{"1", "2", "3"}));
  EXPECT_EQ(Sorted({"SDIFF", "a", "nosuch", "b", "c"}), (Texts{"1", "2"}));
  EXPECT_EQ(Sorted({"SDIFF", "a", "a"}), Texts());
  EXPECT_EQ(Sorted({"SDIFF", "nosuch", "a"}), Texts());
}

TEST_F(SetAlgebraTest, ResultsReplaceTheirDestination) {
  server_.Play(R"(
    SINTERSTORE d a b         => (integer) 2
    PEXPIRE d 1000
    SUNIONSTORE d a b         => (integer) 5
    PTTL d                    => (integer) -1
    SDIFFSTORE text a b       => (integer) 2
    TYPE text                 => set
    SDIFFSTORE a a b          => (integer) 2
    SCARD a                   => (integer) 2
    SINTERSTORE d a nosuch    => (integer) 0
    EXISTS d                  => (integer) 0
    SINTERSTORE d a nosuch    => (integer) 0
    SET t v
    SDIFFSTORE t b b          => (integer) 0
    EXISTS t                  => (integer) 0
    SUNIONSTORE b b           => (integer) 3
  )");
  EXPECT_EQ(Sorted({"SMEMBERS", "a"}), (Texts{"1", "2"}));
  EXPECT_EQ(Sorted({"SMEMBERS", "text"}), (Texts{"1", "2"}));
  EXPECT_EQ(Sorted({"SMEMBERS", "b"}), (Texts{"3", "4", "5"}));
  server_.FireTimers();
  EXPECT_EQ(Sorted({"SMEMBERS", "b"}), (Texts{"3", "4", "5"}));
}

TEST_F(SetAlgebraTest, SInterCardCountsUpToALimit) {
  server_.Play(R"(
    SINTERCARD 2 a b          => (integer) 2
    SINTERCARD 1 a            => (integer) 4
    SINTERCARD 2 a nosuch     => (integer) 0
    SINTERCARD 1 a LIMIT 3    => (integer) 3
    SINTERCARD 1 a LIMIT 0    => (integer) 4
    SINTERCARD 1 a LIMIT 9    => (integer) 4
    SINTERCARD 1 a LIMIT 1 limit 2 => (integer) 2
    SINTERCARD x a            => (error) ERR numkeys should be greater than 0
    SINTERCARD 0 a            => (error) ERR numkeys should be greater than 0
    SINTERCARD -1 a           => (error) ERR numkeys should be greater than 0
    SINTERCARD 2 a            => (error) ERR Number of keys can't be greater than number of args
    SINTERCARD 9223372036854775807 a => (error) ERR Number of keys can't be greater than number of args
    SINTERCARD 1 a LIMIT      => (error) ERR syntax error
    SINTERCARD 1 a b          => (error) ERR syntax error
    SINTERCARD 1 a LIMIT -1   => (error) ERR LIMIT can't be negative
    SINTERCARD 1 a LIMIT x    => (error) ERR LIMIT can't be negative
    COMMAND GETKEYS SINTERCARD 2 a b LIMIT 3 => ["a", "b"]
  )");
}

TEST_F(SetAlgebraTest, EveryKeyMustHoldASet) {
  const std::string wrong = " => (error) " + std::string(kWrongType);
  for (const char* command :
       {"SINTER a text", "SINTER nosuch text", "SINTER text nosuch", "SUNION nosuch text",
        "SDIFF nosuch text", "SDIFF a text", "SINTERSTORE text a text", "SUNIONSTORE d text",
        "SDIFFSTORE d nosuch text", "SINTERCARD 2 nosuch text"}) {
    server_.Play(command + wrong);
  }
  server_.Play(R"(
    GET text                  => "v"
    EXISTS d                  => (integer) 0
  )");
}

}  // namespace
}  // namespace cairn::data
