#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "doors/turn/route_store.h"
#include "functions/codeq/topics.h"
#include "functions/invoker/begin.h"
#include "functions/model/host_calls.h"
#include "functions/model/step_record.h"
#include "functions/steps/history.h"
#include "jobs/operations/enqueue.h"
#include "jobs/operations/store_access.h"

namespace cairn::functions {

// The steps of one running activation: what its function asks for with ctx.step and its like, and
// what it writes with `cs` inside of steps.
//
//   steps.load {}                               → {records,due}; what an earlier run has left
//   steps.done {position,name,attempt,duration_ms,value} or {…,error,retry_ms}
//                                               → {}, or {refused}: a write of the step was
//   steps.start {position,kind,name,delay_ms|until_ms,ref,event}
//                                               → {}, or {record}: it has failed already
//   steps.wait {}                               → {records} of what has ended, or {leave}
//
// What a step writes is kept here until it is done. Then it is written, in one transaction with the
// step's record, which the lease of the activation's message fences: whoever has lost it has
// written nothing. Reads inside the step see it before. A step that fails has written nothing
// either.
//
// Beginnings of sleeps and waits go with the next transaction, at the latest with the one that
// suspends the activation.
//
// Used on one loop; what it is given outlives it.
class StepHost {
 public:
  struct Parts {
    doors::RouteStore& routes;
    const Clock& clock;
    Random& random;
  };
  // Changes `begun.activation` when its first step is recorded.
  StepHost(Parts parts, Begun& begun) : parts_(parts), begun_(begun) {}

  using Reply = boost::asio::awaitable<Result<std::string>>;
  Reply Call(std::string_view operation, std::string arguments);

  // What the step at `position` writes or reads. The calls were checked.
  Reply Kv(int64_t position, KvCall call);
  Result<std::string> Publish(int64_t position, codeq::Outgoing outgoing, std::string_view id);
  Result<std::string> Enqueue(int64_t position, jobs::EnqueueRequest request);

  // The function waits and has been told to leave.
  bool may_leave() const { return may_leave_; }
  // Why the run cannot go on, where another one could: the store did not answer.
  bool store_failed() const { return store_failed_; }

  // For the transaction that suspends the activation: what is to be written, and what it waits for.
  const History& history() const { return history_; }
  const std::vector<StepRecord>& unsaved() const { return unsaved_; }
  std::optional<HistoryBegin> begin() const;

 private:
  using Write = std::variant<KvCall, codeq::Outgoing, jobs::EnqueueRequest>;
  struct OpenStep {
    std::vector<Write> writes;
    size_t bytes = 0;
  };
  struct Done;
  struct Start;
  class Turn;

  Reply Load();
  Reply Finish(std::string arguments);
  Reply Begin(std::string arguments);
  Reply Invoke(const Start& start);
  Reply Wait();

  Result<void> Add(int64_t position, Write write, size_t bytes);
  void Drop(int64_t position);
  const KvCall* LastWrite(int64_t position, std::string_view key) const;
  Result<void> CheckNew(uint32_t position, StepKind kind, std::string_view name) const;
  void Remember(const StepRecord& record);

  // Commits records with those that are unsaved, what `more` does before, and, with the first ones
  // of the activation, that it has steps.
  boost::asio::awaitable<Result<void>> Commit(const std::vector<StepRecord>& records,
                                              codeq::Locks locks, const jobs::ChangeBody& more);
  Result<void> CheckLease(jobs::Context& context) const;
  // False if the run has ended meanwhile.
  boost::asio::awaitable<bool> AwaitTurn();

  const Parts parts_;
  Begun& begun_;
  History history_;
  size_t bytes_ = 0;  // of the history, or more
  bool loaded_ = false;
  bool begun_history_ = false;  // the store has, or may have, records
  bool may_leave_ = false;
  bool store_failed_ = false;
  std::vector<StepRecord> unsaved_;
  std::map<int64_t, OpenStep> open_;
  size_t writes_ = 0;
  size_t write_bytes_ = 0;
  // One transaction at a time: answers leave in the order in which steps have ended.
  bool busy_ = false;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace cairn::functions
