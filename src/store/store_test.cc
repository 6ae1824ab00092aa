// The contract of store.h and transaction.h, one behaviour a test.
#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "base/random.h"
#include "store/testing/fixture.h"

namespace cairn::store {
namespace {

using testing::Rows;
using testing::StoreTest;

const Error kRefused{ErrorCode::kConflict, "refused"};

TEST_F(StoreTest, MissingKeyIsAbsentNotAnError) { EXPECT_EQ(Get("nothing"), std::nullopt); }

TEST_F(StoreTest, CommittedWriteIsVisibleAndSurvivesReopen) {
  Put("k", "v");
  EXPECT_EQ(Get("k"), "v");
  Reopen();
  EXPECT_EQ(Get("k"), "v");
}

TEST_F(StoreTest, SpacesDoNotShareKeys) {
  Put("k", "data", Space::kData);
  Put("k", "jobs", Space::kJobs);
  EXPECT_EQ(Get("k", Space::kData), "data");
  EXPECT_EQ(Get("k", Space::kJobs), "jobs");
  EXPECT_EQ(Get("k", Space::kActors), std::nullopt);
}

TEST_F(StoreTest, EmptyKeysAndValuesAndEveryByteAreKept) {
  const Bytes odd("\0\xff\n\0", 4);
  Put("", odd);
  Put(odd, "");
  Reopen();
  EXPECT_EQ(Get(""), odd);
  EXPECT_EQ(Get(odd), "");
}

TEST_F(StoreTest, TransactionSeesItsOwnWrites) {
  Put("a", "old");
  Run(Scope("a"), [](Transaction& txn) -> Result<void> {
    txn.Put({Space::kData, "a"}, "new");
    txn.Put({Space::kData, "b"}, "b");
    EXPECT_EQ(*txn.Get({Space::kData, "a"}), "new");
    EXPECT_EQ(ScanAll(txn, Range::All(Space::kData)), (Rows{{"a", "new"}, {"b", "b"}}));
    txn.Delete({Space::kData, "a"});
    EXPECT_EQ(*txn.Get({Space::kData, "a"}), std::nullopt);
    EXPECT_EQ(ScanAll(txn, Range::All(Space::kData)), (Rows{{"b", "b"}}));
    return {};
  });
  EXPECT_EQ(ScanAll(Range::All(Space::kData)), (Rows{{"b", "b"}}));
}

TEST_F(StoreTest, FailedBodyLeavesNothing) {
  Put("a", "old");
  auto commit = store_->Run(Scope("a"), [](Transaction& txn) -> Result<void> {
    txn.Put({Space::kData, "a"}, "new");
    txn.Put({Space::kData, "b"}, "b");
    txn.DeleteRange(Range::All(Space::kData));
    txn.Add({Space::kData, "count"}, 5);
    txn.AppendEvent({Space::kEvents, "e"}, "x");
    return kRefused;
  });
  ASSERT_FALSE(commit.ok());
  EXPECT_EQ(commit.error(), kRefused);
  EXPECT_EQ(ScanAll(Range::All(Space::kData)), (Rows{{"a", "old"}}));
  EXPECT_TRUE(ScanAll(Range::All(Space::kEvents)).empty());
}

TEST_F(StoreTest, ScanHonoursRangeDirectionAndLimit) {
  for (const char* key : {"a", "b", "c", "d"}) Put(key, key);
  const Range middle{Space::kData, "b", "d"};
  EXPECT_EQ(ScanAll(middle), (Rows{{"b", "b"}, {"c", "c"}}));
  EXPECT_EQ(ScanAll(middle, {.reverse = true}), (Rows{{"c", "c"}, {"b", "b"}}));
  EXPECT_EQ(ScanAll(Range::All(Space::kData), {.reverse = true, .limit = 1}), (Rows{{"d", "d"}}));
  EXPECT_EQ(ScanAll(Range{Space::kData, "c", std::nullopt}), (Rows{{"c", "c"}, {"d", "d"}}));
  EXPECT_TRUE(ScanAll(Range{Space::kData, "c", "c"}).empty());
  EXPECT_TRUE(ScanAll(Range{Space::kData, "d", "a"}).empty());
}

TEST_F(StoreTest, ScanStopsWhenTheVisitorSaysSo) {
  for (const char* key : {"a", "b", "c"}) Put(key, key);
  auto snapshot = store_->Read();
  int visited = 0;
  ASSERT_TRUE(
      (*snapshot)
          ->Scan(Range::All(Space::kData), {}, [&](BytesView, BytesView) { return ++visited < 2; })
          .ok());
  EXPECT_EQ(visited, 2);
}

TEST_F(StoreTest, DeleteRangeHidesOldRowsAndKeepsLaterOnes) {
  for (const char* key : {"a", "b", "c"}) Put(key, "old");
  Run(Scopes::Exclusive(), [](Transaction& txn) -> Result<void> {
    txn.Put({Space::kData, "bb"}, "lost");
    txn.DeleteRange({Space::kData, "b", "c"});
    EXPECT_EQ(*txn.Get({Space::kData, "b"}), std::nullopt);
    EXPECT_EQ(*txn.Get({Space::kData, "bb"}), std::nullopt);
    txn.Put({Space::kData, "b1"}, "kept");
    EXPECT_EQ(ScanAll(txn, Range::All(Space::kData)),
              (Rows{{"a", "old"}, {"b1", "kept"}, {"c", "old"}}));
    return {};
  });
  const Rows expected{{"a", "old"}, {"b1", "kept"}, {"c", "old"}};
  EXPECT_EQ(ScanAll(Range::All(Space::kData)), expected);
  EXPECT_EQ(Get("b"), std::nullopt);
  Reopen();
  EXPECT_EQ(ScanAll(Range::All(Space::kData)), expected);
}

TEST_F(StoreTest, ReadAfterDeleteRangeDoesNotComeFromTheCache) {
  Put("a", "1");
  EXPECT_EQ(Get("a"), "1");  // now cached
  Run(Scopes::Exclusive(), [](Transaction& txn) -> Result<void> {
    txn.DeleteRange(Range::All(Space::kData));
    return {};
  });
  EXPECT_EQ(Get("a"), std::nullopt);
  Put("a", "2");
  EXPECT_EQ(Get("a"), "2");
}

TEST_F(StoreTest, SnapshotDoesNotMove) {
  Put("a", "1");
  auto snapshot = store_->Read();
  ASSERT_TRUE(snapshot.ok());
  const Commit later = Put("a", "2");
  EXPECT_EQ(*(*snapshot)->Get({Space::kData, "a"}), "1");
  EXPECT_LT((*snapshot)->commit(), later);
  EXPECT_EQ(Get("a"), "2");
}

TEST_F(StoreTest, CommitNumbersGrowAlsoAcrossReopen) {
  const Commit first = Put("a", "1");
  const Commit second = Put("a", "2");
  EXPECT_LT(first, second);
  Reopen();
  EXPECT_LT(second, Put("a", "3"));
}

TEST_F(StoreTest, StampsAreNeverRepeatedAndGrow) {
  uint64_t last = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) {
      Run(Scope("a"), [&](Transaction& txn) -> Result<void> {
        EXPECT_GT(txn.stamp(), last);
        EXPECT_EQ(txn.stamp(), txn.stamp());
        last = txn.stamp();
        txn.Put({Space::kData, "a"}, "x");
        return {};
      });
    }
    Reopen();
  }
}

