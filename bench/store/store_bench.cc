// The store alone: transactions per second by threads and durability, how many commits share an
// fsync, what a get and a scanned row cost as the data grows, and what memory that takes.
//
//   bench_store                                  everything
//   bench_store --benchmark_filter=Commit
//   bench_store --benchmark_filter=keys:10000000
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
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

// All keys fit into the first; of 10 million only a fraction into the second.
constexpr uint64_t kMemoryBytes = uint64_t{4} << 30;
constexpr uint64_t kLittleMemoryBytes = uint64_t{256} << 20;

double Megabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

// What the process has of the machine's memory.
uint64_t ResidentBytes() {
  uint64_t all_pages = 0;
  uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// A store in a directory of its own.
class Fixture {
 public:
  explicit Fixture(Durability durability) : durability_(durability) { Open(kMemoryBytes); }

  // Opened again if it has another bound.
  void Open(uint64_t memory_bytes) {
    if (memory_bytes_ == memory_bytes) return;
    store_.reset();
    rocks::Options options;
    options.directory = dir_ / "data";
    options.durability = durability_;
    options.memory = rocks::MemoryBudget::FromTotal(memory_bytes);
    auto store = rocks::Open(options, clock_, Log::Silent());
    CAIRN_CHECK(store.ok(), "{}", store.error().message);
    store_ = std::move(*store);
    memory_bytes_ = memory_bytes;
  }
  uint64_t memory_bytes() const { return memory_bytes_; }
  Store& store() { return *store_; }

  // Scattered over the key space, as real keys are.
  static Bytes LoadedKey(uint64_t number) { return KeyName(number * 0x9e3779b97f4a7c15u); }

  // Puts so many keys, and waits until compactions of them no longer compete with what is measured.
  void Load(uint64_t keys) {
    const auto start = std::chrono::steady_clock::now();
    constexpr uint64_t kKeysPerCommit = 1000;
    const Bytes value(kValueBytes, 'v');
    auto group = store_->NewGroup();
    for (uint64_t first = 0; first < keys; first += kKeysPerCommit) {
      const auto ran = group->Run(Scopes(), Access::kWrite, [&](Transaction& txn) -> Result<void> {
        const uint64_t end = std::min(first + kKeysPerCommit, keys);
        for (uint64_t i = first; i < end; ++i) txn.Put({Space::kData, LoadedKey(i)}, value);
        return {};
      });
      CAIRN_CHECK(ran.ok() && group->Finish().ok());
    }
    const std::chrono::duration<double> loading = std::chrono::steady_clock::now() - start;
    AwaitQuiet();
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
    fmt::print(stderr, "loaded {} keys in {:.1f} s, and at rest {:.1f} s later\n", keys,
               loading.count(), (all - loading).count());
  }

  // Reads everything once, so that what fits into memory is there.
  void WarmUp() {
    const auto read = store_->RunRead(Scopes(), [](Transaction& txn) {
      return txn.Scan({Space::kData, "", std::nullopt}, {},
                      [](BytesView, BytesView) { return true; });
    });
    CAIRN_CHECK(read.ok());
  }

 private:
  // Until the files have not changed for a second; at most a minute.
  void AwaitQuiet() {
    uint64_t bytes = 0;
    for (int i = 0; i < 60 && bytes != store_->stats().disk_bytes; ++i) {
      bytes = store_->stats().disk_bytes;
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }

  const Durability durability_;
  uint64_t memory_bytes_ = 0;
  cairn::testing::TempDirectory dir_;
  SystemClock clock_;
  std::unique_ptr<Store> store_;
};

// What the store's caches and write buffers hold, beside the most they may, and what the process
// has of the machine's memory.
void ShowMemory(benchmark::State& state, Fixture& fixture) {
  const StoreStats stats = fixture.store().stats();
  state.counters["store_MB"] =
      Megabytes(stats.cache_bytes + stats.block_cache_bytes + stats.write_buffer_bytes);
  state.counters["bound_MB"] = Megabytes(fixture.memory_bytes());
  state.counters["process_MB"] = Megabytes(ResidentBytes());
}

// Each thread commits one small transaction after the other and waits until it is durable.
void BM_Commit(benchmark::State& state, Durability durability) {
  static std::unique_ptr<Fixture> fixture;
  if (state.thread_index() == 0) fixture = std::make_unique<Fixture>(durability);
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
BENCHMARK_CAPTURE(BM_Commit, sync, Durability::kSync)->ThreadRange(1, 64)->UseRealTime();
BENCHMARK_CAPTURE(BM_Commit, interval, Durability::kInterval)->ThreadRange(1, 64)->UseRealTime();
BENCHMARK_CAPTURE(BM_Commit, os, Durability::kOs)->ThreadRange(1, 64)->UseRealTime();

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

// The store that gets and scans read: one at a time, so that the memory is its own.
class LoadedStore {
 public:
  Fixture& With(uint64_t keys, uint64_t memory_bytes) {
    if (keys_ != keys) {
      fixture_.reset();
      fixture_ = std::make_unique<Fixture>(Durability::kOs);
      fixture_->Load(keys);
      fixture_->WarmUp();
      keys_ = keys;
    }
    if (fixture_->memory_bytes() != memory_bytes) {
      fixture_->Open(memory_bytes);
      fixture_->WarmUp();
    }
    return *fixture_;
  }

 private:
  uint64_t keys_ = 0;
  std::unique_ptr<Fixture> fixture_;
};

void BM_Get(benchmark::State& state, LoadedStore& loaded) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  Fixture& fixture = loaded.With(keys, static_cast<uint64_t>(state.range(1)) << 20);
  Store& store = fixture.store();
  SeededRandom random(1);
  uint64_t found = 0;
  for (auto _ : state) {
    const Bytes key = Fixture::LoadedKey(random.Below(keys));
    auto read = store.RunRead(Scopes(), [&](Transaction& txn) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const auto value, txn.Get({Space::kData, key}));
      found += value ? 1 : 0;
      return {};
    });
    benchmark::DoNotOptimize(read);
  }
  CAIRN_CHECK(found == static_cast<uint64_t>(state.iterations()));
  state.SetItemsProcessed(state.iterations());
  ShowMemory(state, fixture);
}

