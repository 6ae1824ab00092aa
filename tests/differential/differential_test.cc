#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "tests/differential/generator.h"
#include "tests/differential/peers.h"

// The same random requests to Redis and to Cairn must get the same bytes back.
//
//   CAIRN_DIFFERENTIAL_COMMANDS=1000000 CAIRN_DIFFERENTIAL_SEED=7 tests_differential
//   CAIRN_DIFFERENTIAL_WITHOUT="X GEO"    leaves out what begins so, to look at the rest
namespace cairn::testing {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::vector<std::string> WordsFromEnvironment(const char* name) {
  const char* text = std::getenv(name);
  std::istringstream words(text == nullptr ? "" : text);
  return {std::istream_iterator<std::string>(words), {}};
}

std::string ToText(const Request& request) {
  std::string text;
  for (const std::string& arg : request) text += "'" + Printable(arg) + "' ";
  return text;
}

bool IsCommand(const Request& request, std::initializer_list<std::string_view> names) {
  std::string upper = request.front();
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return std::ranges::find(names, upper) != names.end();
}

// Replies that show how much time has passed since another command.
bool ShowsTime(const Request& request) {
  return IsCommand(request, {"TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"});
}

bool NearlyEqual(const net::RespValue& a, const net::RespValue& b) {
  constexpr int64_t kToleranceMs = 60'000;
  return a.type == net::RespValue::Type::kInteger && b.type == a.type &&
         (a.integer < 0) == (b.integer < 0) && std::abs(a.integer - b.integer) < kToleranceMs;
}

// Replies whose elements come in the order of each server's own.
bool HasNoOrder(const Request& request) {
  return IsCommand(request, {"KEYS", "SMEMBERS", "SINTER", "SUNION", "SDIFF", "SPOP", "SRANDMEMBER",
                             "HKEYS", "HVALS", "HGETALL", "HRANDFIELD", "ZRANDMEMBER"});
}

// SORT … BY nosort: of a set, some of its members in some order.
bool SortsByNothing(const Request& request) {
  const auto by = std::ranges::find(request, "BY");
  return IsCommand(request, {"SORT", "SORT_RO"}) && by != request.end() &&
         std::next(by) != request.end() && std::next(by)->find('*') == std::string::npos;
}

// The elements in one order: as lines of text, and where they come in pairs, as pairs.
std::vector<std::string> Sorted(const Request& request, const net::RespValue& value) {
  const bool flat_pairs = value.type == net::RespValue::Type::kArray && !value.items.empty() &&
                          value.items.front().items.empty() &&
                          (IsCommand(request, {"HGETALL"}) || request.back() == "WITHVALUES");
  const size_t step = flat_pairs || value.type == net::RespValue::Type::kMap ? 2 : 1;
  std::vector<std::string> lines;
  for (size_t i = 0; i + step <= value.items.size(); i += step) {
    std::string line = value.items[i].ToString();
    if (step == 2) line += " => " + value.items[i + 1].ToString();
    lines.push_back(std::move(line));
  }
  std::ranges::sort(lines);
  return lines;
}

// How Redis shows a score of zero depends on how it keeps the set: with the sign that it was
// computed with if the set is, or once was, large.
std::string WithoutSignOfZero(std::string bytes) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kZeros = {
      {{",-0\r\n", ",0\r\n"}, {"$2\r\n-0\r\n", "$1\r\n0\r\n"}}};
  for (const auto& [with, without] : kZeros) {
    for (size_t at = bytes.find(with); at != std::string::npos; at = bytes.find(with, at)) {
      bytes.replace(at, with.size(), without);
    }
  }
  return bytes;
}

class DifferentialTest : public ::testing::Test {
 protected:
  static constexpr size_t kConnections = 3;
  static constexpr size_t kHistory = 2000;  // requests that are remembered

  void SetUp() override {
    auto redis = RedisServer::Start();
    ASSERT_TRUE(redis.ok()) << redis.error().message;
    redis_ = *std::move(redis);
    auto cairn = CairnServer::Start();
    ASSERT_TRUE(cairn.ok()) << cairn.error().message;
    cairn_ = *std::move(cairn);
    for (size_t i = 0; i < kConnections; ++i) {
      connections_.push_back({ByteClient(redis_->address()), ByteClient(cairn_->address())});
    }
  }

  // Sends all to both before looking at the replies: a pipeline.
  void Compare(size_t connection, const std::vector<Request>& requests) {
    Connection& both = connections_[connection];
    for (const Request& request : requests) {
      both.redis.Send(request);
      both.cairn.Send(request);
    }
    for (const Request& request : requests) {
      const Reply expected = both.redis.Receive();
      const Reply actual = both.cairn.Receive();
      ++compared_;
      history_.push_back(fmt::format("{} {}", connection, ToText(request)));
      if (history_.size() > kHistory) history_.pop_front();
      if (!Same(request, expected, actual)) Fail(request, expected, actual);
      if (HasFailure()) return;
    }
  }

