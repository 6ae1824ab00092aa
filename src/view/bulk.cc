#include "view/bulk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <utility>

#include "base/id.h"
#include "base/time_text.h"
#include "jobs/model/refusal.h"
#include "view/id_list.h"
#include "view/limits.h"
#include "view/search.h"

namespace cairn::view {
namespace {

namespace json = boost::json;
using jobs::Reason;
using jobs::Refuse;

constexpr std::string_view kPrefix = "jobs/bulk/";
constexpr std::string_view kRequestPrefix = "jobs/bulk_request/";
// Jobs of one transaction.
constexpr int64_t kJobsPerStep = 200;
// A record that its owner has not written for so long is anybody's.
constexpr uint64_t kForgottenNs = 60'000'000'000;
// How long a finished task can be asked about.
constexpr uint64_t kKeptNs = 24ULL * 3'600 * 1'000'000'000;
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::seconds kLookForForgotten{60};
constexpr std::chrono::seconds kTryAgain{1};

constexpr std::array<std::string_view, 5> kStatuses = {"queued", "running", "completed", "failed",
                                                       "cancelled"};

enum class Action {
  kRetry,
  kDelete,
  kCancel,
  kMove,
  kRequeue,
  kPriority,
  kHold,
  kApprove,
  kReject
};
constexpr std::array<std::pair<std::string_view, Action>, 9> kActions = {{
    {"retry", Action::kRetry},
    {"delete", Action::kDelete},
    {"cancel", Action::kCancel},
    {"move", Action::kMove},
    {"requeue", Action::kRequeue},
    {"change_priority", Action::kPriority},
    {"hold", Action::kHold},
    {"approve", Action::kApprove},
    {"reject", Action::kReject},
}};

Bytes RecordKey(std::string_view id) { return Bytes(kPrefix) + Bytes(id); }
Bytes RequestKey(std::string_view id) { return Bytes(kRequestPrefix) + Bytes(id); }

Error Bad(std::string_view member, std::string_view why) {
  return Refuse(Reason::kValidation, fmt::format("{}: {}", member, why));
}

std::string TextOf(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

int64_t NumberOf(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->as_int64() : 0;
}

std::string EncodeTask(const BulkTask& task) {
  return json::serialize(json::object{{"status", kStatuses[static_cast<size_t>(task.status)]},
                                      {"action", task.action},
                                      {"queues", task.queues},
                                      {"total", task.total},
                                      {"processed", task.processed},
                                      {"affected", task.affected},
                                      {"errors", task.errors},
                                      {"error", task.error},
                                      {"created_ns", static_cast<int64_t>(task.created_ns)},
                                      {"updated_ns", static_cast<int64_t>(task.updated_ns)},
                                      {"finished_ns", static_cast<int64_t>(task.finished_ns)},
                                      {"owner", task.owner},
                                      {"after", task.after},
                                      {"until", task.until}});
}

std::string ActionOf(const std::string& request) {
  boost::system::error_code failure;
  const json::value value = json::parse(request, failure);
  return !failure && value.is_object() ? TextOf(value.as_object(), "action") : std::string();
}

Result<BulkTask> DecodeTask(std::string_view id, BytesView text) {
  boost::system::error_code failure;
  const json::value value = json::parse(json::string_view(text.data(), text.size()), failure);
  const Error corrupt{ErrorCode::kCorruption,
                      fmt::format("{} cannot be decoded as a bulk task", id)};
  if (failure || !value.is_object()) return corrupt;
  const json::object& object = value.as_object();
  const auto* const status =
      std::find(kStatuses.begin(), kStatuses.end(), TextOf(object, "status"));
  if (status == kStatuses.end()) return corrupt;
  BulkTask task;
  task.id = id;
  task.status = static_cast<BulkTask::Status>(status - kStatuses.begin());
  task.action = TextOf(object, "action");
  task.request = TextOf(object, "request");  // earlier versions kept it here
  if (task.action.empty()) task.action = ActionOf(task.request);
  task.queues = TextOf(object, "queues");
  task.total = NumberOf(object, "total");
  task.processed = NumberOf(object, "processed");
  task.affected = NumberOf(object, "affected");
  task.errors = NumberOf(object, "errors");
  task.error = TextOf(object, "error");
  task.created_ns = static_cast<uint64_t>(NumberOf(object, "created_ns"));
  task.updated_ns = static_cast<uint64_t>(NumberOf(object, "updated_ns"));
  task.finished_ns = static_cast<uint64_t>(NumberOf(object, "finished_ns"));
  task.owner = TextOf(object, "owner");
  task.after = TextOf(object, "after");
  task.until = TextOf(object, "until");
  return task;
}

void PutTask(store::Transaction& transaction, const BulkTask& task) {
  const Bytes key = RecordKey(task.id);
  transaction.Put({store::Space::kSystem, key}, EncodeTask(task));
  transaction.Wake(Bulk::TopicOf(task.id));
}

// With what it is to do.
Result<std::optional<BulkTask>> LoadWhole(store::Reader& reader, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(std::optional<BulkTask> task, Bulk::Load(reader, id));
  if (!task || !task->request.empty()) return task;
  const Bytes key = RequestKey(id);
  CAIRN_ASSIGN_OR_RETURN(const auto request, reader.Get({store::Space::kSystem, key}));
  task->request = request.value_or("");
  return task;
}

View::Deadline Soon() { return std::chrono::steady_clock::now() + kPatience; }

}  // namespace

// A request, understood.
struct Bulk::Work {
  Action action = Action::kRetry;
  std::vector<std::string> ids;
  std::optional<JobFilter> filter;  // instead of ids
  std::string queue;
  jobs::Priority priority = jobs::Priority::kNormal;
  bool async = false;
  std::optional<doors::NamePatterns> queues;
  std::optional<IdList> list;  // instead of ids, if there are many

