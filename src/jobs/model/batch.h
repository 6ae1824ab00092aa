#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/transaction.h"

// A batch: jobs whose ends are counted together, and a job that is enqueued when the last of them
// has ended. Its row, b|, is the JSON that clients get, with times as numbers in nanoseconds.
namespace cairn::jobs {

struct BatchOptions {
  std::string callback_queue = {};    // empty: no callback
  std::string callback_payload = {};  // JSON
};
// Refuses a queue that cannot be one, and a payload that is too large or not JSON.
Result<void> CheckBatchOptions(const BatchOptions& options);

struct Batch {
  std::string id;
  int64_t total = 0;
  int64_t pending = 0;  // members that have not ended
  int64_t succeeded = 0;
  int64_t failed = 0;
  int64_t cancelled = 0;
  bool sealed = true;  // no more jobs can join
  bool done = false;   // sealed, and all members have ended
  BatchOptions options;
  std::string callback_job;
  uint64_t created_ns = 0;
  uint64_t completed_ns = 0;
};

std::string BatchJson(const Batch& batch);
// nullopt if there is no such batch; kCorruption if its row cannot be read.
Result<std::optional<Batch>> LoadBatch(store::Reader& reader, std::string_view id);

}  // namespace cairn::jobs
