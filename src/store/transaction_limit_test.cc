// What one transaction may write: store.h's bound, limits.transaction.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "store/store.h"
#include "store/testing/fixture.h"

namespace cairn::store {
namespace {

using testing::Rows;
using testing::StoreTest;

const Error kRefused{ErrorCode::kConflict, "refused"};

class TransactionLimitTest : public StoreTest {
 protected:
  static constexpr size_t kLimit = 1 << 20;

  TransactionLimitTest() {
    options_.memory.transaction_bytes = kLimit;
    Reopen();
  }

  static Bytes Piece() { return Bytes(100'000, 'x'); }
  static void PutPieces(Transaction& txn, const std::string& name, int count) {
    for (int i = 0; i < count; ++i) txn.Put({Space::kData, name + std::to_string(i)}, Piece());
  }
  static void ExpectTooLarge(const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kTooLarge);
    EXPECT_NE(error.message.find("limits.transaction"), std::string::npos) << error.message;
  }
};

TEST_F(TransactionLimitTest, BodyThatWritesTooMuchIsToldAndLeavesNothing) {
  bool woken = false;
  const Subscription subscription = store_->OnWake({1}, [&] { woken = true; });
  const auto commit = store_->Run(Scope("a"), [](Transaction& txn) -> Result<void> {
    txn.Wake({1});
    txn.AppendEvent({Space::kEvents, "e"}, "x");
    PutPieces(txn, "a", 20);
    return {};  // it has not noticed
  });
  ASSERT_FALSE(commit.ok());
  ExpectTooLarge(commit.error());
  EXPECT_FALSE(woken);
  EXPECT_TRUE(ScanAll(Range::All(Space::kData)).empty());
  EXPECT_TRUE(ScanAll(Range::All(Space::kEvents)).empty());
  Put("a", "1");
  Reopen();
  EXPECT_EQ(ScanAll(Range::All(Space::kData)), (Rows{{"a", "1"}}));
}

TEST_F(TransactionLimitTest, AfterTooMuchItsReadsFail) {
  bool read = true;
  bool scanned = true;
  const auto commit = store_->Run(Scope("a"), [&](Transaction& txn) -> Result<void> {
    PutPieces(txn, "a", 20);
    read = txn.Get({Space::kData, "a0"}).ok();
    scanned =
        txn.Scan(Range::All(Space::kData), {}, [](BytesView, BytesView) { return true; }).ok();
    return kRefused;  // what it makes of it does not matter
  });
  EXPECT_FALSE(read);
  EXPECT_FALSE(scanned);
  ASSERT_FALSE(commit.ok());
  ExpectTooLarge(commit.error());
}

TEST_F(TransactionLimitTest, WhatFitsIsWritten) {
  Run(Scope("a"), [](Transaction& txn) -> Result<void> {
    PutPieces(txn, "a", 10);
    return {};
  });
  EXPECT_EQ(Get("a9"), Piece());
}

// Each part has the limit to itself, whether or not they share a transaction.
TEST_F(TransactionLimitTest, PartsThatAreTooMuchTogetherAreAllDone) {
  const auto six = [](const std::string& name) {
    return [name](Transaction& txn) -> Result<void> {
      PutPieces(txn, name, 6);
      return {};
    };
  };
  const auto a = six("a");
  const auto b = six("b");
  const auto too_much = [](Transaction& txn) -> Result<void> {
    PutPieces(txn, "c", 20);
    return {};
  };
  const auto d = six("d");
  std::vector<Part> parts{Part{a}, Part{b}, Part{too_much}, Part{d}};
  store_->RunParts(Scope("a"), Access::kWrite, parts);
  EXPECT_TRUE(parts[0].result.ok());
  EXPECT_TRUE(parts[1].result.ok());
  ASSERT_FALSE(parts[2].result.ok());
  ExpectTooLarge(parts[2].result.error());
  EXPECT_TRUE(parts[3].result.ok());
  EXPECT_EQ(Get("a5"), Piece());
  EXPECT_EQ(Get("b5"), Piece());
  EXPECT_EQ(Get("c0"), std::nullopt);
  EXPECT_EQ(Get("d5"), Piece());
}

TEST_F(TransactionLimitTest, BodyOfAGroupFailsAlone) {
  CAIRN_TEST_ROCKS_ONLY("groups");
  const auto group = store_->NewGroup();
  const auto put = [&](const std::string& name, int count) {
    return group->Run(Scope(name), Access::kWrite, [&](Transaction& txn) -> Result<void> {
      PutPieces(txn, name, count);
      return {};
    });
  };
  EXPECT_TRUE(put("a", 6).ok());
  const auto too_much = put("b", 20);
  ASSERT_FALSE(too_much.ok());
  ExpectTooLarge(too_much.error());
  EXPECT_TRUE(put("c", 6).ok());
  ASSERT_TRUE(group->Finish().ok());
  EXPECT_EQ(Get("a5"), Piece());
  EXPECT_EQ(Get("b0"), std::nullopt);
  EXPECT_EQ(Get("c5"), Piece());
}

// A write is one record of the log, and every start reads records whole.
TEST_F(TransactionLimitTest, GroupsDoNotMakeOneLargeWrite) {
  CAIRN_TEST_ROCKS_ONLY("groups");
  const uint64_t before = store_->stats().engine_writes;
  const auto group = store_->NewGroup();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(group
                    ->Run(Scope("k"), Access::kWrite,
                          [&](Transaction& txn) -> Result<void> {
                            PutPieces(txn, std::to_string(i) + "/", 9);
                            return {};
                          })
                    .ok());
  }
  ASSERT_TRUE(group->Finish().ok());
  EXPECT_GE(store_->stats().engine_writes - before, 5u);  // 90 MB
  EXPECT_EQ(Get("99/8"), Piece());
}

TEST_F(TransactionLimitTest, WritesThatWaitAreNotMergedIntoOneLargeWrite) {
  CAIRN_TEST_ROCKS_ONLY("groups");
  options_.memory.transaction_bytes = 128 << 20;  // half of it is room for all of them at once
  Reopen();
  const uint64_t before = store_->stats().engine_writes;
  constexpr int kThreads = 6;
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::string name = "thread" + std::to_string(i) + "/";
      const auto commit = store_->Run(Scope(name), [&](Transaction& txn) -> Result<void> {
        PutPieces(txn, name, 100);
        ready.fetch_add(1);
        while (ready.load() < kThreads) std::this_thread::yield();
        return {};
      });
      EXPECT_TRUE(commit.ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->stats().engine_writes - before, static_cast<uint64_t>(kThreads));
  EXPECT_EQ(Get("thread5/99"), Piece());
}

TEST_F(TransactionLimitTest, LargeBodiesThatHaveNoRoomTogetherAllCommit) {
  options_.memory.transaction_bytes = 8 << 20;
  Reopen();
  constexpr int kThreads = 6;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::string name = "thread" + std::to_string(i) + "/";
      const auto commit = store_->Run(Scope(name), [&](Transaction& txn) -> Result<void> {
        PutPieces(txn, name, 60);
        return {};
      });
      EXPECT_TRUE(commit.ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(Get(fmt::format("thread{}/59", i)), Piece());
}

TEST_F(TransactionLimitTest, ALoopKeepsNoMoreThanItHasTimeFor) {
  CAIRN_TEST_ROCKS_ONLY("groups");
  options_.memory.transaction_bytes = 256 << 20;
  Reopen();
  const std::unique_ptr<Group> group = store_->NewGroup();
  const auto ran = group->Run(Scope("a"), Access::kWrite, [](Transaction& txn) -> Result<void> {
    PutPieces(txn, "a", 1'000);
    EXPECT_FALSE(
        txn.Scan(Range::All(Space::kData), {}, [](BytesView, BytesView) { return true; }).ok());
    return {};  // it has not noticed
  });
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::kWouldBlock);
  ASSERT_TRUE(group->Finish().ok());
  EXPECT_TRUE(ScanAll(Range::All(Space::kData)).empty());
}

}  // namespace
}  // namespace cairn::store
