#include "store/rocks/value_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cairn::store::rocks {
namespace {

using Lookup = ValueCache::Lookup;
using Rng = std::mt19937_64;

constexpr size_t kMiB = 1 << 20;

constexpr auto kYes = [] { return true; };
constexpr auto kNo = [] { return false; };

// What the cache says, as text: "?" for a miss, "-" for absent, else the value.
std::string Ask(ValueCache& cache, uint8_t space, BytesView key) {
  Bytes value;
  switch (cache.Get(space, key, &value)) {
    case Lookup::kMiss:
      return "?";
    case Lookup::kAbsent:
      return "-";
    case Lookup::kFound:
      return value;
  }
  return "";
}

TEST(ValueCache, KnowsWhatWasCommitted) {
  ValueCache cache(kMiB);
  EXPECT_EQ(Ask(cache, 1, "a"), "?");
  cache.Commit(1, "a", "one");
  EXPECT_EQ(Ask(cache, 1, "a"), "one");
  cache.Commit(1, "a", "a longer value that does not fit in the block of the first");
  EXPECT_EQ(Ask(cache, 1, "a"), "a longer value that does not fit in the block of the first");
  cache.Commit(1, "a", std::nullopt);
  EXPECT_EQ(Ask(cache, 1, "a"), "-");
  cache.Commit(1, "a", "");
  EXPECT_EQ(Ask(cache, 1, "a"), "");
  EXPECT_EQ(cache.hits(), 4);
  EXPECT_EQ(cache.misses(), 1);
}

TEST(ValueCache, ManyRowsOfACommitAreKnownAtOnce) {
  ValueCache cache(kMiB);
  std::vector<Bytes> keys;
  std::vector<ValueCache::Written> rows;
  for (int i = 0; i < 100; ++i) keys.push_back("key" + std::to_string(i));
  for (const Bytes& key : keys) rows.push_back({1, key, BytesView(key)});
  rows.push_back({1, keys[7], std::nullopt});
  cache.Commit(rows);
  for (const Bytes& key : keys) EXPECT_EQ(Ask(cache, 1, key), key == keys[7] ? "-" : key);
}

TEST(ValueCache, RowsThatNobodyAskedForCanBeLeftOut) {
  ValueCache cache(kMiB);
  constexpr auto kIgnored = ValueCache::Unknown::kIgnored;
  const std::vector<ValueCache::Written> rows = {{1, "known", "new", kIgnored},
                                                 {1, "gone", std::nullopt, kIgnored},
                                                 {1, "other", "new", kIgnored}};
  cache.Fill(1, "known", std::nullopt, kYes);
  cache.Fill(1, "gone", "old", kYes);
  cache.Commit(rows);
  EXPECT_EQ(Ask(cache, 1, "known"), "new");
  EXPECT_EQ(Ask(cache, 1, "gone"), "-");
  EXPECT_EQ(Ask(cache, 1, "other"), "?");
}

TEST(ValueCache, ExpectingKeysChangesNothing) {
  ValueCache cache(kMiB);
  std::vector<Key> keys(40, Key{Space::kData, "unknown"});
  cache.Expect(keys);  // with no slots yet
  cache.Commit(static_cast<uint8_t>(Space::kData), "known", "value");
  keys.push_back({Space::kData, "known"});
  cache.Expect(keys);
  EXPECT_EQ(Ask(cache, static_cast<uint8_t>(Space::kData), "known"), "value");
  EXPECT_EQ(Ask(cache, static_cast<uint8_t>(Space::kData), "unknown"), "?");
  EXPECT_EQ(cache.hits() + cache.misses(), 2);
}

TEST(ValueCache, KeepsSpacesApart) {
  ValueCache cache(kMiB);
  cache.Commit(1, "a", "one");
  cache.Commit(2, "a", "two");
  EXPECT_EQ(Ask(cache, 1, "a"), "one");
  EXPECT_EQ(Ask(cache, 2, "a"), "two");
  cache.EraseRange(1, "", "");
  EXPECT_EQ(Ask(cache, 1, "a"), "?");
  EXPECT_EQ(Ask(cache, 2, "a"), "two");
}

TEST(ValueCache, AnyBytesAreAKey) {
  ValueCache cache(kMiB);
  const std::array<std::string, 4> keys = {"", std::string(1, '\0'), std::string(300, 'k'),
                                           std::string(70000, 'k')};
  for (const std::string& key : keys) cache.Commit(1, key, "of " + std::to_string(key.size()));
  EXPECT_EQ(Ask(cache, 1, keys[0]), "of 0");
  EXPECT_EQ(Ask(cache, 1, keys[1]), "of 1");
  EXPECT_EQ(Ask(cache, 1, keys[2]), "of 300");
  EXPECT_EQ(Ask(cache, 1, keys[3]), "?");  // too long to be kept
}

TEST(ValueCache, FillKeepsOnlyWhatIsStillCurrent) {
  ValueCache cache(kMiB);
  cache.Fill(1, "a", "stale", kNo);
  EXPECT_EQ(Ask(cache, 1, "a"), "?");
  cache.Fill(1, "a", "current", kYes);
  cache.Fill(1, "b", std::nullopt, kYes);
  EXPECT_EQ(Ask(cache, 1, "a"), "current");
  EXPECT_EQ(Ask(cache, 1, "b"), "-");
}

TEST(ValueCache, FillOvertakenByAnErasedRangeIsNotServed) {
  ValueCache cache(kMiB);
  cache.Fill(1, "a", "stale", [&] {
    // A commit that begins right after the answer.
    std::thread([&] { cache.EraseRange(1, "a", "b"); }).join();
    return true;
  });
  EXPECT_EQ(Ask(cache, 1, "a"), "?");
}

TEST(ValueCache, LongValueTakesTheOldOneAway) {
  ValueCache cache(kMiB, 10);
  cache.Commit(1, "a", "short");
  cache.Commit(1, "a", "longer than ten bytes");
  EXPECT_EQ(Ask(cache, 1, "a"), "?");
  cache.Commit(1, "a", "0123456789");
  EXPECT_EQ(Ask(cache, 1, "a"), "0123456789");
}

TEST(ValueCache, RewritingAValueTakesNoMoreMemory) {
  ValueCache cache(kMiB);
  cache.Commit(1, "counter", "100");
  const size_t bytes = cache.bytes();
  for (int i = 100; i < 1000; ++i) cache.Commit(1, "counter", std::to_string(i));
  EXPECT_EQ(cache.bytes(), bytes);
}

TEST(ValueCache, ErasedRangeHidesWhatWasBeforeAndNothingAfter) {
  ValueCache cache(kMiB);
  for (const char* key : {"a", "b", "c", "d"}) cache.Commit(1, key, "old");
  cache.EraseRange(1, "b", "d");
  EXPECT_EQ(Ask(cache, 1, "a"), "old");
  EXPECT_EQ(Ask(cache, 1, "b"), "?");
  EXPECT_EQ(Ask(cache, 1, "c"), "?");
  EXPECT_EQ(Ask(cache, 1, "d"), "old");
  cache.Commit(1, "b", "new");
  cache.Fill(1, "c", std::nullopt, kYes);
  EXPECT_EQ(Ask(cache, 1, "b"), "new");
  EXPECT_EQ(Ask(cache, 1, "c"), "-");
}

TEST(ValueCache, OverlappingErasedRangesKeepTheirOrder) {
  ValueCache cache(kMiB);
  cache.EraseRange(1, "b", "y");
  cache.Commit(1, "c", "after the first");
  cache.Commit(1, "m", "after the first");
  cache.Commit(1, "x", "after the first");
  cache.EraseRange(1, "k", "p");  // inside the first
  cache.Commit(1, "m", "after the second");
  EXPECT_EQ(Ask(cache, 1, "c"), "after the first");
  EXPECT_EQ(Ask(cache, 1, "m"), "after the second");
  EXPECT_EQ(Ask(cache, 1, "x"), "after the first");
  cache.EraseRange(1, "m", "");
  EXPECT_EQ(Ask(cache, 1, "c"), "after the first");
  EXPECT_EQ(Ask(cache, 1, "m"), "?");
  EXPECT_EQ(Ask(cache, 1, "x"), "?");
}

TEST(ValueCache, EmptyRangeErasesNothing) {
  ValueCache cache(kMiB);
  cache.Commit(1, "b", "value");
  cache.EraseRange(1, "b", "b");
  cache.EraseRange(1, "c", "a");
  EXPECT_EQ(Ask(cache, 1, "b"), "value");
}

TEST(ValueCache, ManyErasedRangesAreForgottenAndStillHold) {
  ValueCache cache(kMiB);
  cache.Commit(1, "kept", "value");
  cache.Commit(2, "erased", "value");
  cache.EraseRange(2, "e", "f");
  // Several turns over all shards.
  for (int i = 0; i < 20000; ++i) {
    const std::string prefix = "range" + std::to_string(i);
    cache.Commit(1, prefix, "value");
    cache.EraseRange(1, prefix, prefix + "\xff");
    ASSERT_EQ(Ask(cache, 1, prefix), "?");
  }
  EXPECT_EQ(Ask(cache, 1, "kept"), "value");
  EXPECT_EQ(Ask(cache, 2, "erased"), "?");
}

TEST(ValueCache, StaysWithinItsCapacity) {
  for (const size_t capacity : {0UL, 100UL, 500UL, 4096UL, 100000UL, 3 * kMiB}) {
    ValueCache cache(capacity);
    Rng random(capacity);
    for (int i = 0; i < 20000; ++i) {
      cache.Commit(1, std::to_string(random() % 10000), std::string(random() % 5000, 'v'));
      if (i % 100 == 0) {
        ASSERT_LE(cache.bytes(), capacity);
      }
    }
    ASSERT_LE(cache.bytes(), capacity);
    if (capacity >= 100000) {
      EXPECT_GT(cache.bytes(), capacity / 2);
    }
  }
}

TEST(ValueCache, KeysThatAreAskedForOutliveThoseOnlyWritten) {
  ValueCache cache(100000);
  for (int i = 0; i < 50; ++i) cache.Commit(1, "asked" + std::to_string(i), "value");
  for (int i = 0; i < 100000; ++i) {
    cache.Commit(1, "written" + std::to_string(i), std::string(50, 'v'));
    if (i % 2 == 0) Ask(cache, 1, "asked" + std::to_string(i / 2 % 50));
  }
  int kept = 0;
  for (int i = 0; i < 50; ++i) kept += Ask(cache, 1, "asked" + std::to_string(i)) == "value";
  EXPECT_EQ(kept, 50);
}

// A trivial engine beside the cache, which may know less but nothing else.
class Model {
 public:
  using Row = std::pair<uint8_t, std::string>;

