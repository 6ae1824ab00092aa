#include "data/sorted_set/rank_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "data/sorted_set/rank_node.h"
#include "data/sorted_set/sorted_set.h"
#include "data/testing/script.h"
#include "data/value/elements.h"

// The index against a sorted vector of keys.
namespace cairn::data {
namespace {

using testing::DataServer;

constexpr uint64_t kGeneration = 7;
// So that a few hundred keys make several levels.
constexpr RankIndex::Limits kSmall = {.page = 4, .children = 4, .bound_bytes = 64};

class RankIndexTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void InTransaction(FunctionRef<Result<void>(Elements&)> body) {
    const auto done = server_.store().Run({}, [&](store::Transaction& transaction) -> Result<void> {
      Elements elements(transaction, 0, kGeneration);
      return body(elements);
    });
    ASSERT_TRUE(done.ok()) << done.error().message;
  }

  RankIndex Index(Elements& elements) { return {elements, shape_, {}, kSmall}; }

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

  struct Row {
    std::optional<Bytes> bounds;
    std::optional<Bytes> counts;
  };

  // A node counts what its children count, and no row belongs to no node.
  void CheckNode(std::map<uint32_t, Row>& rows, uint32_t id, int level, uint64_t expected) {
    ASSERT_TRUE(rows[id].bounds && rows[id].counts) << "node " << id;
    const auto children = DecodeRankNode(*rows[id].bounds, *rows[id].counts);
    rows.erase(id);
    ASSERT_TRUE(children) << "node " << id;
    EXPECT_LE(children->size(), kSmall.children);
    EXPECT_TRUE(id != kRankRoot || level == 1 || children->size() > 1) << "a level too many";
    EXPECT_TRUE(std::ranges::is_sorted(*children, {}, &RankChild::from));
    uint64_t count = 0;
    for (const RankChild& child : *children) {
      count += child.count;
      EXPECT_EQ(child.node == 0, level == 1) << "node " << id;
      if (level > 1) {
        CheckNode(rows, child.node, level - 1, child.count);
      } else {
        EXPECT_LE(child.count, kSmall.page);
        EXPECT_TRUE(child.count > 0 || keys_.empty());
      }
    }
    EXPECT_EQ(count, expected) << "node " << id;
  }

  Result<void> CheckNodes(Elements& elements) {
    std::map<uint32_t, Row> rows;
    CAIRN_RETURN_IF_ERROR(elements.Scan(
        SuffixRange::Prefix(kRankNodePrefix), {}, [&](BytesView suffix, BytesView value) {
          BytesReader reader(suffix.substr(kRankNodePrefix.size()));
          const uint32_t id = reader.Big32();
          (suffix == RankBoundsSuffix(id) ? rows[id].bounds : rows[id].counts) = value;
          return true;
        }));
    EXPECT_EQ(rows.empty(), shape_.levels == 0 || !shape_.nodes);
    if (rows.empty()) return {};
    EXPECT_FALSE(rows[kRankRoot].counts) << "they are in the record";
    rows[kRankRoot].counts = shape_.counts;
    CheckNode(rows, kRankRoot, shape_.levels, keys_.size());
    EXPECT_TRUE(rows.empty()) << "node " << rows.begin()->first << " is nobody's";
    return {};
  }

  void Check() {
    InTransaction([&](Elements& elements) { return CheckRanks(elements); });
    InTransaction([&](Elements& elements) { return CheckNodes(elements); });
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

  // The index in the form of rank_pages.h, with an empty page at each end of the lowest level.
  void WritePages(Elements& elements) {
    struct Page {
      Bytes first;
      uint64_t count = 0;
      uint32_t pages = 0;
    };
    std::vector<Page> level(1);
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (i % 3 == 0) level.push_back({.first = keys_[i]});
      ++level.back().count;
    }
    level.push_back({.first = keys_.back() + "x"});
    for (shape_.levels = 1;; ++shape_.levels) {
      for (const Page& page : level) {
        Bytes value;
        AppendBig64(value, page.count);
        AppendBig32(value, page.pages);
        elements.Put(Bytes{'r', static_cast<char>(shape_.levels)} + page.first, value);
      }
      if (shape_.levels == 3) break;
      std::vector<Page> above;
      for (size_t i = 0; i < level.size(); ++i) {
        if (i % 4 == 0) above.push_back({.first = level[i].first});
        above.back().count += level[i].count;
        ++above.back().pages;
      }
      level = std::move(above);
    }
    shape_.last_node = static_cast<uint32_t>(level.size());
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

// Keys that have much in common make long bounds: then a node has few children.
TEST_P(RankIndexTest, LongKeysMakeSmallNodes) {
  InTransaction([&](Elements& elements) { return Index(elements).Build(); });
  const Bytes common(40, 'c');
  InTransaction([&](Elements& elements) -> Result<void> {
    for (int i = 0; i < 200; ++i) {
      CAIRN_RETURN_IF_ERROR(Insert(elements, common + RandomKey()));
    }
    return {};
  });
  EXPECT_GE(shape_.levels, 4);
  Check();
  const uint8_t levels = shape_.levels;
  InTransaction([&](Elements& elements) -> Result<void> {
    CAIRN_RETURN_IF_ERROR(Index(elements).Drop());
    return Index(elements).Build();
  });
  EXPECT_LE(shape_.levels, levels);
  Check();
}

TEST_P(RankIndexTest, AnIndexOfPagesIsReadAndThenReplaced) {
  Churn(300, 10);
  InTransaction([&](Elements& elements) -> Result<void> {
    WritePages(elements);
    return {};
  });
  const RankIndex::Shape pages = shape_;
  EXPECT_EQ(pages.levels, 3);
  Check();
  EXPECT_EQ(shape_, pages) << "reading changes nothing";
  if (GetParam() % 2 == 0) {
    Churn(1, 10);
  } else {
    Churn(1, 0);
  }
  EXPECT_TRUE(shape_.nodes);
  Check();
  InTransaction([&](Elements& elements) {
    return elements.Scan(SuffixRange::Prefix("r"), {}, [](BytesView suffix, BytesView) {
      ADD_FAILURE() << "left behind: " << Printable(suffix);
      return true;
    });
  });
  Churn(100, 5);
  Check();
}

TEST_P(RankIndexTest, AnIndexOfPagesCanBeDropped) {
  Churn(100, 10);
  InTransaction([&](Elements& elements) -> Result<void> {
    WritePages(elements);
    return Index(elements).Drop();
  });
  EXPECT_EQ(shape_, RankIndex::Shape{});
  Check();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RankIndexTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace cairn::data
