#include "store/rocks/entry_tree.h"

#include <gtest/gtest.h>
#include <rocksdb/memtablerep.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <memory>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "store/testing/key_shapes.h"

namespace cairn::store::rocks {
namespace {

using store::testing::BinaryKey;
using store::testing::HotKey;
using store::testing::KeyShape;
using store::testing::LongKey;
using store::testing::MixedKey;
using store::testing::NumberedKey;
using store::testing::Rng;
using store::testing::SharedPrefixKey;
using store::testing::TinyKey;
using store::testing::ZerosKey;

std::string InternalKey(std::string_view user_key, uint64_t sequence, uint8_t type = 1) {
  std::string key(user_key);
  const uint64_t tag = sequence << 8 | type;
  for (int byte = 0; byte < 8; ++byte) key += static_cast<char>(tag >> (8 * byte));
  return key;
}

void AppendWithLength(std::string_view bytes, std::string* to) {
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) *to += static_cast<char>(0x80 | (size & 0x7f));
  *to += static_cast<char>(size);
  *to += bytes;
}

std::string Entry(std::string_view internal_key, std::string_view value) {
  std::string entry;
  AppendWithLength(internal_key, &entry);
  AppendWithLength(value, &entry);
  return entry;
}

std::string InternalKeyOf(const char* entry) {
  return ::rocksdb::GetLengthPrefixedSlice(entry).ToString();
}

// A user key and a sequence, in the order of the tree.
struct Version {
  std::string key;
  uint64_t sequence;

  explicit Version(std::string user_key, uint64_t at) : key(std::move(user_key)), sequence(at) {}
  explicit Version(const char* entry) {
    key = InternalKeyOf(entry);
    sequence = 0;
    for (int byte = 7; byte > 0; --byte) {
      sequence =
          sequence << 8 | static_cast<uint8_t>(key[key.size() - 8 + static_cast<size_t>(byte)]);
    }
    key.erase(key.size() - 8);
  }
  std::string internal_key() const { return InternalKey(key, sequence); }
  bool operator<(const Version& other) const {
    return std::tie(key, other.sequence) < std::tie(other.key, sequence);
  }
  bool operator==(const Version& other) const = default;
};

std::ostream& operator<<(std::ostream& out, const Version& version) {
  return out << ::testing::PrintToString(version.key) << '@' << version.sequence;
}

// A tree with the memory it stands on. Blocks come at odd addresses, as a memtable's arena may.
class OwningTree {
 public:
  bool Insert(const std::string& key, uint64_t sequence, uint8_t type = 1) {
    entries_.push_back(Entry(InternalKey(key, sequence, type), "value"));
    return tree_.Insert(entries_.back().c_str());
  }
  void Announce(std::span<const std::string_view> keys) { tree_.Expect(keys); }
  const EntryTree& tree() const { return tree_; }

 private:
  char* Allocate(size_t bytes) {
    blocks_.push_back(std::make_unique<char[]>(bytes + 1));
    return blocks_.back().get() + 1;
  }

