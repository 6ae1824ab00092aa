#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "jobs/ledger/event.h"
#include "store/store.h"
#include "view/rows.h"
#include "view/sqlite.h"

namespace cairn::view {

// Brings the store's jobs into a view file: the events since the last time, or everything.
//
// An event only says that a job has changed. The feed reads the job as it is now and writes that,
// so it does not matter how often or how late an event is applied, and a job with a hundred events
// among those read together is written once. When the log is ahead of what is read together, a row
// that is written is newer than its event, and the job's further events up to the end that the log
// had then are passed over: so a job whose life is over before the view hears of it is written
// once, however many steps its events are apart. The position stands in the same SQLite transaction
// as what it stands for: a crash leaves the file at some earlier position, never in between.
//
// Used by one thread.
class Feed {
 public:
  // Opens or creates `file`. An error is the file's: it is of another store or version, was in use
  // when the machine went down, or is damaged. It has to be removed and built anew.
  static Result<std::unique_ptr<Feed>> Open(store::Store& store, const std::string& file,
                                            const std::string& store_id);
  // Marks the file as complete on disk, so that it is trusted after a restart of the machine.
  Result<void> Close();

  struct Step {
    uint64_t position = 0;   // the last event in the view
    uint64_t newest = 0;     // the last there was when the step began
    bool caught_up = false;  // the two are the same
    bool lost = false;       // events that the view has not seen are gone: build it anew
    bool gap = false;        // because the log has removed them
  };
  // Applies the next events, as many as make a good SQLite transaction.
  Result<Step> Advance();

  // Copies every job and queue of the store into this file, which is new. Returns how many jobs.
  // `go_on` is asked now and then; false ends it with kUnavailable.
  Result<int64_t> CopyAll(FunctionRef<bool()> go_on);

  uint64_t position() const { return position_; }

  // What a job's events mean for its rows.
  struct Change {
    bool whole = false;   // more than a run's columns may have changed
    bool errors = false;  // its errors may have
  };

 private:
  using Touched = std::map<std::string_view, Change>;  // by job; the views are into the events

  Feed(store::Store& store, std::unique_ptr<Database> database, RowWriter rows)
      : store_(store), database_(std::move(database)), rows_(std::move(rows)) {}

  // The jobs that have to be written for `events`.
  Touched JobsIn(const std::vector<jobs::Event>& events) const;
  Result<void> ApplyJobs(store::Reader& reader, const Touched& touched);
  Result<void> ApplyQueues(store::Reader& reader, const std::vector<jobs::Event>& events);
  void RememberAhead(const Touched& touched);
  Result<void> ApplyQueue(store::Reader& reader, const std::string& queue);
  Result<bool> CopyPage(std::string& after, int64_t& copied);
  Result<void> CopyQueues();

  store::Store& store_;
  std::unique_ptr<Database> database_;  // that the statements of rows_ belong to
  RowWriter rows_;
  uint64_t position_ = 0;
  std::set<std::string> queues_;  // that have a row
  // Jobs whose rows are at least as new as event `horizon_`, which the position has not reached.
  std::unordered_set<std::string> ahead_;
  uint64_t horizon_ = 0;
};

}  // namespace cairn::view
