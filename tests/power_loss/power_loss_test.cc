// Power losses at every step of a workload, and disks that fail or are full.
//
// The store runs on a file system in memory that knows what an fsync has made safe. Before every
// change of that file system an image is taken of what a power loss at that very moment would
// leave. Each image is then opened like any data directory, and must hold exactly the first n
// transactions for some n that is at least the number acknowledged when the image was taken.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>

#include "base/random.h"
#include "store/rocks/open.h"
#include "tests/support/power_loss_fs.h"

namespace cairn::store {
namespace {

using cairn::testing::PowerLossFs;
using State = std::map<Bytes, Bytes>;

constexpr BytesView kCountKey = "count";

std::unique_ptr<Store> OpenOn(const std::shared_ptr<PowerLossFs>& files, const Clock& clock,
                              Durability durability = Durability::kSync) {
  rocks::Options options;
  options.directory = "/test/data";
  options.durability = durability;
  options.memory = rocks::MemoryBudget::FromTotal(32 << 20);
  options.file_system = files;
  auto store = rocks::Open(options, clock, Log::Silent());
  EXPECT_TRUE(store.ok()) << store.error().message;
  return store.ok() ? std::move(*store) : nullptr;
}

State ReadAll(Store& store) {
  State state;
  auto snapshot = store.Read();
  EXPECT_TRUE(snapshot.ok());
  EXPECT_TRUE((*snapshot)
                  ->Scan(Range::All(Space::kData), {},
                         [&](BytesView key, BytesView value) {
                           state.emplace(key, value);
                           return true;
                         })
                  .ok());
  return state;
}

// Transactions of several keys each, large enough to fill memtables now and then. Every transaction
// also counts itself, so that a state says how many are in it.
class Workload {
 public:
  explicit Workload(uint64_t seed) : random_(seed) { states_.emplace_back(); }

