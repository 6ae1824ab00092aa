// Power losses at every step of a workload, and disks that fail or are full.
//
// The store runs on a file system in memory that knows what an fsync has made safe. Before every
// change of that file system an image is taken of what a power loss at that very moment would
// leave. Each image is then opened like any data directory, and must hold exactly the first n
// transactions for some n that is at least the number acknowledged when the image was taken.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "base/random.h"
#include "store/rocks/open.h"
#include "tests/support/await.h"
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
  static std::string Name(uint64_t i) { return "k" + std::to_string(i); }
  // Returns when writes go on; they do so by themselves.
  static void WaitUntilWritable(const Store& store) {
    cairn::testing::Await("writes to go on", [&] { return !store.write_failure(); });
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

TEST_F(BadDiskTest, FullDiskRefusesWritesKeepsReadsAndGoesOnByItself) {
  auto store = OpenOn(files_, clock_);
  uint64_t next = 0;
  uint64_t acknowledged = 0;
  std::vector<uint64_t> refused;
  const auto fill = [&](uint64_t room) {
    files_->SetCapacity(files_->used_bytes() + room);
    for (uint64_t tries = 0; tries < 4000; ++tries) {
      const uint64_t i = next++;
      const auto commit = Put(*store, Name(i), Bytes(50'000, 'x'));
      if (commit.ok()) {
        ASSERT_TRUE(store->Durable(*commit).ok()) << "refused after it was visible";
        ++acknowledged;
        continue;
      }
      EXPECT_NE(commit.error().message.find("disk"), std::string::npos) << commit.error().message;
      EXPECT_NE(commit.error().message.find("No space"), std::string::npos);
      refused.push_back(i);
      return;
    }
    FAIL() << "the disk never filled up";
  };
  const auto check = [&] {
    uint64_t found = 0;
    for (uint64_t i = 0; i < next; ++i) found += Get(*store, Name(i)).has_value() ? 1 : 0;
    EXPECT_EQ(found, acknowledged);
    for (const uint64_t i : refused) {
      EXPECT_FALSE(Get(*store, Name(i))) << "a write that was refused, " << i;
    }
  };
  for (const uint64_t room : {64 << 20, 1 << 20, 9 << 20}) {
    fill(room);
    if (HasFatalFailure()) return;
    ASSERT_TRUE(store->write_failure());
    check();

    files_->SetCapacity(files_->used_bytes() + (uint64_t{256} << 20));
    WaitUntilWritable(*store);
    check();
  }

  // And nothing of what was refused comes back.
  store.reset();
  store = OpenOn(std::make_shared<PowerLossFs>(files_->StrictImage()), clock_);
  ASSERT_NE(store, nullptr);
  check();
}

TEST_F(BadDiskTest, StartOnAFullDiskServesReadsAndGoesOnByItself) {
  for (const bool killed : {false, true}) {
    files_ = std::make_shared<PowerLossFs>();
    auto store = OpenOn(files_, clock_);
    files_->SetCapacity(files_->used_bytes() + (40 << 20));
    uint64_t count = 0;
    while (Put(*store, Name(count), Bytes(50'000, 'x')).ok()) ++count;
    if (killed) {
      files_ = std::make_shared<PowerLossFs>(files_->TornImage(count));
    }
    store.reset();
    // Somebody else takes what stopping has freed. An image has the files, but not the room that
    // was set aside for a start.
    constexpr uint64_t kStartBytes = 4 << 20;
    files_->SetCapacity(files_->used_bytes() + (killed ? kStartBytes : 0));
    store = OpenOn(files_, clock_);
    ASSERT_NE(store, nullptr);
    // What the store keeps for a start may leave room for some more writes.
    while (Put(*store, Name(count), Bytes(50'000, 'x')).ok()) ++count;
    EXPECT_TRUE(store->write_failure());
    EXPECT_EQ(Get(*store, Name(count)), std::nullopt);
    EXPECT_EQ(Get(*store, Name(0)), Bytes(50'000, 'x'));

    files_->SetCapacity(files_->used_bytes() + (uint64_t{256} << 20));
    WaitUntilWritable(*store);
    const auto commit = Put(*store, "more", "1");
    ASSERT_TRUE(commit.ok() && store->Durable(*commit).ok());
    EXPECT_EQ(Get(*store, "more"), "1");
  }
}

// What the disk does from some step on.
struct Trouble {
  const char* name;
  ::rocksdb::IOStatus status;
  bool lasts;
  uint64_t first_step;
};

class FailingStepTest : public BadDiskTest, public ::testing::WithParamInterface<Trouble> {
 protected:
  // Runs a short life of a store, opening included, whose n-th step fails. Returns false if there
  // was no n-th step.
  bool Run(uint64_t n) {
    files_ = std::make_shared<PowerLossFs>();
    std::atomic<uint64_t> step = 0;
    files_->SetHook([&](const PowerLossFs::Operation& operation) {
      if (operation.path.find("/logpool/") != std::string::npos &&
          operation.path.ends_with(".zero")) {
        return;
      }
      if (step.fetch_add(1) != n) return;
      const Trouble& trouble = GetParam();
      if (!trouble.lasts) return files_->FailNext(operation.step, operation.path, trouble.status);
      using Step = PowerLossFs::Step;
      for (const Step each : {Step::kCreateFile, Step::kWrite, Step::kAllocate, Step::kSync,
                              Step::kTruncate, Step::kRename, Step::kSyncDirectory}) {
        files_->FailNext(each, "", trouble.status, PowerLossFs::kForEver);
      }
    });
    std::set<uint64_t> acknowledged;
    std::set<uint64_t> refused;
    {
      rocks::Options options;
      options.directory = "/test/data";
      options.memory = rocks::MemoryBudget::FromTotal(32 << 20);
      options.file_system = files_;
      auto opened = rocks::Open(options, clock_, Log::Silent());
      if (opened.ok()) {
        Store& store = **opened;
        for (uint64_t i = 0; i < kWrites; ++i) {
          const auto commit = Put(store, Name(i), Bytes(100'000, 'x'));
          if (!commit.ok()) {
            refused.insert(i);
          } else if (store.Durable(*commit).ok()) {
            acknowledged.insert(i);
          }
        }
        for (const uint64_t i : acknowledged) EXPECT_TRUE(Get(store, Name(i))) << i;
        const bool stopped = store.write_failure().has_value();
        EXPECT_TRUE(stopped || refused.empty() || GetParam().status.IsNoSpace());
      }
    }
    files_->SetHook(nullptr);
    // On a disk that works again, everything acknowledged is there.
    const auto store = OpenOn(std::make_shared<PowerLossFs>(files_->StrictImage()), clock_);
    if (store == nullptr) return false;
    for (const uint64_t i : acknowledged) {
      EXPECT_TRUE(Get(*store, Name(i))) << "acknowledged write " << i << " is lost";
    }
    return step > n;
  }

  static constexpr uint64_t kWrites = 90;  // enough for a second memtable and log
};

TEST_P(FailingStepTest, NeitherEndsTheProcessNorLosesWhatWasAcknowledged) {
  // Each trouble has steps of its own; CAIRN_EVERY_STEP=1 tries them all, which takes minutes.
  const uint64_t stride = std::getenv("CAIRN_EVERY_STEP") != nullptr ? 1 : 9;
  uint64_t n = GetParam().first_step % stride;
  uint64_t tried = 0;
  for (; Run(n); n += stride, ++tried) {
    if (HasFailure()) FAIL() << "at step " << n;
  }
  EXPECT_FALSE(HasFailure()) << "at step " << n;
  std::printf("steps that failed (%s): %zu of %zu\n", GetParam().name, static_cast<size_t>(tried),
              static_cast<size_t>(n));
  EXPECT_GT(n, 100u);
}

INSTANTIATE_TEST_SUITE_P(
    Troubles, FailingStepTest,
    ::testing::Values(Trouble{"FullOnce", ::rocksdb::IOStatus::NoSpace("No space"), false, 0},
                      Trouble{"FullForGood", ::rocksdb::IOStatus::NoSpace("No space"), true, 2},
                      Trouble{"BrokenOnce", ::rocksdb::IOStatus::IOError("bad sector"), false, 4},
                      Trouble{"ReadOnlyForGood", ::rocksdb::IOStatus::IOError("read-only"), true,
                              6}),
    [](const auto& info) { return info.param.name; });

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
