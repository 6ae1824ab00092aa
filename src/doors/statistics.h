#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace cairn::doors {

// What has become of the calls of one command.
struct CallTotals {
  uint64_t calls = 0;     // ran
  uint64_t ns = 0;        // in all of them
  uint64_t rejected = 0;  // refused before they ran: wrong arity, not authenticated
  uint64_t failed = 0;    // ran and gave an error

  CallTotals& operator+=(const CallTotals& other) {
    calls += other.calls;
    ns += other.ns;
    rejected += other.rejected;
    failed += other.failed;
    return *this;
  }
};

// Counts calls by command, for one loop: counted by its thread only and therefore without locked
// instructions, read from any thread.
class CallCounters {
 public:
  explicit CallCounters(size_t commands) : rows_(commands) {}

  void Ran(uint32_t command, uint64_t ns, bool failed) {
    Row& row = rows_[command];
    Add(row.calls, 1);
    Add(row.ns, ns);
    if (failed) Add(row.failed, 1);
  }
  void Rejected(uint32_t command) { Add(rows_[command].rejected, 1); }

  CallTotals Totals(uint32_t command) const {
    const Row& row = rows_[command];
    return {row.calls.load(std::memory_order_relaxed), row.ns.load(std::memory_order_relaxed),
            row.rejected.load(std::memory_order_relaxed),
            row.failed.load(std::memory_order_relaxed)};
  }

  // On the counting thread.
  void Reset() {
    for (Row& row : rows_) {
      for (std::atomic<uint64_t>* counter : {&row.calls, &row.ns, &row.rejected, &row.failed}) {
        counter->store(0, std::memory_order_relaxed);
      }
    }
  }

 private:
  struct Row {
    std::atomic<uint64_t> calls{0};
    std::atomic<uint64_t> ns{0};
    std::atomic<uint64_t> rejected{0};
    std::atomic<uint64_t> failed{0};
  };

  static void Add(std::atomic<uint64_t>& counter, uint64_t delta) {
    counter.store(counter.load(std::memory_order_relaxed) + delta, std::memory_order_relaxed);
  }

  std::vector<Row> rows_;
};

}  // namespace cairn::doors
