#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "doors/arg_parser.h"
#include "doors/connection_commands.h"
#include "doors/dispatcher.h"
#include "doors/instance.h"
#include "doors/limits.h"
#include "doors/session.h"
#include "doors/work.h"

// MULTI collects commands in the session; EXEC runs them as one body with the union of their
// scopes, hence as one transaction and one commit.
//
// WATCH needs no lock: it remembers each key's version, and EXEC compares inside its body, under
// the keys' scopes. A version is never used twice, so a key that was changed and changed back is
// noticed; one that was missing, created and deleted again is not: nothing then differs for the
// transaction.
namespace cairn::doors {
namespace {

// Which database each queued command will find selected: SELECT takes effect for those behind it.
uint8_t DbAfter(const QueuedCommand& queued, uint8_t db) {
  if (queued.command->name != "select") return db;
  ArgParser parser(queued.args.view());
  const uint8_t selected = parser.Database();
  return parser.ok() ? selected : db;
}

std::string ChangedRulesText(const AclRefusal& refusal) {
  constexpr std::string_view kReasons[] = {
      "no permission to execute the command or subcommand",
      "no permission to touch the specified keys",
      "no permission to access one of the channels used as arguments"};
  return fmt::format(
      "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC "
      "call. This command is no longer allowed for the following reason: {}",
      kReasons[static_cast<size_t>(refusal.reason)]);
}

class ExecWork final : public Work {
 public:
  ExecWork(Dispatcher& dispatcher, const Session& session, MultiState multi)
      : instance_(dispatcher.instance()),
        queue_(std::move(multi.queue)),
        watched_(std::move(multi.watched)) {
    Caller caller = session.caller();
    Bytes scratch;
    for (const QueuedCommand& queued : queue_) {
      steps_.push_back({caller});
      if (!session.user().unrestricted()) {
        // The user's rules may have changed since it was queued.
        steps_.back().refusal =
            dispatcher.CheckAcl(session, *queued.command, queued.args.view(), "multi");
      }
      if (queued.command->run && !steps_.back().refusal) {
        AddScopes(*queued.command, queued.args.view(), caller.db, scopes, scratch);
        if (queued.command->Has(kWrite)) access = store::Access::kWrite;
      }
      caller.db = DbAfter(queued, caller.db);
    }
    for (const auto& [key, version] : watched_) AddKeyScope(key.db, key.key, scopes, scratch);
    held.exclusive = scopes.exclusive();
    held.only_order = instance_.store().shared();
  }

  Result<void> Run(store::Transaction& transaction) override {
    replies_.clear();
    held.wanted.Clear();
    CAIRN_ASSIGN_OR_RETURN(stale_, WatchedKeyChanged(transaction));
    if (stale_) return {};
    for (size_t i = 0; i < queue_.size(); ++i) {
      if (queue_[i].command->run && !steps_[i].refusal)
        CAIRN_RETURN_IF_ERROR(RunStep(transaction, i));
      steps_[i].reply_end = replies_.size();
    }
    return {};
  }

  void Finish(Dispatcher& dispatcher, Session& session) override {
    net::RespWriter reply(session.connection().out(), session.protocol);
    if (stale_) return reply.NullArray();
    reply.ArrayHeader(queue_.size());
    size_t begin = 0;
    for (size_t i = 0; i < queue_.size(); ++i) {
      const Command& command = *queue_[i].command;
      const Args args = queue_[i].args.view();
      const Step& step = steps_[i];
      if (step.refusal) {
        reply.Error(ChangedRulesText(*step.refusal));
        continue;
      }
      // What concerns the connection happens here, on its loop and once, though in its place among
      // the replies.
      if (command.connection) {
        dispatcher.RunOnConnection(session, command, args);
        continue;
      }
      session.connection().out().append(replies_, begin, step.reply_end - begin);
      begin = step.reply_end;
      dispatcher.Count(session, command, args, step.ns, step.failed);
      dispatcher.counters().LookedUp(step.lookups.hits, step.lookups.misses);
    }
  }

 private:
  struct Step {
    Caller caller;
    size_t reply_end = 0;  // in replies_
    uint64_t ns = 0;
    bool failed = false;
    KeyLookups lookups;
    std::optional<AclRefusal> refusal;
  };

  Result<bool> WatchedKeyChanged(store::Transaction& transaction) const {
    for (const auto& [key, watched_version] : watched_) {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t version,
                             instance_.version_reader()(transaction, key.db, key.key));
      if (version != watched_version) return true;
    }
    return false;
  }

  Result<void> RunStep(store::Transaction& transaction, size_t index) {
    const QueuedCommand& queued = queue_[index];
    Step& step = steps_[index];
    const uint64_t begin_ns = instance_.clock().MonotonicNs();
    CommandContext context{transaction,
                           *queued.command,
                           queued.args.view(),
                           step.caller,
                           net::RespWriter(replies_, step.caller.protocol),
                           instance_.pubsub(),
                           held};
    Result<void> result = queued.command->run(context);
    step.ns = instance_.clock().MonotonicNs() - begin_ns;
    step.failed = context.failed;
    step.lookups = context.lookups;
    return result;
  }

