#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "tests/differential/generator.h"
#include "tests/differential/peers.h"
#include "tests/differential/valid_requests.h"

// Every command with every kind of mistake: the error is Redis's, to the byte, and nothing has
// changed.
namespace cairn::testing {
namespace {

constexpr std::array<std::string_view, 9> kKeys = {"str",    "hash", "set", "zset", "list",
                                                   "stream", "hll",  "lex", "none"};

// What stands in place of each argument. Too much for what is bounded, but nothing that a server
// would have to be big for.
constexpr std::array<std::string_view, 11> kWrong = {
    "abc", "",       "1.5",        "99999999999999999999", "-1",
    "nan", "NOSUCH", "4294967296", "9223372036854775807",  "-9223372036854775808",
    " 1"};

// Commands that have no line in kValidRequests.
const std::set<std::string>& LeftOut() {
  static const std::set<std::string> kNames = {
      // They would end, stop or mislead the connection or the server.
      "shutdown", "debug", "monitor", "quit", "client|kill", "client|pause", "client|reply",
      "config|set", "subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe",
      "sunsubscribe", "failover", "replicaof", "slaveof", "psync", "migrate", "sync", "replconf",
      "save", "bgsave", "bgrewriteaof", "acl|setuser", "acl|load", "acl|save",
      // What they say depends on which commands there are, or on modules and a cluster.
      "command|list", "module|help", "module|list", "module|load", "module|loadex", "module|unload",
      "asking", "cluster|countkeysinslot", "cluster|getkeysinslot", "cluster|help", "cluster|info",
      "cluster|keyslot", "cluster|links", "cluster|reset", "cluster|myid", "cluster|nodes",
      "cluster|shards", "cluster|slots", "latency|histogram", "latency|graph", "latency|help"};
  return kNames;
}

// Commands whose successes differ between any two servers: by time, order, chance, or how values
// are kept. Their errors do not.
const std::set<std::string>& OwnSuccess() {
  static const std::set<std::string> kNames = {
      "ttl",         "pttl",     "keys",    "scan",     "hscan",     "sscan",       "zscan",
      "smembers",    "sinter",   "sunion",  "sdiff",    "spop",      "srandmember", "hrandfield",
      "zrandmember", "hkeys",    "hvals",   "hgetall",  "randomkey", "dump",        "object",
      "memory",      "info",     "time",    "lastsave", "hello",     "client",      "command",
      "config",      "acl",      "slowlog", "latency",  "lolwut",    "role",        "xinfo",
      "function",    "xpending", "reset"};
  return kNames;
}

// Requests that Cairn answers differently on purpose, as they begin.
constexpr std::array<std::string_view, 1> kDifferent = {
    // Not available.
    "'DUMP' 'stream'"};

std::vector<std::string> Words(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string ToText(const Request& request) {
  std::string text;
  for (const std::string& arg : request) text += "'" + Printable(arg) + "' ";
  return text;
}

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool IsKey(const std::string& word) { return std::ranges::find(kKeys, word) != kKeys.end(); }

bool IsOption(const std::string& word) {
  return word.size() > 1 &&
         std::ranges::all_of(word, [](unsigned char c) { return std::isupper(c) != 0; });
}

// The same request with too few arguments, too many, and its options twice.
std::vector<Request> WithWrongCount(const Request& valid) {
  std::vector<Request> requests;
  for (size_t size = 1; size < valid.size(); ++size) {
    requests.emplace_back(valid.begin(), valid.begin() + static_cast<ptrdiff_t>(size));
  }
  requests.push_back(valid);
  requests.back().emplace_back("extra");
  return requests;
}

std::vector<Request> WithOptionsTwice(const Request& valid) {
  std::vector<Request> requests;
  for (size_t i = 1; i < valid.size(); ++i) {
    if (!IsOption(valid[i])) continue;
    requests.push_back(valid);
    requests.back().push_back(valid[i]);
    requests.push_back(valid);
    requests.back().insert(requests.back().end(), valid.begin() + static_cast<ptrdiff_t>(i),
                           valid.end());
  }
  return requests;
}

std::vector<Request> WithWrongArgument(const Request& valid, size_t place) {
  std::vector<Request> requests;
  const auto put = [&](std::string_view wrong) {
    requests.push_back(valid);
    requests.back()[place] = wrong;
  };
  if (IsKey(valid[place])) std::ranges::for_each(kKeys, put);
  std::ranges::for_each(kWrong, put);
  return requests;
}

// The types that a reply is made of: i, $, [i$], {$=i} … What a list or a map repeats counts once.
std::string Shape(const net::RespValue& value) {
  using Type = net::RespValue::Type;
  const auto inside = [&](size_t step) {
    std::set<std::string> shapes;
    for (size_t i = 0; i + step <= value.items.size(); i += step) {
      shapes.insert(step == 1 ? Shape(value.items[i])
                              : Shape(value.items[i]) + "=" + Shape(value.items[i + 1]));
    }
    return fmt::format("{}", fmt::join(shapes, " "));
  };
  switch (value.type) {
    case Type::kArray:
      return "[" + inside(1) + "]";
    case Type::kSet:
      return "~[" + inside(1) + "]";
    case Type::kPush:
      return ">[" + inside(1) + "]";
    case Type::kMap:
    case Type::kAttribute:
      return "{" + inside(2) + "}";
    default:
      constexpr std::string_view kLetters = "_+-i$*%~>|,#(=";
      return std::string(1, kLetters[static_cast<size_t>(value.type)]);
  }
}

class BadInputTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto redis = RedisServer::Start();
    ASSERT_TRUE(redis.ok()) << redis.error().message;
    redis_ = *std::move(redis);
    auto cairn = CairnServer::Start();
    ASSERT_TRUE(cairn.ok()) << cairn.error().message;
    cairn_ = *std::move(cairn);
    to_redis_ = std::make_unique<ByteClient>(redis_->address());
    to_cairn_ = std::make_unique<ByteClient>(cairn_->address());
    for (const std::string& line : Lines(kDataSet)) data_set_.push_back(Words(line));
    LoadDataSet(*to_redis_);
    LoadDataSet(*to_cairn_);
    digest_ = Digest();
  }