  std::deque<std::string> entries_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  EntryTree tree_{[this](size_t bytes) { return Allocate(bytes); }};
};

using Model = std::set<Version>;

void ExpectAt(const EntryTree::Cursor& cursor, const Model& model, Model::const_iterator expected) {
  ASSERT_EQ(cursor.Valid(), expected != model.end());
  if (cursor.Valid()) {
    ASSERT_EQ(Version(cursor.entry()), *expected);
  }
}

Model::const_iterator LastAtOrBefore(const Model& model, const Version& version) {
  auto after = model.upper_bound(version);
  return after == model.begin() ? model.end() : std::prev(after);
}

void ExpectEqual(const EntryTree& tree, const Model& model) {
  ASSERT_EQ(tree.size(), model.size());
  EntryTree::Cursor cursor(tree);
  cursor.SeekToFirst();
  for (auto it = model.begin(); it != model.end(); ++it, cursor.Next()) {
    ASSERT_NO_FATAL_FAILURE(ExpectAt(cursor, model, it));
  }
  ASSERT_FALSE(cursor.Valid());
  cursor.SeekToLast();
  for (auto it = model.rbegin(); it != model.rend(); ++it, cursor.Prev()) {
    ASSERT_TRUE(cursor.Valid());
    ASSERT_EQ(Version(cursor.entry()), *it);
  }
  ASSERT_FALSE(cursor.Valid());
}

void ExpectSeeks(const EntryTree& tree, const Model& model, const Version& target) {
  EntryTree::Cursor cursor(tree);
  cursor.Seek(target.internal_key());
  ASSERT_NO_FATAL_FAILURE(ExpectAt(cursor, model, model.lower_bound(target)));
  const char* found = tree.Find(target.internal_key());
  ASSERT_EQ(found, cursor.Valid() ? cursor.entry() : nullptr);
  const std::string entry = Entry(target.internal_key(), "");
  ASSERT_EQ(tree.Contains(entry.c_str()), model.contains(target));
  cursor.SeekForPrev(target.internal_key());
  ASSERT_NO_FATAL_FAILURE(ExpectAt(cursor, model, LastAtOrBefore(model, target)));
}

class EntryTreeShapes : public ::testing::TestWithParam<std::pair<const char*, KeyShape>> {
 protected:
  KeyShape shape() const { return GetParam().second; }
};

INSTANTIATE_TEST_SUITE_P(Keys, EntryTreeShapes,
                         ::testing::Values(std::pair{"Tiny", KeyShape{TinyKey}},
                                           std::pair{"Zeros", KeyShape{ZerosKey}},
                                           std::pair{"Binary", KeyShape{BinaryKey}},
                                           std::pair{"Numbered", KeyShape{NumberedKey}},
                                           std::pair{"SharedPrefix", KeyShape{SharedPrefixKey}},
                                           std::pair{"Long", KeyShape{LongKey}},
                                           std::pair{"Hot", KeyShape{HotKey}},
                                           std::pair{"Mixed", KeyShape{MixedKey}}),
                         [](const auto& info) { return std::string(info.param.first); });

TEST_P(EntryTreeShapes, HoldsWhatASetHolds) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Rng random(seed);
    OwningTree owner;
    Model model;
    // Most sequences are new, as in a memtable; a few repeat or come from the past.
    for (uint64_t step = 1; step <= 3000; ++step) {
      const Version version(shape()(random), random() % 8 == 0 ? random() % step : step);
      ASSERT_EQ(owner.Insert(version.key, version.sequence), model.insert(version).second);
      if (step % 5 == 0) {
        const Version target(shape()(random), random() % (2 * step));
        ASSERT_NO_FATAL_FAILURE(ExpectSeeks(owner.tree(), model, target));
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectEqual(owner.tree(), model));
    for (const Version& version : model) {
      ASSERT_NO_FATAL_FAILURE(ExpectSeeks(owner.tree(), model, version));
    }
  }
}

// What was announced is inserted, or something else is, or less, or more.
TEST_P(EntryTreeShapes, HoldsTheSameWhateverWasAnnounced) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Rng random(seed);
    OwningTree owner;
    Model model;
    uint64_t sequence = 0;
    for (int batch = 0; batch < 60; ++batch) {
      std::vector<std::string> keys(random() % 80);
      for (std::string& key : keys) key = shape()(random);
      std::vector<std::string_view> announced(keys.begin(), keys.end());
      if (random() % 4 == 0) std::shuffle(announced.begin(), announced.end(), random);
      if (random() % 4 == 0) announced.resize(announced.size() / 2);
      owner.Announce(announced);
      for (const std::string& key : keys) {
        const Version version(key, random() % 8 == 0 ? random() % (sequence + 1) : ++sequence);
        ASSERT_EQ(owner.Insert(version.key, version.sequence), model.insert(version).second);
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectEqual(owner.tree(), model));
    for (const Version& version : model) {
      ASSERT_NO_FATAL_FAILURE(ExpectSeeks(owner.tree(), model, version));
    }
  }
}

