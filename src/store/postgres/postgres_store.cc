#include "store/postgres/postgres_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/hash.h"
#include "store/postgres/schema.h"

namespace cairn::store::postgres {
namespace {

using Ending = PostgresTransaction::Ending;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// After this many lost conflicts a body runs alone among those of this node and, with advisory
// locks, of all nodes.
constexpr int kConflictsBeforeAlone = 6;
// A body that still loses after this long is given up.
constexpr milliseconds kKeepTrying{30'000};
// How often a body is run again because its session broke.
constexpr int kLostSessions = 3;
constexpr int kLongestBackoffShift = 6;  // 64 ms
// Commits of one start; the bits above count the starts.
constexpr int kEpochShift = 32;
constexpr milliseconds kVerifyTimeout{3'600'000};

// Holds the node's stripes of some scopes.
class StripeHold {
 public:
  StripeHold(Stripes& stripes, const Scopes& scopes) : stripes_(stripes) {
    Stripes::Collect(scopes, held_);
    for (const Stripes::Index stripe : held_) stripes_.Acquire(stripe, this);
  }
  ~StripeHold() {
    for (const Stripes::Index stripe : held_) stripes_.Release(stripe, this);
  }
  StripeHold(const StripeHold&) = delete;
  StripeHold& operator=(const StripeHold&) = delete;

 private:
  Stripes& stripes_;
  std::vector<Stripes::Index> held_;
};

class PostgresSnapshot final : public Snapshot {
 public:
  PostgresSnapshot(Node& node, Pool::Lease lease)
      // Read before the view is fixed: the view holds at least what this node had committed.
      : commit_{node.last_commit.load()},
        lease_(std::move(lease)),
        transaction_(node, *lease_, View::kSnapshot, scopes_, {}) {}

  Result<void> Start() { return transaction_.Start(); }
  Result<std::optional<Bytes>> Get(Key key) override { return transaction_.Get(key); }
  Result<std::vector<std::optional<Bytes>>> GetMany(std::span<const Key> keys) override {
    return transaction_.GetMany(keys);
  }
  Result<void> Scan(const Range& range, const ScanOptions& options, RowVisitor visit) override {
    return transaction_.Scan(range, options, visit);
  }
  Timestamp now() const override { return transaction_.now(); }
  Commit commit() const override { return commit_; }

 private:
  const Commit commit_;
  const Scopes scopes_;
  Pool::Lease lease_;
  PostgresTransaction transaction_;
};

class PostgresGroup final : public Group {
 public:
  explicit PostgresGroup(const Node& node) : node_(node) {}

  Result<Dependency> Run(const Scopes&, Access, Body) override {
    return Error{ErrorCode::kWouldBlock, "the database is asked from a thread that may wait"};
  }
  Result<Commit> Finish() override { return Commit{node_.last_commit.load()}; }

 private:
  const Node& node_;
};

bool IsSchemaName(std::string_view name) {
  constexpr size_t kLongest = 40;
  return !name.empty() && name.size() <= kLongest && (name[0] < '0' || name[0] > '9') &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

// Whether the server's advisory locks lock: some engines have the functions without the effect.
Result<bool> HasAdvisoryLocks(const ConnectionOptions& options, uint64_t key) {
  CAIRN_ASSIGN_OR_RETURN(const auto holder, Connection::Open(options, nullptr));
  CAIRN_ASSIGN_OR_RETURN(const auto rival, Connection::Open(options, nullptr));
  const auto number = static_cast<int64_t>(key);
  if (!holder->Execute(fmt::format("SELECT pg_advisory_lock({})", number)).ok()) return false;
  const Replies taken = rival->Execute(fmt::format("SELECT pg_try_advisory_lock({})", number));
  return taken.ok() && !taken.rows[0].boolean(0, 0);
}

}  // namespace

// One run of a body, and what came of it.
struct PostgresStore::Attempt {
  View view;
  const Scopes& scopes;
  KeySet expected;
  bool takes_event_turn = false;

  bool restart = false;
  std::optional<Commit> commit;
  std::optional<Error> error;
};

PostgresStore::PostgresStore(const Options& options, const Clock& clock, const Log& log)
    : node_(options, clock, log), listener_(node_), readiness_(node_) {}

PostgresStore::~PostgresStore() {
  readiness_.Stop();
  listener_.Stop();
}

Result<std::unique_ptr<PostgresStore>> PostgresStore::Open(const Options& options,
                                                           const Clock& clock, const Log& log) {
  if (!IsUrl(options.url)) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("'{}' is not a postgres:// URL", PublicUrl(options.url))};
  }
  if (!IsSchemaName(options.schema)) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("schema '{}': lower-case letters, digits and _, not starting with a "
                             "digit, at most 40",
                             options.schema)};
  }
  std::unique_ptr<PostgresStore> store(new PostgresStore(options, clock, log));
  CAIRN_RETURN_IF_ERROR(store->Prepare());
  CAIRN_RETURN_IF_ERROR(store->listener_.Start());
  store->readiness_.Start();
  return store;
}