  static bool Same(const Request& request, const Reply& expected, const Reply& actual) {
    if (expected.bytes == actual.bytes) return true;
    if (WithoutSignOfZero(expected.bytes) == WithoutSignOfZero(actual.bytes)) return true;
    if (ShowsTime(request)) return NearlyEqual(expected.value, actual.value);
    if (SortsByNothing(request)) {
      return expected.value.type == actual.value.type &&
             expected.value.items.size() == actual.value.items.size();
    }
    if (HasNoOrder(request)) {
      return expected.value.type == actual.value.type &&
             Sorted(request, expected.value) == Sorted(request, actual.value);
    }
    return false;
  }

  void Fail(const Request& request, const Reply& expected, const Reply& actual) {
    // The last ones, and before them those that name the key.
    const std::string key = request.size() > 1 ? "'" + Printable(request[1]) + "'" : "'";
    std::string history;
    for (size_t i = 0; i < history_.size(); ++i) {
      const bool recent = i + 20 >= history_.size();
      if (recent || history_[i].find(key) != std::string::npos) history += history_[i] + "\n";
    }
    ADD_FAILURE() << "seed " << seed_ << ", after " << compared_ << " commands: " << ToText(request)
                  << "\n  Redis: " << Printable(expected.bytes, 500)
                  << "\n  Cairn: " << Printable(actual.bytes, 500) << "\nhistory:\n"
                  << history;
  }

  // MULTI with queued commands, perhaps broken, under WATCH with a change in between.
  void Transaction(size_t connection) {
    std::vector<Request> requests;
    if (generator_.OneIn(2)) {
      Compare(connection, {generator_.Watch()});
      if (generator_.OneIn(2)) {
        Compare(generator_.Below(kConnections), {generator_.Change()});
      }
    }
    requests.push_back({"MULTI"});
    for (uint64_t n = generator_.Below(6); n > 0; --n) {
      Request request = generator_.Any();
      // Elements come in another order, times differ: not to be compared inside an array.
      if (ShowsTime(request) || HasNoOrder(request) || SortsByNothing(request)) continue;
      requests.push_back(std::move(request));
    }
    if (generator_.OneIn(10)) requests.push_back({"MULTI"});
    if (generator_.OneIn(10)) requests.push_back({"WATCH", generator_.Key()});
    requests.push_back(generator_.OneIn(8) ? Request{"DISCARD"} : Request{"EXEC"});
    Compare(connection, requests);
  }

  std::vector<Request> Pipeline() {
    std::vector<Request> requests;
    for (uint64_t n = 1 + generator_.Below(40); n > 0; --n) {
      Request request = generator_.Any();
      if (generator_.OneIn(10) && !ShowsTime(request) && !HasNoOrder(request)) {
        request.insert(request.begin(),
                       {"EVAL", "local reply = redis.call(unpack(ARGV)) return reply", "0"});
      }
      requests.push_back(std::move(request));
    }
    return requests;
  }

  // SCAN to its end finds what KEYS finds, on Cairn too.
  void CompareScan(size_t connection) {
    Connection& both = connections_[connection];
    const std::vector<std::string> options = {"COUNT", std::to_string(1 + generator_.Below(5))};
    for (const Request& scan : {Request{"SCAN"}, Request{"HSCAN", "hash:1"},
                                Request{"SSCAN", "set:1"}, Request{"ZSCAN", "zset:1"}}) {
      EXPECT_EQ(ScanAll(both.redis, scan, options), ScanAll(both.cairn, scan, options))
          << "seed " << seed_ << " " << ToText(scan);
    }
    both.cairn.Send({"RANDOMKEY"});
    const net::RespValue some = both.cairn.Receive().value;
    both.redis.Send({"EXISTS", some.text});
    both.redis.Send({"DBSIZE"});
    const int64_t exists = both.redis.Receive().value.integer;
    const int64_t size = both.redis.Receive().value.integer;
    EXPECT_EQ(some.is_null(), size == 0);
    EXPECT_EQ(exists, some.is_null() ? 0 : 1) << Printable(some.text);
    compared_ += 2;
  }

  static std::set<std::string> ScanAll(ByteClient& client, const Request& scan,
                                       const std::vector<std::string>& options) {
    std::set<std::string> found;
    std::string cursor = "0";
    do {
      Request request = scan;
      request.push_back(cursor);
      request.insert(request.end(), options.begin(), options.end());
      client.Send(request);
      const net::RespValue reply = client.Receive().value;
      if (reply.items.size() != 2) return {reply.ToString()};  // the key has another type
      cursor = reply.items.at(0).text;
      for (const net::RespValue& key : reply.items.at(1).items) {
        // A union with negative weights has scores of -0. Redis keeps them in sets with long
        // members and forgets them in others; Cairn has 0.
        found.insert(key.text == "-0" ? "0" : key.text);
      }
    } while (cursor != "0");
    return found;
  }

  struct Connection {
    ByteClient redis;
    ByteClient cairn;
  };

  const uint64_t seed_ = FromEnvironment("CAIRN_DIFFERENTIAL_SEED", 20260101);
  Generator generator_{seed_, WordsFromEnvironment("CAIRN_DIFFERENTIAL_WITHOUT")};
  std::unique_ptr<RedisServer> redis_;
  std::unique_ptr<CairnServer> cairn_;
  std::vector<Connection> connections_;
  uint64_t compared_ = 0;
  std::deque<std::string> history_;
};