  explicit Model(ValueCache& cache) : cache_(cache) {}

  void Write(const Row& row, std::optional<std::string> value) {
    cache_.Commit(row.first, row.second, value ? std::optional<BytesView>(*value) : std::nullopt);
    if (value) {
      rows_[row] = *value;
    } else {
      rows_.erase(row);
    }
  }
  void DeleteRange(uint8_t space, const std::string& begin, const std::string& end) {
    cache_.EraseRange(space, begin, end);
    const auto from = rows_.lower_bound({space, begin});
    const auto to =
        end.empty() ? rows_.lower_bound({space + 1, ""}) : rows_.lower_bound({space, end});
    if (end.empty() || begin < end) rows_.erase(from, to);
  }
  void Read(const Row& row) {
    const auto it = rows_.find(row);
    const std::string answer = Ask(cache_, row.first, row.second);
    if (answer != "?") {
      ++known_;
      ASSERT_EQ(answer, it == rows_.end() ? "-" : it->second) << row.second;
      return;
    }
    cache_.Fill(row.first, row.second, "wrong", kNo);
    cache_.Fill(row.first, row.second,
                it == rows_.end() ? std::nullopt : std::optional<BytesView>(it->second), kYes);
  }
  uint64_t known() const { return known_; }

 private:
  ValueCache& cache_;
  std::map<Row, std::string> rows_;
  uint64_t known_ = 0;
};

TEST(ValueCache, NeverSaysAnythingButTheNewestValue) {
  for (const size_t capacity : {1000UL, 20000UL, 100000UL, kMiB}) {
    ValueCache cache(capacity, 1000);
    Model model(cache);
    Rng random(capacity);
    const auto some_key = [&] { return std::to_string(random() % 1000); };
    for (int step = 0; step < 200000; ++step) {
      const Model::Row row(random() % 2, some_key());
      const uint64_t action = random() % 100;
      if (action < 30) {
        model.Write(row, std::string(random() % (action == 0 ? 2000 : 50), 'v') + some_key());
      } else if (action < 35) {
        model.Write(row, std::nullopt);
      } else if (action < 37) {
        model.DeleteRange(row.first, row.second, random() % 20 == 0 ? "" : some_key());
      } else if (action < 40) {
        model.DeleteRange(row.first, row.second, row.second + "5");
      } else {
        ASSERT_NO_FATAL_FAILURE(model.Read(row));
      }
      if (step % 100 == 0) {
        ASSERT_LE(cache.bytes(), capacity);
      }
    }
    EXPECT_GT(model.known(), 500);
  }
}

// An engine of a few keys and the protocol of the class comment, with one committing thread at a
// time. Values only count up, so a stale one would show.
class Protocol {
 public:
  static constexpr uint64_t kKeys = 64;

