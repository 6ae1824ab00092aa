#include "view/view.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "jobs/ledger/event.h"
#include "store/store_id.h"

namespace cairn::view {
namespace {

// After a failure of the disk or the engine.
constexpr std::chrono::milliseconds kRetryAfter{1'000};
// Connections kept for the next query.
constexpr size_t kIdleReaders = 8;

// Of this thread only: what people wait for goes first.
void LowerPriority() {
  constexpr int kNice = 5;
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  (void)setpriority(PRIO_PROCESS, thread, kNice);  // without it the view is no less right
}

void RemoveFile(const std::string& file) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file + suffix, ignored);
}

// What a step takes, of time and in the queue for a processor.
class StepWatch {
 public:
  Pace Elapsed() const {
    Pace pace{.took = std::chrono::steady_clock::now() - start_};
    const auto queued = QueuedForProcessor();
    // Where nobody knows, others may want it.
    pace.queued = queued_ && queued ? *queued - *queued_ : pace.took;
    return pace;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::optional<std::chrono::nanoseconds> queued_ = QueuedForProcessor();
};

}  // namespace

View::View(store::Store& store, std::string file, Random& random, Log log,
           std::shared_ptr<jobs::EventGaps> gaps)
    : store_(store),
      file_(std::move(file)),
      random_(random),
      log_(std::move(log)),
      gaps_(std::move(gaps)) {}

View::~View() { Stop(); }

void View::Start() {
  wake_ = store_.OnWake(jobs::EventsTopic(), [this] {
    const std::lock_guard lock(mutex_);
    // Once is enough: a thread that rests is not to be woken by every commit.
    if (!std::exchange(woken_, true)) thread_wakes_.notify_one();
  });
  thread_ = std::thread([this] { ThreadMain(); });
}

void View::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [number, met] : demands_) met();
    demands_.clear();
  }
  thread_wakes_.notify_all();
  progress_.notify_all();
  if (thread_.joinable()) thread_.join();
  wake_ = {};
  const std::lock_guard lock(idle_mutex_);
  idle_.clear();
}

bool View::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

uint64_t View::position() const {
  const std::lock_guard lock(mutex_);
  return position_;
}

Result<uint64_t> View::WaitUntilCurrent(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const uint64_t number = ++asked_;
  thread_wakes_.notify_one();
  progress_.wait_until(lock, deadline, [&] { return stopping_ || answered_ >= number; });
  return OutcomeOf(number);
}

Result<uint64_t> View::OutcomeOf(uint64_t number) const {
  if (stopping_) return Error{ErrorCode::kUnavailable, "the server is stopping"};
  if (answered_ >= number) return position_;
  if (trouble_) {
    return Error{ErrorCode::kUnavailable, "the search view cannot be read: " + trouble_->message};
  }
  return Error{ErrorCode::kUnavailable,
               open_ ? "the search view has not caught up yet: try again later"
                     : "the search view is being built: try again later"};
}

View::Demand::Demand(View& view, std::function<void()> met) : view_(view) {
  const std::lock_guard lock(view_.mutex_);
  number_ = ++view_.asked_;
  if (view_.stopping_) {
    met();
    return;
  }
  view_.demands_.emplace(number_, std::move(met));
  view_.thread_wakes_.notify_one();
}

View::Demand::~Demand() {
  const std::lock_guard lock(view_.mutex_);
  view_.demands_.erase(number_);
}

Result<uint64_t> View::Demand::Outcome() const {
  const std::lock_guard lock(view_.mutex_);
  return view_.OutcomeOf(number_);
}

Result<int64_t> View::Rebuild(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const uint64_t number = ++rebuilds_asked_;
  thread_wakes_.notify_one();
  const bool done =
      progress_.wait_until(lock, deadline, [&] { return stopping_ || rebuilds_done_ >= number; });
  if (stopping_ && rebuilds_done_ < number) {
    return Error{ErrorCode::kUnavailable, "the server is stopping"};
  }
  if (!done) return Error{ErrorCode::kUnavailable, "the rebuild goes on; it takes longer"};
  return last_rebuild_;
}

void View::ThreadMain() {
  LowerPriority();
  bool again = true;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (!again) {
        thread_wakes_.wait(lock, [&] { return stopping_ || woken_ || asked(); });
      }
      if (stopping_) break;
      woken_ = false;
    }
    const StepWatch watch;
    const Result<Feed::Step> step = Work();
    if (step.ok()) {
      again = !step->caught_up;
      Rest(*step, watch.Elapsed());
      continue;
    }
    Fail(step.error());
    std::unique_lock lock(mutex_);
    thread_wakes_.wait_for(lock, kRetryAfter, [&] { return stopping_; });
    again = true;
  }
  if (feed_ != nullptr) {
    const Result<void> closed = feed_->Close();
    if (!closed.ok()) log_.Warn("view not closed", {{"error", closed.error().message}});
    feed_.reset();
  }
  if (lock_fd_ >= 0) close(lock_fd_);
}

void View::Rest(const Feed::Step& step, Pace pace) {
  std::unique_lock lock(mutex_);
  pace.asked = asked();
  pace.busy = woken_;
  pace.waiting = step.newest - step.position;
  thread_wakes_.wait_for(lock, pace.Rest(), [&] { return stopping_ || asked(); });
}

void View::Fail(const Error& error) {
  log_.Warn("view", {{"error", error.message}});
  const std::lock_guard lock(mutex_);
  trouble_ = error;
}

