#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "doors/turn/route_store.h"
#include "functions/activation/accept.h"
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
// has ended and publishes what it says, or one that runs no more and runs it again; while another
// message runs it, it waits. One whose deadline has passed is answered `timeout` without being run.
//
// A version runs max_concurrency times at once in this process. Messages beyond that are parked:
// put back for a minute in the transaction that has claimed them, and remembered here in the order
// in which they came. Each run that ends makes the first of them pending again, in its own finish.
// So a backlog costs one commit for many messages, and nothing while it waits. What is not
// remembered (after a restart, or above a bound) comes by itself when its minute is over.
namespace cairn::functions {

struct InvokerOptions {
  size_t running = 64;  // activations at once in this process
  std::chrono::milliseconds lease = std::chrono::seconds(30);
  // Invocations a second that doors accept here, of both modes; 0: without limit.
  int64_t tenant_rate = 0;
  int64_t function_rate = 0;  // of each function that does not say otherwise
  int64_t client_rate = 0;    // of each address that asks over HTTP
  size_t cache_bytes = 512UL * 1024 * 1024;
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
  std::string trace_parent = {};  // W3C trace context of who asks; empty: none
  // Of the activation: the same id again is the same activation. Empty: a new one.
  std::string activation_id = {};
  std::string client = {};  // the address that has asked, without its port; empty: not known
};

// A synchronous invocation under way, one of max_concurrency; while it is held.
using Place = std::shared_ptr<void>;

struct Accepted {
  std::string activation_id;
  std::string request_id;  // of the activation, which may be older
  int64_t deadline_ms = 0;
  bool existing = false;
  std::optional<InvocationResult> result = {};  // of an existing one that has ended
  Place place = {};                             // of a synchronous one
};

struct InvokerFigures {
  size_t running = 0;
  int64_t started = 0;
  int64_t cold = 0;
  std::vector<std::pair<std::string, int64_t>> running_by_version;  // "T/N/F:V" and how many
  int64_t lost = 0;       // whose lease somebody else had when they ended
  int64_t untold = 0;     // failures that could not be published to on_failure
  int64_t parked = 0;     // messages put back for want of room, since the start
  size_t parked_now = 0;  // that are remembered
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

  // Refuses what would be too many: a second, and for kSync at once. Counts it otherwise, and gives
  // its place to kSync. From any thread; Accept asks by itself.
  Result<Place> Admit(const Invocation& invocation, const VersionMeta& version);

  ProgramCache& programs() { return programs_; }
  InvokerFigures figures() const;

 private:
  struct LoopState;
  struct Running;
  // What a run has come to, before it is written.
  struct Ended;

  boost::asio::awaitable<void> Consume(std::shared_ptr<LoopState> shared);
  boost::asio::awaitable<Result<std::vector<Begun>>> ClaimSome(LoopState& loop);
  // What a claim has begun; what it has parked is remembered.
  std::vector<Begun> Take(LoopState& state, BeginWork& work);
  boost::asio::awaitable<void> RunOne(std::shared_ptr<LoopState> state,
                                      std::shared_ptr<Running> running);
  boost::asio::awaitable<Ended> Execute(net::Loop& loop, std::shared_ptr<Running> running);
  boost::asio::awaitable<Result<std::string>> OpenEnv(const Begun& begun, EnvMap& env);
  boost::asio::awaitable<void> FlushLog(std::shared_ptr<Running> running);
  boost::asio::awaitable<void> Finish(Running& running, Ended ended);
  // A failure that was not published to `topic`.
  void NoteUntold(const Activation& activation, std::string_view topic, const Error& error);
  boost::asio::awaitable<void> Postpone(Running& running);
  // Makes parked messages of a version pending, as many as it has room for.
  boost::asio::awaitable<void> Unpark(std::string version);
  struct Unparked {
    std::vector<std::string> looked_at;
    size_t pending = 0;  // of these, since now
  };
  // At most `most` of them, the first ones that still wait. A step inside a transaction.
  static Result<Unparked> MakePending(jobs::Context& context,
                                      const std::vector<std::string>& parked, size_t most);
  boost::asio::awaitable<void> RenewLeases(std::shared_ptr<LoopState> shared);
  BeginWork::Options BeginOptions(size_t count) const;
  std::function<std::unique_ptr<doors::Work>()> MakeBegin(size_t count) const;

  // What of a version runs in this process, and waits for that to end.
  struct Slots {
    int64_t running = 0;
    int64_t most = 0;
    std::deque<std::string> parked;  // messages, by their jobs
  };
  using SlotMap = std::unordered_map<std::string, Slots>;
  bool TakeSlot(const FunctionName& function, uint64_t version, int64_t most);
  void GiveSlot(const FunctionName& function, uint64_t version);
  // Whether there is room for `more` runs more.
  bool HasSlot(const FunctionName& function, uint64_t version, int64_t most,
               int64_t more = 1) const;
  void Remember(const ParkedMessage& parked);
  size_t RoomOf(const std::string& version) const;
  // The first ones of those that are parked.
  std::vector<std::string> FirstParked(const std::string& version) const;
  void ForgetParked(const std::string& version, const std::vector<std::string>& messages);
  void ForgetIfUnused(SlotMap::iterator at);
  // Places that are held, by version. Places may outlive this object.
  struct Places {
    std::mutex mutex;
    std::unordered_map<std::string, int64_t> held;
  };
  // Null: there are none left.
  Place TakePlace(const std::string& version, int64_t most);

  const InvokerParts parts_;
  const InvokerOptions options_;
  const FetchParts fetch_;
  const std::shared_ptr<Places> places_ = std::make_shared<Places>();
  ProgramCache programs_;
  RateLimits rates_;
  std::atomic<bool> stopping_{false};

  mutable std::mutex mutex_;
  // Held by the coroutines of their loops, with which they end: loops may end before this object.
  std::vector<std::weak_ptr<LoopState>> loops_;
  SlotMap by_version_;
  InvokerFigures figures_;  // without those that have ended
  InvocationFigures ended_;
};

}  // namespace cairn::functions
