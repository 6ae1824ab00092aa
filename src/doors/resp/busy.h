#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/resp/command.h"

namespace cairn::doors {

// The scripts and functions that run where they may take long, and what other clients notice of
// them: once one runs past the threshold, every command without kAllowBusy is refused, until it has
// ended or was killed. At the limit it is ended in any case. Safe to use from any thread.
class Busy {
 public:
  enum class Kind : uint8_t { kScript, kFunction };

  // One run, from the thread that runs it. Others see it as long as this object lives.
  //
  //   Busy::Run run(instance.traffic().busy, Busy::Kind::kScript, sha, args, clock.MonotonicNs());
  //   every few instructions: run.Check(clock.MonotonicNs()), and stop if it is killed(),
  //   must_end() or is past_limit()
  class Run {
   public:
    Run(Busy& busy, Kind kind, std::string_view name, Args args, uint64_t now_ns);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    // Begins to refuse other commands if it has been running for longer than the threshold.
    void Check(uint64_t now_ns);
    // From now on it cannot be killed: something it did would have to be undone.
    void SetWritten() { written_.store(true, std::memory_order_relaxed); }
    bool killed() const { return killed_.load(std::memory_order_relaxed); }
    bool must_end() const { return busy_.ending(); }
    // It has run for as long as anything may, written or not. Nothing of it is to be kept.
    bool past_limit(uint64_t now_ns) const {
      return now_ns - begin_ns_ > static_cast<uint64_t>(busy_.limit_ms()) * 1'000'000;
    }

   private:
    friend class Busy;
    Busy& busy_;
    const Kind kind_;
    const std::string name_;
    const std::vector<std::string> args_;
    const uint64_t begin_ns_;
    bool late_ = false;
    std::atomic<bool> written_{false};
    std::atomic<bool> killed_{false};
    std::list<Run*>::iterator place_;
  };

  // Why commands are refused now; nullopt if they are not. Costs one load while nothing is late.
  std::optional<std::string_view> Refusal() const {
    if (late_.load(std::memory_order_relaxed) == 0) return std::nullopt;
    return RefusalOfLate();
  }

  // Whether something has been running for longer than the threshold, even if it has not been
  // looking at the time since.
  bool AnythingLate(uint64_t now_ns) const;

  // Ends what runs of this kind and has not written. nullopt: done; else the error to reply with.
  std::optional<std::string_view> Kill(Kind kind);

  // The server stops: whatever runs has to end, written or not. Nothing of it is kept.
  void EndAll();
  // Whether it does: also for a command that is no script, and takes long.
  bool ending() const { return ending_.load(std::memory_order_relaxed); }

  // A function that runs now, for FUNCTION STATS.
  struct Running {
    std::string name;
    std::vector<std::string> args;
    uint64_t begin_ns;
  };
  std::optional<Running> RunningFunction() const;

  int64_t threshold_ms() const { return threshold_ms_.load(std::memory_order_relaxed); }
  // 0: for ever.
  void set_threshold_ms(int64_t ms) { threshold_ms_.store(ms, std::memory_order_relaxed); }
  // After which a run is ended and undone.
  int64_t limit_ms() const { return limit_ms_.load(std::memory_order_relaxed); }
  void set_limit_ms(int64_t ms) { limit_ms_.store(ms, std::memory_order_relaxed); }

 private:
  std::string_view RefusalOfLate() const;

  std::atomic<int> late_{0};
  std::atomic<bool> ending_{false};
  std::atomic<int64_t> threshold_ms_{5000};
  std::atomic<int64_t> limit_ms_{60'000};
  mutable std::mutex mutex_;
  std::list<Run*> runs_;  // oldest first
};

}  // namespace cairn::doors