Result<void> PostgresStore::Prepare() {
  const ConnectionOptions connection_options{node_.options.url, node_.options.statement_timeout};
  CAIRN_ASSIGN_OR_RETURN(const auto connection, Connection::Open(connection_options, nullptr));
  CAIRN_RETURN_IF_ERROR(PrepareSchema(*connection, node_.options));
  node_.schema_hash = Hash64(node_.options.schema);
  node_.id = random_.Next();

  if (node_.options.mode != Mode::kPortable) {
    CAIRN_ASSIGN_OR_RETURN(node_.advisory, HasAdvisoryLocks(connection_options, random_.Next()));
    if (!node_.advisory && node_.options.mode == Mode::kAdvisory) {
      return Error{ErrorCode::kInvalid,
                   "this server has no advisory locks: use postgres.mode portable or auto"};
    }
  }
  const std::string channel = "cairn_" + node_.options.schema;
  if (connection->Execute(fmt::format("LISTEN \"{}\"", channel)).ok()) node_.channel = channel;

  CAIRN_ASSIGN_OR_RETURN(const auto lease, node_.pool.Acquire());
  lease->Send(Statement::kNextEpoch);
  lease->Send(Statement::kForgetOldMarkers);
  const Replies replies = lease->Exchange();
  if (!replies.ok()) return *replies.error;
  node_.last_commit = static_cast<uint64_t>(replies.rows[0].number(0, 0)) << kEpochShift;
  node_.log.Info("PostgreSQL is ready", {{"schema", node_.options.schema},
                                         {"mode", node_.advisory ? "advisory" : "portable"},
                                         {"notifications", !node_.channel.empty()}});
  return {};
}

// --- Running bodies -----------------------------------------------------------------------------

Result<Commit> PostgresStore::Run(const Scopes& scopes, Body body) {
  return RunIn(View::kWrite, scopes, body);
}

Result<Commit> PostgresStore::RunRead(const Scopes& scopes, Body body) {
  return RunIn(View::kReadOnce, scopes, body);
}

void PostgresStore::RunParts(const Scopes& scopes, Access access, std::span<Part> parts) {
  const Result<Commit> all =
      RunIn(access == Access::kRead ? View::kReadOnce : View::kWrite, scopes,
            [&](Transaction& transaction) {
              return static_cast<PostgresTransaction&>(transaction).RunParts(parts);
            });
  // What the server will not take of one must not be the end of the others.
  const bool refused = !all.ok() && all.error().code != ErrorCode::kUnavailable &&
                       all.error().code != ErrorCode::kOutcomeUnknown;
  if (refused && parts.size() > 1) return Store::RunParts(scopes, access, parts);
  for (Part& part : parts) {
    if (!all.ok() || part.result.ok()) part.result = all;
  }
}

