#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "doors/access/audit_log.h"
#include "doors/access/failed_logins.h"
#include "doors/resp/acl.h"
#include "doors/resp/busy.h"
#include "doors/resp/clients.h"
#include "doors/resp/command_table.h"
#include "doors/resp/dispatchers.h"
#include "doors/resp/latency_events.h"
#include "doors/resp/pubsub.h"
#include "doors/resp/relay.h"
#include "doors/resp/settings.h"
#include "doors/resp/slow_log.h"
#include "doors/resp/statistics.h"
#include "doors/resp/tracking.h"
#include "doors/turn/turn.h"
#include "doors/turn/waiters.h"
#include "net/buffer_budget.h"
#include "net/resp/reply_meter.h"
#include "net/resp/server.h"
#include "store/store.h"

namespace cairn::doors {

struct InstanceOptions {
  std::string password;     // empty: clients need not authenticate
  size_t pool_threads = 4;  // for requests that have to wait for the disk
  std::string version = "0.0.0";
  AuditLog::Limits audit = {};
  // What requests and replies may take together, at both doors; null: no bound.
  std::shared_ptr<net::BufferBudget> buffers = {};
  size_t reply_bytes = net::BufferBudget::kUnlimited;  // of one reply, a transaction's included
};

// The version of Redis whose answers Cairn gives, as it tells clients that ask.
inline constexpr std::string_view kRedisVersion = "7.0.15";

// What layers give the doors. Set while the tables are made, read from any thread.
struct Hooks {
  // The version of a key as WATCH compares it; one that is not there has one too. Set by the layer
  // that owns the keys.
  using VersionReader =
      std::function<Result<uint64_t>(store::Transaction&, uint8_t db, BytesView key)>;
  VersionReader version_reader;

  // The stored key behind a client's key, appended to `stored`; null: not known. Set likewise.
  using KeyEncoder = void (*)(uint8_t db, BytesView key, Bytes& stored);
  KeyEncoder key_encoder = nullptr;

  // What SHUTDOWN asks for; null: it is refused. Called on a loop's thread, must not wait.
  std::function<void()> shutdown;

  // Figures of a layer that INFO shows among those about memory.
  struct Figure {
    std::string name;
    std::function<int64_t()> read;
  };
  std::vector<Figure> figures;

  // Scripts may call commands that are not meant for them: DEBUG, for tests.
  std::atomic<bool> scripts_call_denied{false};
};

// Who is connected, and who of them listens, caches, waits, or is held back. Each part may be used
// from any thread.
struct Traffic {
  Clients clients;
  PubSub pubsub;
  Tracking tracking;
  Waiters waiters;
  Turns turns;
  Busy busy;
  ClientPause pause;
  std::atomic<size_t> held{0};  // requests that wait for the end of a pause
};

// What is noted about requests, for operators to look at. Each part may be used from any thread.
struct Observed {
  SlowLog slow_log;
  LatencyEvents latency_events;
  ErrorCounters errors;
  FailedLogins failed_logins;
  AuditLog audit;
  std::atomic<uint64_t> expired_keys{0};  // keys that were removed because their time was up
};

// Threads for requests that have to wait for the disk.
struct Pools {
  ThreadPool store;
  // For requests that are large themselves. They wait in line here, where nobody else has to wait
  // behind them.
  ThreadPool large;

  // What runs there hands its result to a loop: while the loops exist, and after they have stopped.
  void Stop();
};

// One run of the server.
struct Run {
  Timestamp started;
  std::string id;  // 40 hexadecimal digits that no other run has
};

// What all connections of one running server share: the tables, the settings, the statistics.
//
// Built up by one thread:
//
//   Instance instance(options, store, clock, random, log);
//   AddConnectionCommands(instance);                        and each layer's own
//   instance.Load();
//   net::RespServer server(…, instance.HandlerFactory(), …);
//   instance.Attach(server);
//   server.Listen(address);
//
// After that it is safe to use from any thread. What it is given outlives it; the server is
// destroyed before it, after its loops have stopped.
class Instance {
 public:
  Instance(InstanceOptions options, store::Store& store, const Clock& clock, Random& random,
           Log log);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // Reads what the store keeps about the server itself: settings and users. The tables are
  // complete. On a store that others serve too, their changes and messages are heard from now on.
  Result<void> Load();

  // One dispatcher per loop. The table must be complete when the first is made.
  net::RespHandlerFactory HandlerFactory();
  void Attach(net::RespServer& server) { server_ = &server; }
  net::RespServer* server() { return server_; }  // null until Attach

  const InstanceOptions& options() const { return options_; }
  store::Store& store() { return store_; }
  const Clock& clock() const { return clock_; }
  Random& random() { return random_; }
  const Log& log() const { return log_; }
  const Run& run() const { return run_; }

  CommandTable& commands() { return commands_; }
  Settings& settings() { return settings_; }
  Acl& acl() { return acl_; }
  Hooks& hooks() { return hooks_; }

  Dispatchers& dispatchers() { return dispatchers_; }
  Traffic& traffic() { return traffic_; }
  Observed& observed() { return observed_; }
  Pools& pools() { return pools_; }

  struct Bounds {
    net::ReplyBounds anywhere;
    net::ReplyBounds on_loop;  // a reply that passes them is made by the pool instead
  };
  const Bounds& reply_bounds() const { return reply_bounds_; }

 private:
  void AddSettings();
  void AddPasswordSetting();
  void LoadChangedUsers();

  const InstanceOptions options_;
  const Bounds reply_bounds_;
  store::Store& store_;
  const Clock& clock_;
  Random& random_;
  Log log_;
  const Run run_;
  CommandTable commands_;
  Acl acl_;
  Settings settings_;
  Hooks hooks_;
  Dispatchers dispatchers_;
  Traffic traffic_;
  net::RespServer* server_ = nullptr;

  // Of the user "default", as long as it was set here and not by ACL SETUSER.
  std::mutex password_mutex_;
  std::string password_;

  std::unique_ptr<Relay> relay_;  // null: nobody else serves the store
  Observed observed_;
  Pools pools_;
};

}  // namespace cairn::doors
