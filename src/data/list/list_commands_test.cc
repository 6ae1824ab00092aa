#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/testing/script.h"
#include "data/value/elements.h"
#include "data/value/entry.h"
#include "data/value/keys.h"
#include "data/value/list_page.h"

namespace cairn::data {
namespace {

using testing::DataServer;

class ListCommandsTest : public ::testing::Test {
 protected:
  ~ListCommandsTest() override { server_.CheckConsistency(); }

  // Of all lists: suffix and value.
  std::vector<std::string> Rows();

  DataServer server_;
};

TEST_F(ListCommandsTest, PushesAndPopsAtBothEnds) {
  server_.Play(R"(
    LPUSH l a b               => (integer) 2
    RPUSH l c d               => (integer) 4
    LRANGE l 0 -1             => ["b", "a", "c", "d"]
    LLEN l                    => (integer) 4
    LPOP l                    => "b"
    RPOP l                    => "d"
    LPOP l 0                  => []
    LPOP l 10                 => ["a", "c"]
    EXISTS l                  => (integer) 0
    LPOP l                    => (nil)
    LPOP l 0                  => (nil)
    LPUSHX l a                => (integer) 0
    RPUSHX l a                => (integer) 0
    EXISTS l                  => (integer) 0
    RPUSH l a                 => (integer) 1
    LPUSHX l b                => (integer) 2
    RPUSHX l c d              => (integer) 4
    RPOP l 2                  => ["d", "c"]
    TYPE l                    => list
    LPOP l x                  => (error) ERR value is out of range, must be positive
    LPOP l -1                 => (error) ERR value is out of range, must be positive
    LPOP l 1 2                => (error) ERR wrong number of arguments for 'lpop' command
  )");
}

TEST_F(ListCommandsTest, ReadsAndWritesByIndex) {
  server_.Play(R"(
    RPUSH l a b c d e
    LINDEX l 0                => "a"
    LINDEX l -1               => "e"
    LINDEX l 5                => (nil)
    LINDEX l -6               => (nil)
    LINDEX l -9223372036854775808 => (nil)
    LINDEX nosuch x           => (nil)
    LINDEX l x                => (error) ERR value is not an integer or out of range
    LRANGE l 1 2              => ["b", "c"]
    LRANGE l -2 100           => ["d", "e"]
    LRANGE l -9223372036854775808 9223372036854775807 => ["a", "b", "c", "d", "e"]
    LRANGE l 3 1              => []
    LRANGE l 5 6              => []
    LRANGE nosuch 0 -1        => []
    LSET l 1 B                => OK
    LSET l -1 E               => OK
    LSET l 5 x                => (error) ERR index out of range
    LSET l x x                => (error) ERR value is not an integer or out of range
    LSET nosuch x x           => (error) ERR no such key
    LRANGE l 0 -1             => ["a", "B", "c", "d", "E"]
    LTRIM l 1 -2              => OK
    LRANGE l 0 -1             => ["B", "c", "d"]
    LTRIM l 5 10              => OK
    EXISTS l                  => (integer) 0
    LTRIM l 0 1               => OK
    LTRIM l x 1               => (error) ERR value is not an integer or out of range
  )");
}

TEST_F(ListCommandsTest, FindsAndChangesByValue) {
  server_.Play(R"(
    RPUSH l a b c a b c a
    LREM l 1 a                => (integer) 1
    LRANGE l 0 -1             => ["b", "c", "a", "b", "c", "a"]
    LREM l -1 b               => (integer) 1
    LRANGE l 0 -1             => ["b", "c", "a", "c", "a"]
    LREM l 0 c                => (integer) 2
    LREM l 0 zz               => (integer) 0
    LREM l -9223372036854775808 zz => (integer) 0
    LREM nosuch 0 a           => (integer) 0
    LRANGE l 0 -1             => ["b", "a", "a"]
    LINSERT l BEFORE b x      => (integer) 4
    LINSERT l after a y       => (integer) 5
    LINSERT l AFTER zz y      => (integer) -1
    LINSERT nosuch AFTER zz y => (integer) 0
    LINSERT l BESIDE a y      => (error) ERR syntax error
    LRANGE l 0 -1             => ["x", "b", "a", "y", "a"]
    LREM l 0 a                => (integer) 2
    LREM l 5 x                => (integer) 1
    LREM l 5 b                => (integer) 1
    LREM l 5 y                => (integer) 1
    EXISTS l                  => (integer) 0
  )");
}

TEST_F(ListCommandsTest, TellsPositions) {
  server_.Play(R"(
    RPUSH l a b c 1 2 3 c c
    LPOS l c                  => (integer) 2
    LPOS l zz                 => (nil)
    LPOS l c RANK 2           => (integer) 6
    LPOS l c RANK -1          => (integer) 7
    LPOS l c RANK -9223372036854775808 => (nil)
    LPOS l c COUNT 2          => [(integer) 2, (integer) 6]
    LPOS l c COUNT 0 RANK -2  => [(integer) 6, (integer) 2]
    LPOS l c COUNT 0 MAXLEN 3 => [(integer) 2]
    LPOS l c COUNT 0 MAXLEN 1 RANK -1 => [(integer) 7]
    LPOS nosuch c COUNT 1     => []
    LPOS nosuch c             => (nil)
    LPOS l c RANK 0           => (error) ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list
    LPOS l c RANK x           => (error) ERR value is not an integer or out of range
    LPOS l c COUNT x          => (error) ERR COUNT can't be negative
    LPOS l c MAXLEN -1        => (error) ERR MAXLEN can't be negative
    LPOS l c COUNT            => (error) ERR syntax error
    LPOS l c FOO 1            => (error) ERR syntax error
  )");
}

TEST_F(ListCommandsTest, MovesBetweenLists) {
  server_.Play(R"(
    RPUSH a 1 2 3
    LMOVE a b LEFT RIGHT      => "1"
    LMOVE a b RIGHT LEFT      => "3"
    LRANGE b 0 -1             => ["3", "1"]
    LMOVE b b LEFT RIGHT      => "3"
    LRANGE b 0 -1             => ["1", "3"]
    RPOPLPUSH a b             => "2"
    EXISTS a                  => (integer) 0
    RPOPLPUSH a b             => (nil)
    LMOVE b b LEFT FOO        => (error) ERR syntax error
    SET s x
    LMOVE b s LEFT LEFT       => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    LMOVE nosuch s LEFT LEFT  => (nil)
    LRANGE b 0 -1             => ["2", "1", "3"]
    LTRIM b 0 0
    RPOPLPUSH b b             => "2"
    LRANGE b 0 -1             => ["2"]
  )");
}

TEST_F(ListCommandsTest, PopsFromTheFirstListThatHasAny) {
  server_.Play(R"(
    RPUSH l a b c d e
    LMPOP 2 nosuch l LEFT     => ["l", ["a"]]
    LMPOP 2 nosuch l RIGHT COUNT 2 => ["l", ["e", "d"]]
    LMPOP 1 l LEFT COUNT 10   => ["l", ["b", "c"]]
    LMPOP 1 l LEFT            => (nil)
    LMPOP 0 l LEFT            => (error) ERR numkeys should be greater than 0
    LMPOP x l LEFT            => (error) ERR numkeys should be greater than 0
    LMPOP 2 l LEFT            => (error) ERR syntax error
    LMPOP 1 l FOO             => (error) ERR syntax error
    LMPOP 1 l LEFT COUNT 0    => (error) ERR count should be greater than 0
    LMPOP 1 l LEFT COUNT      => (error) ERR syntax error
    LMPOP 1 l LEFT COUNT 1 COUNT 2 => (error) ERR syntax error
    LMPOP 9223372036854775807 l LEFT => (error) ERR syntax error
  )");
}

TEST_F(ListCommandsTest, BlockingFormsTakeWhatIsThere) {
  server_.Play(R"(
    RPUSH l a b c d e f g
    BLPOP nosuch l 0          => ["l", "a"]
    BRPOP l nosuch 0.5        => ["l", "g"]
    BLMOVE l m LEFT RIGHT 0   => "b"
    BRPOPLPUSH l m 0          => "f"
    LRANGE m 0 -1             => ["f", "b"]
    BLMPOP 0 2 nosuch l LEFT COUNT 2 => ["l", ["c", "d"]]
    MULTI
    BLPOP nosuch 0
    BLMOVE nosuch m LEFT LEFT 0
    BRPOPLPUSH nosuch m 0
    BLMPOP 0 1 nosuch LEFT
    EXEC                      => [(nil), (nil), (nil), (nil)]
    BLPOP l x                 => (error) ERR timeout is not a float or out of range
    BLPOP l -1                => (error) ERR timeout is negative
    BLPOP l 1e300             => (error) ERR timeout is negative
    BLMOVE l m FOO LEFT x     => (error) ERR syntax error
    BLMPOP x 0 l LEFT         => (error) ERR numkeys should be greater than 0
    BLMPOP x 1 l LEFT         => (error) ERR timeout is not a float or out of range
    SET s x
    BLPOP s l 0               => (error) WRONGTYPE Operation against a key holding the wrong kind of value
    BLPOP l s 0               => ["l", "e"]
  )");
}

TEST_F(ListCommandsTest, OtherTypesAreRefused) {
  const std::string wrong =
      "(error) WRONGTYPE Operation against a key holding the wrong kind of value";
  server_.Play("SET s x");
  const std::vector<std::vector<std::string>> commands = {
      {"LPUSH", "s", "a"},         {"RPUSHX", "s", "a"},    {"LPOP", "s"},
      {"RPOP", "s", "1"},          {"LLEN", "s"},           {"LRANGE", "s", "0", "1"},
      {"LINDEX", "s", "0"},        {"LSET", "s", "0", "a"}, {"LREM", "s", "0", "a"},
      {"LTRIM", "s", "0", "1"},    {"LPOS", "s", "a"},      {"LINSERT", "s", "AFTER", "a", "b"},
      {"LMPOP", "1", "s", "LEFT"}, {"RPOPLPUSH", "s", "l"}, {"LMOVE", "s", "l", "LEFT", "LEFT"},
  };
  for (const auto& command : commands) EXPECT_EQ(server_.Run(command), wrong) << command[0];
}

TEST_F(ListCommandsTest, KeysOfCountedCommandsAreFound) {
  server_.Play(R"(
    COMMAND GETKEYS LMPOP 2 a b LEFT => ["a", "b"]
    COMMAND GETKEYS BLMPOP 0 1 a LEFT => ["a"]
  )");
  EXPECT_TRUE(server_.Run({"LMPOP", "9", "a", "LEFT"}).starts_with("(error)"));
}

// Rows as format version 2 had them: one for each element.
void WriteOldList(DataServer& server, BytesView key, const std::vector<std::string>& elements) {
  const auto done = server.store().Run({}, [&](store::Transaction& transaction) -> Result<void> {
    constexpr uint64_t kFirst = uint64_t{1} << 63;
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, 0, key));
    Elements rows(transaction, 0, 0);
    Bytes payload;
    AppendBig64(payload, elements.size());
    AppendBig64(payload, kFirst);
    for (size_t i = 0; i < elements.size(); ++i) {
      Bytes suffix;
      AppendBig64(suffix, kFirst + i);
      rows.Put(suffix, elements[i]);
    }
    entry.Put({.type = ValueType::kList, .payload = payload, .generation = rows.generation()});
    return {};
  });
  ASSERT_TRUE(done.ok());
}

