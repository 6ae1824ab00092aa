#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "jobs/ledger/context.h"
#include "jobs/ledger/due.h"
#include "jobs/model/ids.h"
#include "jobs/model/keys.h"
#include "store/scopes.h"
#include "store/store.h"
#include "store/timers.h"

// What happens to jobs when the time of a row t| (due.h) has come, in two steps:
//
//   kTimerDue   looks at the rows of its span and sets a kTimerAct of now for those it finds
//   kTimerAct   names rows, and so can tell their scopes; acts on each that is still there
//
// A row that was taken back meanwhile is not found, or is found and gone: nothing is done twice,
// and a crash between the two steps leaves timers.
namespace cairn::jobs {

// Does what is due of a kind that another part looks after (schedules).
class DueHandler {
 public:
  virtual ~DueHandler() = default;
  virtual void AddScopes(const DueEntry& entry, Held& held, store::Scopes& scopes) const = 0;
  // The row is gone already.
  virtual Result<void> Fire(Context& context, const DueEntry& entry, BytesView value) = 0;
};

// The handlers of the three kinds of timers.
class DueTimers {
 public:
  DueTimers();
  ~DueTimers();

  // Before the timers run; `handler` outlives them.
  void Register(DueKind kind, DueHandler& handler) {
    handlers_[static_cast<size_t>(kind)] = &handler;
  }
  // Calls `add` with each kind and its handler, which lives as long as this object.
  void ForEach(FunctionRef<void(uint8_t kind, store::TimerHandler& handler)> add);
  // All three, with the service.
  void RegisterWith(store::TimerService& timers);
  // The event log is tidied up from now on. Once, when the server starts; again does nothing.
  static Result<void> StartTidying(store::Store& store);

 private:
  class Find;
  class Act;
  class Tidy;
  std::array<DueHandler*, 16> handlers_{};
  std::unique_ptr<Find> find_;
  std::unique_ptr<Act> act_;
  std::unique_ptr<Tidy> tidy_;
};

}  // namespace cairn::jobs
