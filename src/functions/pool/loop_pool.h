#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "functions/pool/child_link.h"
#include "functions/pool/containment_log.h"
#include "functions/pool/sandbox_pool.h"
#include "functions/pool/zygote_link.h"
#include "net/loop.h"

namespace cairn::functions {

// What the loops of a pool share.
struct SandboxPool::State {
  State(SandboxPoolOptions of, const Clock& time, Random& random, const Log& log,
        net::LoopGroup& group)
      : options(std::move(of)),
        clock(time),
        loops(group),
        zygote(options.program, time, random, log),
        contained(log, time) {}

  const SandboxPoolOptions options;
  const Clock& clock;
  net::LoopGroup& loops;
  ZygoteLink zygote;
  ContainmentLog contained;
  std::atomic<bool> stopped = false;
  std::atomic<int64_t> children = 0;
  std::atomic<int64_t> idle = 0;
  std::atomic<int64_t> waiting = 0;
  std::atomic<int64_t> forks = 0;
  std::atomic<int64_t> crashes = 0;
  std::atomic<int64_t> compiles = 0;
  std::atomic<int64_t> warm_loads = 0;
  std::atomic<uint32_t> sandbox = 0;
};

// The children of one loop, and who waits for one. On that loop only.
//
// Operation: a run takes an idle child of its tenant, the one that was used last, and best one that
// has the code. If all are busy it stands in line, and whoever is done hands its child to the first
// in line. A tenant gets its first children at once. More are forked for it when it stands still,
// that is when nobody in its line was served for a while: short functions share a few processes,
// and those that wait for the world get as many as they need, twice as many each time. When there
// is no place, an idle child of another tenant is ended, or the next child that is given back by a
// tenant that has waited for less time.
class SandboxPool::LoopPool {
 public:
  LoopPool(std::shared_ptr<State> state, net::Loop& loop, size_t most)
      : state_(std::move(state)), loop_(loop), most_(most) {}

  net::Loop& loop() const { return loop_; }

  boost::asio::awaitable<RunOutcome> Run(RunRequest request, RunHost& host);
  boost::asio::awaitable<Result<std::string>> Compile(CompileMessage compile);
  // SandboxPool::KeepWarm, for this loop. What it found is for figures, from any thread.
  boost::asio::awaitable<bool> KeepWarm(std::vector<WarmTarget> targets);
  int64_t warm_wanted() const { return warm_wanted_; }
  int64_t warm_missing() const { return warm_missing_; }
  void EndIdle();
  // Nothing of the loop is left here then: the pool may outlive it.
  void Stop();

 private:
  using Child = std::shared_ptr<ChildLink>;
  struct Idle {
    Child child;
    uint64_t since_ns = 0;
  };
  struct Waiter {
    explicit Waiter(net::Loop& loop) : turn(loop.io()) {}
    boost::asio::steady_timer turn;
    uint64_t since_ns = 0;
    std::optional<Result<Child>> got;
  };
  struct Tenant {
    size_t children = 0;  // those that are being started too
    size_t starting = 0;
    size_t wanted = 0;  // more, when there is a place
    std::deque<Waiter*> waiters;
    uint64_t served_ns = 0;  // when somebody in the line was served last, or the tenant got more
    bool watched = false;
    net::Timer watch;
  };

  boost::asio::awaitable<Result<Child>> Acquire(const std::string& name, const std::string& sha256);
  Child TakeIdle(const std::string& name, const std::string& sha256);
  // A child was given back, or has just come.
  void Release(Child child);
  void Drop(const Child& child);

  // Starts a child, or notes that one is wanted.
  void Want(const std::string& name);
  bool MakePlace(const std::string& name);
  void StartChild(const std::string& name);
  boost::asio::awaitable<void> Start(std::string name);
  // A child for the tenant, which is counted already.
  boost::asio::awaitable<Result<Child>> Fork(std::string name);
  void Uncount(const std::string& name);
  boost::asio::awaitable<RunOutcome> RunIn(Child child, RunRequest request, RunHost& host);

  // Targets of KeepWarm: those that have the code and are idle, or busy.
  size_t Present(const WarmTarget& target) const;
  size_t Missing(const WarmTarget& target) const;
  // Whether a target would miss this child, which is idle.
  bool IsKept(const ChildLink& child) const;
  boost::asio::awaitable<bool> StartWarm(WarmTarget target);

  // Gives places that have become free to those who want them.
  void FillPlaces();
  // The tenant that wants a child and whose line is oldest, if that is older than `before_ns`.
  std::optional<std::string> Hungriest(uint64_t before_ns) const;
  void Serve(Tenant& tenant, Result<Child> got);
  void Watch(const std::string& name);
  void Grow(const std::string& name);
  void ForgetIfUnused(const std::string& name);
  void RemoveIdle(const std::deque<Idle>::iterator& at);
  void Sweep();

  const std::shared_ptr<State> state_;
  net::Loop& loop_;
  const size_t most_;
  size_t count_ = 0;       // children
  size_t in_line_ = 0;     // of all tenants
  size_t starting_ = 0;    // of these children
  std::deque<Idle> idle_;  // the one idle for longest first
  std::map<std::string, Tenant> tenants_;
  std::vector<std::weak_ptr<ChildLink>> busy_;
  std::vector<WarmTarget> targets_;
  std::atomic<int64_t> warm_wanted_ = 0;
  std::atomic<int64_t> warm_missing_ = 0;
  bool sweeping_ = false;
  net::Timer sweep_;
};

}  // namespace cairn::functions
