#include "jobs/operations/fetch.h"

#include <algorithm>

#include "base/json_text.h"
#include "jobs/ledger/ledger.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"
#include "jobs/model/topics.h"
#include "jobs/operations/lease.h"
#include "jobs/operations/line.h"
#include "jobs/operations/registry.h"

namespace cairn::jobs {
namespace {

void MoveCursor(Ledger& ledger, Ledger::Queue& queue, Priority priority, const LineHead& taken) {
  if (priority == Priority::kNormal) {
    ledger.transaction().Put(InJobs(QueueCursorKey(queue.name)), taken.last_key);
  } else {
    queue.state.cursor_ns[static_cast<size_t>(priority)] = taken.last_ns;
  }
  queue.changed = true;
}

class QueueFetch {
  // So many are taken from a line before it is seen how large they are.
  static constexpr size_t kStep = 128;

 public:
  QueueFetch(Ledger& ledger, const FetchRequest& request) : ledger_(ledger), request_(request) {}

  Result<void> From(Ledger::Queue& queue) {
    if (!queue.exists) return {};
    CAIRN_ASSIGN_OR_RETURN(const QueueConfig* const config, ledger_.ConfigOf(queue));
    if (config->paused) return {};
    auto room = static_cast<int64_t>(request_.count - started_.size());
    if (config->max_concurrency > 0) {
      const int64_t active = queue.state.counts[static_cast<size_t>(State::kActive)];
      room = std::min(room, config->max_concurrency - active);
    }
    if (config->rate_limit > 0) {
      CAIRN_ASSIGN_OR_RETURN(const int64_t in_window, ledger_.RoomInWindow(queue));
      room = std::min(room, in_window);
    }
    const size_t before = started_.size();
    for (const Priority priority : {Priority::kCritical, Priority::kHigh, Priority::kNormal}) {
      const int64_t left = room - static_cast<int64_t>(started_.size() - before);
      CAIRN_RETURN_IF_ERROR(FromLine(queue, priority, left));
    }
    CAIRN_RETURN_IF_ERROR(GiveOut(before));
    return ledger_.CountStarts(queue, static_cast<int64_t>(started_.size() - before));
  }

  std::vector<Job> Take() { return std::move(started_); }
  bool full() const { return started_.size() >= request_.count || bytes_ >= kMaxAnswerBytes; }

 private:
  Result<void> FromLine(Ledger::Queue& queue, Priority priority, int64_t room) {
    const int64_t& in_line = queue.state.line[static_cast<size_t>(priority)];
    while (room > 0 && in_line > 0 && !full()) {
      started_.reserve(std::min(request_.count, started_.size() + static_cast<size_t>(in_line)));
      if (aside_ >= kMaxAside) {
        ledger_.WakeQueue(queue.name);
        return {};
      }
      CAIRN_ASSIGN_OR_RETURN(const auto taken,
                             PeekLine(ledger_.transaction(), queue.name, queue.state, priority,
                                      std::min(static_cast<size_t>(room), kStep)));
      if (taken.jobs.empty()) {
        return Error{ErrorCode::kCorruption,
                     "queue " + queue.name + " counts jobs not in its line"};
      }
      MoveCursor(ledger_, queue, priority, taken);
      CAIRN_RETURN_IF_ERROR(
          ledger_.Expect(std::vector<std::string_view>(taken.jobs.begin(), taken.jobs.end())));
      for (const std::string& id : taken.jobs) {
        // Not moved out of the result: a job has many strings.
        Result<Job> job = ledger_.Load(id);
        if (!job.ok()) return job.error();
        CAIRN_ASSIGN_OR_RETURN(const bool started, Start(queue, *job));
        room -= started ? 1 : 0;
      }
    }
    return {};
  }