  void Commit(Rng& random) {
    const std::lock_guard committing(commit_mutex_);
    const uint64_t first = random() % kKeys;
    const uint64_t last = random() % 8 == 0 ? first + random() % 8 : first;
    begun_ += 1;
    const uint64_t commit = begun_;
    for (uint64_t key = first; key <= last && key < kKeys; ++key) {
      engine_[key] = first == last && random() % 4 != 0 ? commit : 0;  // 0: deleted
    }
    if (first == last) {
      cache_.Commit(1, Name(first), ValueOf(first));
    } else {
      cache_.EraseRange(1, Name(first), Name(last + 1));
    }
    ended_ += 1;
  }

  // False: a write came in between, so nothing was learnt.
  bool Read(uint64_t key) {
    const uint64_t epoch = ended_;
    const auto still_current = [&] { return begun_ == epoch; };
    if (!still_current()) return false;
    std::string answer = Ask(cache_, 1, Name(key));
    if (answer == "?") {
      const auto value = ValueOf(key);
      cache_.Fill(1, Name(key), value, still_current);
      answer = value.value_or("-");
    }
    const std::string truth = ValueOf(key).value_or("-");
    if (!still_current()) return false;
    if (answer != truth) ++failures_;
    return true;
  }

  uint64_t failures() const { return failures_; }

 private:
  static std::string Name(uint64_t key) { return "key" + std::to_string(100 + key); }
  std::optional<std::string> ValueOf(uint64_t key) const {
    const uint64_t value = engine_[key];
    return value == 0 ? std::nullopt : std::optional(std::to_string(value));
  }

  ValueCache cache_{3000};
  std::array<std::atomic<uint64_t>, kKeys> engine_{};
  std::mutex commit_mutex_;
  std::atomic<uint64_t> begun_{0};
  std::atomic<uint64_t> ended_{0};
  std::atomic<uint64_t> failures_{0};
};

TEST(ValueCache, ReadersAndCommittersAgree) {
  Protocol protocol;
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 2; ++seed) {
    threads.emplace_back([&, seed] {
      Rng random(seed);
      for (int i = 0; i < 20000; ++i) protocol.Commit(random);
    });
    threads.emplace_back([&, seed] {
      Rng random(100 + seed);
      for (int i = 0; i < 40000; ++i) protocol.Read(random() % Protocol::kKeys);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t key = 0; key < Protocol::kKeys; ++key) ASSERT_TRUE(protocol.Read(key));
  EXPECT_EQ(protocol.failures(), 0);
}

}  // namespace
}  // namespace cairn::store::rocks
