#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/testing/script.h"
#include "data/value/keys.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class StreamCommandsTest : public ::testing::Test {
 protected:
  ~StreamCommandsTest() override { server_.CheckConsistency(); }

  DataServer server_;
};

TEST_F(StreamCommandsTest, AddsEntriesBehindTheLast) {
  server_.Play(R"(
    XADD s 5-1 a 1 a 2        => "5-1"
    XADD s 5-* b 2            => "5-2"
    XADD s 6 c 3              => "6-0"
    XADD s 6-0 c 3            => (error) ERR The ID specified in XADD is equal or smaller than the target stream top item
    XADD s 5-* c 3            => (error) ERR The ID specified in XADD is equal or smaller than the target stream top item
    XADD s 0-0 c 3            => (error) ERR The ID specified in XADD must be greater than 0-0
    XADD s x c 3              => (error) ERR Invalid stream ID specified as stream command argument
    XADD s - c 3              => (error) ERR Invalid stream ID specified as stream command argument
    XADD s * c                => (error) ERR wrong number of arguments for 'xadd' command
    XADD s * c 1 d            => (error) ERR wrong number of arguments for 'xadd' command
    XADD s MAXLEN 3 * a       => (error) ERR wrong number of arguments for 'xadd' command
    XLEN s                    => (integer) 3
    XRANGE s - +              => [["5-1", ["a", "1", "a", "2"]], ["5-2", ["b", "2"]], ["6-0", ["c", "3"]]]
    XADD t NOMKSTREAM * a 1   => (nil)
    EXISTS t                  => (integer) 0
    XADD t 0-* a 1            => "0-1"
    TYPE s                    => stream
    XADD u 18446744073709551615-18446744073709551615 a 1 => "18446744073709551615-18446744073709551615"
    XADD u * a 1              => (error) ERR The stream has exhausted the last possible ID, unable to add more items
    SET str x
    XADD str * a 1            => (error) WRONGTYPE Operation against a key holding the wrong kind of value
  )");
}

TEST_F(StreamCommandsTest, IdsFollowTheClockAndNeverGoBack) {
  server_.Play(R"(
    XADD s * a 1              => "1700000000000-0"
    XADD s * a 1              => "1700000000000-1"
    XADD s 1800000000000-5 a 1
    XADD s * a 1              => "1800000000000-6"
  )");
}