TEST_F(StoreTest, CountersAddUpWithoutSharedScopes) {
  const Key counter{Space::kData, "count"};
  const auto read = [&] {
    return static_cast<int64_t>(BytesReader(Get("count").value_or(Bytes(8, '\0'))).Big64());
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        Run(Scope("thread" + std::to_string(t)), [&](Transaction& txn) -> Result<void> {
          txn.Add(counter, 3);
          txn.Add(counter, -1);
          return {};
        });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(read(), 4 * 200 * 2);
  Reopen();
  EXPECT_EQ(read(), 1600);
  Run(Scope("a"), [&](Transaction& txn) -> Result<void> {
    txn.Add(counter, -1601);
    EXPECT_EQ(static_cast<int64_t>(BytesReader(**txn.Get(counter)).Big64()), -1);
    return {};
  });
  EXPECT_EQ(read(), -1);
}

TEST_F(StoreTest, EventsAreNumberedInCommitOrderAndNeverReused) {
  const auto append = [&](BytesView value) {
    Run(Scope(value), [&](Transaction& txn) -> Result<void> {
      txn.AppendEvent({Space::kEvents, "ev|"}, value);
      return {};
    });
  };
  append("1");
  append("2");
  Reopen();
  append("3");
  const Rows rows = ScanAll(Range::Prefix(Space::kEvents, "ev|"));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].second + rows[1].second + rows[2].second, "123");
  EXPECT_EQ(rows[0].first.size(), 3u + 8u);
}

