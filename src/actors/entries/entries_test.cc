// Reading of entries over a reader that counts.

#include "actors/entries/entries.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "actors/model/limits.h"

namespace cairn::actors {
namespace {

// Rows in memory, and how many of them a scan has shown.
class CountingReader final : public store::Reader {
 public:
  Result<std::optional<Bytes>> Get(store::Key key) override {
    const auto row = rows.find(Bytes(key.bytes));
    return row == rows.end() ? std::optional<Bytes>() : std::optional<Bytes>(row->second);
  }
  Result<void> Scan(const store::Range& range, const store::ScanOptions& options,
                    store::RowVisitor visit) override {
    const auto begin = rows.lower_bound(range.begin);
    const auto end = range.end ? rows.lower_bound(*range.end) : rows.end();
    if (options.reverse) {
      for (auto row = end; row != begin;) {
        --row;
        ++shown;
        if (!visit(row->first, row->second)) break;
      }
      return {};
    }
    for (auto row = begin; row != end; ++row) {
      ++shown;
      if (!visit(row->first, row->second)) break;
    }
    return {};
  }
  Timestamp now() const override { return {}; }

  std::map<Bytes, Bytes> rows;
  size_t shown = 0;
};

class EntryReaderTest : public ::testing::Test {
 protected:
  // An entry, as rows that it should have.
  void Add(const Bytes& key, const Bytes& value) {
    for (uint64_t i = 0; i < ChunksOf(value.size()); ++i) {
      reader_.rows[keys_.Chunk(key, i)] = value.substr(i * kChunkBytes, kChunkBytes);
    }
    reader_.rows[keys_.Metadata(key)] =
        EncodeEntryMeta({.revision = 1,
                         .updated_ms = 2,
                         .size = static_cast<uint32_t>(value.size()),
                         .checksum = ChecksumOf(value)});
  }
  std::string ErrorOf(const ListQuery& query) {
    const Result<EntryPage> page = entries_.List(query);
    return page.ok() ? "there is none" : page.error().message;
  }

  CountingReader reader_;
  const ActorId id_;
  const EntryKeys keys_{id_};
  EntryReader entries_{reader_, id_};
};

// Elsewhere a list with a limit reads everything and throws most of it away.
TEST_F(EntryReaderTest, AListReadsNoMoreThanItsPage) {
  for (int i = 0; i < 1'000; ++i) Add(fmt::format("{:04}", i), "v");
  for (const bool reverse : {false, true}) {
    reader_.shown = 0;
    const auto page = entries_.List({.reverse = reverse, .limit = 10});
    ASSERT_TRUE(page.ok());
    EXPECT_EQ(page.value().entries.size(), 10U);
    EXPECT_EQ(reader_.shown, 21U);  // and the row that tells that there is more
    reader_.shown = 0;
    const auto few = entries_.List({.reverse = reverse, .bytes = 50});
    ASSERT_TRUE(few.ok());
    EXPECT_EQ(few.value().entries.size(), 10U);
    EXPECT_LE(reader_.shown, 22U);
  }
}

TEST_F(EntryReaderTest, ALongValueThatDoesNotFitIsNotReadToItsEnd) {
  Add("a", "v");
  Add("b", Bytes(1'000'000, 'b'));
  for (const auto& [reverse, most] : {std::pair(false, 5U), std::pair(true, 102U)}) {
    reader_.shown = 0;
    ASSERT_TRUE(entries_.List({.reverse = reverse, .bytes = 15'000}).ok());
    EXPECT_LE(reader_.shown, most);
  }
}

TEST_F(EntryReaderTest, RowsThatDoNotBelongTogetherAreAnErrorThatNamesTheKey) {
  Add("a", Bytes(25'000, 'a'));
  const std::map<Bytes, Bytes> sound = reader_.rows;
  const auto damage = [&](const Bytes& row, const std::optional<Bytes>& value) {
    reader_.rows = sound;
    if (value) {
      reader_.rows[row] = *value;
    } else {
      reader_.rows.erase(row);
    }
    for (const bool reverse : {false, true}) {
      EXPECT_NE(ErrorOf({.reverse = reverse}).find("entry 'a'"), std::string::npos)
          << HexEncode(row) << " " << reverse;
    }
  };
  damage(keys_.Metadata("a"), std::nullopt);
  damage(keys_.Metadata("a"), "?");
  damage(keys_.Metadata("a"), EncodeEntryMeta({.size = ~0U}));
  damage(keys_.Metadata("a"), EncodeEntryMeta({.size = 24'999}));
  for (const uint64_t chunk : {0U, 1U, 2U}) {
    damage(keys_.Chunk("a", chunk), std::nullopt);
    damage(keys_.Chunk("a", chunk), Bytes(10, 'x'));
  }
  damage(keys_.Chunk("a", 3), "more");
  damage(keys_.Chunk("a", 0), Bytes(10'000, 'x'));
  // The same of a single read, as far as it looks.
  reader_.rows = sound;
  reader_.rows[keys_.Chunk("a", 1)] = Bytes(10'000, 'x');
  EXPECT_FALSE(entries_.Get("a").ok());
}

TEST_F(EntryReaderTest, ARowOfNoEntryIsAnError) {
  reader_.rows[EntriesPrefix(id_) + Bytes("\x05\x01k")] = "";
  EXPECT_NE(ErrorOf({}).find("is a row of no entry"), std::string::npos);
}

}  // namespace
}  // namespace cairn::actors
