#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "doors/access/name_patterns.h"
#include "jobs/operations/operations.h"
#include "store/store.h"
#include "view/filter.h"
#include "view/view.h"

namespace cairn::view {

// The same done to many jobs: to those named, or to all that fit a filter.
//
// A filter finds jobs in the view, which is asked once (id_list.h); each is looked at again in the
// transaction that changes it, so that a job which has meanwhile left the queue or the state that
// was asked for is left alone. Jobs that come in after the start are left alone, too.
//
// A task of more than kMaxBulkAtOnce jobs runs in the background. It has two rows in space
// `system`:
//
//   jobs/bulk/ID           JSON: how far it is
//   jobs/bulk_request/ID   JSON: what to do, as it was asked
//
// The first is written by the transactions that do the work: after a crash it goes on where it was,
// and each job is done once. A task that somebody cancels is marked there, too, and ends before its
// next step; what was done stays done. Another process takes a task over when its owner has not
// been heard of for a while.
struct BulkTask {
  enum class Status : uint8_t { kQueued, kRunning, kCompleted, kFailed, kCancelled };

  std::string id;
  Status status = Status::kQueued;
  std::string action;
  std::string request;  // JSON, as it was asked; empty in a task that Load has read
  std::string queues;   // those that whoever asked may touch (doors::NamePatterns); empty: all
  int64_t total = 0;    // jobs that it is about
  int64_t processed = 0;
  int64_t affected = 0;
  int64_t errors = 0;  // jobs that could not be changed
  std::string error;   // why it failed
  uint64_t created_ns = 0;
  uint64_t updated_ns = 0;
  uint64_t finished_ns = 0;

  std::string owner;  // who runs it
  std::string after;  // the last job done, of a filter
  std::string until;  // the last job there was, of a filter

  bool finished() const { return status >= Status::kCompleted; }
};
std::string_view BulkStatusName(BulkTask::Status status);
// What clients see of it.
std::string BulkJson(const BulkTask& task);

class Bulk {
 public:
  Bulk(store::Store& store, View& view, const Clock& clock, Random& random, Log log);
  ~Bulk();  // stops
  Bulk(const Bulk&) = delete;
  Bulk& operator=(const Bulk&) = delete;

  // Goes on with what an earlier process has left.
  void Start();
  // Ends after the step under way; the rest is done after the next start.
  void Stop();

  // {"action","job_ids"|"filter","move_to_queue","priority","async"}: does it, or stores the task
  // and leaves it to the thread. For a thread that may wait.
  // Jobs of queues that are not among `queues`, null for all, are not touched: a filter does not
  // find them, and each that is named counts as an error.
  Result<BulkTask> Submit(const std::string& request, const doors::NamePatterns* queues = nullptr);

  static Result<std::optional<BulkTask>> Load(store::Reader& reader, std::string_view id);
  // Newest first, those of whoever may touch `queues`; null: all.
  static Result<std::vector<BulkTask>> List(store::Reader& reader,
                                            const doors::NamePatterns* queues, size_t limit);
  // Whether whoever may touch `queues` alone, null for all, may hear of the task.
  static bool IsVisible(const BulkTask& task, const doors::NamePatterns* queues);
  // Ends a task that has not ended; what it has done stays done. Scope: AddScope.
  static void Cancel(store::Transaction& transaction, BulkTask& task);
  // Woken when the record changes.
  static store::Topic TopicOf(std::string_view id);
  static void AddScope(std::string_view id, store::Scopes& scopes);

 private:
  struct Work;

  void ThreadMain();
  void TakeOver();
  Result<void> RunToEnd(BulkTask& task);
  // Finds the jobs of a filter that are left to do.
  Result<void> FindJobs(Work& work, const BulkTask& task);
  static Result<std::vector<std::string>> NextIds(Work& work, const BulkTask& task);
  // Does the next jobs and counts them in `task`, all in one transaction; whether there may be
  // more.
  Result<bool> Step(Work& work, BulkTask& task);
  Result<void> StepIn(jobs::Context& context, const Work& work, const std::vector<std::string>& ids,
                      BulkTask& task);
  Result<void> Create(const BulkTask& task);
  // Writes down how it ended, unless that was written already.
  Result<void> Finish(const BulkTask& task);
  bool stopping();
  Result<void> RemoveOld();

  store::Store& store_;
  View& view_;
  const Clock& clock_;
  Random& random_;
  const Log log_;
  const std::string owner_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<std::string> waiting_;  // ids of tasks
  std::thread thread_;
};

}  // namespace cairn::view
