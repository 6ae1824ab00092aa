#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "doors/turn/route_store.h"
#include "functions/activation/accept.h"
#include "functions/activation/ending.h"
#include "functions/invoker/begin.h"
#include "functions/invoker/invocation_figures.h"
#include "functions/invoker/program_cache.h"
#include "functions/invoker/rate_limits.h"
#include "functions/model/records.h"
#include "functions/model/secrets.h"
#include "functions/pool/sandbox_pool.h"
#include "functions/web/fetch.h"
#include "net/loop.h"

// How functions are run.
//
//   Accept     one commit: the activation is queued and its request published to cs.invoke
//   begin      one commit: a message is claimed, its version is known, the activation runs
//   the run    in a process of the sandbox; lines of its log are written while it runs
//   finish     one commit: the message is acknowledged, the activation has ended, the log is
//              complete, its result is published to cs.results and wakes who waits
//
// An activation has one result. The lease of its message is the fence: whoever has lost it cannot
// acknowledge, and so nothing of its finish happens. A message that comes again finds a record that
// has ended and publishes what it says, or one that runs no more and runs it again. One whose
// deadline has passed is answered `timeout` without being run.
namespace cairn::functions {

struct InvokerOptions {
  size_t running = 64;  // activations at once in this process
  std::chrono::milliseconds lease = std::chrono::seconds(30);
  int64_t tenant_rate = 0;    // synchronous invocations a second; 0: without limit
  int64_t function_rate = 0;  // the same of each function that does not say otherwise
  size_t cache_bytes = 512UL * 1024 * 1024;
  std::string node;  // names this process among those that claim messages
};

struct InvokerParts {
  doors::RouteStore& routes;
  net::LoopGroup& loops;
  const Clock& clock;
  Random& random;
  Log log;
  SandboxPool& pool;
  outside::HttpService& http;
  outside::AddressPolicy policy;
  const SecretKeys& secrets;
  const ActivationEnding* ending = nullptr;  // null: nobody else writes with an end
};

// Who wants what to be run.
struct Invocation {
  enum class Mode : uint8_t { kSync, kAsync };
  Mode mode = Mode::kSync;
  FunctionName function;
  Ref ref;
  Trigger trigger;
  Principal principal;
  std::string event = "{}";  // JSON
  std::string request_id;
  // Of the activation: the same id again is the same activation. Empty: a new one.
  std::string activation_id = {};
};

struct Accepted {
  std::string activation_id;
  std::string request_id;  // of the activation, which may be older
  int64_t deadline_ms = 0;
  bool existing = false;
  std::optional<InvocationResult> result = {};  // of an existing one that has ended
};

struct InvokerFigures {
  size_t running = 0;
  int64_t started = 0;
  int64_t cold = 0;
  int64_t lost = 0;  // whose lease somebody else had when they ended
  InvocationFigures::Snapshot ended;
};

// Runs activations of all loops of a server. Start and Stop are called by one thread; everything
// else on a loop.
class Invoker {
 public:
  Invoker(InvokerParts parts, InvokerOptions options);
  ~Invoker();
  Invoker(const Invoker&) = delete;
  Invoker& operator=(const Invoker&) = delete;

  // Begins to claim messages.
  void Start();
  // Claims no more. What runs is left to its leases.
  void Stop();

  // Returns when the request is durable. Refuses what cannot be run: no such function or version, a
  // role that is missing, too many a second, and for kSync too many at once.
  boost::asio::awaitable<Result<Accepted>> Accept(Invocation invocation);
  // Accepts and waits for the result, until a little after the deadline
  // (CS_CODEQ_CORRELATION_TIMEOUT: it may still end later).
  struct Answer {
    Accepted accepted;
    InvocationResult result;
  };
  boost::asio::awaitable<Result<Answer>> Invoke(Invocation invocation);

  // Refuses what would be too many: a second, and for kSync at once. Counts it otherwise. From any
  // thread; Accept asks by itself.
  Result<void> Admit(const Invocation& invocation, const VersionMeta& version);

  ProgramCache& programs() { return programs_; }
  InvokerFigures figures() const;

 private:
  struct LoopState;
  struct Running;
  // What a run has come to, before it is written.
  struct Ended;

  boost::asio::awaitable<void> Consume(std::shared_ptr<LoopState> shared);
  boost::asio::awaitable<Result<std::vector<Begun>>> ClaimSome(LoopState& loop);
  boost::asio::awaitable<void> RunOne(std::shared_ptr<LoopState> state,
                                      std::shared_ptr<Running> running);
  boost::asio::awaitable<Ended> Execute(net::Loop& loop, std::shared_ptr<Running> running);
  boost::asio::awaitable<Result<std::string>> OpenEnv(const Begun& begun, EnvMap& env);
  boost::asio::awaitable<void> FlushLog(std::shared_ptr<Running> running);
  boost::asio::awaitable<void> Finish(Running& running, Ended ended);
  boost::asio::awaitable<void> Postpone(Running& running);
  boost::asio::awaitable<void> RenewLeases(std::shared_ptr<LoopState> shared);
  BeginWork::Options BeginOptions(size_t count) const;
  std::function<std::unique_ptr<doors::Work>()> MakeBegin(size_t count) const;

  bool TakeSlot(const FunctionName& function, uint64_t version, int64_t most);
  void GiveSlot(const FunctionName& function, uint64_t version);
  bool HasSlot(const FunctionName& function, uint64_t version, int64_t most) const;

  const InvokerParts parts_;
  const InvokerOptions options_;
  const FetchParts fetch_;
  ProgramCache programs_;
  RateLimits rates_;
  std::atomic<bool> stopping_{false};

  mutable std::mutex mutex_;
  // Held by the coroutines of their loops, with which they end: loops may end before this object.
  std::vector<std::weak_ptr<LoopState>> loops_;
  std::unordered_map<std::string, int64_t> by_version_;  // that run
  InvokerFigures figures_;                               // without those that have ended
  InvocationFigures ended_;
};

}  // namespace cairn::functions