  // What a task is to do, within its queues.
  static Result<Work> Of(const BulkTask& task) {
    CAIRN_ASSIGN_OR_RETURN(Work work, Parse(task.request));
    if (task.queues.empty()) return work;
    CAIRN_ASSIGN_OR_RETURN(work.queues, doors::NamePatterns::Parse(task.queues));
    if (work.filter) work.filter->where.And(InQueues(work.scope()));
    if (work.action == Action::kMove) {
      CAIRN_RETURN_IF_ERROR(jobs::CheckQueue(work.scope(), work.queue));
    }
    return work;
  }

  const doors::NamePatterns* scope() const { return queues ? &*queues : nullptr; }

 private:
  static Result<Work> Parse(const std::string& text) {
    boost::system::error_code failure;
    const json::value value = json::parse(text, failure);
    if (failure || !value.is_object()) return Refuse(Reason::kValidation, "expected a JSON object");
    const json::object& object = value.as_object();
    Work work;
    const std::string name = TextOf(object, "action");
    const auto* const action = std::find_if(kActions.begin(), kActions.end(),
                                            [&](const auto& row) { return row.first == name; });
    if (action == kActions.end()) {
      return Bad("action",
                 "must be retry, delete, cancel, move, requeue, change_priority, hold, approve or "
                 "reject");
    }
    work.action = action->second;
    CAIRN_RETURN_IF_ERROR(ParseTargets(object, work));
    work.queue = TextOf(object, "move_to_queue");
    if (work.action == Action::kMove && work.queue.empty()) {
      return Bad("move_to_queue", "is missing");
    }
    if (work.action == Action::kPriority) {
      const auto priority = jobs::ParsePriority(TextOf(object, "priority"));
      if (!priority) return Bad("priority", "must be critical, high or normal");
      work.priority = *priority;
    }
    const json::value* const async = object.if_contains("async");
    work.async = async != nullptr && async->is_bool() && async->as_bool();
    return work;
  }

