#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "store/store.h"

namespace cairn::store {

// The due index, space `timers`:
//
//   key    due_ms:8BE  kind:1  owner…        value  payload…
//
// so the earliest timer is the first row, and finding what is due costs what is due.
struct Timer {
  Timestamp due;  // whole milliseconds
  uint8_t kind = 0;
  Bytes owner;
  Bytes payload;
};

Bytes EncodeTimerKey(Timestamp due, uint8_t kind, BytesView owner);
// nullopt for bytes that are no timer key. The payload is left empty.
std::optional<Timer> DecodeTimerKey(BytesView key);

// The kinds in use; each belongs to one layer. Stored: never renumber.
enum TimerKind : uint8_t {
  kTimerKeyExpiry = 1,  // data: a key with a time to live
  kTimerReclaim = 2,    // data: the elements of a value that is gone
};

// What happens when timers of one kind are due.
class TimerHandler {
 public:
  virtual ~TimerHandler() = default;
  // The scopes Fire needs.
  virtual void AddScopes(const Timer& timer, Scopes& scopes) const = 0;
  // Runs in the transaction that also removes the timer: it fires exactly once, or, after an error,
  // again a little later.
  virtual Result<void> Fire(Transaction& transaction, const Timer& timer) = 0;
};

// Sleeps until the earliest timer is due and fires it. One per store.
//
// Where several processes share a store, one of them at a time fires timers: the one that holds the
// lease, a row of space `system`:
//
//   key    timers/lease        value  token:8BE  expires_ms:8BE
//
// The token is a stamp, new with each holder. A transaction that fires a timer reads it, so a
// holder that was away while the lease passed on changes nothing when it comes back, however late.
class TimerService {
 public:
  TimerService(Store& store, const Clock& clock, Log log);
  ~TimerService();  // stops

  // Before Start; `handler` outlives the service. Timers of a kind without a handler stay stored.
  void Register(uint8_t kind, TimerHandler& handler);
  void Start();
  void Stop();

  // Fires what is due now, on this thread, in batches of one commit each; for tests and for the
  // service's own thread. Returns how many fired.
  Result<size_t> RunDue();

 private:
  struct Pass;

  void ThreadMain();
  void NoteEarlier(Timestamp due);
  Result<Pass> CollectDue();
  Result<bool> HoldLease();
  Result<void> AskForLease(Timestamp now);
  void ReleaseLease();
  Result<size_t> FireBatch(const std::vector<Timer>& timers);
  Result<bool> FireOne(Group& group, const Timer& timer);

  Store& store_;
  const Clock& clock_;
  Log log_;
  std::array<TimerHandler*, 256> handlers_{};

  // Touched only by the thread that fires. A token of 0 holds nothing.
  uint64_t lease_token_ = 0;
  Timestamp ask_lease_again_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  // Where the next scan starts: no timer is due before it. Spares the scan the tombstones of timers
  // that have fired.
  Timestamp scan_from_;
  // When the thread has to look next.
  Timestamp next_due_;
  Subscription earlier_;
  std::thread thread_;
};

}  // namespace cairn::store