TEST_F(DifferentialTest, RandomRequestsGetTheSameReplies) {
  const uint64_t commands = FromEnvironment("CAIRN_DIFFERENTIAL_COMMANDS", 25'000);
  // One of the connections speaks RESP3.
  for (ByteClient* client : {&connections_[1].redis, &connections_[1].cairn}) {
    client->Send({"HELLO", "3"});
    client->Receive();
  }
  while (compared_ < commands && !HasFailure()) {
    const size_t connection = generator_.Below(kConnections);
    switch (generator_.Below(12)) {
      case 0:
        CompareScan(connection);
        break;
      case 1:
      case 2:
      case 3:
        Transaction(connection);
        break;
      default:
        Compare(connection, Pipeline());
    }
  }
  fmt::print("compared {} commands, seed {}\n", compared_, seed_);
}

// What each command says about itself must be what Redis says about its own.
class CommandInfoTest : public DifferentialTest {
 protected:
  net::RespValue Ask(ByteClient& client, const Request& request) {
    client.Send(request);
    return client.Receive().value;
  }

  // Not in Redis 7.0, or different on purpose: HELLO, DEBUG and changes of users are refused inside
  // MULTI; scripts write; of clusters, replicas and modules there is nothing to tell.
  static bool DescribesItselfOtherwise(std::string_view name) {
    static constexpr std::array<std::string_view, 12> kNames = {
        "client|setinfo", "client|no-touch", "hello", "debug",   "acl|setuser", "acl|deluser",
        "module|list",    "slaveof",         "eval",  "evalsha", "fcall",       "fcall_ro"};
    static constexpr std::array<std::string_view, 3> kPrefixes = {"cluster|", "eval_", "evalsha_"};
    const bool own = name.find('.') != name.npos;  // job.enqueue
    return own || std::ranges::find(kNames, name) != kNames.end() ||
           std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
  }

  static std::string AsSet(const net::RespValue& value) {
    std::set<std::string> words;
    for (const net::RespValue& item : value.items) words.insert(item.text);
    return fmt::format("{}", fmt::join(words, " "));
  }

  // Arity, flags, places of keys, categories, tips, access of keys: on one line.
  static std::string Describe(const net::RespValue& info) {
    std::string keys;
    for (const net::RespValue& spec : info.items.at(8).items) {
      for (size_t i = 0; i + 1 < spec.items.size(); i += 2) {
        if (spec.items[i].text == "notes") continue;
        keys +=
            spec.items[i].text == "flags" ? AsSet(spec.items[i + 1]) : spec.items[i + 1].ToString();
        keys += ' ';
      }
    }
    return DescribeWith(info, keys);
  }

  static std::string DescribeWith(const net::RespValue& info, const std::string& keys) {
    return fmt::format("arity {} flags [{}] keys {} {} {} categories [{}] tips [{}] specs [{}]",
                       info.items.at(1).integer, AsSet(info.items.at(2)), info.items.at(3).integer,
                       info.items.at(4).integer, info.items.at(5).integer, AsSet(info.items.at(6)),
                       AsSet(info.items.at(7)), keys);
  }
};

TEST_F(CommandInfoTest, EveryCommandDescribesItselfAsRedisDoes) {
  int compared = 0;
  for (const net::RespValue& name : Ask(connections_[0].cairn, {"COMMAND", "LIST"}).items) {
    if (DescribesItselfOtherwise(name.text)) continue;
    const net::RespValue expected =
        Ask(connections_[0].redis, {"COMMAND", "INFO", name.text}).items.at(0);
    const net::RespValue actual =
        Ask(connections_[0].cairn, {"COMMAND", "INFO", name.text}).items.at(0);
    ASSERT_FALSE(expected.is_null()) << name.text;
    EXPECT_EQ(Describe(expected), Describe(actual)) << name.text;
    ++compared;
  }
  EXPECT_GT(compared, 90);
}

TEST_F(CommandInfoTest, DocumentationNamesTheSameGroupAndVersion) {
  const auto field = [](const net::RespValue& docs, std::string_view name) {
    const net::RespValue& entries = docs.items.at(1);
    for (size_t i = 0; i + 1 < entries.items.size(); i += 2) {
      if (entries.items[i].text == name) return entries.items[i + 1].text;
    }
    return std::string("none");
  };
  for (const net::RespValue& name : Ask(connections_[0].cairn, {"COMMAND", "LIST"}).items) {
    const net::RespValue expected = Ask(connections_[0].redis, {"COMMAND", "DOCS", name.text});
    if (expected.items.empty() || DescribesItselfOtherwise(name.text)) continue;
    const net::RespValue actual = Ask(connections_[0].cairn, {"COMMAND", "DOCS", name.text});
    for (const char* part : {"since", "group", "deprecated_since"}) {
      EXPECT_EQ(field(expected, part), field(actual, part)) << name.text << " " << part;
    }
  }
}

}  // namespace
}  // namespace cairn::testing