  // Whether it runs now; if not, it was moved aside.
  Result<bool> Start(Ledger::Queue& queue, Job& job) {
    CAIRN_ASSIGN_OR_RETURN(const bool may_run, ledger_.TakeRate(queue, job));
    CAIRN_RETURN_IF_ERROR(ledger_.Leave(job));
    if (!may_run) {
      ++aside_;
      CAIRN_RETURN_IF_ERROR(ledger_.ParkForRate(job));
      return false;
    }
    const uint64_t now_ns = ledger_.now_ns();
    job.state = State::kActive;
    ++job.attempt;
    job.worker_id = request_.worker_id;
    job.hostname = request_.hostname;
    job.started_ns = now_ns;
    job.scheduled_ns = 0;
    job.lease_ms = request_.lease_ms;
    job.lease_expires_ns = LeaseEnd(job, now_ns);
    bytes_ += job.payload.size() + job.tags.size() + job.checkpoint.size();
    started_.push_back(std::move(job));
    return true;
  }

  // Leases the jobs of one queue, from the first of them on. Those whose leases end together share
  // a token.
  Result<void> GiveOut(size_t first) {
    while (first < started_.size()) {
      const auto begin = started_.begin() + static_cast<ptrdiff_t>(first);
      const auto most =
          begin + static_cast<ptrdiff_t>(std::min(kLeasesPerRow, started_.size() - first));
      const auto end = std::find_if(begin, most, [&](const Job& job) {
        return job.lease_expires_ns != begin->lease_expires_ns;
      });
      const int64_t sharers = end - begin == 1 ? 0 : end - begin;
      const uint64_t token = ledger_.transaction().NewStamp();
      for (auto job = begin; job != end; ++job, ++first) {
        job->lease_token = token;
        job->lease_sharers = sharers;
        CAIRN_RETURN_IF_ERROR(ledger_.Enter(*job));
        TellStarted(*job);
      }
    }
    return {};
  }

  void TellStarted(const Job& job) {
    data_.assign(R"({"worker_id":)");
    AppendJsonString(job.worker_id, data_);
    data_.append(R"(,"attempt":)").append(std::to_string(job.attempt)).push_back('}');
    ledger_.Tell(EventType::kStarted, job, data_);
  }

  Ledger& ledger_;
  const FetchRequest& request_;
  std::vector<Job> started_;
  size_t bytes_ = 0;  // of their documents
  int64_t aside_ = 0;
  std::string data_;
};

}  // namespace

Result<void> CheckFetch(const FetchRequest& request) {
  if (request.queues.empty()) return Refuse(Reason::kValidation, "queues is required");
  for (const std::string& queue : request.queues) {
    if (!IsName(queue, kMaxQueueNameBytes)) {
      return Refuse(Reason::kValidation, "queues contains an invalid name");
    }
  }
  if (request.count == 0 || request.count > kMaxFetch) {
    return Refuse(Reason::kValidation, "count must be from 1 to " + std::to_string(kMaxFetch));
  }
  if (request.lease_ms < kMinLeaseMs || request.lease_ms > kMaxLeaseMs) {
    return Refuse(Reason::kValidation, "the lease must be from 100 milliseconds to a day");
  }
  return CheckWorker(request);
}

void AddFetchScopes(const FetchRequest& request, Held& held) {
  for (const std::string& queue : request.queues) held.AddQueue(queue);
  AddWorkerScopes(request.worker_id, held);
}

Result<std::vector<Job>> Fetch(Context& context, const FetchRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckFetch(request));
  for (const std::string& queue : request.queues) {
    CAIRN_RETURN_IF_ERROR(CheckQueue(context.queues, queue));
  }
  Ledger ledger(context);
  QueueFetch fetcher(ledger, request);
  for (const std::string& name : request.queues) {
    if (fetcher.full()) break;
    CAIRN_ASSIGN_OR_RETURN(Ledger::Queue* const queue, ledger.QueueOf(name));
    CAIRN_RETURN_IF_ERROR(fetcher.From(*queue));
  }
  CAIRN_RETURN_IF_ERROR(TouchWorker(context, request));
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return fetcher.Take();
}

std::vector<store::Topic> FetchTopics(std::span<const std::string> queues) {
  std::vector<store::Topic> topics;
  for (const std::string& queue : queues) topics.push_back(QueueTopic(queue));
  return topics;
}

}  // namespace cairn::jobs