  static Result<void> ParseTargets(const json::object& object, Work& work) {
    const json::value* const ids = object.if_contains("job_ids");
    const json::value* const filter = object.if_contains("filter");
    if ((ids == nullptr) == (filter == nullptr)) {
      return Refuse(Reason::kValidation, "give either job_ids or filter");
    }
    if (filter != nullptr) {
      if (!filter->is_object()) return Bad("filter", "must be an object");
      Result<JobFilter> parsed = ParseFilter(filter->as_object());
      if (!parsed.ok()) return Bad("filter", parsed.error().message);
      work.filter = std::move(*parsed);
      return {};
    }
    if (!ids->is_array() || ids->as_array().size() > kMaxBulkIds) {
      return Bad("job_ids", fmt::format("must be a list of at most {}", kMaxBulkIds));
    }
    for (const json::value& id : ids->as_array()) {
      if (!id.is_string()) return Bad("job_ids", "must be a list of strings");
      work.ids.emplace_back(id.as_string());
    }
    return {};
  }
};

std::string_view BulkStatusName(BulkTask::Status status) {
  return kStatuses[static_cast<size_t>(status)];
}

std::string BulkJson(const BulkTask& task) {
  json::object out{{"id", task.id},
                   {"status", BulkStatusName(task.status)},
                   {"action", task.action},
                   {"total", task.total},
                   {"processed", task.processed},
                   {"affected", task.affected},
                   {"errors", task.errors},
                   {"created_at", FormatTime(task.created_ns)},
                   {"updated_at", FormatTime(task.updated_ns)}};
  if (!task.error.empty()) out["error"] = task.error;
  if (task.finished_ns != 0) out["finished_at"] = FormatTime(task.finished_ns);
  return json::serialize(out);
}

Bulk::Bulk(store::Store& store, View& view, const Clock& clock, Random& random, Log log)
    : store_(store),
      view_(view),
      clock_(clock),
      random_(random),
      log_(std::move(log)),
      owner_(Uuid::V4(random).ToString()) {}

Bulk::~Bulk() { Stop(); }

void Bulk::Start() {
  thread_ = std::thread([this] { ThreadMain(); });
}

bool Bulk::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Bulk::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

store::Topic Bulk::TopicOf(std::string_view id) {
  return store::Topic::Of(store::Space::kSystem, RecordKey(id));
}

void Bulk::AddScope(std::string_view id, store::Scopes& scopes) {
  scopes.Add(store::Space::kSystem, RecordKey(id));
}

Result<std::optional<BulkTask>> Bulk::Load(store::Reader& reader, std::string_view id) {
  const Bytes key = RecordKey(id);
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get({store::Space::kSystem, key}));
  if (!row) return std::optional<BulkTask>();
  CAIRN_ASSIGN_OR_RETURN(BulkTask task, DecodeTask(id, *row));
  return std::optional<BulkTask>(std::move(task));
}

Result<BulkTask> Bulk::Submit(const std::string& request, const doors::NamePatterns* queues) {
  BulkTask task;
  task.request = request;
  if (queues != nullptr) task.queues = queues->Describe();
  CAIRN_ASSIGN_OR_RETURN(Work work, Work::Of(task));
  task.action = ActionOf(request);
  task.created_ns = static_cast<uint64_t>(clock_.Now().us) * 1'000;
  task.updated_ns = task.created_ns;
  task.total = static_cast<int64_t>(work.ids.size());
  if (work.filter) {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t position, view_.WaitUntilCurrent(Soon()));
    (void)position;
    CAIRN_ASSIGN_OR_RETURN(View::Reading reading, view_.Read(Soon()));
    CAIRN_ASSIGN_OR_RETURN(const Extent extent, Measure(reading.database(), work.filter->where));
    task.total = extent.count;
    task.until = extent.last;
    if (!work.async && task.total <= kMaxBulkAtOnce) {
      CAIRN_ASSIGN_OR_RETURN(work.ids, Ids(reading.database(), work.filter->where, kMaxBulkAtOnce));
      task.total = static_cast<int64_t>(work.ids.size());
    }
  }
  if (!work.async && task.total <= kMaxBulkAtOnce) {
    for (bool more = true; more;) {
      CAIRN_ASSIGN_OR_RETURN(more, Step(work, task));
    }
    task.status = BulkTask::Status::kCompleted;
    return task;
  }
  task.id = "bulk_" + NewUlid(clock_.Now(), random_);
  task.owner = owner_;
  CAIRN_RETURN_IF_ERROR(RemoveOld());
  CAIRN_RETURN_IF_ERROR(Create(task));
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(task.id);
  }
  changed_.notify_one();
  return task;
}

