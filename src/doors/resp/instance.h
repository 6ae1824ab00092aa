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

class Dispatcher;

// What a client whose wait is ended by CLIENT UNBLOCK gets.
enum class UnblockWith : uint8_t {
  kTimeout,  // the reply for when time is up
  kError,
};

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

  store::Store& store() { return store_; }
  const Clock& clock() const { return clock_; }
  Random& random() { return random_; }
  const Log& log() const { return log_; }
  CommandTable& commands() { return commands_; }
  Settings& settings() { return settings_; }
  SlowLog& slow_log() { return slow_log_; }
  LatencyEvents& latency_events() { return latency_events_; }
  Clients& clients() { return clients_; }
  PubSub& pubsub() { return pubsub_; }
  Tracking& tracking() { return tracking_; }
  Waiters& waiters() { return waiters_; }
  Turns& turns() { return turns_; }
  Busy& busy() { return busy_; }
  // Scripts may call commands that are not meant for them: DEBUG, for tests.
  std::atomic<bool>& scripts_call_denied() { return scripts_call_denied_; }
  Acl& acl() { return acl_; }
  AuditLog& audit() { return audit_; }
  FailedLogins& failed_logins() { return failed_logins_; }
  ErrorCounters& errors() { return errors_; }
  // How many connections MONITOR the others.
  std::atomic<size_t>& monitors() { return monitors_; }
  // Shows them a line, from any thread.
  void FeedMonitors(std::string line);
  ThreadPool& pool() { return pool_; }
  // For requests that are large themselves. They wait in line here, where nobody else has to wait
  // behind them.
  ThreadPool& large_pool() { return large_pool_; }
  // What runs there hands its result to a loop: while the loops exist, and after they have stopped.
  void StopPools();
  net::RespServer* server() { return server_; }  // null until Attach
  const InstanceOptions& options() const { return options_; }
  Timestamp started() const { return started_; }
  // 40 hexadecimal digits that no other run of the server has.
  const std::string& run_id() const { return run_id_; }

  const net::ReplyBounds& reply_bounds() const { return reply_bounds_; }
  // Of a reply that a loop makes itself; one that passes them is made by the pool.
  const net::ReplyBounds& loop_reply_bounds() const { return loop_reply_bounds_; }

  // The password of the user "default", as long as it was set here and not by ACL SETUSER.
  std::string password() const;
  // Fails where clients must need one, and it is empty (Acl::RequireSecrets).
  Result<void> set_password(std::string_view password);
  bool needs_password() const { return acl_.auth_required(); }
  // Whether the user "default" takes it. Takes the same time whatever the difference.
  bool PasswordMatches(std::string_view password) const;

  const ClientPause& pause() const { return pause_; }
  // Requests that wait for the end of a pause.
  std::atomic<size_t>& held() { return held_; }
  void Pause(Timestamp until, ClientPause::Mode mode);
  void Unpause();

  // Ends the wait of a blocked client, if it still waits when its loop hears of it.
  void Unblock(uint64_t connection_id, UnblockWith with);
  // Calls `function` once on each loop, from any thread.
  void PostToAll(const std::function<void(Dispatcher&)>& function);

  // Puts into the log that a user was refused. `context` is where: "toplevel", "multi", "lua".
  void LogAclRefusal(const AclRefusal& refusal, const Command& command, Args args,
                     std::string_view context, const Caller& caller);

  // A call of an audited command has ended; if it has written, its entry is part of that already.
  void Audit(const AclUser& user, uint8_t db, const Command& command, Args args, bool failed);
  // Somebody at `peer` has presented a secret that lets nobody in.
  void CountFailedLogin(std::string_view method, std::string_view path, std::string_view peer);

  // Counts a call by a script, from any thread.
  void CountNested(const Command& command, uint64_t ns, bool failed);
  CallTotals Totals(const Command& command) const;
  LookupTotals Lookups() const;
  // Keys that were removed because their time was up.
  std::atomic<uint64_t>& expired_keys() { return expired_keys_; }
  // On the loop of `caller`, whose calls count anew at once.
  void ResetStatistics(Dispatcher& caller);

  // Figures of a layer that INFO shows among those about memory. Added while the tables are made;
  // the function is called on any thread.
  struct Figure {
    std::string name;
    std::function<int64_t()> read;
  };
  void AddFigure(Figure figure) { figures_.push_back(std::move(figure)); }
  const std::vector<Figure>& figures() const { return figures_; }

  // The version of a key as WATCH compares it; one that is not there has one too. Set by the layer
  // that owns the keys.
  using VersionReader =
      std::function<Result<uint64_t>(store::Transaction&, uint8_t db, BytesView key)>;
  const VersionReader& version_reader() const { return version_reader_; }
  void set_version_reader(VersionReader reader) { version_reader_ = std::move(reader); }

  // The stored key behind a client's key, appended to `stored`; null: not known. Set likewise.
  using KeyEncoder = void (*)(uint8_t db, BytesView key, Bytes& stored);
  KeyEncoder key_encoder() const { return key_encoder_; }
  void set_key_encoder(KeyEncoder encoder) { key_encoder_ = encoder; }

  // What SHUTDOWN asks for; null: it is refused. Called on a loop's thread, must not wait.
  void set_shutdown(std::function<void()> shutdown) { shutdown_ = std::move(shutdown); }
  const std::function<void()>& shutdown() const { return shutdown_; }

 private:
  friend class Dispatcher;
  void Join(Dispatcher& dispatcher);
  void Leave(Dispatcher& dispatcher);
  // Runs `function` soon on one of the loops.
  void Post(std::function<void()> function);
  void ForEachDispatcher(const std::function<void(Dispatcher&)>& visit) const;
  void AddSettings();
  void LoadChangedUsers();

  const InstanceOptions options_;
  const net::ReplyBounds reply_bounds_;
  const net::ReplyBounds loop_reply_bounds_;
  store::Store& store_;
  const Clock& clock_;
  Random& random_;
  Log log_;
  const Timestamp started_;
  const std::string run_id_;
  CommandTable commands_;
  Acl acl_;
  Settings settings_;
  SlowLog slow_log_;
  LatencyEvents latency_events_;
  Clients clients_;
  PubSub pubsub_;
  Tracking tracking_;
  Waiters waiters_;
  Turns turns_;
  ErrorCounters errors_;
  FailedLogins failed_logins_;
  std::atomic<uint64_t> expired_keys_{0};
  mutable std::mutex nested_mutex_;
  std::optional<CallCounters> nested_calls_;  // made for the first, when the table is complete
  std::atomic<size_t> monitors_{0};
  ClientPause pause_;
  std::atomic<size_t> held_{0};
  Busy busy_;
  std::atomic<bool> scripts_call_denied_{false};
  net::RespServer* server_ = nullptr;
  VersionReader version_reader_;
  KeyEncoder key_encoder_ = nullptr;
  std::function<void()> shutdown_;
  std::vector<Figure> figures_;

  mutable std::mutex password_mutex_;
  std::string password_;

  mutable std::mutex dispatchers_mutex_;
  std::vector<Dispatcher*> dispatchers_;
  std::unique_ptr<Relay> relay_;  // null: nobody else serves the store
  AuditLog audit_;
  ThreadPool pool_;
  ThreadPool large_pool_;
};

}  // namespace cairn::doors