TEST_F(ListCommandsTest, ListsWithARowForEachElementAreReadAndChanged) {
  std::vector<std::string> elements;
  for (int i = 0; i < 30; ++i) elements.push_back("e" + std::to_string(i));
  WriteOldList(server_, "l", elements);
  server_.Play(R"(
    LLEN l                    => (integer) 30
    LINDEX l 29               => "e29"
    LRANGE l 7 9              => ["e7", "e8", "e9"]
    LPUSH l z                 => (integer) 31
    RPUSH l y                 => (integer) 32
    LRANGE l -3 -1            => ["e28", "e29", "y"]
    LSET l 11 changed         => OK
    LRANGE l 9 12             => ["e8", "e9", "changed", "e11"]
    LREM l 1 e20              => (integer) 1
    LINSERT l BEFORE e3 new   => (integer) 32
    LPOP l 5                  => ["z", "e0", "e1", "e2", "new"]
    RPOP l 3                  => ["y", "e29", "e28"]
    LTRIM l 2 -3              => OK
    LRANGE l 0 2              => ["e5", "e6", "e7"]
    LRANGE l -2 -1            => ["e24", "e25"]
  )");
}

TEST_F(ListCommandsTest, AListOfSomeShortElementsIsOneRecord) {
  server_.Play(R"(
    RPUSH l a b c d           => (integer) 4
    LPUSH l x y z             => (integer) 7
    LRANGE l 0 -1             => ["z", "y", "x", "a", "b", "c", "d"]
    RPOP l                    => "d"
  )");
  EXPECT_EQ(Rows(), std::vector<std::string>());
}

