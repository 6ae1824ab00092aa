#include "store/write_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/random.h"

namespace cairn::store {
namespace {

using State = WriteSet::State;

Key DataKey(BytesView bytes) { return {Space::kData, bytes}; }

std::optional<Bytes> Find(const WriteSet& writes, BytesView key) {
  BytesView value;
  return writes.Find(DataKey(key), &value) == State::kPut ? std::optional(Bytes(value))
                                                          : std::nullopt;
}

TEST(WriteSetTest, LastWriteOfAKeyCounts) {
  WriteSet writes;
  writes.Put(DataKey("a"), "1");
  writes.Put(DataKey("a"), "2");
  EXPECT_EQ(Find(writes, "a"), "2");
  EXPECT_EQ(writes.rows().size(), 1u);
  writes.Delete(DataKey("a"));
  BytesView value;
  EXPECT_EQ(writes.Find(DataKey("a"), &value), State::kDeleted);
  EXPECT_EQ(writes.Find(DataKey("b"), &value), State::kUnknown);
  EXPECT_EQ(writes.Find({Space::kJobs, "a"}, &value), State::kUnknown);
}

TEST(WriteSetTest, UndoRestoresEverythingSinceTheMark) {
  WriteSet writes;
  writes.Put(DataKey("a"), "1");
  writes.Add(DataKey("n"), 1);
  writes.NoteTimer(100);
  const auto mark = writes.mark();
  writes.Put(DataKey("a"), "2");
  writes.Put(DataKey("b"), "2");
  writes.DeleteRange(Range::All(Space::kData));
  writes.Add(DataKey("n"), 10);
  writes.Add(DataKey("m"), 10);
  writes.AppendEvents(DataKey("e"), "x", 1);
  writes.Wake({1});
  writes.NoteTimer(5);
  EXPECT_TRUE(writes.ChangedSince(mark));
  writes.UndoTo(mark);
  EXPECT_FALSE(writes.ChangedSince(mark));
  EXPECT_EQ(Find(writes, "a"), "1");
  EXPECT_EQ(Find(writes, "b"), std::nullopt);
  EXPECT_EQ(writes.CounterDelta(DataKey("n")), 1);
  EXPECT_EQ(writes.CounterDelta(DataKey("m")), 0);
  EXPECT_TRUE(writes.ranges().empty());
  EXPECT_TRUE(writes.events().empty());
  EXPECT_TRUE(writes.wakes().empty());
  EXPECT_EQ(writes.earliest_timer_us(), 100);
}

TEST(WriteSetTest, ClearForgetsAllAndIsReusable) {
  WriteSet writes;
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(writes.empty());
    for (int i = 0; i < 1000; ++i) writes.Put(DataKey(std::to_string(i)), Bytes(200, 'x'));
    EXPECT_EQ(writes.rows().size(), 1000u);
    EXPECT_EQ(Find(writes, "999"), Bytes(200, 'x'));
    writes.Clear();
    EXPECT_EQ(Find(writes, "999"), std::nullopt);
  }
}

TEST(WriteSetTest, ARowHasAnOriginAsLongAsOnlyOneHasWrittenIt) {
  WriteSet writes;
  const auto write = [&](BytesView key, uint32_t origin) {
    writes.set_origin(origin);
    writes.Put(DataKey(key), "");
  };
  write("nobody", 0);
  write("one", 1);
  write("one", 1);
  write("two", 1);
  write("two", 2);
  write("later nobody", 1);
  write("later nobody", 0);
  const WriteSet::Mark mark = writes.mark();
  write("undone", 1);
  write("one", 2);
  writes.UndoTo(mark);
  write("undone", 2);
  std::map<Bytes, uint32_t> origins;
  for (const WriteSet::Row& row : writes.rows()) origins[Bytes(row.key)] = row.origin;
  // An origin that was overwritten does not come back: that only means one message too many.
  const std::map<Bytes, uint32_t> expected = {
      {"nobody", 0}, {"one", 0}, {"two", 0}, {"later nobody", 0}, {"undone", 2}};
  EXPECT_EQ(origins, expected);
}

TEST(WriteSetTest, SeeksInBothDirectionsWithinOneSpace) {
  WriteSet writes;
  writes.Put({Space::kSystem, "z"}, "");
  writes.Put(DataKey("b"), "");
  writes.Put(DataKey("d"), "");
  writes.Put({Space::kJobs, "a"}, "");
  const auto key = [](const WriteSet::Row* row) { return row ? Bytes(row->key) : "none"; };
  const BytesView c = "c";
  const BytesView b = "b";
  const Range all = Range::All(Space::kData);
  EXPECT_EQ(key(writes.Seek(all, "")), "b");
  EXPECT_EQ(key(writes.Seek(all, "b")), "b");
  EXPECT_EQ(key(writes.Seek(all, "e")), "none");
  EXPECT_EQ(key(writes.SeekBackward(all, &c)), "b");
  EXPECT_EQ(key(writes.SeekBackward(all, &b)), "none");
  EXPECT_EQ(key(writes.SeekBackward(all, nullptr)), "d");
  writes.Put(DataKey("e"), "");  // the order follows rows added after it was made
  EXPECT_EQ(key(writes.SeekBackward(all, nullptr)), "e");
  const Range some{Space::kData, "c", "e"};
  EXPECT_EQ(key(writes.Seek(some, "c")), "d");
  EXPECT_EQ(key(writes.Seek(some, "d1")), "none");
  EXPECT_EQ(key(writes.SeekBackward(some, nullptr)), "d");
}

// Keys of all lengths and beginnings: what a scan meets does not depend on how the set keeps rows
// that begin alike together.
TEST(WriteSetTest, SeeksAgreeWithASetForAnyKeys) {
  SeededRandom random(7);
  const auto random_key = [&random] {
    Bytes key;
    for (uint64_t size = random.Below(4); size > 0; --size) {
      key.push_back("\x00\x01z\xff"[random.Below(4)]);
    }
    return key;
  };
  const auto key = [](const WriteSet::Row* row) {
    return row != nullptr ? std::optional(Bytes(row->key)) : std::nullopt;
  };
  for (int round = 0; round < 300; ++round) {
    WriteSet writes;
    std::set<Bytes> model;
    for (int step = 0; step < 40; ++step) {
      const Bytes written = *model.insert(random_key()).first;
      random.Below(4) == 0 ? writes.Delete(DataKey(written)) : writes.Put(DataKey(written), "");
      writes.Put({random.Below(2) == 0 ? Space::kSystem : Space::kJobs, random_key()}, "");
      Range range{Space::kData, random_key(), random_key()};
      if (random.Below(4) == 0) range.end.reset();
      if (range.empty()) continue;

      std::vector<Bytes> expected;
      std::ranges::copy_if(model, std::back_inserter(expected),
                           [&](const Bytes& known) { return range.Contains(known); });
      std::vector<Bytes> found;
      for (auto at = key(writes.Seek(range, range.begin)); at;
           at = key(writes.Seek(range, *at + '\0'))) {
        found.push_back(*at);
      }
      ASSERT_EQ(found, expected);
      found.clear();
      for (auto at = key(writes.SeekBackward(range, nullptr)); at;) {
        found.push_back(*at);
        const BytesView before = *at;
        at = key(writes.SeekBackward(range, &before));
      }
      std::ranges::reverse(found);
      ASSERT_EQ(found, expected);
    }
  }
}

TEST(WriteSetTest, AgreesWithAMapThroughRandomUndo) {
  SeededRandom random(42);
  WriteSet writes;
  std::map<Bytes, std::optional<Bytes>> model;
  for (int round = 0; round < 2000; ++round) {
    const auto mark = writes.mark();
    auto attempt = model;
    for (uint64_t steps = random.Below(6); steps > 0; --steps) {
      const Bytes key = std::to_string(random.Below(50));
      if (random.Below(10) == 0) {
        const Range range{Space::kData, key, std::to_string(random.Below(50))};
        writes.DeleteRange(range);
        for (auto& [known, value] : attempt) {
          if (!range.empty() && range.Contains(known)) value = std::nullopt;
        }
      } else if (random.Below(3) == 0) {
        writes.Delete(DataKey(key));
        attempt[key] = std::nullopt;
      } else {
        const Bytes value = std::to_string(random.Next());
        writes.Put(DataKey(key), value);
        attempt[key] = value;
      }
    }
    if (random.Below(3) == 0) {
      writes.UndoTo(mark);
    } else {
      model = std::move(attempt);
    }
    for (const auto& [key, value] : model) ASSERT_EQ(Find(writes, key), value) << round;
    if (random.Below(50) == 0) {
      writes.Clear();
      model.clear();
    }
  }
}

TEST(WriteSetTest, PastItsLimitABodyWritesNothingMore) {
  WriteSet writes(10'000);
  writes.Put(DataKey("before"), "1");
  const auto mark = writes.mark();
  writes.BeginBody();
  writes.Put(DataKey("a"), Bytes(9'000, 'x'));
  EXPECT_FALSE(writes.over_limit());
  const size_t bytes = writes.bytes();
  writes.Put(DataKey("b"), Bytes(1'000, 'x'));
  EXPECT_TRUE(writes.over_limit());
  writes.Delete(DataKey("a"));
  writes.DeleteRange(Range::All(Space::kData));
  writes.Add(DataKey("n"), 1);
  writes.AppendEvents(DataKey("e"), "x", 1);
  EXPECT_EQ(writes.bytes(), bytes);
  EXPECT_EQ(Find(writes, "b"), std::nullopt);
  EXPECT_TRUE(writes.ranges().empty());
  EXPECT_EQ(writes.limit_error().code, ErrorCode::kTooLarge);
  EXPECT_NE(writes.limit_error().message.find("limits.transaction"), std::string::npos);

  writes.UndoTo(mark);
  writes.BeginBody();  // each has the limit to itself
  EXPECT_FALSE(writes.over_limit());
  writes.Put(DataKey("b"), Bytes(9'000, 'x'));
  EXPECT_FALSE(writes.over_limit());
  EXPECT_EQ(Find(writes, "a"), std::nullopt);
  EXPECT_EQ(Find(writes, "before"), "1");
  writes.Clear();
  EXPECT_EQ(writes.bytes(), 0u);
}

// What is overwritten still takes memory.
TEST(WriteSetTest, WritesOfOneKeyCountEachTime) {
  WriteSet writes(10'000);
  writes.BeginBody();
  for (int i = 0; i < 20; ++i) writes.Put(DataKey("a"), Bytes(1'000, 'x'));
  EXPECT_TRUE(writes.over_limit());
  EXPECT_LE(writes.bytes(), 10'000u);
}

TEST(WriteSetTest, LargeSetsTakeRoomUntilTheyAreCleared) {
  constexpr size_t kMegabyte = 1'000'000;
  WriteRoom room(100 * kMegabyte);
  WriteSet small(100 * kMegabyte, &room);
  small.Put(DataKey("a"), "1");
  EXPECT_EQ(room.used(), 0u);
  WriteSet large(100 * kMegabyte, &room);
  for (int i = 0; i < 20; ++i) large.Put(DataKey(std::to_string(i)), Bytes(kMegabyte, 'x'));
  EXPECT_GT(room.used(), 18 * kMegabyte);
  EXPECT_LT(room.used(), 22 * kMegabyte);
  EXPECT_EQ(Find(large, "19"), Bytes(kMegabyte, 'x'));
  large.Clear();
  EXPECT_EQ(room.used(), 0u);
}

}  // namespace
}  // namespace cairn::store