TEST_F(StreamCommandsTest, RangesHaveOpenAndClosedEnds) {
  server_.Play(R"(
    XADD s 1-1 a 1
    XADD s 1-2 b 2
    XADD s 2-1 c 3
    XRANGE s 1 1              => [["1-1", ["a", "1"]], ["1-2", ["b", "2"]]]
    XRANGE s (1-1 (2-1        => [["1-2", ["b", "2"]]]
    XRANGE s (1-1 + COUNT 1   => [["1-2", ["b", "2"]]]
    XREVRANGE s + - COUNT 1   => [["2-1", ["c", "3"]]]
    XREVRANGE s (2-1 1-2      => [["1-2", ["b", "2"]]]
    XRANGE s + -              => []
    XRANGE s - + COUNT 0      => (nil)
    XRANGE s - + COUNT -1     => (nil)
    XRANGE nosuch - + COUNT 0 => []
    XRANGE s - + COUNT x      => (error) ERR value is not an integer or out of range
    XRANGE s - + COUNT        => (error) ERR syntax error
    XRANGE s - + FOO          => (error) ERR syntax error
    XRANGE s (- +             => (error) ERR Invalid stream ID specified as stream command argument
    XRANGE s (18446744073709551615-18446744073709551615 + => (error) ERR invalid start ID for the interval
    XRANGE s - (0-0           => (error) ERR invalid end ID for the interval
  )");
}

TEST_F(StreamCommandsTest, DeletingKeepsTheStream) {
  server_.Play(R"(
    XADD s 1-1 a 1
    XADD s 2-1 a 1
    XADD s 3-1 a 1
    XDEL s 2-1 2-1 9-9        => (integer) 1
    XDEL s 1-1                => (integer) 1
    XRANGE s - +              => [["3-1", ["a", "1"]]]
    XDEL s 3-1 x              => (error) ERR Invalid stream ID specified as stream command argument
    XDEL s 3-1                => (integer) 1
    XLEN s                    => (integer) 0
    EXISTS s                  => (integer) 1
    XINFO STREAM s            => ["length", (integer) 0, "radix-tree-keys", (integer) 0, "radix-tree-nodes", (integer) 1, "last-generated-id", "3-1", "max-deleted-entry-id", "3-1", "entries-added", (integer) 3, "recorded-first-entry-id", "0-0", "groups", (integer) 0, "first-entry", (nil), "last-entry", (nil)]
    XADD s 3-1 a 1            => (error) ERR The ID specified in XADD is equal or smaller than the target stream top item
    XDEL nosuch x             => (integer) 0
  )");
}

TEST_F(StreamCommandsTest, TrimsExactlyOrByNodes) {
  for (int i = 1; i <= 250; ++i) {
    server_.Run({"XADD", "s", std::to_string(i) + "-1", "a", "1"});
  }
  server_.Play(R"(
    XTRIM s MAXLEN ~ 200      => (integer) 0
    XTRIM s MAXLEN ~ 150      => (integer) 100
    XTRIM s MINID ~ 200       => (integer) 0
    XTRIM s MINID 105         => (integer) 4
    XTRIM s MAXLEN ~ 10 LIMIT 90 => (integer) 0
    XTRIM s MINID ~ 201       => (integer) 96
    XLEN s                    => (integer) 50
    XTRIM s MAXLEN = 49       => (integer) 1
    XADD s MAXLEN 2 300-1 a 1 => "300-1"
    XRANGE s - +              => [["250-1", ["a", "1"]], ["300-1", ["a", "1"]]]
    XTRIM s MAXLEN 0          => (integer) 2
    XTRIM nosuch MAXLEN 0     => (integer) 0
    XTRIM s MAXLEN 1 LIMIT 2  => (error) ERR syntax error, LIMIT cannot be used without the special ~ option
    XTRIM s LIMIT 1           => (error) ERR syntax error, LIMIT cannot be used without specifying a trimming strategy
    XTRIM s MAXLEN 1 MINID 1  => (error) ERR syntax error, MAXLEN and MINID options at the same time are not compatible
    XTRIM s MAXLEN -1         => (error) ERR The MAXLEN argument must be >= 0.
    XTRIM s MAXLEN ~ 1 LIMIT -1 => (error) ERR The LIMIT argument must be >= 0.
    XTRIM s FOO 1             => (error) ERR syntax error
  )");
}

TEST_F(StreamCommandsTest, SetIdMovesForwardOnly) {
  server_.Play(R"(
    XSETID nosuch 1-1         => (error) ERR no such key
    XADD s 5-5 a 1
    XSETID s 5-4              => (error) ERR The ID specified in XSETID is smaller than the target stream top item
    XSETID s 9-9 ENTRIESADDED 0 => (error) ERR The entries_added specified in XSETID is smaller than the target stream length
    XSETID s 9-9 ENTRIESADDED -1 => (error) ERR entries_added must be positive
    XSETID s 9-9 MAXDELETEDID 10-1 => (error) ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id
    XSETID s 9-9 ENTRIESADDED 100 MAXDELETEDID 4-1 => OK
    XSETID s 9-9 FOO          => (error) ERR syntax error
    XADD s 9-* a 1            => "9-10"
  )");
}

TEST_F(StreamCommandsTest, ReadsSeveralStreams) {
  server_.Play(R"(
    XADD s 1-1 a 1
    XADD s 2-1 b 2
    XADD t 5-1 c 3
    XREAD STREAMS s t 0 0     => [["s", [["1-1", ["a", "1"]], ["2-1", ["b", "2"]]]], ["t", [["5-1", ["c", "3"]]]]]
    XREAD COUNT 1 STREAMS s nosuch t 1-1 0 5-1 => [["s", [["2-1", ["b", "2"]]]]]
    XREAD STREAMS s $         => (nil)
    XREAD COUNT -1 STREAMS t 0 => [["t", [["5-1", ["c", "3"]]]]]
    XREAD STREAMS s 18446744073709551615-18446744073709551615 => (nil)
    MULTI
    XREAD BLOCK 0 STREAMS s $
    EXEC                      => [(nil)]
    XREAD STREAMS s s 0       => (error) ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.
    XREAD STREAMS s >         => (error) ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.
    XREAD BLOCK x STREAMS s 0 => (error) ERR timeout is not an integer or out of range
    XREAD BLOCK -1 STREAMS s 0 => (error) ERR timeout is negative
    XREAD NOACK STREAMS s 0   => (error) ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.
    XREAD GROUP g c STREAMS s 0 => (error) ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.
    XREAD COUNT 5 s 0         => (error) ERR syntax error
    SET str x
    XREAD STREAMS str 0       => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    COMMAND GETKEYS XREAD COUNT 2 BLOCK 1 STREAMS a b 0 0 => ["a", "b"]
    COMMAND GETKEYS XREADGROUP GROUP STREAMS c NOACK STREAMS a > => ["a"]
  )");
}

TEST_F(StreamCommandsTest, TheLastIdMayGoBehindWhatWasDeleted) {
  server_.Play(R"(
    XGROUP CREATE q g 0 MKSTREAM
    XSETID q 4-1 ENTRIESADDED 40 MAXDELETEDID 4-0 => OK
    XSETID q 2-8                                  => OK
    XADD q 5-0 a b
    XSETID q 3-8 => (error) ERR The ID specified in XSETID is smaller than the target stream top item
  )");
}

TEST_F(StreamCommandsTest, EntriesAndGroupsAreStoredAsDrawn) {
  server_.Play(R"(
    XADD s 1-2 f vw
    XGROUP CREATE s g 0
    XREADGROUP GROUP g me STREAMS s >
  )");
  const auto snapshot = server_.store().Read();
  ASSERT_TRUE(snapshot.ok());
  std::map<char, std::string> rows;
  std::string number;
  const auto scanned = (*snapshot)->Scan(ElementRange(0), {}, [&](BytesView key, BytesView value) {
    const BytesView suffix = key.substr(kElementPrefixBytes);
    rows[suffix.front()] = HexEncode(suffix) + " " + HexEncode(value);
    if (suffix.front() == 'g') number = HexEncode(value.substr(0, 8));
    return true;
  });
  ASSERT_TRUE(scanned.ok());
  const std::string id = "00000000000000010000000000000002";
  const std::string one = "0000000000000001";
  const std::string now = "0000018bcfe56800";  // 1,700,000,000,000 ms
  EXPECT_EQ(rows['e'], "65" + id + " 00000001" + "00000002" + "0000000166" + "000000027677");
  EXPECT_EQ(rows['g'], "6767 " + number + id + one + one + one);
  EXPECT_EQ(rows['c'], "63" + number + "6d65 " + now + one);
  EXPECT_EQ(rows['p'], "70" + number + id + " " + now + one + "6d65");
  EXPECT_EQ(rows['o'], "6f" + number + "000000026d65" + id + " ");
  EXPECT_EQ(rows.size(), 5U);
}

// Random commands against a map, entry by entry.
class StreamModelTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  using Id = std::pair<uint64_t, uint64_t>;
  static std::string Text(Id id) {
    return std::to_string(id.first) + "-" + std::to_string(id.second);
  }
  static std::string Number(size_t value) { return "(integer) " + std::to_string(value); }

  std::string ShowEntries() const {
    std::string text = "[";
    for (const auto& [id, value] : entries_) {
      text +=
          (text.size() == 1 ? "" : ", ") + ("[\"" + Text(id) + "\", [\"f\", \"" + value) + "\"]]";
    }
    return text + "]";
  }
  std::string ShowPending() const {
    std::string text = "[";
    for (const auto& [id, owner] : pending_) {
      text += (text.size() == 1 ? "" : ", ") + ("[\"" + Text(id) + "\", \"" + owner.first) +
              "\", (integer) 0, " + Number(owner.second) + "]";
    }
    return text + "]";
  }
  Id AnyId() {
    if (entries_.empty()) return last_;
    auto it = entries_.begin();
    std::advance(it, random_.Below(entries_.size()));
    return it->first;
  }
  void Expect(const std::vector<std::string>& command, const std::string& reply) {
    ASSERT_EQ(server_.Run(command), reply) << command[0];
  }

  void Add() {
    last_ = random_.Below(2) == 0 ? Id{last_.first, last_.second + 1}
                                  : Id{last_.first + 1 + random_.Below(300), random_.Below(300)};
    entries_[last_] = std::to_string(random_.Below(1000));
    Expect({"XADD", "s", Text(last_), "f", entries_[last_]}, "\"" + Text(last_) + "\"");
  }
  void Read() {
    const std::string consumer(1, static_cast<char>('a' + random_.Below(3)));
    server_.Run({"XREADGROUP", "GROUP", "g", consumer, "COUNT", "2", "STREAMS", "s", ">"});
    auto it = entries_.upper_bound(delivered_);
    for (int i = 0; i < 2 && it != entries_.end(); ++i, ++it) {
      delivered_ = it->first;
      pending_[delivered_] = {consumer, 1};
    }
  }
  void Claim() {
    const Id id = AnyId();
    server_.Run({"XCLAIM", "s", "g", "b", "0", Text(id)});
    const auto found = pending_.find(id);
    if (found == pending_.end()) return;
    if (entries_.contains(id)) {
      found->second = {"b", found->second.second + 1};
    } else {
      pending_.erase(found);
    }
  }
  void Trim() {
    const size_t kept = entries_.size() / 2;
    Expect({"XTRIM", "s", "MAXLEN", std::to_string(kept)}, Number(entries_.size() - kept));
    while (entries_.size() > kept) entries_.erase(entries_.begin());
  }
  void DeleteConsumer() {
    const size_t gone =
        std::erase_if(pending_, [](const auto& row) { return row.second.first == "a"; });
    Expect({"XGROUP", "DELCONSUMER", "s", "g", "a"}, Number(gone));
  }

  void Step() {
    switch (random_.Below(12)) {
      case 0: {
        const Id id = AnyId();
        return Expect({"XDEL", "s", Text(id)}, Number(entries_.erase(id)));
      }
      case 1:
      case 2:
        return Read();
      case 3: {
        const Id id = AnyId();
        return Expect({"XACK", "s", "g", Text(id)}, Number(pending_.erase(id)));
      }
      case 4:
        return Claim();
      case 5:
        return random_.Below(10) == 0 ? Trim() : Add();
      case 6:
        return random_.Below(10) == 0 ? DeleteConsumer() : Add();
      case 7:
        if (random_.Below(20) == 0) server_.Restart();
        return;
      default:
        return Add();
    }
  }

  SeededRandom random_{GetParam()};
  DataServer server_;
  std::map<Id, std::string> entries_;
  std::map<Id, std::pair<std::string, size_t>> pending_;  // consumer, deliveries
  Id last_;
  Id delivered_;
};

TEST_P(StreamModelTest, AgreesWithTheModel) {
  Expect({"XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"}, "OK");
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    Step();
    Expect({"XLEN", "s"}, Number(entries_.size()));
    if (i % 10 != 0) continue;
    Expect({"XRANGE", "s", "-", "+"}, ShowEntries());
    Expect({"XPENDING", "s", "g", "-", "+", "1000"}, ShowPending());
  }
  server_.CheckConsistency();
}

INSTANTIATE_TEST_SUITE_P(Seeds, StreamModelTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace cairn::data