Result<Commit> PostgresStore::RunIn(View view, const Scopes& scopes, Body body) {
  const Scopes everything = Scopes::Exclusive();
  const auto deadline = steady_clock::now() + kKeepTrying;
  int conflicts = 0;
  int lost = 0;
  Attempt last{view, scopes, {}};
  for (;;) {
    Attempt attempt{last.view, conflicts < kConflictsBeforeAlone ? scopes : everything,
                    std::move(last.expected), last.takes_event_turn};
    const Ending ending = Try(attempt, body);
    if (attempt.restart) {
      last.view = View::kRead;
      last.expected = std::move(attempt.expected);
      continue;
    }
    switch (ending) {
      case Ending::kCommitted:
      case Ending::kNothingToCommit:
        if (attempt.error) return *attempt.error;
        return *attempt.commit;
      case Ending::kUnknown:
      case Ending::kFailed:
        readiness_.WriteFailed(*attempt.error);
        return *attempt.error;
      case Ending::kLost:
        node_.pool.CloseIdle();
        if (++lost > kLostSessions) return *attempt.error;
        break;
      case Ending::kConflict:
        if (steady_clock::now() > deadline) {
          return Error{ErrorCode::kUnavailable,
                       "the transaction kept losing against others: " + attempt.error->message};
        }
        Backoff(++conflicts);
        break;
    }
    last.expected = std::move(attempt.expected);
    last.takes_event_turn = attempt.takes_event_turn;
  }
}

Ending PostgresStore::Try(Attempt& attempt, Body body) {
  std::optional<StripeHold> hold;
  std::unique_lock event_turn(node_.event_mutex, std::defer_lock);
  if (attempt.view == View::kWrite) {
    hold.emplace(node_.stripes, attempt.scopes);
    if (attempt.takes_event_turn) event_turn.lock();
  }
  Result<Pool::Lease> lease = node_.pool.Acquire();
  if (!lease.ok()) {
    attempt.error = lease.error();
    return Ending::kFailed;
  }
  PostgresTransaction transaction(node_, **lease, attempt.view, attempt.scopes,
                                  std::move(attempt.expected));
  const Result<void> ran = body(transaction);
  attempt.expected = transaction.keys_read();
  attempt.restart = transaction.needs_restart();
  if (attempt.restart) return Ending::kConflict;

  Ending ending = transaction.Finish(ran.ok());
  if (ending == Ending::kUnknown) {
    const Result<bool> committed = WasCommitted(transaction.marker());
    if (committed.ok()) ending = *committed ? Ending::kCommitted : Ending::kLost;
    attempt.error = committed.ok() ? *transaction.error() : committed.error();
  } else if (transaction.error()) {
    attempt.error = transaction.error();
  }
  if (ending == Ending::kCommitted || ending == Ending::kNothingToCommit) {
    attempt.error = ran.ok() ? std::nullopt : std::optional(ran.error());
    if (ran.ok()) attempt.commit = Committed(transaction.writes());
  }
  attempt.takes_event_turn =
      !node_.advisory && ending == Ending::kConflict && !transaction.writes().events().empty();
  return ending;
}

Result<bool> PostgresStore::WasCommitted(BytesView marker) {
  node_.pool.CloseIdle();
  const auto deadline = steady_clock::now() + node_.options.resolve_timeout;
  std::string reason;
  for (int tries = 1;; ++tries) {
    // Putting the marker there answers for good: it waits for a transaction that is still at it,
    // fails if the marker is there, and makes the other fail if that comes later.
    Result<Pool::Lease> lease = node_.pool.AcquireExtra();
    if (lease.ok()) {
      (*lease)->Send(Statement::kAddMarker, {marker});
      const Replies replies = (*lease)->Exchange();
      if (replies.ok()) return false;
      if (replies.sqlstate == "23505") return true;
      reason = replies.error->message;
    } else {
      reason = lease.error().message;
    }
    if (steady_clock::now() > deadline) break;
    Backoff(tries);
  }
  return Error{ErrorCode::kOutcomeUnknown,
               "the connection was lost during a commit, and the database cannot be asked whether "
               "it happened: " +
                   reason};
}

void PostgresStore::Backoff(int conflicts) {
  const int shift = std::min(conflicts, kLongestBackoffShift);
  std::this_thread::sleep_for(std::chrono::microseconds(random_.Below(uint64_t{1000} << shift)));
}