// A cursor shows at least what was there when it was positioned, in order, and nothing that is not
// in the tree, whichever way it walks and whatever is inserted meanwhile.
TEST_P(EntryTreeShapes, CursorsLastAcrossInserts) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Rng random(seed);
    OwningTree owner;
    Model model;
    uint64_t sequence = 0;
    const auto insert_some = [&](uint64_t count) {
      for (uint64_t i = 0; i < count; ++i) {
        const Version version(shape()(random), ++sequence);
        owner.Insert(version.key, version.sequence);
        model.insert(version);
      }
    };
    insert_some(500);
    for (const bool forward : {true, false}) {
      const std::vector<Version> before(model.begin(), model.end());
      std::vector<Version> seen;
      EntryTree::Cursor cursor(owner.tree());
      forward ? cursor.SeekToFirst() : cursor.SeekToLast();
      while (cursor.Valid()) {
        seen.emplace_back(cursor.entry());
        insert_some(random() % 4);
        forward ? cursor.Next() : cursor.Prev();
      }
      if (!forward) std::reverse(seen.begin(), seen.end());
      ASSERT_TRUE(std::is_sorted(seen.begin(), seen.end()));
      ASSERT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
      ASSERT_TRUE(std::includes(seen.begin(), seen.end(), before.begin(), before.end()));
      ASSERT_TRUE(std::includes(model.begin(), model.end(), seen.begin(), seen.end()));
    }
  }
}

TEST_P(EntryTreeShapes, CursorsTurnRoundAnywhere) {
  Rng random(7);
  OwningTree owner;
  Model model;
  for (uint64_t sequence = 1; sequence <= 1000; ++sequence) {
    const Version version(shape()(random), sequence);
    owner.Insert(version.key, version.sequence);
    model.insert(version);
  }
  EntryTree::Cursor cursor(owner.tree());
  auto expected = model.end();
  for (int step = 0; step < 20000; ++step) {
    if (expected == model.end()) {
      const Version target(shape()(random), random() % 1000);
      cursor.Seek(target.internal_key());
      expected = model.lower_bound(target);
    } else if (random() % 2 == 0) {
      cursor.Next();
      ++expected;
    } else {
      cursor.Prev();
      expected = expected == model.begin() ? model.end() : std::prev(expected);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectAt(cursor, model, expected));
  }
}

TEST(EntryTree, EmptyTreeHasNothing) {
  OwningTree owner;
  EntryTree::Cursor cursor(owner.tree());
  EXPECT_FALSE(cursor.Valid());
  cursor.SeekToFirst();
  EXPECT_FALSE(cursor.Valid());
  cursor.SeekToLast();
  EXPECT_FALSE(cursor.Valid());
  cursor.Seek(InternalKey("", 1));
  EXPECT_FALSE(cursor.Valid());
  cursor.SeekForPrev(InternalKey("x", 1));
  EXPECT_FALSE(cursor.Valid());
  EXPECT_EQ(owner.tree().Find(InternalKey("", 1)), nullptr);
  EXPECT_EQ(owner.tree().EstimateCount(InternalKey("", 1), InternalKey("x", 1)), 0);
}

TEST(EntryTree, TheTypeDoesNotTellTwoEntriesApart) {
  OwningTree owner;
  EXPECT_TRUE(owner.Insert("k", 5, 1));
  EXPECT_FALSE(owner.Insert("k", 5, 0));
  EXPECT_TRUE(owner.Insert("k", 6, 0));
  EXPECT_EQ(owner.tree().size(), 2);
}

TEST(EntryTree, NewestVersionOfAKeyComesFirst) {
  OwningTree owner;
  for (uint64_t sequence = 1; sequence <= 1000; ++sequence) owner.Insert("k", sequence);
  EXPECT_EQ(Version(owner.tree().Find(InternalKey("k", 5000))), Version("k", 1000));
  EXPECT_EQ(Version(owner.tree().Find(InternalKey("k", 321))), Version("k", 321));
  EXPECT_EQ(owner.tree().Find(InternalKey("k", 0)), nullptr);
}

