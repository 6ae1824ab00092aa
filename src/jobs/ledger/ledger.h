#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/ledger/context.h"
#include "jobs/ledger/due.h"
#include "jobs/ledger/event.h"
#include "jobs/ledger/lease_rows.h"
#include "jobs/model/batch.h"
#include "jobs/model/ids.h"
#include "jobs/model/job.h"
#include "jobs/model/keys.h"
#include "jobs/model/queue_config.h"
#include "jobs/model/queue_state.h"
#include "store/transaction.h"

namespace cairn::jobs {

struct ChainStep;

// What a chain does after a step that completed.
enum class ChainThen : uint8_t { kGoesOn, kExits };

// What there is of a job after its end.
enum class Remains : uint8_t { kJob, kNothing };

// What one operation does to the books: the only place that moves jobs between indexes, so that
// document, index, due rows, counts and gates always agree.
//
//   Ledger ledger(context);
//   CAIRN_ASSIGN_OR_RETURN(Job job, ledger.LoadNamed(id));
//   CAIRN_RETURN_IF_ERROR(ledger.Leave(job));       it stands nowhere now
//   job.state = State::kHeld;                       what happens to it
//   CAIRN_RETURN_IF_ERROR(ledger.Enter(job));       it stands where its state says, and is stored
//   ledger.Tell(EventType::kHeld, job);
//   return ledger.Save();
//
// Leave may let another job through a gate that this one kept shut. Rows of queues, gates and
// batches are read once and written by Save. Lives inside one transaction.
class Ledger {
 public:
  explicit Ledger(Context& context)
      : context_(context),
        transaction_(context.transaction),
        due_(context.transaction),
        leases_(context.transaction, due_),
        events_(context.transaction) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  struct Queue {
    std::string name;
    QueueState state;
    bool exists = false;   // there is a row
    bool changed = false;  // to be saved
    std::optional<QueueConfig> config;
  };
  struct BatchRow {
    Batch batch;
    bool changed = false;
  };

  uint64_t now_ns() const { return static_cast<uint64_t>(transaction_.now().us) * 1000; }
  store::Transaction& transaction() { return transaction_; }
  Context& context() { return context_; }

  // The lane must be among the caller's scopes; else the operation is run again under all.
  Result<void> Require(Lane lane);
  Result<void> RequireQueue(std::string_view queue) { return Require(LaneOfQueue(queue)); }

  // The queue's row, an empty one if there is no such queue. Stays where it is until the end.
  Result<Queue*> QueueOf(std::string_view name);
  Result<const QueueConfig*> ConfigOf(Queue& queue);
  // An index time later than all that the queue has given.
  uint64_t NextNs(Queue& queue);

  // These jobs will be loaded: their documents are brought all at once.
  Result<void> Expect(std::span<const std::string_view> ids);
  // Refuses a job that does not exist.
  Result<Job> Load(std::string_view id);
  // The same for a job that the request names: it must be of a queue that the caller may touch.
  Result<Job> LoadNamed(std::string_view id);

  Result<void> Leave(Job& job);
  Result<void> Enter(Job& job);
  // Stores a change of the document that moves nothing.
  void Store(const Job& job);
  // Gives an active job another lease; it stays where it stands.
  void Relet(Job& job, uint64_t expires_ns);

  // Takes a job that stands nowhere to an end, with all that follows from it: lock, batch, chain,
  // dependants. A completed one is gone then if its queue keeps none (retention_ms 0).
  Result<Remains> End(Job& job, State state, ChainThen then = ChainThen::kGoesOn);
  // The same for one that must not go on because of a dependency: dead or held, as its policy says.
  Result<void> DependencyFailed(Job& job, std::string_view dependency, State state);
  // Removes a job that stands nowhere, with all that is stored under its name.
  Result<void> Erase(const Job& job);

  // Ends a job that is alive, and erases it; it stands where it stood before.
  Result<void> Remove(Job& job, std::string_view reason);

  // A new job, complete but for its id and times. Empty ids are made.
  Result<void> Add(Job& job);

