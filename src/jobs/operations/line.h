#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "jobs/ledger/context.h"
#include "jobs/model/keys.h"
#include "jobs/model/queue_state.h"
#include "store/transaction.h"

// The line of a queue: the jobs that may run now, as a fetch finds them.
namespace cairn::jobs {

// Jobs at the head of a line, and how far that was.
struct LineHead {
  std::vector<std::string> jobs;
  Bytes last_key;
  uint64_t last_ns = 0;
};
// At most `count` jobs of a priority, which counts more than none.
Result<LineHead> PeekLine(store::Reader& reader, std::string_view queue, const QueueState& state,
                          Priority priority, size_t count);

// Since when the first job of the line stands there; 0: it is empty.
Result<uint64_t> OldestInLine(store::Reader& reader, std::string_view queue,
                              const QueueState& state);

// What a fetch would find.
struct LineLook {
  int64_t ready = 0;       // 0 in a queue that is paused, or not there
  uint64_t oldest_ns = 0;  // since when the first of them stands there
};
// Changes nothing. The lane of the queue is held.
Result<LineLook> LookAtLine(Context& context, const std::string& queue);

}  // namespace cairn::jobs
