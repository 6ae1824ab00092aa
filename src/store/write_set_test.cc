#include "store/write_set.h"

#include <gtest/gtest.h>

#include <map>

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
  writes.AppendEvent(DataKey("e"), "x");
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

TEST(WriteSetTest, SeeksInBothDirectionsWithinOneSpace) {
  WriteSet writes;
  writes.Put({Space::kSystem, "z"}, "");
  writes.Put(DataKey("b"), "");
  writes.Put(DataKey("d"), "");
  writes.Put({Space::kJobs, "a"}, "");
  const auto key = [](const WriteSet::Row* row) { return row ? Bytes(row->key) : "none"; };
  const BytesView c = "c";
  const BytesView b = "b";
  EXPECT_EQ(key(writes.Seek(Space::kData, "")), "b");
  EXPECT_EQ(key(writes.Seek(Space::kData, "b")), "b");
  EXPECT_EQ(key(writes.Seek(Space::kData, "e")), "none");
  EXPECT_EQ(key(writes.SeekBackward(Space::kData, &c)), "b");
  EXPECT_EQ(key(writes.SeekBackward(Space::kData, &b)), "none");
  EXPECT_EQ(key(writes.SeekBackward(Space::kData, nullptr)), "d");
  writes.Put(DataKey("e"), "");  // the order follows rows added after it was made
  EXPECT_EQ(key(writes.SeekBackward(Space::kData, nullptr)), "e");
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

}  // namespace
}  // namespace cairn::store