  // nullopt if there is no such batch.
  Result<std::optional<BatchRow*>> BatchOf(std::string_view id);
  // Counts a member that came back to life.
  Result<void> Uncount(const Job& job);
  // Runs the callback if nothing more can come.
  Result<void> CompleteIfDone(BatchRow& row);
  // An open batch, not stored before Save; gives its id.
  std::string NewBatch(const BatchOptions& options, Lane lane);

  // The unique lock, if the job is its owner.
  Result<void> ReleaseUnique(const Job& job);
  Result<std::optional<UniqueLock>> UniqueLockOf(std::string_view queue, std::string_view key);

  // Of a job that stands nowhere and is about to stand in another queue.
  Result<void> GiveUpSlot(Job& job);

  // The request with this key was answered with a job that has another: the same again is to be.
  void KeepIdempotencyKey(std::string_view queue, std::string_view key, std::string_view job);

  // Whether the window of the job's rate key has room; counts the start if so.
  Result<bool> TakeRate(Queue& queue, Job& job);
  // How many starts the queue's own window has room for; Start counts them.
  Result<int64_t> RoomInWindow(Queue& queue);
  Result<void> CountStarts(Queue& queue, int64_t starts);
  // The limit was changed, or its due row has fired: looks again when there is room.
  Result<void> ResetThrottle(Queue& queue);
  // Parks an open job, which stands nowhere, at the gate of its rate key.
  Result<void> ParkForRate(Job& job);
  // Its window may have room: lets jobs through.
  Result<void> OpenRateGate(Queue& queue, std::string_view key);
  // A limit of its keys was changed: lets through who may.
  Result<void> OpenGates(Queue& queue);
  // The job that is let through next; nullopt: none waits there.
  Result<std::optional<std::string>> NextAtGate(std::string_view queue, Gate gate,
                                                std::string_view key);

  void Tell(EventType type, const Job& job, std::string_view data = {});
  void Tell(EventType type, std::string_view queue, std::string_view data = {});
  void WakeQueue(std::string_view queue);

  // Writes what was kept back. Last.
  Result<void> Save();

 private:
  struct GateRow {
    std::string queue;
    Gate gate;
    std::string key;
    GateState state;
    bool stored = false;
  };
  // A job whose end others wait for.
  struct Ended {
    std::string id;
    State state;
  };

  Result<GateRow*> GateOf(std::string_view queue, Gate gate, std::string_view key);
  // Finds the place of a pending job: parks it at the first gate that is shut, or opens.
  // `passed` is the gate it was just let through.
  Result<void> EnterPending(Queue& queue, Job& job, Gate passed);
  void Park(Queue& queue, GateRow* row, Gate gate, Job& job);
  // Lets the next one through, with what the one before gave back.
  Result<void> Admit(Queue& queue, GateRow& row);
  Result<std::optional<std::string>> NextParked(GateRow& row);
  Result<void> ReleaseSlot(Queue& queue, Job& job);
  void SetDueRows(const Job& job);
  void CancelDueRows(Job& job);
  void NoteRetention(Queue& queue, uint64_t remove_ns);

  // The rows under its name, but for the one it stands under.
  Result<void> DeleteRows(const Job& job);

  Result<void> CountInBatch(const Job& job);
  Result<void> AdvanceChain(const Job& job, ChainThen then);
  Result<void> AddChainJob(const Job& job, const ChainStep& step, int64_t number,
                           std::string_view base);
  Result<void> TellDependants();
  Result<void> DependencyEnded(std::string_view waiting_id, const Ended& ended);

  Context& context_;
  store::Transaction& transaction_;
  DueRows due_;
  LeaseRows leases_;
  std::map<std::string, Queue, std::less<>> queues_;
  std::map<Bytes, GateRow, std::less<>> gates_;
  std::map<std::string, BatchRow, std::less<>> batches_;
  std::vector<Ended> ended_;  // whose dependants have not been told
  EventRows events_;
  std::vector<std::string> woken_;  // queues
};

}  // namespace cairn::jobs
