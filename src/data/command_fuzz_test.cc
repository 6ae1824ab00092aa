#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "data/testing/script.h"
#include "doors/resp/command_table.h"

// Requests made of every row of the command table and of arguments that may or may not make sense:
// each gets a reply, and what is stored stays consistent.
namespace cairn::data {
namespace {

using doors::testing::TestClient;
using testing::DataServer;

using Texts = std::vector<std::string>;

// Rows that end the server, the connection or its habit of replying, or that may wait as long as
// they are told to.
bool IsLeftOut(std::string_view name) {
  static const std::set<std::string_view> kNames = {
      "shutdown",    "quit",         "monitor",      "subscribe",    "psubscribe",  "ssubscribe",
      "unsubscribe", "punsubscribe", "sunsubscribe", "client|reply", "client|kill", "client|pause",
      "hello",       "auth",         "wait",         "debug",        "sync",        "psync",
      "config|set",  "acl|setuser",  "acl|deluser",  "acl|load",     "multi",       "exec",
      "discard",     "reset",        "failover",     "bgsave",       "save"};
  return kNames.contains(name);
}

// What arguments are made of, besides the words of each row's own syntax.
constexpr auto kKeys = std::to_array<std::string_view>(
    {"str", "num", "hash", "set", "zset", "list", "stream", "json", "hll", "geo", "long", "none"});
constexpr auto kMembers = std::to_array<std::string_view>(
    {"a",  "b",  "f",      "g1", "alice", "1-1", "0-0",           "*",   "$",  ">",
     "-",  "+",  "[a",     "(b", "$.a",   ".",   "{\"a\":[1,2]}", "[*]", "u8", "i64",
     "#1", "km", "string", "=",  "~"});
// Counts are huge or small: those between would be answered in full.
constexpr auto kNumbers = std::to_array<std::string_view>({"0",
                                                           "1",
                                                           "2",
                                                           "3",
                                                           "-1",
                                                           "-2",
                                                           "10",
                                                           "0.5",
                                                           "1.5",
                                                           "-0",
                                                           "inf",
                                                           "-inf",
                                                           "nan",
                                                           "1e308",
                                                           "4294967296",
                                                           "9223372036854775807",
                                                           "-9223372036854775808",
                                                           "-9223372036854775807",
                                                           "18446744073709551615",
                                                           "99999999999999999999",
                                                           "007",
                                                           "1e5"});

class CommandFuzzTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    const doors::CommandTable& table = server_.instance().commands();
    for (size_t i = 0; i < table.row_count(); ++i) {
      const doors::Command& row = table.row(i);
      if (row.subcommands.empty() && !IsLeftOut(row.name)) rows_.push_back(&row);
    }
    ASSERT_GT(rows_.size(), 200U);
    Refill();
  }

  void Refill() {
    server_.Play(R"(
      FLUSHALL
      SET str hello
      SET num 10 EX 100000
      HSET hash f 1 a two
      SADD set a b 1
      ZADD zset 1 a 2 b 3 c
      RPUSH list a b c 1 2 3
      XADD stream 1-1 f v
      XADD stream 2-1 f v
      XGROUP CREATE stream g1 0
      XREADGROUP GROUP g1 alice COUNT 1 STREAMS stream >
      GEOADD geo 13.361389 38.115556 a 15.087269 37.502669 b
      PFADD hll a b c
      SETRANGE long 20000 x
    )");
    ASSERT_EQ(server_.Run({"JSON.SET", "json", "$", R"({"a":[1,2,{"b":"c"}],"f":1.5})"}), "OK");
  }

  template <size_t size>
  std::string OneOf(const std::array<std::string_view, size>& choices) {
    return std::string(choices[random_.Below(size)]);
  }

  std::string Garbage() {
    std::string bytes(random_.Below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_.Below(256));
    return bytes;
  }

