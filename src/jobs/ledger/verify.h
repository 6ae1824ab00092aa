#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "house/verify.h"
#include "store/transaction.h"

// The invariants of the queue, checked in one pass over space `jobs`:
//
//   - every key is one of keys.h, every value decodes;
//   - every job stands in exactly the index its state says, once, and every index row has its job;
//   - the counts of each queue are those of its jobs; a job at a gate is counted there;
//   - an active job has a lease, its row a| says when it ends, and a due row stands for it; a
//     scheduled or retrying job, and one that may expire, have theirs; there is no other due row;
//   - unique locks and idempotency keys point to jobs that hold them;
//   - a batch counts its members;
//   - who waits for a job is a pending job that names it, and waits for no more than it names;
//   - the slots of a concurrency key are held by as many jobs;
//   - no pending job stands before its queue's cursor.
namespace cairn::jobs {

struct VerifyReport {
  int64_t queues = 0;
  int64_t jobs = 0;
  int64_t events = 0;
  std::vector<std::string> problems;  // one sentence each, kMaxProblems at most
  int64_t more_problems = 0;          // that are not in `problems`

  bool sound() const { return problems.empty(); }
  std::string ToJson() const;
};

inline constexpr size_t kMaxProblems = 100;

// Reads everything: for a thread that may wait, on a Snapshot or in a transaction that reads. Keeps
// a few bytes per job in memory. `progress`, which may be null, is told of each row, and can end it
// early with kUnavailable.
Result<VerifyReport> Verify(store::Reader& reader, house::Verification* progress = nullptr);

}  // namespace cairn::jobs