  Instance& instance_;
  const std::vector<QueuedCommand> queue_;
  const WatchedKeys watched_;
  std::vector<Step> steps_;
  std::string replies_;
  bool stale_ = false;
};

class WatchWork final : public Work {
 public:
  WatchWork(Instance& instance, const Command& command, uint8_t db, Args keys)
      : instance_(instance), command_(command) {
    Bytes scratch;
    for (const std::string_view key : keys) {
      watched_[{db, Bytes(key)}] = 0;
      AddKeyScope(db, key, scopes, scratch);
    }
  }

  Result<void> Run(store::Transaction& transaction) override {
    for (auto& [key, version] : watched_) {
      CAIRN_ASSIGN_OR_RETURN(version, instance_.version_reader()(transaction, key.db, key.key));
    }
    return {};
  }

  void Finish(Dispatcher& dispatcher, Session& session) override {
    // Watched again, a key keeps its older version: a change since then must not be forgotten.
    session.multi.watched.merge(watched_);
    dispatcher.counters().Ran(command_.index, 0, false);
    net::RespWriter(session.connection().out(), session.protocol).Ok();
  }

 private:
  Instance& instance_;
  const Command& command_;
  WatchedKeys watched_;
};

void Multi(ConnectionContext& context) {
  if (context.session.multi.open) return context.Fail("ERR MULTI calls can not be nested");
  context.session.multi.open = true;
  context.session.in_multi = true;
  context.reply.Ok();
}

std::unique_ptr<Work> Exec(ConnectionContext& context) {
  Session& session = context.session;
  if (!session.multi.open) {
    context.Fail("ERR EXEC without MULTI");
    return nullptr;
  }
  MultiState multi = std::exchange(session.multi, MultiState());
  session.EndMulti();
  if (multi.broken) {
    context.Fail("EXECABORT Transaction discarded because of previous errors.");
    return nullptr;
  }
  context.dispatcher.counters().Ran(context.command.index, 0, false);
  return std::make_unique<ExecWork>(context.dispatcher, session, std::move(multi));
}

void Discard(ConnectionContext& context) {
  if (!context.session.multi.open) return context.Fail("ERR DISCARD without MULTI");
  context.session.EndMulti();
  context.reply.Ok();
}

std::unique_ptr<Work> Watch(ConnectionContext& context) {
  const Session& session = context.session;
  if (session.multi.open) {
    context.Fail("ERR WATCH inside MULTI is not allowed");
    return nullptr;
  }
  const Args keys = context.args.subspan(1);
  if (session.multi.watched.size() + keys.size() > kMaxWatchedKeys) {
    context.Fail("ERR too many keys watched");
    return nullptr;
  }
  return std::make_unique<WatchWork>(context.dispatcher.instance(), context.command, session.db,
                                     keys);
}

void Unwatch(ConnectionContext& context) {
  context.session.multi.watched.clear();
  context.reply.Ok();
}

constexpr uint32_t kFlags = kNoScript | kLoading | kStale;

}  // namespace

void AddTransactionCommands(Instance& instance) {
  const Command kRows[] = {
      {.name = "multi",
       .arity = 1,
       .flags = kFlags | kFast | kAllowBusy,
       .categories = kCategoryTransaction,
       .runs_in_multi = true,
       .group = "transactions",
       .since = "1.2.0",
       .complexity = "O(1)",
       .summary = "Begins to collect commands for one transaction.",
       .connection = Multi},
      {.name = "exec",
       .arity = 1,
       .flags = kFlags | kSkipSlowLog,
       .categories = kCategoryTransaction,
       .runs_in_multi = true,
       .group = "transactions",
       .since = "1.2.0",
       .complexity = "The sum of the queued commands",
       .summary = "Runs the collected commands as one transaction.",
       .prepare = Exec},
      {.name = "discard",
       .arity = 1,
       .flags = kFlags | kFast | kAllowBusy,
       .categories = kCategoryTransaction,
       .runs_in_multi = true,
       .group = "transactions",
       .since = "2.0.0",
       .complexity = "O(N) for N queued commands",
       .summary = "Throws the collected commands away.",
       .connection = Discard},
      {.name = "watch",
       .arity = -2,
       .flags = kFlags | kFast | kAllowBusy,
       .categories = kCategoryTransaction,
       .keys = {{1, -1, 1, "RO"}},
       .runs_in_multi = true,
       .group = "transactions",
       .since = "2.2.0",
       .complexity = "O(N) for N keys",
       .summary = "Makes the next EXEC run only if these keys stay as they are.",
       .syntax = "key:key ...",
       .prepare = Watch},
      {.name = "unwatch",
       .arity = 1,
       .flags = kFlags | kFast | kAllowBusy,
       .categories = kCategoryTransaction,
       .group = "transactions",
       .since = "2.2.0",
       .complexity = "O(1)",
       .summary = "Forgets all watched keys.",
       .connection = Unwatch},
  };
  instance.commands().Add(kRows);
}

}  // namespace cairn::doors