  // A word in capitals of the row's syntax.
  std::string Option(const doors::Command& row) {
    Texts options;
    std::string word;
    for (const char c : std::string(row.syntax) + " ") {
      if ((c >= 'A' && c <= 'Z') || c == '_') {
        word += c;
      } else {
        if (word.size() > 1) options.push_back(word);
        word.clear();
      }
    }
    return options.empty() ? "WITHSCORES" : options[random_.Below(options.size())];
  }

  std::string Argument(const doors::Command& row) {
    switch (random_.Below(12)) {
      case 0:
      case 1:
      case 2:
        return OneOf(kKeys);
      case 3:
      case 4:
      case 5:
        return OneOf(kNumbers);
      case 6:
      case 7:
        return OneOf(kMembers);
      case 8:
      case 9:
        return Option(row);
      case 10:
        return random_.Below(3) == 0 ? std::string() : Garbage();
      default:
        return std::string(1, static_cast<char>('a' + random_.Below(6)));
    }
  }

  // Mostly as many arguments as the row takes, and keys where it has keys.
  Texts AnyRequest() {
    const doors::Command& row = *rows_[random_.Below(rows_.size())];
    Texts request;
    std::istringstream name{std::string(row.name)};
    for (std::string part; std::getline(name, part, '|');) request.push_back(part);
    const auto least = static_cast<size_t>(std::abs(row.arity));
    size_t size = least + (row.arity < 0 ? random_.Below(6) : 0);
    if (random_.Below(20) == 0) size = random_.Below(10);
    while (request.size() < size) request.push_back(Argument(row));
    for (const doors::KeySpec& spec : row.keys) {
      const auto at = static_cast<size_t>(std::max(spec.first, 0));
      if (at > 0 && at < request.size() && random_.Below(8) != 0) request[at] = OneOf(kKeys);
    }
    return request;
  }

  static std::string ToText(const Texts& request) {
    std::string text;
    for (const std::string& arg : request) text += "'" + Printable(arg) + "' ";
    return text;
  }

  // Fails the test if there is no reply, as when the server has closed the connection.
  void Expect(const Texts& request) {
    const Result<net::RespValue> reply = client_.raw().Command(request);
    ASSERT_TRUE(reply.ok()) << ToText(request) << reply.error().message;
    ++requests_;
    refused_ += reply->type == net::RespValue::Type::kError ? 1 : 0;
  }

  // What blocks would wait for nobody.
  static bool MayBlock(const Texts& request) {
    return request[0].starts_with('b') || request[0].starts_with("xread");
  }

  void InTransaction() {
    Expect({"MULTI"});
    for (uint64_t n = random_.Below(6); n > 0; --n) Expect(AnyRequest());
    Expect({random_.Below(8) == 0 ? "DISCARD" : "EXEC"});
  }

  void InScript() {
    Texts request = AnyRequest();
    request.insert(request.begin(), {"EVAL", "return redis.pcall(unpack(ARGV))", "0"});
    Expect(request);
  }

  void Step() {
    switch (random_.Below(6)) {
      case 0:
        return InTransaction();
      case 1:
        return InScript();
      default:
        break;
    }
    const Texts request = AnyRequest();
    if (MayBlock(request)) {
      Expect({"MULTI"});
      Expect(request);
      Expect({"EXEC"});
    } else {
      Expect(request);
    }
  }

  SeededRandom random_{GetParam()};
  DataServer server_;
  TestClient client_ = server_.Connect();
  std::vector<const doors::Command*> rows_;
  uint64_t requests_ = 0;
  uint64_t refused_ = 0;
};

TEST_P(CommandFuzzTest, EveryRequestGetsAReply) {
  for (int i = 0; requests_ < 5000 && !HasFatalFailure(); ++i) {
    Step();
    if (i % 100 == 0) {
      Refill();
      Expect({"SELECT", "0"});
    }
    if (i % 1000 == 0) server_.FireTimers();
  }
  server_.CheckConsistency();
  fmt::print("{} requests, {} refused, seed {}\n", requests_, refused_, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CommandFuzzTest, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace cairn::data