TEST_F(ListCommandsTest, PagesAndPositionsAreStoredAsDrawn) {
  const std::string longer(kMaxPagedBytes + 1, 'x');
  server_.Play("RPUSH l a b c d e f g h i\nLPUSH l z");
  const std::string page = "701000000000000000 ";
  EXPECT_EQ(Rows(), std::vector{page + HexEncode("\2a\2b\2c\2d\2e\2f\2g\2h")});
  server_.Run({"LSET", "l", "2", longer});
  EXPECT_EQ(Rows(), (std::vector{page + "0261" + "00" + HexEncode("\2c\2d\2e\2f\2g\2h"),
                                 "8000000000000001 " + HexEncode(longer)}));
  const auto record =
      (*server_.store().Read())->Get({store::Space::kData, EncodeRecordKey({0, "l"})});
  ASSERT_TRUE(record.ok() && *record);
  // count, first, left, right
  EXPECT_EQ(HexEncode(DecodeRecord(**record)->payload),
            "000000000000000a"
            "7fffffffffffffff"
            "027a"
            "0269");
  server_.Play("RPOP l 2");
  EXPECT_EQ(Rows(), std::vector{"8000000000000001 " + HexEncode(longer)});
  server_.Run({"LSET", "l", "2", "b"});
  EXPECT_EQ(Rows(), std::vector<std::string>());
}

