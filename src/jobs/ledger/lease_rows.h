#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "jobs/ledger/due.h"
#include "jobs/model/job.h"
#include "store/transaction.h"

namespace cairn::jobs {

// Jobs that one fetch gives out, of one queue and with the same end of their leases, share a token
// and with it a due row; no more than this, as the end of one of them writes the row anew.
inline constexpr size_t kLeasesPerRow = 16;

// The due rows of leases, in one transaction:
//
//   t| due:8 01 queue 00 job       -              of a job that was given out alone, or renewed
//   t| due:8 01 queue 00 token     (size:2 job)*  of several: those of them that still have it
//
// A worker that acknowledges together what it fetched together costs one row that comes and goes,
// instead of one for each job. Whoever changes a job holds the lane of its queue, so nobody else
// writes the row meanwhile.
class LeaseRows {
 public:
  LeaseRows(store::Transaction& transaction, DueRows& due) : transaction_(transaction), due_(due) {}

  // Of an active job, as its document says. Shared rows are written by Save.
  void Set(const Job& job);
  // Takes a job out of its row, and makes the document say so.
  void Release(Job& job);
  Result<void> Save();

 private:
  struct Shared {
    uint64_t token;
    uint64_t due_ns;
    std::string queue;
    int64_t sharers;                    // when it was made
    std::vector<std::string> added;     // the row is new
    std::vector<std::string> released;  // of a row that is there
  };
  Shared& SharedOf(const Job& job);

  store::Transaction& transaction_;
  DueRows& due_;
  std::vector<Shared> shared_;
};

// The key of an active job's due row.
Bytes LeaseRowKey(const Job& job);
// The jobs in the value of a shared row; empty for a job's own.
std::vector<std::string> DecodeLeaseRow(BytesView value);

}  // namespace cairn::jobs