TEST_F(StoreTest, ARowOfSeveralEventsHasTheLastOfItsNumbersToItself) {
  constexpr int kThreads = 4;
  constexpr int kEach = 100;
  std::vector<std::thread> writers;
  for (int t = 0; t < kThreads; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        Run(Scope("w" + std::to_string(t)), [&](Transaction& txn) -> Result<void> {
          const uint32_t count = static_cast<uint32_t>((t + i) % 5) + 1;
          txn.AppendEvents({Space::kEvents, "ev|"}, std::to_string(count), count);
          return {};
        });
      }
    });
  }
  for (auto& writer : writers) writer.join();
  uint64_t before = 0;
  const Rows rows = ScanAll(Range::Prefix(Space::kEvents, "ev|"));
  EXPECT_EQ(rows.size(), static_cast<size_t>(kThreads * kEach));
  for (const auto& [key, value] : rows) {
    const uint64_t number = BytesReader(BytesView(key).substr(3)).Big64();
    EXPECT_GE(number - before, std::stoull(value)) << number;
    before = number;
  }
}

TEST_F(StoreTest, FollowerOfTheEventLogMissesNothingUnderConcurrentAppends) {
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> writers;
  for (int t = 0; t < kThreads; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        Run(Scope("w" + std::to_string(t)), [&](Transaction& txn) -> Result<void> {
          txn.AppendEvent({Space::kEvents, ""}, std::to_string(t));
          return {};
        });
      }
      --running;
    });
  }
  Bytes position;
  size_t seen = 0;
  for (;;) {
    const bool last_pass = running == 0;
    for (const auto& [key, value] : ScanAll(Range{Space::kEvents, position, std::nullopt})) {
      position = key + Bytes(1, '\0');
      ++seen;
    }
    if (last_pass) break;
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(seen, static_cast<size_t>(kThreads * kEach));
}

TEST_F(StoreTest, WakeReachesWaitersAfterTheCommitAndOnlyThem) {
  const Topic topic = Topic::Of(Space::kData, "list");
  int woken = 0;
  auto waiter = store_->OnWake(topic, [&] { ++woken; });
  Run(Scope("a"), [&](Transaction& txn) -> Result<void> {
    txn.Put({Space::kData, "a"}, "1");
    txn.Wake(topic);
    EXPECT_EQ(woken, 0);
    return {};
  });
  EXPECT_EQ(woken, 1);
  auto failed = store_->Run(Scope("a"), [&](Transaction& txn) -> Result<void> {
    txn.Wake(topic);
    return kRefused;
  });
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(woken, 1);
  waiter = Subscription();
  Run(Scope("a"), [&](Transaction& txn) -> Result<void> {
    txn.Wake(topic);
    return {};
  });
  EXPECT_EQ(woken, 1);
}

