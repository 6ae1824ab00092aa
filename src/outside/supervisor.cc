#include "outside/supervisor.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace cairn::outside {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr size_t kPieceBytes = 65'536;
// Of each stream in one step, so that one child does not keep the thread from the others.
constexpr int kPiecesPerStep = 4;

uint64_t ToNs(milliseconds time) { return static_cast<uint64_t>(time.count()) * kNsPerMs; }

}  // namespace

Supervisor::Supervisor(SupervisorOptions options, ChildWatcher& watcher, const Clock& clock,
                       Random& random)
    : options_(std::move(options)), watcher_(watcher), clock_(clock), random_(random) {}

milliseconds Supervisor::Until(uint64_t at_ns) const {
  const uint64_t now = clock_.MonotonicNs();
  if (at_ns <= now) return milliseconds(0);
  return milliseconds((at_ns - now + kNsPerMs - 1) / kNsPerMs);
}

std::optional<milliseconds> Supervisor::Step() {
  if (over()) return std::nullopt;
  if (state_ == State::kPausing) {
    if (clock_.MonotonicNs() < start_at_ns_) return Until(start_at_ns_);
    Start();
    if (state_ == State::kPausing) return Until(start_at_ns_);
    if (over()) return std::nullopt;
  }
  const std::optional<ChildExit> exit = child_->Poll();
  const bool read_all = Forward();
  if (exit) {
    End(*exit);
    if (over()) return std::nullopt;
    return Until(start_at_ns_);
  }
  if (!read_all) return milliseconds(0);
  if (child_->kill_at_ns()) return Until(*child_->kill_at_ns());
  return std::nullopt;
}

void Supervisor::Start() {
  ChildOptions options = options_.child;
  const Result<void> prepared = watcher_.Prepare(options);
  Result<ChildProcess> child =
      prepared.ok() ? ChildProcess::Start(options, clock_) : Result<ChildProcess>(prepared.error());
  started_ns_ = clock_.MonotonicNs();
  if (!child.ok()) {
    End({.kind = ChildExit::Kind::kNotStarted, .reason = child.error().message});
    return;
  }
  child_.emplace(std::move(*child));
  state_ = State::kRunning;
  watcher_.Started(*child_);
}

bool Supervisor::Forward() {
  bool all = true;
  const auto forward = [&](auto read, auto tell) {
    for (int i = 0; i < kPiecesPerStep; ++i) {
      const Result<ChildProcess::Piece> piece = ((*child_).*read)(kPieceBytes);
      if (!piece.ok() || piece->bytes.empty()) return;
      (watcher_.*tell)(piece->bytes);
    }
    all = false;
  };
  forward(&ChildProcess::ReadOutput, &ChildWatcher::Output);
  forward(&ChildProcess::ReadErrors, &ChildWatcher::Errors);
  return all;
}

// What it wrote last was read after it had ended, and fits into one step: a pipe holds 64 KiB.
void Supervisor::End(const ChildExit& exit) {
  const bool was_well = clock_.MonotonicNs() - started_ns_ >= ToNs(options_.well_after) &&
                        exit.kind != ChildExit::Kind::kNotStarted;
  failures_ = was_well ? 1 : failures_ + 1;
  child_.reset();
  if (state_ == State::kStopping) {
    state_ = State::kStopped;
  } else if (options_.max_failures && failures_ >= *options_.max_failures) {
    state_ = State::kGivenUp;
  } else {
    state_ = State::kPausing;
    start_at_ns_ = clock_.MonotonicNs() + ToNs(options_.backoff.PauseAfter(failures_, random_));
  }
  watcher_.Ended(exit);
}

void Supervisor::Stop() {
  if (state_ == State::kPausing) state_ = State::kStopped;
  if (state_ != State::kRunning) return;
  state_ = State::kStopping;
  child_->Terminate(options_.grace);
}

// --- ChildKeeper ---------------------------------------------------------------------------------

struct ChildKeeper::Kept {
  Kept(std::string of, std::unique_ptr<ChildWatcher> by, SupervisorOptions options,
       const Clock& clock, Random& random)
      : name(std::move(of)),
        watcher(std::move(by)),
        supervisor(std::move(options), *watcher, clock, random) {}

  std::string name;
  std::unique_ptr<ChildWatcher> watcher;
  Supervisor supervisor;
};

ChildKeeper::ChildKeeper(const Clock& clock, Random& random, Log log)
    : clock_(clock),
      random_(random),
      log_(std::move(log)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CAIRN_CHECK(wake_.get() >= 0);
  thread_ = std::thread([this] { ThreadMain(); });
}

ChildKeeper::~ChildKeeper() { Stop(); }

ChildKeeper::Id ChildKeeper::Add(std::string name, SupervisorOptions options,
                                 std::unique_ptr<ChildWatcher> watcher) {
  auto kept = std::make_unique<Kept>(std::move(name), std::move(watcher), std::move(options),
                                     clock_, random_);
  Id id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_id_;
    added_.emplace_back(id, std::move(kept));
  }
  Wake();
  return id;
}

void ChildKeeper::Remove(Id id) {
  {
    const std::lock_guard lock(mutex_);
    removed_.push_back(id);
  }
  Wake();
}

void ChildKeeper::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  Wake();
  thread_.join();
}

void ChildKeeper::Wake() {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof(one));
}

void ChildKeeper::TakeRequests() {
  uint64_t ignored = 0;
  (void)!read(wake_.get(), &ignored, sizeof(ignored));
  std::vector<std::pair<Id, std::unique_ptr<Kept>>> added;
  std::vector<Id> removed;
  {
    const std::lock_guard lock(mutex_);
    added.swap(added_);
    removed.swap(removed_);
  }
  for (auto& [id, kept] : added) kept_.emplace(id, std::move(kept));
  for (const Id id : removed) {
    if (const auto found = kept_.find(id); found != kept_.end()) found->second->supervisor.Stop();
  }
}

int ChildKeeper::StepAll() {
  std::optional<milliseconds> shortest;
  for (auto at = kept_.begin(); at != kept_.end();) {
    Kept& kept = *at->second;
    const std::optional<milliseconds> wait = kept.supervisor.Step();
    if (wait) shortest = std::min(shortest.value_or(*wait), *wait);
    if (kept.supervisor.state() == Supervisor::State::kGivenUp) {
      log_.Error("a child process ended too often and is not started again",
                 {{"name", kept.name}, {"failures", kept.supervisor.failures()}});
    }
    at = kept.supervisor.over() ? kept_.erase(at) : std::next(at);
  }
  if (!shortest) return -1;
  return static_cast<int>(std::min<int64_t>(shortest->count(), std::numeric_limits<int>::max()));
}

void ChildKeeper::ThreadMain() {
  std::vector<pollfd> fds;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    TakeRequests();
    const int wait_ms = StepAll();
    fds.assign(1, {.fd = wake_.get(), .events = POLLIN, .revents = 0});
    for (auto& [id, kept] : kept_) {
      ChildProcess* const child = kept->supervisor.child();
      if (child == nullptr) continue;
      for (const int fd : {child->exit_fd(), child->output_fd(), child->errors_fd()}) {
        if (fd >= 0) fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      }
    }
    (void)poll(fds.data(), fds.size(), wait_ms);
  }
  kept_.clear();
}

}  // namespace cairn::outside
