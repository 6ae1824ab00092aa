#include "doors/resp/busy.h"

#include <algorithm>

namespace cairn::doors {
namespace {

constexpr std::string_view kScriptRuns =
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
constexpr std::string_view kFunctionRuns =
    "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.";

std::string_view TextFor(Busy::Kind kind) {
  return kind == Busy::Kind::kScript ? kScriptRuns : kFunctionRuns;
}

}  // namespace

Busy::Run::Run(Busy& busy, Kind kind, std::string_view name, Args args, uint64_t now_ns)
    : busy_(busy), kind_(kind), name_(name), args_(args.begin(), args.end()), begin_ns_(now_ns) {
  const std::lock_guard lock(busy_.mutex_);
  place_ = busy_.runs_.insert(busy_.runs_.end(), this);
}

Busy::Run::~Run() {
  const std::lock_guard lock(busy_.mutex_);
  busy_.runs_.erase(place_);
  if (late_) busy_.late_.fetch_sub(1);
}

void Busy::Run::Check(uint64_t now_ns) {
  const int64_t threshold_ms = busy_.threshold_ms();
  if (late_ || threshold_ms <= 0) return;
  if (now_ns - begin_ns_ <= static_cast<uint64_t>(threshold_ms) * 1'000'000) return;
  const std::lock_guard lock(busy_.mutex_);
  late_ = true;
  busy_.late_.fetch_add(1);
}

std::string_view Busy::RefusalOfLate() const {
  const std::lock_guard lock(mutex_);
  for (const Run* run : runs_) {
    if (run->late_) return TextFor(run->kind_);
  }
  return kScriptRuns;  // it has ended this moment
}

bool Busy::AnythingLate(uint64_t now_ns) const {
  const int64_t threshold_ms = this->threshold_ms();
  if (threshold_ms <= 0) return false;
  const auto threshold_ns = static_cast<uint64_t>(threshold_ms) * 1'000'000;
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      runs_, [&](const Run* run) { return now_ns - run->begin_ns_ > threshold_ns; });
}

std::optional<std::string_view> Busy::Kill(Kind kind) {
  const std::lock_guard lock(mutex_);
  if (runs_.empty()) return "NOTBUSY No scripts in execution right now.";
  bool any_of_kind = false;
  bool any_killed = false;
  for (Run* run : runs_) {
    if (run->kind_ != kind) continue;
    any_of_kind = true;
    if (run->written_.load(std::memory_order_relaxed)) continue;
    run->killed_.store(true, std::memory_order_relaxed);
    any_killed = true;
  }
  if (any_killed) return std::nullopt;
  if (!any_of_kind) return TextFor(runs_.front()->kind_);
  return "UNKILLABLE Sorry the script already executed write commands against the dataset. You can "
         "either wait the script termination or kill the server in a hard way using the SHUTDOWN "
         "NOSAVE command.";
}

void Busy::EndAll() { ending_.store(true, std::memory_order_relaxed); }

std::optional<Busy::Running> Busy::RunningFunction() const {
  const std::lock_guard lock(mutex_);
  for (const Run* run : runs_) {
    if (run->kind_ == Kind::kFunction) return Running{run->name_, run->args_, run->begin_ns_};
  }
  return std::nullopt;
}

}  // namespace cairn::doors