TEST_F(StoreTest, WhoListensToChangesHearsOfEachRowWhenItCanBeSeen) {
  CAIRN_TEST_ROCKS_ONLY("a listener to changes");
  std::vector<std::string> heard;
  Commit last;
  auto listening = store_->OnChange(Space::kData, [&](Commit commit, std::span<const Change> rows) {
    EXPECT_GT(commit, last);
    last = commit;
    for (const Change& row : rows) {
      heard.push_back(Bytes(row.key) + (row.is_range ? "…" : "") + " by " +
                      std::to_string(row.origin));
    }
  });
  const auto change = [&](const std::function<void(Transaction&)>& with) {
    return Run(Scopes::Exclusive(), [&](Transaction& txn) -> Result<void> {
      with(txn);
      return {};
    });
  };
  const Commit commit = change([](Transaction& txn) {
    txn.Put({Space::kData, "a"}, "1");
    txn.set_origin(7);
    txn.Delete({Space::kData, "b"});
    txn.Put({Space::kJobs, "not this"}, "1");
  });
  EXPECT_EQ(last, commit);
  change([](Transaction& txn) { txn.Put({Space::kData, "c"}, "1"); });  // origins end with a body
  change([](Transaction& txn) { txn.DeleteRange({Space::kData, "a", "c"}); });
  change([](Transaction& txn) { txn.Put({Space::kJobs, "not this"}, "2"); });
  const auto failed = store_->Run(Scope("d"), [&](Transaction& txn) -> Result<void> {
    txn.Put({Space::kData, "d"}, "1");
    return kRefused;
  });
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(heard, (std::vector<std::string>{"a by 0", "b by 7", "c by 0", "a… by 0"}));
  listening = Subscription();
  Put("e", "1");
  EXPECT_EQ(heard.size(), 4u);
}