Commit PostgresStore::Committed(const WriteSet& writes) {
  Commit commit{node_.last_commit.load()};
  {
    const std::lock_guard lock(node_.commit_mutex);
    if (!writes.empty()) {
      commit.number = node_.last_commit.fetch_add(1) + 1;
      node_.commits.fetch_add(1);
    }
    for (const auto& function : writes.after_commit()) function(commit);
    if (!writes.empty()) {
      for (const auto& [id, listener] : node_.durable_listeners) listener(commit);
    }
  }
  node_.wakeups.Wake(writes.wakes());
  if (!writes.counters().empty()) {
    const std::lock_guard lock(node_.counter_mutex);
    for (const WriteSet::Counter& counter : writes.counters()) {
      if (counter.delta != 0) node_.marked_counters.emplace(counter.space, counter.key);
    }
  }
  if (writes.earliest_timer_us() != WriteSet::kNoTimer) {
    const std::lock_guard lock(node_.timer_mutex);
    if (node_.earlier_timer) node_.earlier_timer({writes.earliest_timer_us()});
  }
  return commit;
}

// --- Everything else ----------------------------------------------------------------------------

std::unique_ptr<Group> PostgresStore::NewGroup() { return std::make_unique<PostgresGroup>(node_); }

Result<std::unique_ptr<Snapshot>> PostgresStore::Read() {
  for (int lost = 0;; ++lost) {
    CAIRN_ASSIGN_OR_RETURN(Pool::Lease lease, node_.pool.AcquireExtra());
    auto snapshot = std::make_unique<PostgresSnapshot>(node_, std::move(lease));
    const Result<void> started = snapshot->Start();
    if (started.ok()) return std::unique_ptr<Snapshot>(std::move(snapshot));
    if (started.error().code != ErrorCode::kUnavailable || lost == kLostSessions) {
      return started.error();
    }
    node_.pool.CloseIdle();
  }
}

Subscription PostgresStore::OnDurable(std::function<void(Result<Commit>)> listener) {
  const std::lock_guard lock(node_.commit_mutex);
  const uint64_t id = node_.next_listener++;
  node_.durable_listeners.emplace(id, std::move(listener));
  return Subscription([this, id] {
    const std::lock_guard cancel_lock(node_.commit_mutex);
    node_.durable_listeners.erase(id);
  });
}

Subscription PostgresStore::OnWake(Topic topic, std::function<void()> waiter) {
  return node_.wakeups.Subscribe(topic, std::move(waiter));
}

Subscription PostgresStore::OnEarlierTimer(std::function<void(Timestamp due)> listener) {
  const std::lock_guard lock(node_.timer_mutex);
  CAIRN_CHECK(!node_.earlier_timer, "a store has one timer service");
  node_.earlier_timer = std::move(listener);
  return Subscription([this] {
    const std::lock_guard cancel_lock(node_.timer_mutex);
    node_.earlier_timer = nullptr;
  });
}

Result<void> PostgresStore::Backup(const std::string&) {
  return Error{
      ErrorCode::kInvalid,
      fmt::format("a store on PostgreSQL is backed up with PostgreSQL's own tools: pg_dump "
                  "--schema={}, or a base backup with WAL archiving",
                  node_.options.schema)};
}

Result<void> PostgresStore::Verify() {
  const ConnectionOptions patient{node_.options.url, kVerifyTimeout, kVerifyTimeout};
  CAIRN_ASSIGN_OR_RETURN(const auto connection, Connection::Open(patient, nullptr));
  CAIRN_ASSIGN_OR_RETURN(const SchemaReport report, ReadSchema(*connection, node_.options.schema));
  if (report.version != kSchemaVersion) {
    return Error{ErrorCode::kConflict,
                 fmt::format("the schema is gone or of another version ({})", report.version)};
  }
  for (const Space space : kAllSpaces) {
    const std::string table = Qualified(node_.options.schema, SpaceName(space));
    const std::string counter = Qualified(node_.options.schema, "counter");
    const Replies read = connection->Execute(
        fmt::format("SELECT coalesce(sum(length(key) + length(value)), 0)::bigint FROM {}", table));
    if (!read.ok()) return *read.error;
    const Replies orphans = connection->Execute(
        fmt::format("SELECT count(*)::bigint FROM {} c WHERE space = '{}' AND NOT EXISTS "
                    "(SELECT 1 FROM {} t WHERE t.key = c.key AND t.value IS NULL)",
                    counter, SpaceName(space), table));
    if (!orphans.ok()) return *orphans.error;
    if (orphans.rows[0].number(0, 0) != 0) {
      return Error{ErrorCode::kCorruption,
                   fmt::format("{}: a counter's slots have no counter", table)};
    }
  }
  return {};
}