Result<Feed::Step> View::Work() {
  uint64_t asked = 0;
  bool rebuild = false;
  {
    const std::lock_guard lock(mutex_);
    asked = asked_;
    rebuild = rebuilds_asked_ > rebuilds_done_;
  }
  if (feed_ == nullptr) CAIRN_RETURN_IF_ERROR(OpenFeed());
  if (rebuild) {
    const Result<int64_t> rebuilt = BuildAnew();
    const std::lock_guard lock(mutex_);
    last_rebuild_ = rebuilt;
    ++rebuilds_done_;
    progress_.notify_all();
  }
  Result<Feed::Step> step = feed_->Advance();
  if (!step.ok() && step.error().code == ErrorCode::kCorruption) step = Feed::Step{.lost = true};
  if (!step.ok()) return step.error();
  if (step->lost) {
    if (step->gap) ++gaps_->view;
    log_.Warn("view is built anew: the event log does not reach back to it");
    CAIRN_ASSIGN_OR_RETURN(const int64_t copied, BuildAnew());
    (void)copied;
    return Feed::Step{};
  }
  const std::lock_guard lock(mutex_);
  trouble_.reset();
  open_ = true;
  position_ = step->position;
  Answer(asked, *step);
  return step;
}

void View::Answer(uint64_t asked, const Feed::Step& step) {
  if (goal_ && step.position >= goal_->event) {
    AnswerUpTo(goal_->asked);
    goal_.reset();
  }
  if (asked <= answered_) return;
  if (step.caught_up) {
    AnswerUpTo(asked);
    goal_.reset();
  } else if (!goal_) {
    goal_ = Goal{asked, step.newest};
  }
}

void View::AnswerUpTo(uint64_t number) {
  answered_ = std::max(answered_, number);
  progress_.notify_all();
  const auto end = demands_.upper_bound(answered_);
  for (auto demand = demands_.begin(); demand != end; ++demand) demand->second();
  demands_.erase(demands_.begin(), end);
}

Result<void> View::LockFile() {
  if (lock_fd_ >= 0) return {};
  const std::string parent = std::filesystem::path(file_).parent_path().string();
  std::error_code failure;
  if (!parent.empty()) std::filesystem::create_directories(parent, failure);
  const std::string name = file_ + ".lock";
  const int fd = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) {
    return Error{ErrorCode::kIo, fmt::format("cannot open {}: {}", name, std::strerror(errno))};
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return Error{ErrorCode::kConflict, fmt::format("{} is in use by another server: give each a "
                                                   "view.file of its own",
                                                   file_)};
  }
  lock_fd_ = fd;
  return {};
}

Result<void> View::OpenFeed() {
  CAIRN_RETURN_IF_ERROR(LockFile());
  if (store_id_.empty()) {
    CAIRN_ASSIGN_OR_RETURN(store_id_, store::LoadStoreId(store_, random_));
  }
  RemoveFile(file_ + ".new");
  if (std::filesystem::exists(file_)) {
    Result<std::unique_ptr<Feed>> feed = Feed::Open(store_, file_, store_id_);
    if (feed.ok()) {
      feed_ = std::move(*feed);
      return {};
    }
    log_.Info("view is built anew", {{"reason", feed.error().message}});
    const std::unique_lock alone(file_mutex_);
    RemoveFile(file_);
  }
  CAIRN_ASSIGN_OR_RETURN(const int64_t copied, BuildAnew());
  (void)copied;
  return {};
}

Result<int64_t> View::BuildAnew() {
  const std::string built = file_ + ".new";
  RemoveFile(built);
  const auto start = std::chrono::steady_clock::now();
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<Feed> feed, Feed::Open(store_, built, store_id_));
  CAIRN_ASSIGN_OR_RETURN(const int64_t copied, feed->CopyAll([this] { return !stopping(); }));
  // Everything into the one file that is renamed.
  CAIRN_RETURN_IF_ERROR(feed->Close());
  feed.reset();
  CAIRN_RETURN_IF_ERROR(Exchange(built));
  CAIRN_ASSIGN_OR_RETURN(feed_, Feed::Open(store_, file_, store_id_));
  const auto took = std::chrono::steady_clock::now() - start;
  log_.Info("view built",
            {{"jobs", copied},
             {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(took).count()}});
  return copied;
}

Result<void> View::Exchange(const std::string& built) {
  const std::unique_lock alone(file_mutex_);
  feed_.reset();
  {
    const std::lock_guard lock(idle_mutex_);
    idle_.clear();
  }
  RemoveFile(file_);
  std::error_code failure;
  std::filesystem::rename(built, file_, failure);
  if (failure) return Error{ErrorCode::kIo, "cannot rename the view: " + failure.message()};
  return {};
}

Result<View::Reading> View::Read(Deadline deadline) {
  std::shared_lock lock(file_mutex_);
  std::unique_ptr<Database> database;
  {
    const std::lock_guard idle(idle_mutex_);
    if (!idle_.empty()) {
      database = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (database == nullptr) {
    if (!std::filesystem::exists(file_)) {
      return Error{ErrorCode::kUnavailable, "the search view is being built: try again later"};
    }
    CAIRN_ASSIGN_OR_RETURN(Database opened, Database::Open(file_, OpenMode::kReadOnly));
    database = std::make_unique<Database>(std::move(opened));
  }
  database->SetDeadline(deadline);
  return Reading(*this, std::move(lock), std::move(database));
}

View::Reading::~Reading() {
  if (database_ == nullptr) return;  // moved from
  const std::lock_guard lock(view_->idle_mutex_);
  if (view_->idle_.size() < kIdleReaders) view_->idle_.push_back(std::move(database_));
}

}  // namespace cairn::view