// What client-side caching stands on: whoever begins to listen and then does not see a value hears
// of it.
TEST_F(StoreTest, NoChangeIsMissedBetweenListeningAndReading) {
  CAIRN_TEST_ROCKS_ONLY("a listener to changes");
  constexpr int kRounds = 2000;
  std::atomic<int> started{0};
  std::atomic<int> written{0};
  std::thread writer([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (started < round) std::this_thread::yield();
      Put("k", std::to_string(round));
      written = round;
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    std::atomic<bool> heard{false};
    started = round;
    const auto listening =
        store_->OnChange(Space::kData, [&](Commit, std::span<const Change>) { heard = true; });
    const std::optional<Bytes> value = Get("k");
    while (written < round) std::this_thread::yield();
    EXPECT_TRUE(heard || value == std::to_string(round));
  }
  writer.join();
}

TEST_F(StoreTest, GroupSharesOneCommitAndUndoesOnlyTheFailedBody) {
  CAIRN_TEST_ROCKS_ONLY("groups that run bodies");
  auto group = store_->NewGroup();
  const auto put = [&](BytesView key, BytesView value) {
    return group->Run(Scope(key), Access::kWrite, [&](Transaction& txn) -> Result<void> {
      txn.Put({Space::kData, key}, value);
      return {};
    });
  };
  ASSERT_TRUE(put("a", "1").ok());
  auto refused = group->Run(Scope("a"), Access::kWrite, [&](Transaction& txn) -> Result<void> {
    txn.Put({Space::kData, "a"}, "2");
    txn.Put({Space::kData, "x"}, "2");
    return kRefused;
  });
  EXPECT_FALSE(refused.ok());
  ASSERT_TRUE(put("b", "3").ok());
  auto seen = group->Run(Scope("a"), Access::kRead, [&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(*txn.Get({Space::kData, "a"}), "1");
    return {};
  });
  ASSERT_TRUE(seen.ok());
  EXPECT_TRUE(seen->on_group);
  EXPECT_EQ(Get("a"), std::nullopt) << "not committed yet";
  ASSERT_TRUE(group->Finish().ok());
  EXPECT_EQ(ScanAll(Range::All(Space::kData)), (Rows{{"a", "1"}, {"b", "3"}}));
}

// Each group writes one key and then reads both. Whichever comes first, the other sees its write.
TEST_F(StoreTest, GroupsThatReadEachOthersKeysHaveAnOrder) {
  CAIRN_TEST_ROCKS_ONLY("groups that run bodies");
  const Scopes both = std::move(Scope("a").AddAll(Scope("b")));
  for (const Scopes& reads : {both, Scopes::Exclusive()}) {
    ASSERT_TRUE(store_
                    ->Run(both,
                          [](Transaction& txn) -> Result<void> {
                            txn.Delete({Space::kData, "a"});
                            txn.Delete({Space::kData, "b"});
                            return {};
                          })
                    .ok());
    const auto first = store_->NewGroup();
    const auto second = store_->NewGroup();
    const auto put = [](Group& group, BytesView key) {
      return group.Run(Scope(key), Access::kWrite, [&](Transaction& txn) -> Result<void> {
        txn.Put({Space::kData, key}, "1");
        return {};
      });
    };
    const auto read = [&](Group& group) {
      std::pair<std::string, std::string> seen;
      const auto ran = group.Run(reads, Access::kRead, [&](Transaction& txn) -> Result<void> {
        CAIRN_ASSIGN_OR_RETURN(const auto a, txn.Get({Space::kData, "a"}));
        CAIRN_ASSIGN_OR_RETURN(const auto b, txn.Get({Space::kData, "b"}));
        seen = {a.value_or(""), b.value_or("")};
        return {};
      });
      EXPECT_TRUE(ran.ok());
      return seen;
    };
    ASSERT_TRUE(put(*first, "a").ok());
    ASSERT_TRUE(put(*second, "b").ok());
    const auto seen_by_first = read(*first);
    const auto seen_by_second = read(*second);
    EXPECT_EQ(seen_by_first.first, "1") << "a group sees its own writes";
    EXPECT_EQ(seen_by_second.second, "1") << "a group sees its own writes";
    EXPECT_TRUE(seen_by_first.second == "1" || seen_by_second.first == "1");
    ASSERT_TRUE(first->Finish().ok());
    ASSERT_TRUE(second->Finish().ok());
  }
}

// A loop does not stand still for one body, whatever that does.
TEST_F(StoreTest, ABodyThatTakesLongLeavesItsGroup) {
  CAIRN_TEST_ROCKS_ONLY("groups that run bodies");
  constexpr int kRows = 50'000;
  const auto key = [](int i) { return fmt::format("row:{:06}", i); };
  ASSERT_TRUE(store_
                  ->Run(Scopes::Exclusive(),
                        [&](Transaction& transaction) -> Result<void> {
                          for (int i = 0; i < kRows; ++i)
                            transaction.Put({Space::kData, key(i)}, "v");
                          return {};
                        })
                  .ok());
  const auto get = [&](Transaction& transaction) -> Result<void> {
    for (int i = 0; i < kRows; ++i) CAIRN_RETURN_IF_ERROR(transaction.Get({Space::kData, key(i)}));
    return {};
  };
  const auto scan = [&](Transaction& transaction) {
    return transaction.Scan(Range::Prefix(Space::kData, "row:"), {},
                            [](BytesView, BytesView) { return true; });
  };
  const auto write = [&](Transaction& transaction) -> Result<void> {
    for (int i = 0; i < kRows; ++i) transaction.Put({Space::kData, key(i)}, "w");
    return {};
  };
  const auto erase = [&](Transaction& transaction) -> Result<void> {
    for (int i = 0; i < kRows; ++i) transaction.Delete({Space::kData, key(i)});
    return {};
  };
  const auto large = [&](Transaction& transaction) -> Result<void> {
    for (int i = 0; i < 20; ++i) transaction.Put({Space::kData, "large"}, Bytes(1 << 20, 'x'));
    return {};
  };
  const auto small = [&](Transaction& transaction) -> Result<void> {
    transaction.Put({Space::kData, "small"}, "v");
    return {};
  };
  const auto group = store_->NewGroup();
  const Scopes all = Scopes::Exclusive();
  for (const Body body : {Body(get), Body(scan), Body(write), Body(erase), Body(large)}) {
    const Result<Dependency> ran = group->Run(all, Access::kWrite, body);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code, ErrorCode::kWouldBlock);
    EXPECT_TRUE(group->Run(all, Access::kWrite, small).ok());
  }
  ASSERT_TRUE(group->Finish().ok());
  EXPECT_EQ(Get("small"), "v");
  EXPECT_EQ(Get(key(0)), "v");
  for (const Body body : {Body(get), Body(scan), Body(write), Body(large)}) {
    EXPECT_TRUE(store_->Run(all, body).ok());
  }
  EXPECT_EQ(Get(key(0)), "w");
}