Result<void> Bulk::FindJobs(Work& work, const BulkTask& task) {
  if (!work.filter) return {};
  // After a restart the view may be behind what it had when the task was made.
  CAIRN_ASSIGN_OR_RETURN(const uint64_t position, view_.WaitUntilCurrent(Soon()));
  (void)position;
  CAIRN_ASSIGN_OR_RETURN(View::Reading reading, view_.Read(Soon()));
  CAIRN_ASSIGN_OR_RETURN(work.list, IdList::Make(reading.database(), work.filter->where,
                                                 {.after = task.after, .until = task.until},
                                                 fmt::format("{}.{}", view_.file(), task.id),
                                                 [this] { return !stopping(); }));
  return {};
}

Result<std::vector<std::string>> Bulk::NextIds(Work& work, const BulkTask& task) {
  if (work.list) return work.list->Next(task.after, kJobsPerStep);
  const auto begin = work.ids.begin() + task.processed;
  const auto end = begin + std::min<int64_t>(kJobsPerStep, work.ids.end() - begin);
  return std::vector<std::string>(begin, end);
}

Result<bool> Bulk::Step(Work& work, BulkTask& task) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> ids, NextIds(work, task));
  if (ids.empty()) return false;
  jobs::Held held;
  for (const std::string& id : ids) held.AddJob(id);
  if (!work.queue.empty()) held.AddQueue(work.queue);
  BulkTask after = task;
  const auto body = [&](store::Transaction& transaction) -> Result<void> {
    after = task;
    jobs::Context context{transaction, held, work.scope()};
    return StepIn(context, work, ids, after);
  };
  while (true) {
    store::Scopes scopes = held.ToScopes();
    if (!task.id.empty()) AddScope(task.id, scopes);
    const Result<store::Commit> commit = store_.Run(scopes, body);
    if (!commit.ok() && held.wants_everything && !held.everything()) {
      held = jobs::Held::Everything();
      continue;
    }
    if (!commit.ok()) return commit.error();
    CAIRN_RETURN_IF_ERROR(store_.Durable(*commit));
    task = after;
    return !task.finished();
  }
}

Result<void> Bulk::Create(const BulkTask& task) {
  store::Scopes scopes;
  AddScope(task.id, scopes);
  const Bytes request = RequestKey(task.id);
  CAIRN_ASSIGN_OR_RETURN(const store::Commit commit,
                         store_.Run(scopes, [&](store::Transaction& transaction) -> Result<void> {
                           transaction.Put({store::Space::kSystem, request}, task.request);
                           PutTask(transaction, task);
                           return {};
                         }));
  return store_.Durable(commit);
}

Result<void> Bulk::Finish(const BulkTask& task) {
  store::Scopes scopes;
  AddScope(task.id, scopes);
  const auto body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<BulkTask> stored, Load(transaction, task.id));
    if (!stored || stored->finished() || stored->owner != owner_) return {};
    PutTask(transaction, task);
    return {};
  };
  CAIRN_ASSIGN_OR_RETURN(const store::Commit commit, store_.Run(scopes, body));
  return store_.Durable(commit);
}

bool Bulk::IsVisible(const BulkTask& task, const doors::NamePatterns* queues) {
  return queues == nullptr || task.queues == queues->Describe();
}

Result<std::vector<BulkTask>> Bulk::List(store::Reader& reader, const doors::NamePatterns* queues,
                                         size_t limit) {
  std::vector<BulkTask> tasks;
  std::optional<Error> failure;
  CAIRN_RETURN_IF_ERROR(reader.Scan(store::Range::Prefix(store::Space::kSystem, kPrefix),
                                    {.reverse = true}, [&](BytesView key, BytesView value) {
                                      Result<BulkTask> task =
                                          DecodeTask(key.substr(kPrefix.size()), value);
                                      if (!task.ok()) {
                                        failure = task.error();
                                        return false;
                                      }
                                      if (IsVisible(*task, queues)) {
                                        tasks.push_back(std::move(*task));
                                      }
                                      return tasks.size() < limit;
                                    }));
  if (failure) return *failure;
  return tasks;
}

