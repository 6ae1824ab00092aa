#include "view/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "jobs/ledger/event.h"
#include "jobs/model/job.h"
#include "jobs/model/keys.h"
#include "view/limits.h"
#include "view/schema.h"

namespace cairn::view {
namespace {

// Events of one SQLite transaction: enough that its price does not matter, few enough that it is
// over in some ten milliseconds.
constexpr size_t kEventsPerStep = 2'000;
constexpr size_t kJobsPerPage = 2'000;

// Another name after each start of the machine.
std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

void Touch(jobs::EventType type, Feed::Change& touched) {
  using enum jobs::EventType;
  switch (type) {
    case kStarted:
    case kCompleted:
    case kProgress:
    case kPromoted:
      return;
    case kEnqueued:
      touched.whole = true;
      return;
    case kFailed:
    case kRetrying:
    case kReclaimed:
      touched.errors = true;
      return;
    default:
      touched.whole = true;
      touched.errors = true;
  }
}

Result<void> InTransaction(Database& database, FunctionRef<Result<void>()> body) {
  CAIRN_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  Result<void> done = body();
  if (done.ok()) done = database.Execute("COMMIT");
  if (!done.ok()) {
    const Result<void> undone = database.Execute("ROLLBACK");
    (void)undone;  // SQLite may have rolled back by itself
  }
  return done;
}

// Whether the file can be gone on from. A file without a state is new and gets one.
Result<uint64_t> CheckState(Database& database, const std::string& store_id) {
  CAIRN_ASSIGN_OR_RETURN(
      Statement read,
      database.Prepare("SELECT schema_version, store, event, boot, clean FROM view_state"));
  CAIRN_ASSIGN_OR_RETURN(const bool row, read.Step());
  const std::string boot = BootId();
  uint64_t event = 0;
  if (row) {
    event = static_cast<uint64_t>(read.Integer(2));
    const Error stale{ErrorCode::kConflict, "of another store or version, or not closed properly"};
    if (read.Integer(0) != kSchemaVersion || read.Text(1) != store_id) return stale;
    if (read.Integer(4) == 0 && read.Text(3) != boot) return stale;
    read.Reset();
  }
  CAIRN_ASSIGN_OR_RETURN(
      Statement write,
      database.Prepare("INSERT OR REPLACE INTO view_state (id, schema_version, store, event, boot, "
                       "clean) VALUES (1, ?, ?, ?, ?, 0)"));
  CAIRN_RETURN_IF_ERROR(
      write.Bind(kSchemaVersion).Bind(store_id).Bind(static_cast<int64_t>(event)).Bind(boot).Run());
  return event;
}

}  // namespace

Result<std::unique_ptr<Feed>> Feed::Open(store::Store& store, const std::string& file,
                                         const std::string& store_id) {
  CAIRN_ASSIGN_OR_RETURN(Database opened, Database::Open(file, OpenMode::kReadWrite));
  auto database = std::make_unique<Database>(std::move(opened));
  CAIRN_RETURN_IF_ERROR(ConfigureWriter(*database));
  CAIRN_RETURN_IF_ERROR(CreateSchema(*database));
  CAIRN_ASSIGN_OR_RETURN(const uint64_t event, CheckState(*database, store_id));
  CAIRN_ASSIGN_OR_RETURN(RowWriter rows, RowWriter::Prepare(*database));
  std::unique_ptr<Feed> feed(new Feed(store, std::move(database), std::move(rows)));
  feed->position_ = event;
  CAIRN_ASSIGN_OR_RETURN(Statement names, feed->database_->Prepare("SELECT name FROM queues"));
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool row, names.Step());
    if (!row) return feed;
    feed->queues_.emplace(names.Text(0));
  }
}

Result<void> Feed::Close() {
  // The file first, synced; then the word that it is.
  CAIRN_RETURN_IF_ERROR(
      database_->Execute("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE);"));
  return database_->Execute("UPDATE view_state SET clean = 1; PRAGMA wal_checkpoint(TRUNCATE);");
}