TEST_F(StoreTest, ReaderDependsOnTheCommitItSaw) {
  CAIRN_TEST_ROCKS_ONLY("groups that run bodies");
  const Commit written = Put("a", "1");
  auto group = store_->NewGroup();
  auto read = group->Run(Scope("a"), Access::kRead, [&](Transaction& txn) -> Result<void> {
    return txn.Get({Space::kData, "a"}).ok() ? Result<void>() : kRefused;
  });
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->commit, written);
  EXPECT_FALSE(read->on_group);
}

TEST_F(StoreTest, BodiesWithASharedScopeRunOneAfterTheOther) {
  constexpr int kThreads = 4;
  constexpr int kEach = 250;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        Run(Scope("n"), [&](Transaction& txn) -> Result<void> {
          CAIRN_ASSIGN_OR_RETURN(const auto value, txn.Get({Space::kData, "n"}));
          txn.Put({Space::kData, "n"}, std::to_string(std::stoi(value.value_or("0")) + 1));
          return {};
        });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(Get("n"), std::to_string(kThreads * kEach));
}

TEST_F(StoreTest, SyncedCommitBecomesDurableAndListenersHear) {
  options_.durability = Durability::kSync;
  Reopen();
  std::atomic<uint64_t> heard{0};
  auto listening = store_->OnDurable([&](Result<Commit> commit) {
    if (commit.ok()) heard = commit->number;
  });
  const Commit commit = Put("a", "1");
  ASSERT_TRUE(store_->Durable(commit).ok());
  EXPECT_TRUE(store_->IsDurable(commit));
  EXPECT_GE(store_->stats().syncs, 1u);
  listening = Subscription();
  EXPECT_GE(heard, commit.number);
}

TEST_F(StoreTest, OnAQuickDiskATurnEndsWithItsCommitDurable) {
  CAIRN_TEST_ROCKS_ONLY("bodies on loops");
  options_.durability = Durability::kSync;
  Reopen();
  // The first sync takes no time at all on this clock, so the loop does the next one itself.
  ASSERT_TRUE(store_->Durable(Put("a", "1")).ok());
  const std::unique_ptr<Group> group = store_->NewGroup();
  const auto ran = group->Run(Scope("a"), Access::kWrite, [&](Transaction& txn) -> Result<void> {
    txn.Put({Space::kData, "a"}, "2");
    return {};
  });
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  const Result<Commit> commit = group->Finish();
  ASSERT_TRUE(commit.ok());
  EXPECT_TRUE(store_->IsDurable(*commit));
}

