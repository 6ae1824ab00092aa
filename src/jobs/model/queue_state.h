#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "jobs/model/job.h"
#include "store/transaction.h"

namespace cairn::jobs {

// A queue's counts and cursors: the row qs|, a MessagePack array of these in their order. It
// changes with every transaction that touches the queue, and holds all that such a transaction has
// to know about it, so an operation reads one row for it and writes one.
struct QueueState {
  uint64_t last_ns = 0;  // the newest index time given
  uint64_t created_ns = 0;
  int64_t enqueued = 0;                      // jobs ever
  std::array<int64_t, kStates> counts = {};  // jobs by State
  std::array<int64_t, 3> line = {};          // jobs that workers are served from, by Priority
  int64_t parked = 0;                        // pending jobs beside the line
  std::array<uint64_t, 2> cursor_ns = {};    // last taken: critical, high (qac| has normal)
  uint64_t retention_due_ns = 0;             // when its due row stands; 0: there is none
  uint64_t throttle_due_ns = 0;              // likewise
  int64_t window_count = 0;                  // rows l|
  uint64_t window_oldest_ns = 0;             // none of them is older
  bool wakes_on_end = false;  // max_concurrency is set: the end of a run is news to workers

  friend bool operator==(const QueueState&, const QueueState&) = default;
};

Bytes EncodeQueueState(const QueueState& state);
std::optional<QueueState> DecodeQueueState(BytesView value);
// nullopt if there is no such queue.
Result<std::optional<QueueState>> LoadQueueState(store::Reader& reader, std::string_view queue);

// A key's gate: the row ks|, likewise. There is none for a key with nothing to remember.
struct GateState {
  int64_t used = 0;    // concurrency: slots; group: jobs in the line; rate: starts in the window
  int64_t parked = 0;  // jobs that wait here
  uint64_t cursor_ns = 0;  // index time of the last that was let through
  uint64_t oldest_ns = 0;  // rate: no start in the window is older
  uint64_t due_ns = 0;     // rate: when its due row stands; 0: there is none

  bool empty() const { return used == 0 && parked == 0 && due_ns == 0; }
  friend bool operator==(const GateState&, const GateState&) = default;
};
Bytes EncodeGateState(const GateState& state);
std::optional<GateState> DecodeGateState(BytesView value);

}  // namespace cairn::jobs