Result<Feed::Step> Feed::Advance() {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> snapshot, store_.Read());
  // What a crash of the machine could take back does not get into the view.
  CAIRN_RETURN_IF_ERROR(store_.Durable(snapshot->commit()));
  CAIRN_ASSIGN_OR_RETURN(const jobs::EventPage page,
                         jobs::ReadEvents(*snapshot, position_, kEventsPerStep));
  if (page.missed_to != 0) return Step{.position = position_, .lost = true, .gap = true};
  const std::vector<jobs::Event>& events = page.events;
  if (events.empty()) {
    // A store that has been put back to an earlier state: the view is of a future that is gone.
    CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, jobs::NewestEvent(*snapshot));
    const bool lost = position_ > newest;
    return Step{.position = position_, .newest = position_, .caught_up = !lost, .lost = lost};
  }
  const uint64_t last = events.back().number;
  Step step{.position = last, .newest = last};
  if (page.more) {
    CAIRN_ASSIGN_OR_RETURN(step.newest, jobs::NewestEvent(*snapshot));
  }
  step.caught_up = step.newest == last;
  if (position_ >= horizon_) {
    ahead_.clear();
    horizon_ = step.newest;
  }
  Touched touched = JobsIn(events);
  CAIRN_RETURN_IF_ERROR(InTransaction(*database_, [&]() -> Result<void> {
    CAIRN_RETURN_IF_ERROR(ApplyJobs(*snapshot, touched));
    CAIRN_RETURN_IF_ERROR(ApplyQueues(*snapshot, events));
    return rows_.PutPosition(last);
  }));
  position_ = last;
  RememberAhead(touched);
  return step;
}

Feed::Touched Feed::JobsIn(const std::vector<jobs::Event>& events) const {
  Touched touched;
  for (const jobs::Event& event : events) {
    if (event.job.empty()) continue;
    if (event.number <= horizon_ && ahead_.contains(event.job)) continue;
    Touch(event.type, touched[event.job]);
  }
  // Who is written ahead of their events is written with all that these may have changed.
  if (horizon_ > events.back().number) {
    for (auto& [id, how] : touched) how = {.whole = true, .errors = true};
  }
  return touched;
}

void Feed::RememberAhead(const Touched& touched) {
  if (position_ >= horizon_) return;
  for (const auto& entry : touched) {
    if (ahead_.size() == kMaxAhead) return;
    ahead_.emplace(entry.first);
  }
}

Result<void> Feed::ApplyJobs(store::Reader& reader, const Touched& touched) {
  std::vector<Bytes> keys;
  keys.reserve(touched.size());
  for (const auto& entry : touched) keys.push_back(jobs::JobKey(entry.first));
  std::vector<store::Key> borrowed;
  borrowed.reserve(keys.size());
  for (const Bytes& key : keys) borrowed.push_back(jobs::InJobs(key));
  CAIRN_ASSIGN_OR_RETURN(const auto documents, reader.GetMany(borrowed));
  size_t at = 0;
  for (const auto& [id, how] : touched) {
    const std::optional<Bytes>& document = documents[at++];
    if (!document) {
      CAIRN_RETURN_IF_ERROR(rows_.RemoveJob(id));
      continue;
    }
    CAIRN_ASSIGN_OR_RETURN(const jobs::Job job, jobs::DecodeJob(id, *document));
    CAIRN_RETURN_IF_ERROR(how.whole ? rows_.PutJob(job) : rows_.PutProgress(job));
    if (how.errors) {
      CAIRN_ASSIGN_OR_RETURN(const auto errors, jobs::GetErrors(reader, job));
      CAIRN_RETURN_IF_ERROR(rows_.PutErrors(id, errors));
    }
  }
  return {};
}

Result<void> Feed::ApplyQueues(store::Reader& reader, const std::vector<jobs::Event>& events) {
  std::set<std::string> queues;
  for (const jobs::Event& event : events) {
    // A job's event is news of its queue if it is the first.
    const bool known = !event.job.empty() && queues_.contains(event.queue);
    if (!event.queue.empty() && !known) queues.insert(event.queue);
  }
  for (const std::string& queue : queues) CAIRN_RETURN_IF_ERROR(ApplyQueue(reader, queue));
  return {};
}