  static std::vector<Reply> RunAll(ByteClient& client, const std::vector<Request>& requests) {
    for (const Request& request : requests) client.Send(request);
    std::vector<Reply> replies;
    for (size_t i = 0; i < requests.size(); ++i) replies.push_back(client.Receive());
    return replies;
  }

  // The names in a reply, sorted.
  static std::set<std::string> Names(ByteClient& client, const Request& request) {
    const std::vector<Reply> replies = RunAll(client, {request});
    std::set<std::string> names;
    for (const net::RespValue& item : replies[0].value.items) names.insert(item.text);
    return names;
  }

  void LoadDataSet(ByteClient& client) {
    for (const Reply& reply : RunAll(client, data_set_)) {
      ASSERT_FALSE(reply.bytes.starts_with('-')) << reply.bytes;
    }
  }

  // All that Cairn holds.
  std::string Digest() {
    std::string digest;
    for (const char* db : {"1", "0"}) {
      RunAll(*to_cairn_, {{"SELECT", db}});
      const std::set<std::string> keys = Names(*to_cairn_, {"KEYS", "*"});
      for (const std::string& key : keys) {
        digest += key;
        // DUMP says all about a key; of streams too much: when its entries were delivered.
        const bool stream = RunAll(*to_cairn_, {{"TYPE", key}})[0].value.text == "stream";
        std::vector<Request> questions = {{"TYPE", key}, {"PEXPIRETIME", key}};
        if (stream) {
          questions.insert(questions.end(), {{"XRANGE", key, "-", "+"},
                                             {"XINFO", "STREAM", key},
                                             {"XINFO", "GROUPS", key},
                                             {"XPENDING", key, "g1"}});
        } else {
          questions.push_back({"DUMP", key});
        }
        for (const Reply& reply : RunAll(*to_cairn_, questions)) digest += reply.bytes;
      }
    }
    return digest + RunAll(*to_cairn_, {{"FUNCTION", "LIST"}})[0].bytes;
  }

  // Sends the requests to both, which hold the data set. Returns those that were refused.
  std::vector<Request> Compare(const std::vector<Request>& requests) {
    const std::vector<Reply> expected = RunAll(*to_redis_, requests);
    const std::vector<Reply> actual = RunAll(*to_cairn_, requests);
    std::vector<Request> refused;
    bool changed = false;
    for (size_t i = 0; i < requests.size() && !gone_; ++i) {
      ++compared_;
      gone_ = actual[i].bytes == "closed" || expected[i].bytes == "closed";
      const bool failed = actual[i].bytes.starts_with('-');
      if (failed) refused.push_back(requests[i]);
      changed |= !failed;
      if (Same(requests[i], expected[i].bytes, actual[i].bytes)) continue;
      ADD_FAILURE() << ToText(requests[i]) << "\n  Redis: " << Printable(expected[i].bytes, 300)
                    << "\n  Cairn: " << Printable(actual[i].bytes, 300);
    }
    if (changed) {
      LoadDataSet(*to_redis_);
      LoadDataSet(*to_cairn_);
    }
    return refused;
  }

  static bool Same(const Request& request, const std::string& expected, const std::string& actual) {
    if (expected == actual) return true;
    const std::string text = ToText(request);
    if (std::ranges::any_of(kDifferent, [&](auto prefix) { return text.starts_with(prefix); })) {
      return true;
    }
    return !expected.starts_with('-') && !actual.starts_with('-') &&
           OwnSuccess().contains(Lower(request.front()));
  }

  // Refused requests change nothing. Those that are not refused when they come without the ones
  // that were not, are left out.
  void CheckNothingChanges(std::vector<Request> refused) {
    while (!refused.empty()) {
      const std::vector<Reply> replies = RunAll(*to_cairn_, refused);
      std::vector<Request> again;
      for (size_t i = 0; i < refused.size(); ++i) {
        if (replies[i].bytes.starts_with('-')) again.push_back(refused[i]);
      }
      if (again.size() == refused.size()) break;
      refused = std::move(again);
      LoadDataSet(*to_cairn_);
    }
    EXPECT_TRUE(Digest() == digest_) << "changed by one of those that were refused";
  }

