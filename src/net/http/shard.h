#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "net/buffer_budget.h"
#include "net/http/server.h"
#include "net/loop.h"
#include "net/socket.h"

namespace cairn::net {

class TlsContext;

// One connection as its shard sees it. It keeps itself alive by the coroutine that serves it.
class HttpSession {
 public:
  virtual ~HttpSession() = default;
  // Gives up what the session waits for if its deadline has passed.
  virtual void CheckDeadline(std::chrono::steady_clock::time_point now) = 0;
  // Finish what is running, begin nothing new.
  virtual void Drain() = 0;
  virtual void Abort() = 0;

  uint64_t id = 0;  // given by the shard
  // Since when it is between requests; never, if it is not.
  std::chrono::steady_clock::time_point idle_since = std::chrono::steady_clock::time_point::max();
};

// What the shards of a server have in common. Safe to use from any thread.
struct HttpShared {
  HttpServerOptions options;
  const Clock& clock;
  Random& random;
  Log log;
  std::atomic<uint64_t> open = 0;
  std::atomic<uint64_t> received = 0;
  std::atomic<uint64_t> rejected = 0;
  std::atomic<uint64_t> requests = 0;
  std::atomic<uint64_t> next_id = 1;
};

// The part of an HttpServer that lives on one loop: its sessions and its handler. Shared by the
// server and the sessions, because a handler that awaits something may outlast the server. Used on
// the loop's thread only, except Disconnect.
class HttpShard final : public std::enable_shared_from_this<HttpShard>, public BufferBudget::Owner {
 public:
  HttpShard(Loop& loop, std::shared_ptr<HttpShared> shared, std::unique_ptr<HttpHandler> handler);

  void Start();
  void Adopt(FileDescriptor fd, const std::shared_ptr<TlsContext>& tls);
  // Calls `drained` when the last session has ended, or when `limit` has passed and all sockets are
  // closed.
  void Drain(std::chrono::milliseconds limit, std::function<void()> drained);
  // Closes all sockets. Handlers that are still awaiting something end when that arrives.
  void Shutdown();
  // From any thread: ends a session that holds the most memory when there is too little.
  void Disconnect(uint64_t session_id, size_t bytes) override;

  // For sessions.
  Loop& loop() { return loop_; }
  HttpHandler& handler() { return *handler_; }
  HttpShared& shared() { return *shared_; }
  const HttpServerOptions& options() const { return shared_->options; }
  BufferBudget& budget() { return *shared_->options.budget; }
  bool draining() const { return draining_; }
  void Enter(HttpSession& session);
  void Leave(HttpSession& session);
  // Ends the session that has been between requests the longest. False: none is.
  bool EndIdlest();
  // Which web pages may use the server now.
  const CorsPolicy& cors() const;
  const AllowedHosts* hosts() const { return options().hosts ? options().hosts() : nullptr; }
  // The time as the Date field has it.
  const std::string& Date();

 private:
  void Tick();
  void FinishDrain();

  Loop& loop_;
  const std::shared_ptr<HttpShared> shared_;
  const std::unique_ptr<HttpHandler> handler_;
  const std::chrono::milliseconds tick_;
  std::unordered_set<HttpSession*> sessions_;
  bool draining_ = false;
  std::function<void()> drained_;
  Timer tick_timer_;
  Timer drain_timer_;
  int64_t date_seconds_ = -1;
  std::string date_;
};

// Serves one connection on the shard's loop until it ends.
void StartHttpSession(std::shared_ptr<HttpShard> shard, FileDescriptor fd,
                      const std::shared_ptr<TlsContext>& tls);

}  // namespace cairn::net
