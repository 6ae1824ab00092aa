// The store alone: transactions per second by threads and durability, how many commits share an
// fsync, and what a get and a scanned row cost as the data grows.
//
//   bench_store                       everything; the 10-million-key cases take a few minutes to
//   load bench_store --benchmark_filter=Get
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "store/rocks/open.h"
#include "tests/support/temp_directory.h"

namespace cairn::store {
namespace {

constexpr size_t kValueBytes = 100;

Bytes KeyName(uint64_t number) {
  Bytes key = "key:";
  AppendBig64(key, number);
  return key;
}

// A store that lives for one benchmark.
class Fixture {
 public:
  explicit Fixture(Durability durability, uint64_t memory_bytes = uint64_t{1} << 30) {
    rocks::Options options;
    options.directory = dir_ / "data";
    options.durability = durability;
    options.memory = rocks::MemoryBudget::FromTotal(memory_bytes);
    auto store = rocks::Open(options, clock_, Log::Silent());
    CAIRN_CHECK(store.ok(), "{}", store.error().message);
    store_ = std::move(*store);
  }
  Store& store() { return *store_; }

  void Load(uint64_t keys) {
    const Bytes value(kValueBytes, 'v');
    auto group = store_->NewGroup();
    for (uint64_t i = 0; i < keys; ++i) {
      // Scattered over the key space, as real keys are.
      const Bytes key = KeyName(i * 0x9e3779b97f4a7c15u);
      CAIRN_CHECK(group
                      ->Run(Scopes(), Access::kWrite,
                            [&](Transaction& txn) -> Result<void> {
                              txn.Put({Space::kData, key}, value);
                              return {};
                            })
                      .ok());
      if (i % 1000 == 999) CAIRN_CHECK(group->Finish().ok());
    }
    CAIRN_CHECK(group->Finish().ok());
  }

 private:
  cairn::testing::TempDirectory dir_;
  SystemClock clock_;
  std::unique_ptr<Store> store_;
};

Durability DurabilityArg(int64_t argument) { return static_cast<Durability>(argument); }

// Each thread commits one small transaction after the other and waits until it is durable.
void BM_Commit(benchmark::State& state) {
  static std::unique_ptr<Fixture> fixture;
  if (state.thread_index() == 0) {
    fixture = std::make_unique<Fixture>(DurabilityArg(state.range(0)));
  }
  SeededRandom random(static_cast<uint64_t>(state.thread_index()));
  const Bytes value(kValueBytes, 'v');
  for (auto _ : state) {
    const Bytes key = KeyName(random.Below(1'000'000));
    auto commit = fixture->store().Run(Scopes().Add(Space::kData, key),
                                       [&](Transaction& txn) -> Result<void> {
                                         txn.Put({Space::kData, key}, value);
                                         return {};
                                       });
    CAIRN_CHECK(commit.ok() && fixture->store().Durable(*commit).ok());
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) {
    const StoreStats stats = fixture->store().stats();
    state.counters["commits/write"] =
        static_cast<double>(stats.commits) /
        static_cast<double>(std::max<uint64_t>(stats.engine_writes, 1));
    state.counters["commits/fsync"] = static_cast<double>(stats.commits) /
                                      static_cast<double>(std::max<uint64_t>(stats.syncs, 1));
    fixture.reset();
  }
}
BENCHMARK(BM_Commit)
    ->ArgName("os0sync1")
    ->Arg(static_cast<int64_t>(Durability::kSync))
    ->Arg(static_cast<int64_t>(Durability::kOs))
    ->ThreadRange(1, 64)
    ->UseRealTime();

// What an event loop does: many bodies, one commit; read, change, write.
void BM_GroupedIncrement(benchmark::State& state) {
  Fixture fixture(Durability::kInterval);
  SeededRandom random(1);
  auto group = fixture.store().NewGroup();
  const auto bodies = static_cast<uint64_t>(state.range(0));
  Scopes scopes;
  for (auto _ : state) {
    for (uint64_t i = 0; i < bodies; ++i) {
      const Bytes key = KeyName(random.Below(1'000'000));
      scopes.Clear();
      scopes.Add(Space::kData, key);
      auto ran = group->Run(scopes, Access::kWrite, [&](Transaction& txn) -> Result<void> {
        CAIRN_ASSIGN_OR_RETURN(const auto value, txn.Get({Space::kData, key}));
        const uint64_t count = value ? BytesReader(*value).Big64() : 0;
        Bytes next;
        AppendBig64(next, count + 1);
        txn.Put({Space::kData, key}, next);
        return {};
      });
      benchmark::DoNotOptimize(ran);
    }
    CAIRN_CHECK(group->Finish().ok());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_GroupedIncrement)->ArgName("bodies")->Arg(1)->Arg(50)->Arg(1600);

// One loaded store per size, shared by the reads below.
Fixture& Loaded(uint64_t keys) {
  static std::map<uint64_t, std::unique_ptr<Fixture>> fixtures;
  auto& fixture = fixtures[keys];
  if (fixture == nullptr) {
    fixtures.clear();
    auto fresh = std::make_unique<Fixture>(Durability::kOs);
    fresh->Load(keys);
    return *(fixtures[keys] = std::move(fresh));
  }
  return *fixture;
}

void BM_Get(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  Store& store = Loaded(keys).store();
  SeededRandom random(1);
  uint64_t found = 0;
  for (auto _ : state) {
    const Bytes key = KeyName(random.Below(keys) * 0x9e3779b97f4a7c15u);
    auto read = store.RunRead(Scopes(), [&](Transaction& txn) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const auto value, txn.Get({Space::kData, key}));
      found += value ? 1 : 0;
      return {};
    });
    benchmark::DoNotOptimize(read);
  }
  CAIRN_CHECK(found == static_cast<uint64_t>(state.iterations()));
  state.SetItemsProcessed(state.iterations());
  state.counters["cache_MB"] = static_cast<double>(store.stats().cache_bytes) / 1e6;
}

void BM_Scan100(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  Store& store = Loaded(keys).store();
  SeededRandom random(1);
  int64_t rows = 0;
  for (auto _ : state) {
    const Range range{Space::kData, KeyName(random.Next()), std::nullopt};
    auto read = store.RunRead(Scopes(), [&](Transaction& txn) {
      return txn.Scan(range, {.limit = 100}, [&](BytesView, BytesView) {
        ++rows;
        return true;
      });
    });
    benchmark::DoNotOptimize(read);
  }
  state.SetItemsProcessed(rows);
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("keys");
  for (const int64_t keys : {1'000, 10'000, 100'000, 1'000'000, 10'000'000}) benchmark->Arg(keys);
}
BENCHMARK(BM_Get)->Apply(Sizes);
BENCHMARK(BM_Scan100)->Apply(Sizes);

}  // namespace
}  // namespace cairn::store

BENCHMARK_MAIN();