  void CheckCommand(const Request& valid, bool only_count) {
    if (gone_) return;
    SCOPED_TRACE(ToText(valid));
    std::vector<Request> refused = Compare(WithWrongCount(valid));
    const auto add = [&](const std::vector<Request>& requests) {
      const std::vector<Request> more = Compare(requests);
      refused.insert(refused.end(), more.begin(), more.end());
    };
    if (!only_count) {
      add({valid});
      add(WithOptionsTwice(valid));
      for (size_t i = 1; i < valid.size(); ++i) add(WithWrongArgument(valid, i));
    }
    CheckNothingChanges(std::move(refused));
  }

  std::unique_ptr<RedisServer> redis_;
  std::unique_ptr<CairnServer> cairn_;
  std::unique_ptr<ByteClient> to_redis_;
  std::unique_ptr<ByteClient> to_cairn_;
  std::vector<Request> data_set_;
  std::string digest_;
  uint64_t compared_ = 0;
  bool gone_ = false;  // a server has ended, or the connection to it
};

TEST_F(BadInputTest, IsRefusedAsRedisRefusesItAndChangesNothing) {
  const std::set<std::string> in_cairn = Names(*to_cairn_, {"COMMAND", "LIST"});
  for (const std::string& line : Lines(kValidRequests)) {
    const bool only_count = line.starts_with('!');
    const Request valid = Words(only_count ? line.substr(1) : line);
    if (in_cairn.contains(Lower(valid[0]))) CheckCommand(valid, only_count);
  }
  fmt::print("compared {} requests\n", compared_);
}

TEST_F(BadInputTest, CoversEveryCommandThatBothHave) {
  std::set<std::string> covered;
  for (const std::string& line : Lines(kValidRequests)) {
    const Request valid = Words(line.starts_with('!') ? line.substr(1) : line);
    covered.insert(Lower(valid[0]));
    if (valid.size() > 1) covered.insert(Lower(valid[0] + "|" + valid[1]));
  }
  const std::set<std::string> in_redis = Names(*to_redis_, {"COMMAND", "LIST"});
  for (const std::string& name : Names(*to_cairn_, {"COMMAND", "LIST"})) {
    const bool container = std::ranges::any_of(
        in_redis, [&](const std::string& other) { return other.starts_with(name + "|"); });
    if (container || !in_redis.contains(name) || LeftOut().contains(name)) continue;
    EXPECT_TRUE(covered.contains(name)) << name;
  }
}

// In RESP3 there are more types to get right.
TEST_F(BadInputTest, RepliesHaveTheTypesOfRedisInResp3) {
  // They tell about commands and settings, of which the two have not the same.
  constexpr std::array<std::string_view, 5> kLeftOut = {"reset", "hello", "multi", "exec",
                                                        "discard"};
  const std::set<std::string> other_content = {"command", "config|get", "info", "memory|stats",
                                               "function|stats"};
  for (ByteClient* client : {to_redis_.get(), to_cairn_.get()}) RunAll(*client, {{"HELLO", "3"}});
  for (const std::string& line : Lines(kValidRequests)) {
    const Request valid = Words(line.starts_with('!') ? line.substr(1) : line);
    const std::string name = Lower(valid[0]);
    const std::string subcommand = valid.size() > 1 ? name + "|" + Lower(valid[1]) : name;
    // They end RESP3, or what follows them is queued.
    if (std::ranges::find(kLeftOut, name) != kLeftOut.end()) continue;
    if (subcommand == "script|debug") continue;     // refused inside a pipeline
    if (subcommand == "slowlog|get") continue;      // what was slow differs
    if (subcommand == "config|rewrite") continue;   // this Redis has no file to write
    if (subcommand == "client|tracking") continue;  // its messages would come between replies
    if (subcommand == "object|idletime") continue;  // no access times are kept, and Cairn says so
    std::vector<Request> requests = {valid};
    // The same of a key that is not there.
    requests.push_back(valid);
    std::ranges::replace_if(requests.back(), IsKey, "none");
    const std::vector<Reply> expected = RunAll(*to_redis_, requests);
    const std::vector<Reply> actual = RunAll(*to_cairn_, requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      if (expected[i].value.is_error() && actual[i].value.is_error()) continue;
      if (other_content.contains(name) || other_content.contains(subcommand)) {
        EXPECT_EQ(expected[i].value.type, actual[i].value.type) << ToText(requests[i]);
      } else {
        EXPECT_EQ(Shape(expected[i].value), Shape(actual[i].value)) << ToText(requests[i]);
      }
    }
    LoadDataSet(*to_redis_);
    LoadDataSet(*to_cairn_);
  }
}

}  // namespace
}  // namespace cairn::testing
