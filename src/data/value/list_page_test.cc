#include "data/value/list_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"

namespace cairn::data {
namespace {

using Slots = std::vector<std::optional<Bytes>>;

Slots SlotsOf(const ListPage& page) {
  Slots slots;
  for (size_t i = 0; i < page.size(); ++i) slots.emplace_back(page.At(i));
  return slots;
}

TEST(ListPageTest, GoldenBytes) {
  ListPage page;
  page.Insert(0, "ab");
  page.Insert(0, std::nullopt);
  page.Insert(2, "");
  page.Insert(3, Bytes(128, 'x'));
  EXPECT_EQ(HexEncode(page.bytes()),
            "00"
            "036162"
            "01"
            "8101" +
                HexEncode(Bytes(128, 'x')));
  EXPECT_EQ(HexEncode(ListPage::OfRows(3).bytes()), "000000");
}

TEST(ListPageTest, KnowsWhetherAllHaveRows) {
  ListPage page = ListPage::OfRows(2);
  EXPECT_TRUE(page.AllRows());
  EXPECT_TRUE(ListPage().AllRows());
  page.Insert(1, "");
  EXPECT_FALSE(page.AllRows());
  page.Erase(1);
  EXPECT_TRUE(page.AllRows());
}

TEST(ListPageTest, IsTakenOffTheFront) {
  ListPage page;
  page.Insert(0, "a");
  page.Insert(1, std::nullopt);
  const Bytes bytes = Bytes(page.bytes()) + "rest";
  BytesView rest = bytes;
  const std::optional<ListPage> taken = ListPage::Take(rest, 2);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(SlotsOf(*taken), (Slots{"a", std::nullopt}));
  EXPECT_EQ(rest, "rest");
}

TEST(ListPageTest, TruncatedBytesAreRejected) {
  ListPage page;
  page.Insert(0, "abc");
  page.Insert(1, Bytes(128, 'x'));
  for (size_t size = 0; size < page.bytes().size(); ++size) {
    BytesView cut = page.bytes().substr(0, size);
    EXPECT_FALSE(ListPage::Take(cut, 2).has_value()) << size;
  }
}

TEST(ListPageTest, DoesWhatAVectorDoes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SeededRandom random(seed);
    ListPage page;
    Slots model;
    for (int i = 0; i < 200; ++i) {
      const auto at = static_cast<ptrdiff_t>(random.Below(model.size() + 1));
      if (model.size() == kListPage || (random.Below(3) == 0 && at < std::ssize(model))) {
        const ptrdiff_t gone = std::min(at, std::ssize(model) - 1);
        model.erase(model.begin() + gone);
        page.Erase(static_cast<size_t>(gone));
      } else {
        std::optional<Bytes> element;
        if (random.Below(4) != 0) element = Bytes(random.Below(kMaxPagedBytes + 1), 'x');
        model.insert(model.begin() + at, element);
        page.Insert(static_cast<size_t>(at), element);
      }
      ASSERT_EQ(SlotsOf(page), model) << "seed " << seed;
      EXPECT_EQ(page.full(), model.size() == kListPage);
    }
  }
}

}  // namespace
}  // namespace cairn::data