TEST(EntryTree, AscendingRunsFillTheirLeaves) {
  size_t allocated = 0;
  std::vector<std::unique_ptr<char[]>> blocks;
  EntryTree tree([&](size_t bytes) {
    allocated += bytes;
    return blocks.emplace_back(std::make_unique<char[]>(bytes)).get();
  });
  std::deque<std::string> entries;
  constexpr uint64_t kRuns = 10;
  constexpr uint64_t kPerRun = 10000;
  for (uint64_t i = 0; i < kPerRun; ++i) {
    for (uint64_t run = 0; run < kRuns; ++run) {
      const std::string digits = std::to_string(i);
      const std::string key = std::to_string(run) + std::string(8 - digits.size(), '0') + digits;
      entries.push_back(Entry(InternalKey(key, i * kRuns + run + 1), ""));
      ASSERT_TRUE(tree.Insert(entries.back().c_str()));
    }
  }
  EXPECT_LT(allocated, kRuns * kPerRun * 20);  // 16 bytes each in a full leaf
}

TEST(EntryTree, CountsOfRangesAreNear) {
  Rng random(3);
  OwningTree owner;
  constexpr uint64_t kCount = 20000;
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kCount; ++i) keys.push_back(std::to_string(100000 + i));
  std::shuffle(keys.begin(), keys.end(), random);
  for (uint64_t i = 0; i < kCount; ++i) owner.Insert(keys[i], i + 1);
  const auto estimate = [&](uint64_t begin, uint64_t end) {
    return static_cast<double>(
        owner.tree().EstimateCount(InternalKey(std::to_string(100000 + begin), kCount + 1),
                                   InternalKey(std::to_string(100000 + end), kCount + 1)));
  };
  EXPECT_NEAR(estimate(0, kCount), kCount, kCount * 0.02);
  EXPECT_NEAR(estimate(5000, 10000), 5000, 1000);
  EXPECT_NEAR(estimate(777, 787), 10, 10);
  EXPECT_EQ(estimate(10, 10), 0);
  EXPECT_EQ(estimate(10000, 5000), 0);
}

// One thread inserts while others look for what is known to be there, and walk both ways.
TEST(EntryTree, ReadersSeeEveryEntryThatWasInsertedBefore) {
  OwningTree owner;
  constexpr uint64_t kCount = 20000;
  std::vector<std::string> keys;
  Rng random(11);
  for (uint64_t i = 0; i < kCount; ++i) keys.push_back(MixedKey(random));
  std::atomic<uint64_t> inserted{0};
  std::atomic<uint64_t> failures{0};

  const auto look_up = [&](uint64_t seed) {
    Rng pick(seed);
    for (uint64_t known = 0; known < kCount; known = inserted.load(std::memory_order_acquire)) {
      if (known == 0) continue;
      const uint64_t i = pick() % known;
      const Version wanted(keys[i], i + 1);
      const char* found = owner.tree().Find(wanted.internal_key());
      if (found == nullptr || Version(found) != wanted) ++failures;
    }
  };
  const auto walk = [&](bool forward) {
    for (uint64_t known = 0; known < kCount;) {
      known = inserted.load(std::memory_order_acquire);
      uint64_t old_ones = 0;
      EntryTree::Cursor cursor(owner.tree());
      forward ? cursor.SeekToFirst() : cursor.SeekToLast();
      while (cursor.Valid()) {
        const Version version(cursor.entry());
        if (version.sequence <= known) ++old_ones;
        forward ? cursor.Next() : cursor.Prev();
        if (cursor.Valid()) {
          const Version other(cursor.entry());
          if (!(forward ? version < other : other < version)) ++failures;
        }
      }
      if (old_ones != known) ++failures;
    }
  };
  std::vector<std::thread> readers;
  readers.emplace_back(look_up, 1);
  readers.emplace_back(look_up, 2);
  readers.emplace_back(walk, true);
  readers.emplace_back(walk, false);
  for (uint64_t i = 0; i < kCount; ++i) {
    owner.Insert(keys[i], i + 1);
    inserted.store(i + 1, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failures, 0);
}
}  // namespace
}  // namespace cairn::store::rocks
