#include "net/buffer_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace cairn::net {
namespace {

constexpr size_t kMegabyte = 1'000'000;

class BufferBudgetTest : public ::testing::Test, public BufferBudget::Owner {
 protected:
  void Disconnect(uint64_t connection_id, size_t /*bytes*/) override {
    disconnected_.push_back(connection_id);
  }

  BufferBudget budget_{10 * kMegabyte};
  std::vector<uint64_t> disconnected_;
};

TEST_F(BufferBudgetTest, TheLargestShareGoesFirst) {
  BufferBudget::Share small(budget_, *this, 1);
  BufferBudget::Share large(budget_, *this, 2);
  BufferBudget::Share last(budget_, *this, 3);
  small.Set(2 * kMegabyte);
  large.Set(5 * kMegabyte);
  EXPECT_TRUE(disconnected_.empty());
  last.Set(4 * kMegabyte);
  EXPECT_EQ(disconnected_, std::vector<uint64_t>{2});
  EXPECT_TRUE(large.doomed());
  EXPECT_FALSE(last.doomed());
  // It is not asked for twice, whatever it does until it is gone.
  large.Set(6 * kMegabyte);
  EXPECT_EQ(disconnected_.size(), 1U);
}

TEST_F(BufferBudgetTest, LittleIsNotCounted) {
  BufferBudget::Share share(budget_, *this, 1);
  share.Set(50'000);
  EXPECT_EQ(budget_.used(), 0U);
  share.Set(3 * kMegabyte);
  EXPECT_GE(budget_.used(), 3 * kMegabyte);
  EXPECT_LE(budget_.used(), 3 * kMegabyte * 9 / 8);
  share.Set(0);
  EXPECT_EQ(budget_.used(), 0U);
}

TEST_F(BufferBudgetTest, AShareThatEndsIsGivenBack) {
  {
    BufferBudget::Share share(budget_, *this, 1);
    share.Set(30 * kMegabyte);
    EXPECT_EQ(disconnected_.size(), 1U);
  }
  EXPECT_EQ(budget_.used(), 0U);
  BufferBudget::Share next(budget_, *this, 2);
  next.Set(9 * kMegabyte);
  EXPECT_EQ(disconnected_.size(), 1U) << "what is gone counts no more";
}

TEST_F(BufferBudgetTest, AChargePastHalfAsMuchAgainIsRefused) {
  EXPECT_TRUE(budget_.TryCharge(14 * kMegabyte, 0));
  EXPECT_FALSE(budget_.TryCharge(2 * kMegabyte, 0));
  EXPECT_EQ(budget_.refused(), 1U);
  budget_.Release(14 * kMegabyte);
  EXPECT_TRUE(budget_.TryCharge(2 * kMegabyte, 0));
}

TEST_F(BufferBudgetTest, AChargeMakesRoomOnlyAtTheCostOfLargerOnes) {
  BufferBudget::Share share(budget_, *this, 1);
  share.Set(4 * kMegabyte);
  EXPECT_TRUE(budget_.TryCharge(8 * kMegabyte, 0));
  EXPECT_TRUE(disconnected_.empty()) << "the reply is larger than what is unread";
  budget_.Release(8 * kMegabyte);
  share.Set(9 * kMegabyte);
  EXPECT_TRUE(budget_.TryCharge(2 * kMegabyte, kMegabyte));
  EXPECT_EQ(disconnected_.size(), 1U);
}

TEST_F(BufferBudgetTest, ThreadsLeaveNothingBehind) {
  BufferBudget budget(1000 * kMegabyte);
  std::vector<std::jthread> threads;
  for (uint64_t id = 1; id <= 4; ++id) {
    threads.emplace_back([&, id] {
      BufferBudget::Share share(budget, *this, id);
      for (size_t i = 0; i < 10'000; ++i) {
        share.Set(i * 1000 % (3 * kMegabyte));
        if (budget.TryCharge(1000, 0)) budget.Release(1000);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(budget.used(), 0U);
}

}  // namespace
}  // namespace cairn::net