TEST_F(StoreTest, IntervalAndOsAcknowledgeAtOnce) {
  for (const Durability durability : {Durability::kInterval, Durability::kOs}) {
    options_.durability = durability;
    Reopen();
    EXPECT_TRUE(store_->IsDurable(Put("a", "1")));
  }
}

TEST_F(StoreTest, SecondStoreOnTheSameDirectoryIsRefused) {
  CAIRN_TEST_ROCKS_ONLY("a directory");
  auto second = rocks::Open(options_, clock_, Log::Silent());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_NE(second.error().message.find("another process"), std::string::npos);
}

TEST_F(StoreTest, StatsCountCommits) {
  Put("a", "1");
  Put("b", "1");
  const StoreStats stats = store_->stats();
  EXPECT_EQ(stats.commits, 2u);
  EXPECT_EQ(stats.engine_writes, 2u);
  EXPECT_EQ(stats.last_commit, Put("b", "2").number - 1);
}

// --- Long keys ----------------------------------------------------------------------------------

TEST_F(StoreTest, KeysOfAnyLengthAreKeptInOrder) {
  const auto repeated = [](size_t count, char c) {
    Bytes bytes;
    while (bytes.size() < count) bytes += c;
    return bytes;
  };
  const Bytes base = repeated(1968, 'm');
  const std::vector<Bytes> keys = {"a",
                                   base,
                                   base + "a",
                                   base + repeated(40, 'b'),
                                   base + repeated(40, 'b') + "c",
                                   base + "bc",
                                   base + "z" + repeated(5000, 'q'),
                                   repeated(100'000, 'n'),
                                   "z"};
  std::map<Bytes, Bytes> model;
  for (const Bytes& key : keys) {
    model[key] = "value " + std::to_string(model.size());
    Put(key, model[key]);
  }
  const auto expect_range = [&](const Bytes& begin, const std::optional<Bytes>& end) {
    const Range range{Space::kData, begin, end};
    Rows wanted;
    for (const auto& row : model) {
      if (range.Contains(row.first)) wanted.push_back(row);
    }
    EXPECT_EQ(ScanAll(range), wanted);
    std::reverse(wanted.begin(), wanted.end());
    EXPECT_EQ(ScanAll(range, {.reverse = true}), wanted);
  };
  for (const Bytes& begin : keys) {
    EXPECT_EQ(Get(begin), model[begin]);
    expect_range(begin, std::nullopt);
    for (const Bytes& end : keys) expect_range(begin, end);
  }
  const Range some{Space::kData, base + "b", base + "zz"};
  Run(Scopes::Exclusive(), [&](Transaction& txn) -> Result<void> {
    txn.DeleteRange(some);
    txn.Delete({Space::kData, repeated(100'000, 'n')});
    return {};
  });
  std::erase_if(model, [&](const auto& row) {
    return some.Contains(row.first) || row.first.size() == 100'000;
  });
  expect_range("", std::nullopt);
}

// --- Parts --------------------------------------------------------------------------------------

TEST_F(StoreTest, PartsSeeThoseBeforeThemAndFailAlone) {
  std::optional<Bytes> seen;
  uint64_t first_stamp = 0;
  uint64_t last_stamp = 0;
  const auto first = [&](Transaction& txn) -> Result<void> {
    first_stamp = txn.stamp();
    txn.Put({Space::kData, "a"}, "1");
    return {};
  };
  const auto refused = [&](Transaction& txn) -> Result<void> {
    txn.Put({Space::kData, "a"}, "refused");
    txn.Add({Space::kData, "count"}, 1);
    return kRefused;
  };
  const auto last = [&](Transaction& txn) -> Result<void> {
    last_stamp = txn.stamp();
    CAIRN_ASSIGN_OR_RETURN(seen, txn.Get({Space::kData, "a"}));
    txn.Put({Space::kData, "b"}, "2");
    return {};
  };
  std::vector<Part> parts = {{first}, {refused}, {last}};
  store_->RunParts(Scope("a").AddAll(Scope("b")), Access::kWrite, parts);
  EXPECT_TRUE(parts[0].result.ok());
  EXPECT_EQ(parts[1].result.error(), kRefused);
  EXPECT_TRUE(parts[2].result.ok());
  EXPECT_GT(last_stamp, first_stamp);
  EXPECT_EQ(seen, "1");
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "2");
  EXPECT_EQ(Get("count"), std::nullopt);
}

// Bodies whose next key depends on what the last one held, as many parts at once as a batch has.
TEST_F(StoreTest, PartsEqualTheSameBodiesOneAfterTheOther) {
  constexpr int kKeys = 12;
  SeededRandom random(5);
  std::map<Bytes, Bytes> model;
  const auto key_of = [](uint64_t number) { return "k" + std::to_string(number % kKeys); };
  Scopes scopes;
  for (uint64_t i = 0; i < kKeys; ++i) scopes.AddAll(Scope(key_of(i)));
  for (int round = 0; round < 20; ++round) {
    std::vector<uint64_t> starts;
    for (int i = 0; i < 30; ++i) starts.push_back(random.Below(1000));
    const auto follow = [&](auto&& get, auto&& put, uint64_t start) -> Result<void> {
      uint64_t at = start;
      for (int hop = 0; hop < 6; ++hop) {
        CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, get(key_of(at)));
        at = value ? std::stoull(*value) + 1 : at + start;
      }
      put(key_of(start), std::to_string(at % 1000));
      return {};
    };
    std::vector<std::function<Result<void>(Transaction&)>> bodies;
    for (const uint64_t start : starts) {
      bodies.emplace_back([&, start](Transaction& txn) {
        return follow(
            [&](const Bytes& key) {
              return txn.Get({Space::kData, key});
            },
            [&](const Bytes& key, const Bytes& value) {
              txn.Put({Space::kData, key}, value);
            },
            start);
      });
      ASSERT_TRUE(follow(
                      [&](const Bytes& key) -> Result<std::optional<Bytes>> {
                        const auto found = model.find(key);
                        if (found == model.end()) return std::optional<Bytes>();
                        return std::optional(found->second);
                      },
                      [&](const Bytes& key, const Bytes& value) { model[key] = value; }, start)
                      .ok());
    }
    std::vector<Part> parts;
    for (auto& body : bodies) parts.push_back({body});
    store_->RunParts(scopes, Access::kWrite, parts);
    for (const Part& part : parts) ASSERT_TRUE(part.result.ok()) << part.result.error().message;
  }
  const Rows rows = ScanAll(Range::Prefix(Space::kData, "k"));
  EXPECT_EQ((std::map<Bytes, Bytes>(rows.begin(), rows.end())), model);
}

TEST_F(StoreTest, PartsThatReadAreConsistent) {
  for (int i = 0; i < 40; ++i) Put("k" + std::to_string(i), std::to_string(i));
  std::vector<std::function<Result<void>(Transaction&)>> bodies;
  std::vector<Bytes> found(40);
  for (int i = 0; i < 40; ++i) {
    bodies.emplace_back([&, i](Transaction& txn) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const auto value, txn.Get({Space::kData, "k" + std::to_string(i)}));
      found[i] = value.value_or("");
      if (i % 10 != 0) return {};
      size_t rows = 0;
      CAIRN_RETURN_IF_ERROR(txn.Scan(Range::Prefix(Space::kData, "k"), {}, [&](auto, auto) {
        ++rows;
        return true;
      }));
      EXPECT_EQ(rows, 40U);
      return {};
    });
  }
  std::vector<Part> parts;
  for (auto& body : bodies) parts.push_back({body});
  store_->RunParts({}, Access::kRead, parts);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(parts[i].result.ok()) << parts[i].result.error().message;
    EXPECT_EQ(found[i], std::to_string(i));
  }
}

}  // namespace
}  // namespace cairn::store