std::vector<std::string> ListCommandsTest::Rows() {
  const auto snapshot = server_.store().Read();
  EXPECT_TRUE(snapshot.ok());
  std::vector<std::string> rows;
  const auto scanned = (*snapshot)->Scan(ElementRange(0), {}, [&](BytesView key, BytesView value) {
    rows.push_back(HexEncode(key.substr(kElementPrefixBytes)) + " " + HexEncode(value));
    return true;
  });
  EXPECT_TRUE(scanned.ok());
  return rows;
}

// Random commands against deques.
class ListModelTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  using Model = std::deque<std::string>;

  static std::string Show(const Model& list) {
    std::string text = "[";
    for (const std::string& element : list) {
      text += (text.size() == 1 ? "\"" : ", \"") + element + "\"";
    }
    return text + "]";
  }
  static std::string Number(size_t value) { return "(integer) " + std::to_string(value); }
  // Some have a place in a page, some have rows of their own.
  std::string Element() {
    const size_t size = random_.Below(8) == 0 ? kMaxPagedBytes + random_.Below(2) : 1;
    return std::string(size, static_cast<char>('a' + random_.Below(4)));
  }
  void Expect(const std::vector<std::string>& command, const std::string& reply) {
    ASSERT_EQ(server_.Run(command), reply) << command[0];
  }

  void Push(const std::string& key, Model& list) {
    const std::string element = Element();
    const bool left = random_.Below(2) == 0;
    if (left) {
      list.push_front(element);
    } else {
      list.push_back(element);
    }
    Expect({left ? "LPUSH" : "RPUSH", key, element}, Number(list.size()));
  }
  void Pop(const std::string& key, Model& list) {
    const bool left = random_.Below(2) == 0;
    std::string reply = "(nil)";
    if (!list.empty()) {
      reply = "\"" + (left ? list.front() : list.back()) + "\"";
      if (left) {
        list.pop_front();
      } else {
        list.pop_back();
      }
    }
    Expect({left ? "LPOP" : "RPOP", key}, reply);
  }
  void Insert(const std::string& key, Model& list) {
    const std::string pivot = Element();
    const std::string element = Element();
    const bool after = random_.Below(2) == 0;
    const auto found = std::ranges::find(list, pivot);
    std::string reply = list.empty() ? "(integer) 0" : "(integer) -1";
    if (found != list.end()) {
      list.insert(found + (after ? 1 : 0), element);
      reply = Number(list.size());
    }
    Expect({"LINSERT", key, after ? "AFTER" : "BEFORE", pivot, element}, reply);
  }
  void Remove(const std::string& key, Model& list) {
    const std::string element = Element();
    const int count = static_cast<int>(random_.Below(7)) - 3;
    const size_t most = count == 0 ? list.size() : static_cast<size_t>(std::abs(count));
    size_t removed = 0;
    const auto gone = [&](const std::string& other) {
      return other == element && removed < most && ++removed > 0;
    };
    Model kept;
    if (count < 0) {
      for (auto it = list.rbegin(); it != list.rend(); ++it) {
        if (!gone(*it)) kept.push_front(*it);
      }
    } else {
      for (const std::string& other : list) {
        if (!gone(other)) kept.push_back(other);
      }
    }
    list = kept;
    Expect({"LREM", key, std::to_string(count), element}, Number(removed));
  }
  void Trim(const std::string& key, Model& list) {
    const size_t begin = random_.Below(3);
    const size_t back = 1 + random_.Below(3);
    Expect({"LTRIM", key, std::to_string(begin), "-" + std::to_string(back)}, "OK");
    Model kept;
    for (size_t i = begin; i + back <= list.size(); ++i) kept.push_back(list[i]);
    list = kept;
  }

  void Step() {
    const std::string key = "l" + std::to_string(random_.Below(3));
    Model& list = lists_[key];
    switch (random_.Below(16)) {
      case 0:
      case 1:
        return Pop(key, list);
      case 2:
      case 3:
        return Insert(key, list);
      case 4:
        return Remove(key, list);
      case 5:
        return random_.Below(4) == 0 ? Trim(key, list) : Push(key, list);
      case 6: {
        if (list.empty()) return;
        const size_t index = random_.Below(list.size());
        list[index] = Element();
        return Expect({"LSET", key, std::to_string(index), list[index]}, "OK");
      }
      case 7:
        if (random_.Below(30) == 0) server_.Restart();
        return;
      case 8:
        return server_.FireTimers();
      default:
        return Push(key, list);
    }
  }

  SeededRandom random_{GetParam()};
  DataServer server_;
  std::map<std::string, Model> lists_;
};

TEST_P(ListModelTest, AgreesWithTheModel) {
  const std::vector<std::string> old(21, "b");
  WriteOldList(server_, "l0", old);
  lists_["l0"].assign(old.begin(), old.end());
  for (int i = 0; i < 450 && !HasFailure(); ++i) {
    Step();
    for (const auto& [key, list] : lists_) Expect({"LRANGE", key, "0", "-1"}, Show(list));
  }
  server_.CheckConsistency();
}

INSTANTIATE_TEST_SUITE_P(Seeds, ListModelTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace cairn::data