StoreStats PostgresStore::stats() const {
  StoreStats stats;
  stats.commits = node_.commits.load();
  stats.engine_writes = stats.commits;
  stats.syncs = stats.commits;
  stats.last_commit = node_.last_commit.load();
  stats.durable_commit = stats.last_commit;
  return stats;
}

bool IsUrl(std::string_view text) {
  return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

std::string PublicUrl(std::string_view url) {
  const size_t start = url.find("://");
  if (start == std::string_view::npos) return std::string(url);
  const size_t at = url.find('@', start);
  const size_t colon = url.find(':', start + 3);
  if (at == std::string_view::npos || colon == std::string_view::npos || colon > at) {
    return std::string(url);
  }
  return fmt::format("{}:***{}", url.substr(0, colon), url.substr(at));
}

Result<std::unique_ptr<Store>> Open(const Options& options, const Clock& clock, const Log& log) {
  CAIRN_ASSIGN_OR_RETURN(auto store, PostgresStore::Open(options, clock, log));
  return std::unique_ptr<Store>(std::move(store));
}

Result<Numbers> ReadNumbers(const Options& options) {
  CAIRN_ASSIGN_OR_RETURN(const auto connection,
                         Connection::Open({options.url, options.statement_timeout}, nullptr));
  const auto read = [&](std::string_view sequence) -> Result<uint64_t> {
    const Replies replies = connection->Execute(
        fmt::format("SELECT last_value FROM {}", Qualified(options.schema, sequence)));
    if (!replies.ok()) return *replies.error;
    return static_cast<uint64_t>(replies.rows[0].number(0, 0));
  };
  Numbers numbers;
  CAIRN_ASSIGN_OR_RETURN(const uint64_t stamp, read("stamp"));
  CAIRN_ASSIGN_OR_RETURN(const uint64_t event, read("event"));
  numbers.stamp = stamp + kStampsAtOnce;
  numbers.event = event + 1;
  return numbers;
}

Result<void> RaiseNumbers(const Options& options, const Numbers& numbers) {
  CAIRN_ASSIGN_OR_RETURN(const auto connection,
                         Connection::Open({options.url, options.statement_timeout}, nullptr));
  for (const auto& [sequence, number] :
       {std::pair("stamp", numbers.stamp), std::pair("event", numbers.event)}) {
    const std::string name = Qualified(options.schema, sequence);
    const Replies replies = connection->Execute(
        fmt::format("SELECT setval('{0}', {1}) FROM {0} WHERE last_value < {1}", name, number));
    if (!replies.ok()) return *replies.error;
  }
  return {};
}

Result<DatabaseReport> Inspect(const Options& options) {
  const ConnectionOptions connection_options{options.url, options.statement_timeout};
  CAIRN_ASSIGN_OR_RETURN(const auto connection, Connection::Open(connection_options, nullptr));
  DatabaseReport report;
  const auto show = [&](const std::string& name) -> std::string {
    const Replies shown = connection->Execute("SHOW " + name);
    return shown.ok() ? std::string(shown.rows[0].at(0, 0).value_or("")) : "";
  };
  report.server = show("server_version");
  report.read_only = show("transaction_read_only") == "on";
  report.synchronous_commit = show("synchronous_commit") != "off";
  CAIRN_ASSIGN_OR_RETURN(const SchemaReport schema, ReadSchema(*connection, options.schema));
  report.schema_version = schema.version;
  report.made_by = schema.made_by;
  SystemRandom random;
  CAIRN_ASSIGN_OR_RETURN(report.advisory_locks,
                         HasAdvisoryLocks(connection_options, random.Next()));
  return report;
}

}  // namespace cairn::store::postgres