// From a random key on: the shorter the scan, the more of it is finding its begin in every file.
template <size_t kRows>
void BM_Scan(benchmark::State& state, LoadedStore& loaded) {
  Fixture& fixture = loaded.With(static_cast<uint64_t>(state.range(0)),
                                 static_cast<uint64_t>(state.range(1)) << 20);
  Store& store = fixture.store();
  SeededRandom random(1);
  int64_t rows = 0;
  for (auto _ : state) {
    const Range range{Space::kData, KeyName(random.Next()), std::nullopt};
    auto read = store.RunRead(Scopes(), [&](Transaction& txn) {
      return txn.Scan(range, {.limit = kRows}, [&](BytesView, BytesView) {
        ++rows;
        return true;
      });
    });
    benchmark::DoNotOptimize(read);
  }
  state.SetItemsProcessed(rows);
  ShowMemory(state, fixture);
}

// All for one size before the next one is loaded.
void RegisterReads(LoadedStore& loaded) {
  const auto add = [&](int64_t keys, uint64_t memory_bytes) {
    using Read = void (*)(benchmark::State&, LoadedStore&);
    for (const auto& [name, read] : std::initializer_list<std::pair<const char*, Read>>{
             {"BM_Get", BM_Get}, {"BM_Scan100", BM_Scan<100>}, {"BM_Scan10000", BM_Scan<10'000>}}) {
      benchmark::RegisterBenchmark(
          name, [&loaded, read = read](benchmark::State& state) { read(state, loaded); })
          ->ArgNames({"keys", "memory_MiB"})
          ->Args({keys, static_cast<int64_t>(memory_bytes >> 20)});
    }
  };
  for (const int64_t keys : {1'000, 10'000, 100'000, 1'000'000, 10'000'000}) {
    add(keys, kMemoryBytes);
  }
  add(10'000'000, kLittleMemoryBytes);
}

}  // namespace
}  // namespace cairn::store

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  cairn::store::LoadedStore loaded;
  cairn::store::RegisterReads(loaded);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
