#include "data/rank_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/elements.h"
#include "data/sorted_set.h"
#include "data/testing/script.h"

// The index against a sorted vector of keys.
namespace cairn::data {
namespace {

using testing::DataServer;

constexpr uint64_t kGeneration = 7;
constexpr uint64_t kSmallPage = 4;  // so that a few hundred keys make several levels

class RankIndexTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void InTransaction(FunctionRef<Result<void>(Elements&)> body) {
    const auto done = server_.store().Run({}, [&](store::Transaction& transaction) -> Result<void> {
      Elements elements(transaction, 0, kGeneration);
      return body(elements);
    });
    ASSERT_TRUE(done.ok()) << done.error().message;
  }

  RankIndex Index(Elements& elements) { return {elements, shape_, {}, kSmallPage}; }

  Result<void> Insert(Elements& elements, const Bytes& key) {
    const auto at = std::ranges::lower_bound(keys_, key);
    if (at != keys_.end() && *at == key) return {};
    keys_.insert(at, key);
    elements.Put(OrderSuffix(key), {});
    return Index(elements).Added(key);
  }

  Result<void> Erase(Elements& elements, size_t at) {
    const Bytes key = keys_[at];
    keys_.erase(keys_.begin() + static_cast<std::ptrdiff_t>(at));
    elements.Delete(OrderSuffix(key));
    return Index(elements).Removed(key);
  }

  Result<void> CheckRanks(Elements& elements) {
    RankIndex index = Index(elements);
    for (size_t i = 0; i < keys_.size(); ++i) {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t rank, index.Rank(keys_[i]));
      EXPECT_EQ(rank, i);
      CAIRN_ASSIGN_OR_RETURN(const uint64_t behind, index.Rank(keys_[i] + Bytes(1, '\0')));
      EXPECT_EQ(behind, i + 1);
      CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> selected, index.Select(i));
      EXPECT_EQ(selected, keys_[i]);
    }
    CAIRN_ASSIGN_OR_RETURN(const uint64_t first, index.Rank(""));
    EXPECT_EQ(first, 0U);
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> none, index.Select(keys_.size()));
    EXPECT_FALSE(none.has_value());
    return {};
  }

  // Each level counts every key once, and the pages of the level below.
  Result<void> CheckLevels(Elements& elements) {
    std::vector<uint64_t> counts(256);
    std::vector<uint64_t> pages(256);
    std::vector<uint64_t> rows(256);
    CAIRN_RETURN_IF_ERROR(
        elements.Scan(SuffixRange::Prefix("r"), {}, [&](BytesView suffix, BytesView value) {
          const auto level = static_cast<uint8_t>(suffix[1]);
          BytesReader reader(value);
          counts[level] += reader.Big64();
          const uint32_t below = reader.Big32();
          EXPECT_LE(below, kSmallPage);
          pages[level] += below;
          ++rows[level];
          EXPECT_TRUE(reader.AtEnd());
          return true;
        }));
    for (size_t level = 1; level <= shape_.levels; ++level) {
      EXPECT_EQ(counts[level], keys_.size()) << "level " << level;
      EXPECT_EQ(pages[level], level == 1 ? 0 : rows[level - 1]) << "level " << level;
    }
    EXPECT_EQ(rows[shape_.levels + 1U], 0U);
    EXPECT_EQ(rows[shape_.levels], shape_.top_pages);
    return {};
  }

  void Check() {
    InTransaction([&](Elements& elements) { return CheckRanks(elements); });
    InTransaction([&](Elements& elements) { return CheckLevels(elements); });
  }

  Bytes RandomKey() {
    Bytes key = "k" + std::to_string(random_.Below(4000));
    if (random_.Below(5) == 0) key += Bytes(random_.Below(3), '\0');
    return key;
  }

  // `inserts` of 10 operations add a key.
  void Churn(int operations, uint64_t inserts) {
    InTransaction([&](Elements& elements) -> Result<void> {
      for (int i = 0; i < operations; ++i) {
        if (random_.Below(10) < inserts || keys_.empty()) {
          CAIRN_RETURN_IF_ERROR(Insert(elements, RandomKey()));
        } else {
          CAIRN_RETURN_IF_ERROR(Erase(elements, random_.Below(keys_.size())));
        }
      }
      return {};
    });
  }

  SeededRandom random_{GetParam()};
  DataServer server_;
  RankIndex::Shape shape_;
  std::vector<Bytes> keys_;
};

TEST_P(RankIndexTest, AgreesWithASortedVector) {
  InTransaction([&](Elements& elements) { return Index(elements).Build(); });
  Check();
  for (const uint64_t inserts : {10U, 8U, 5U, 2U, 7U, 1U, 0U, 9U}) {
    Churn(150, inserts);
    Check();
  }
  EXPECT_GE(shape_.levels, 3);
}

TEST_P(RankIndexTest, BuiltAtOnceItGoesOnAsUsual) {
  Churn(300, 10);  // without an index these only fill the order
  EXPECT_EQ(shape_, RankIndex::Shape{});
  Check();
  InTransaction([&](Elements& elements) { return Index(elements).Build(); });
  EXPECT_GE(shape_.levels, 3);
  Check();
  Churn(150, 3);
  Check();
  InTransaction([&](Elements& elements) { return Index(elements).Drop(); });
  EXPECT_EQ(shape_, RankIndex::Shape{});
  Check();
}

TEST_P(RankIndexTest, TakingFromEitherEndLeavesItRight) {
  InTransaction([&](Elements& elements) { return Index(elements).Build(); });
  Churn(250, 10);
  while (!keys_.empty() && !HasFailure()) {
    InTransaction([&](Elements& elements) -> Result<void> {
      for (int i = 0; i < 40 && !keys_.empty(); ++i) {
        CAIRN_RETURN_IF_ERROR(Erase(elements, 0));
        if (!keys_.empty()) {
          CAIRN_RETURN_IF_ERROR(Erase(elements, keys_.size() - 1));
        }
      }
      return {};
    });
    Check();
  }
  Churn(100, 10);
  Check();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RankIndexTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace cairn::data