Result<void> Feed::ApplyQueue(store::Reader& reader, const std::string& queue) {
  CAIRN_ASSIGN_OR_RETURN(const auto exists, reader.Get(jobs::InJobs(jobs::QueueNameKey(queue))));
  if (!exists) {
    queues_.erase(queue);
    return rows_.RemoveQueue(queue);
  }
  CAIRN_ASSIGN_OR_RETURN(const jobs::QueueConfig config, jobs::LoadQueueConfig(reader, queue));
  CAIRN_RETURN_IF_ERROR(rows_.PutQueue(queue, config));
  queues_.insert(queue);
  return {};
}

// The log's end comes first. What changes while jobs are copied has an event behind it, so the
// events bring the copy up to date however it mixes earlier and later jobs.
Result<int64_t> Feed::CopyAll(FunctionRef<bool()> go_on) {
  uint64_t newest = 0;
  {
    CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> snapshot, store_.Read());
    CAIRN_RETURN_IF_ERROR(store_.Durable(snapshot->commit()));
    CAIRN_ASSIGN_OR_RETURN(newest, jobs::NewestEvent(*snapshot));
    CAIRN_ASSIGN_OR_RETURN(const uint64_t removed, jobs::RemovedEvents(*snapshot));
    newest = std::max(newest, removed);
  }
  int64_t copied = 0;
  std::string after(jobs::family::kJob);
  for (bool more = true; more;) {
    if (!go_on()) return Error{ErrorCode::kUnavailable, "the view is closed"};
    CAIRN_ASSIGN_OR_RETURN(more, CopyPage(after, copied));
  }
  CAIRN_RETURN_IF_ERROR(CopyQueues());
  CAIRN_RETURN_IF_ERROR(rows_.PutPosition(newest));
  position_ = newest;
  return copied;
}

Result<bool> Feed::CopyPage(std::string& after, int64_t& copied) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> snapshot, store_.Read());
  CAIRN_RETURN_IF_ERROR(store_.Durable(snapshot->commit()));
  store::Range range = store::Range::Prefix(store::Space::kJobs, jobs::family::kJob);
  range.begin = after;
  std::vector<std::pair<Bytes, Bytes>> page;
  CAIRN_RETURN_IF_ERROR(
      snapshot->Scan(range, {.limit = kJobsPerPage}, [&](BytesView key, BytesView value) {
        page.emplace_back(key, value);
        return true;
      }));
  if (page.empty()) return false;
  CAIRN_RETURN_IF_ERROR(InTransaction(*database_, [&]() -> Result<void> {
    for (const auto& [key, value] : page) {
      const auto id = jobs::DecodeNameKey(jobs::family::kJob, key);
      if (!id) return Error{ErrorCode::kCorruption, "a job's key without a name"};
      CAIRN_ASSIGN_OR_RETURN(const jobs::Job job, jobs::DecodeJob(*id, value));
      CAIRN_RETURN_IF_ERROR(rows_.PutJob(job));
      if (!job.has_errors) continue;
      CAIRN_ASSIGN_OR_RETURN(const auto errors, jobs::GetErrors(*snapshot, job));
      CAIRN_RETURN_IF_ERROR(rows_.PutErrors(*id, errors));
    }
    return {};
  }));
  copied += static_cast<int64_t>(page.size());
  after = page.back().first + '\0';
  return page.size() == kJobsPerPage;
}

Result<void> Feed::CopyQueues() {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> snapshot, store_.Read());
  CAIRN_RETURN_IF_ERROR(store_.Durable(snapshot->commit()));
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(
      snapshot->Scan(store::Range::Prefix(store::Space::kJobs, jobs::family::kQueueName), {},
                     [&](BytesView key, BytesView) {
                       const auto name = jobs::DecodeNameKey(jobs::family::kQueueName, key);
                       if (name) names.emplace_back(*name);
                       return true;
                     }));
  return InTransaction(*database_, [&]() -> Result<void> {
    for (const std::string& name : names) CAIRN_RETURN_IF_ERROR(ApplyQueue(*snapshot, name));
    return {};
  });
}

}  // namespace cairn::view