void Bulk::Cancel(store::Transaction& transaction, BulkTask& task) {
  if (task.finished()) return;
  task.status = BulkTask::Status::kCancelled;
  task.finished_ns = static_cast<uint64_t>(transaction.now().us) * 1'000;
  task.updated_ns = task.finished_ns;
  PutTask(transaction, task);
}

namespace {

Result<void> Act(jobs::Context& context, std::string_view id, Action action,
                 const std::string& queue, jobs::Priority priority) {
  constexpr std::string_view kReason = "bulk action";
  switch (action) {
    case Action::kRetry:
      return jobs::Retry(context, id, {});
    case Action::kRequeue:
      return jobs::Retry(context, id, {.keep_attempts = true});
    case Action::kDelete:
      return jobs::Delete(context, id);
    case Action::kCancel: {
      const auto cancelled = jobs::Cancel(context, id, kReason);
      if (!cancelled.ok()) return cancelled.error();
      return {};
    }
    case Action::kMove:
      return jobs::Move(context, id, queue);
    case Action::kPriority:
      return jobs::SetPriority(context, id, priority);
    case Action::kHold:
      return jobs::Hold(context, id, kReason);
    case Action::kApprove:
      return jobs::Approve(context, id);
    case Action::kReject:
      return jobs::Reject(context, id, kReason);
  }
  return Error{ErrorCode::kInternal, "no such action"};
}

// Whether the job is still one that the filter means, as far as that changes by itself.
bool StillFits(const std::optional<jobs::Job>& job, const JobFilter& filter) {
  if (!job) return false;
  if (!filter.queue.empty() && job->queue != filter.queue) return false;
  return filter.states.empty() ||
         std::find(filter.states.begin(), filter.states.end(), job->state) != filter.states.end();
}

}  // namespace

Result<void> Bulk::StepIn(jobs::Context& context, const Work& work,
                          const std::vector<std::string>& ids, BulkTask& task) {
  store::Transaction& transaction = context.transaction;
  if (!task.id.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<BulkTask> stored, Load(transaction, task.id));
    if (!stored || stored->owner != owner_) {
      return Error{ErrorCode::kConflict, "another process has taken the task over"};
    }
    if (stored->finished()) {  // somebody has cancelled it
      task = *stored;
      return {};
    }
  }
  for (const std::string& id : ids) {
    ++task.processed;
    task.after = id;
    if (work.filter) {
      CAIRN_ASSIGN_OR_RETURN(const auto job, jobs::LoadJob(transaction, id));
      if (!StillFits(job, *work.filter)) continue;
    }
    const Result<void> done = Act(context, id, work.action, work.queue, work.priority);
    if (done.ok()) {
      ++task.affected;
    } else if (jobs::FindReason(done.error()) != nullptr) {
      ++task.errors;
    } else {
      return done.error();
    }
  }
  task.updated_ns = static_cast<uint64_t>(transaction.now().us) * 1'000;
  if (task.id.empty()) return {};
  task.status = BulkTask::Status::kRunning;
  PutTask(transaction, task);
  return {};
}

void Bulk::ThreadMain() {
  while (true) {
    std::string id;
    {
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      if (!waiting_.empty()) {
        id = std::move(waiting_.front());
        waiting_.pop_front();
      }
    }
    if (id.empty()) {
      TakeOver();
      std::unique_lock lock(mutex_);
      const auto ready = [&] { return stopping_ || !waiting_.empty(); };
      // Only another process can forget a task while this one runs.
      if (store_.shared()) {
        changed_.wait_for(lock, kLookForForgotten, ready);
      } else {
        changed_.wait(lock, ready);
      }
      continue;
    }
    const auto snapshot = store_.Read();
    Result<std::optional<BulkTask>> task = snapshot.ok()
                                               ? LoadWhole(**snapshot, id)
                                               : Result<std::optional<BulkTask>>(snapshot.error());
    if (!task.ok() || !*task || (*task)->finished()) continue;
    const Result<void> ran = RunToEnd(**task);
    if (ran.ok()) continue;
    log_.Warn("bulk task", {{"id", id}, {"error", ran.error().message}});
    if (ran.error().code != ErrorCode::kUnavailable) continue;
    std::unique_lock lock(mutex_);
    waiting_.push_back(id);
    changed_.wait_for(lock, kTryAgain, [&] { return stopping_; });
  }
}