  // Runs `count` more transactions and waits for durability after some of them.
  void Run(Store& store, int count) {
    for (int i = 0; i < count; ++i) {
      State next = states_.back();
      const uint64_t number = states_.size();
      const uint64_t writes = 1 + random_.Below(5);
      for (uint64_t w = 0; w < writes; ++w) {
        const Bytes key = "k" + std::to_string(random_.Below(20));
        if (random_.Below(5) == 0) {
          next.erase(key);
        } else {
          next[key] = std::to_string(number) + Bytes(random_.Below(60'000), 'v');
        }
      }
      next[Bytes(kCountKey)] = std::to_string(number);
      const State& last = states_.back();
      {
        const std::lock_guard lock(mutex_);
        submitted_ = number;
      }
      auto commit = store.Run(Scopes::Exclusive(), [&](Transaction& txn) -> Result<void> {
        for (const auto& [key, value] : last) {
          if (!next.contains(key)) txn.Delete({Space::kData, key});
        }
        for (const auto& [key, value] : next) {
          const auto before = last.find(key);
          if (before == last.end() || before->second != value) txn.Put({Space::kData, key}, value);
        }
        return {};
      });
      ASSERT_TRUE(commit.ok()) << commit.error().message;
      states_.push_back(std::move(next));
      if (random_.Below(2) == 0) {
        ASSERT_TRUE(store.Durable(*commit).ok());
        const std::lock_guard lock(mutex_);
        acknowledged_ = number;
      }
    }
  }

  uint64_t acknowledged() const {
    const std::lock_guard lock(mutex_);
    return acknowledged_;
  }
  uint64_t submitted() const {
    const std::lock_guard lock(mutex_);
    return submitted_;
  }
  const State& state(uint64_t count) const { return states_[count]; }

  // Whether `found` is the state after n transactions with at_least <= n <= at_most.
  void Check(const State& found, uint64_t at_least, uint64_t at_most) const {
    const auto count = found.find(Bytes(kCountKey));
    const uint64_t n = count == found.end() ? 0 : std::stoull(count->second);
    ASSERT_GE(n, at_least) << "an acknowledged transaction is lost";
    ASSERT_LE(n, at_most);
    ASSERT_EQ(found.size(), states_[n].size());
    ASSERT_TRUE(found == states_[n]) << "transaction " << n << " is half there";
  }

 private:
  SeededRandom random_;
  std::vector<State> states_;  // by number of transactions
  mutable std::mutex mutex_;
  uint64_t submitted_ = 0;
  uint64_t acknowledged_ = 0;
};

struct Loss {
  PowerLossFs::Image image;
  uint64_t acknowledged;
};

class PowerLossTest : public ::testing::TestWithParam<bool> {
 protected:
  // The disk before each step, as a power loss would leave it.
  std::vector<Loss> RunAndRecord(Workload& workload, const std::shared_ptr<PowerLossFs>& files,
                                 int transactions) {
    const bool torn = GetParam();
    std::mutex mutex;
    std::vector<Loss> losses;
    uint64_t seed = 0;
    files->SetHook([&](const PowerLossFs::Operation& operation) {
      // The pool's own zero-filling is thousands of equal steps that no log depends on.
      if (operation.path.find("/logpool/") != std::string::npos &&
          operation.step == PowerLossFs::Step::kWrite) {
        return;
      }
      const uint64_t acknowledged = workload.acknowledged();  // before the image
      const std::lock_guard lock(mutex);
      losses.push_back({torn ? files->TornImage(++seed) : files->StrictImage(), acknowledged});
    });
    {
      const auto store = OpenOn(files, clock_);
      if (store != nullptr) workload.Run(*store, transactions);
    }
    files->SetHook(nullptr);
    return losses;
  }

  ManualClock clock_;
};

TEST_P(PowerLossTest, NothingAcknowledgedIsLostAtAnyStep) {
  Workload workload(GetParam() ? 11 : 7);
  const auto files = std::make_shared<PowerLossFs>();
  const std::vector<Loss> losses = RunAndRecord(workload, files, 150);
  for (const Loss& loss : losses) {
    const auto store = OpenOn(std::make_shared<PowerLossFs>(loss.image), clock_);
    ASSERT_NE(store, nullptr);
    workload.Check(ReadAll(*store), loss.acknowledged, workload.submitted());
    if (HasFatalFailure()) return;
  }
  std::printf(
      "power losses (%s): %zu, acknowledged transactions: %zu, none lost, none half there\n",
      GetParam() ? "torn" : "strict", losses.size(), static_cast<size_t>(workload.acknowledged()));
  EXPECT_GT(losses.size(), 300u);
}

TEST_P(PowerLossTest, StoreGoesOnAfterALossAndSurvivesTheNext) {
  Workload first(21);
  const std::vector<Loss> losses = RunAndRecord(first, std::make_shared<PowerLossFs>(), 60);
  size_t second_losses = 0;
  for (size_t i = 0; i < losses.size(); i += losses.size() / 12 + 1) {
    const auto files = std::make_shared<PowerLossFs>(losses[i].image);
    {
      const auto store = OpenOn(files, clock_);
      ASSERT_NE(store, nullptr);
      // Starts over with keys of its own.
      ASSERT_TRUE(store
                      ->Run(Scopes::Exclusive(),
                            [](Transaction& txn) -> Result<void> {
                              txn.DeleteRange(Range::All(Space::kData));
                              return {};
                            })
                      .ok());
    }
    Workload second(i);
    for (const Loss& loss : RunAndRecord(second, files, 6)) {
      const auto store = OpenOn(std::make_shared<PowerLossFs>(loss.image), clock_);
      ASSERT_NE(store, nullptr);
      const State found = ReadAll(*store);
      if (loss.acknowledged > 0) {
        second.Check(found, loss.acknowledged, second.submitted());
      }
      if (HasFatalFailure()) return;
      ++second_losses;
    }
  }
  std::printf("second power losses (%s): %zu\n", GetParam() ? "torn" : "strict", second_losses);
}

INSTANTIATE_TEST_SUITE_P(Images, PowerLossTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Torn" : "Strict"; });

class BadDiskTest : public ::testing::Test {
 protected:
  Result<Commit> Put(Store& store, BytesView key, BytesView value) {
    return store.Run(Scopes().Add(Space::kData, key), [&](Transaction& txn) -> Result<void> {
      txn.Put({Space::kData, key}, value);
      return {};
    });
  }
  std::optional<Bytes> Get(Store& store, BytesView key) {
    std::optional<Bytes> value;
    auto read =
        store.RunRead(Scopes().Add(Space::kData, key), [&](Transaction& txn) -> Result<void> {
          CAIRN_ASSIGN_OR_RETURN(value, txn.Get({Space::kData, key}));
          return {};
        });
    EXPECT_TRUE(read.ok());
    return value;
  }

  ManualClock clock_;
  std::shared_ptr<PowerLossFs> files_ = std::make_shared<PowerLossFs>();
};

TEST_F(BadDiskTest, FailedFsyncStopsWritesKeepsReadsAndAcknowledgesNothing) {
  auto store = OpenOn(files_, clock_);
  const auto safe = Put(*store, "safe", "1");
  ASSERT_TRUE(safe.ok() && store->Durable(*safe).ok());

  std::atomic<bool> told{false};
  auto listening = store->OnDurable([&](const Result<Commit>& news) { told = told || !news.ok(); });
  files_->FailNext(PowerLossFs::Step::kSync, ".log", ::rocksdb::IOStatus::IOError("bad sector"),
                   PowerLossFs::kForEver);
  const auto unsafe = Put(*store, "unsafe", "1");
  ASSERT_TRUE(unsafe.ok()) << "visible before it is durable";
  auto durable = store->Durable(*unsafe);
  ASSERT_FALSE(durable.ok());
  EXPECT_EQ(durable.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(durable.error().message.find("bad sector"), std::string::npos);
  EXPECT_FALSE(store->IsDurable(*unsafe));
  ASSERT_TRUE(store->write_failure());

  // Also when the disk seems to have recovered.
  files_->FailNext(PowerLossFs::Step::kSync, ".log", ::rocksdb::IOStatus::OK(), 0);
  const auto later = Put(*store, "later", "1");
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().message.find("writes are stopped: "), 0u);
  EXPECT_EQ(Get(*store, "safe"), "1");
  listening = Subscription();
  EXPECT_TRUE(told);

  const auto image = files_->StrictImage();
  store = OpenOn(std::make_shared<PowerLossFs>(image), clock_);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Get(*store, "safe"), "1");
  EXPECT_EQ(Get(*store, "unsafe"), std::nullopt);
}

TEST_F(BadDiskTest, FullDiskStopsWritesAndKeepsReads) {
  auto store = OpenOn(files_, clock_);
  files_->SetCapacity(files_->used_bytes() + (64 << 20));
  uint64_t acknowledged = 0;
  std::optional<Error> refused;
  for (uint64_t i = 0; i < 4000 && !refused; ++i) {
    const auto commit = Put(*store, "k" + std::to_string(i), Bytes(50'000, 'x'));
    if (!commit.ok()) {
      refused = commit.error();
    } else if (const auto durable = store->Durable(*commit); !durable.ok()) {
      refused = durable.error();
    } else {
      ++acknowledged;
    }
  }
  ASSERT_TRUE(refused) << "the disk never filled up";
  EXPECT_NE(refused->message.find("No space"), std::string::npos) << refused->message;
  EXPECT_GT(acknowledged, 0u);
  EXPECT_EQ(Get(*store, "k0"), Bytes(50'000, 'x'));
  EXPECT_FALSE(Put(*store, "more", "1").ok());

  // After a restart with room again, all that was acknowledged is there.
  store.reset();
  files_->SetCapacity(uint64_t{4} << 30);
  store = OpenOn(files_, clock_);
  ASSERT_NE(store, nullptr);
  for (uint64_t i = 0; i < acknowledged; ++i) {
    ASSERT_TRUE(Get(*store, "k" + std::to_string(i))) << i;
  }
  EXPECT_TRUE(Put(*store, "more", "1").ok());
}

TEST_F(BadDiskTest, IntervalNoticesAFailedFsyncToo) {
  auto store = OpenOn(files_, clock_, Durability::kInterval);
  files_->FailNext(PowerLossFs::Step::kSync, ".log", ::rocksdb::IOStatus::IOError("bad sector"),
                   PowerLossFs::kForEver);
  std::mutex mutex;
  std::condition_variable failed;
  bool told = false;
  auto listening = store->OnDurable([&](const Result<Commit>& news) {
    const std::lock_guard lock(mutex);
    told = told || !news.ok();
    failed.notify_all();
  });
  ASSERT_TRUE(Put(*store, "a", "1").ok());
  {
    std::unique_lock lock(mutex);
    failed.wait(lock, [&] { return told; });
  }
  EXPECT_FALSE(Put(*store, "b", "1").ok());
  listening = Subscription();
}

}  // namespace
}  // namespace cairn::store