Result<void> Bulk::RunToEnd(BulkTask& task) {
  const auto run = [&]() -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(Work work, Work::Of(task));
    CAIRN_RETURN_IF_ERROR(FindJobs(work, task));
    for (bool more = true; more;) {
      if (stopping()) return Error{ErrorCode::kUnavailable, "stopping; it goes on after the start"};
      CAIRN_ASSIGN_OR_RETURN(more, Step(work, task));
    }
    return {};
  };
  Result<void> ran = run();
  if (!ran.ok() &&
      (ran.error().code == ErrorCode::kUnavailable || ran.error().code == ErrorCode::kConflict)) {
    return ran.error();  // it goes on later, or elsewhere
  }
  if (task.finished()) return {};  // cancelled
  task.status = ran.ok() ? BulkTask::Status::kCompleted : BulkTask::Status::kFailed;
  task.error = ran.ok() ? "" : ran.error().message;
  task.finished_ns = static_cast<uint64_t>(clock_.Now().us) * 1'000;
  task.updated_ns = task.finished_ns;
  CAIRN_RETURN_IF_ERROR(Finish(task));
  return ran;
}

// Unfinished tasks that nobody runs become this process's.
void Bulk::TakeOver() {
  const auto take = [&](store::Transaction& transaction, std::vector<std::string>& taken) {
    taken.clear();
    const uint64_t now = static_cast<uint64_t>(transaction.now().us) * 1'000;
    std::vector<BulkTask> tasks;
    Result<void> scanned = transaction.Scan(store::Range::Prefix(store::Space::kSystem, kPrefix),
                                            {}, [&](BytesView key, BytesView value) {
                                              Result<BulkTask> task =
                                                  DecodeTask(key.substr(kPrefix.size()), value);
                                              if (task.ok()) tasks.push_back(std::move(*task));
                                              return true;
                                            });
    if (!scanned.ok()) return scanned;
    for (BulkTask& task : tasks) {
      const bool forgotten = !store_.shared() || task.updated_ns + kForgottenNs < now;
      if (task.finished() || task.owner == owner_ || !forgotten) continue;
      task.owner = owner_;
      task.updated_ns = now;
      if (!task.request.empty()) {  // of an earlier version
        const Bytes request = RequestKey(task.id);
        transaction.Put({store::Space::kSystem, request}, task.request);
      }
      PutTask(transaction, task);
      taken.push_back(task.id);
    }
    return Result<void>();
  };
  store::Scopes scopes;
  scopes.Add(store::Space::kSystem, kPrefix);
  std::vector<std::string> taken;
  const auto done =
      store_.Run(scopes, [&](store::Transaction& transaction) { return take(transaction, taken); });
  if (!done.ok()) return;
  const std::lock_guard lock(mutex_);
  waiting_.insert(waiting_.end(), taken.begin(), taken.end());
}

Result<void> Bulk::RemoveOld() {
  store::Scopes scopes;
  scopes.Add(store::Space::kSystem, kPrefix);
  const auto body = [&](store::Transaction& transaction) -> Result<void> {
    const uint64_t now = static_cast<uint64_t>(transaction.now().us) * 1'000;
    std::vector<Bytes> old;
    CAIRN_RETURN_IF_ERROR(transaction.Scan(
        store::Range::Prefix(store::Space::kSystem, kPrefix), {},
        [&](BytesView key, BytesView value) {
          const Result<BulkTask> task = DecodeTask(key.substr(kPrefix.size()), value);
          if (task.ok() && task->finished() && task->finished_ns + kKeptNs < now)
            old.emplace_back(key);
          return true;
        }));
    for (const Bytes& key : old) {
      transaction.Delete({store::Space::kSystem, key});
      const Bytes request = RequestKey(BytesView(key).substr(kPrefix.size()));
      transaction.Delete({store::Space::kSystem, request});
    }
    return {};
  };
  const auto done = store_.Run(scopes, body);
  if (!done.ok()) return done.error();
  return {};
}

}  // namespace cairn::view
