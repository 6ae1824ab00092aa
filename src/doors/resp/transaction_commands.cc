#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "doors/access/limits.h"
#include "doors/resp/acl_checks.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/client_work.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/instance.h"
#include "doors/resp/session.h"
#include "doors/resp/tracked_reads.h"

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

// And which protocol its reply is to speak: HELLO likewise.
int ProtocolAfter(const QueuedCommand& queued, int protocol, const Acl& acl) {
  if (queued.command->name != "hello") return protocol;
  return ProtocolAfterHello(queued.args.view(), acl).value_or(protocol);
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

size_t RequestBytesOf(const std::vector<QueuedCommand>& queue) {
  size_t bytes = 0;
  for (const QueuedCommand& queued : queue) bytes += RequestBytes(*queued.command, queued.args);
  return bytes;
}

class ExecWork final : public ClientWork {
 public:
  ExecWork(Dispatcher& dispatcher, const Session& session, MultiState multi)
      : instance_(dispatcher.instance()),
        queue_(std::move(multi.queue)),
        watched_(std::move(multi.watched)),
        charge_(instance_.reply_bounds().anywhere.budget,
                multi.queued_bytes + multi.watched_bytes + RequestBytesOf(queue_)) {
    request_bytes = multi.queued_bytes;
    Caller caller = session.caller();
    Bytes scratch;
    steps_.reserve(queue_.size());
    for (const QueuedCommand& queued : queue_) {
      steps_.push_back({caller});
      if (!session.user().unrestricted()) {
        // The user's rules may have changed since it was queued.
        steps_.back().refusal =
            CheckAcl(instance_, session, *queued.command, queued.args.view(), "multi");
      }
      if (queued.command->run && !steps_.back().refusal) {
        const Call call(*queued.command, queued.args.view());
        AddScopes(call, caller.db, scopes, scratch);
        steps_.back().request = call.request;
        if (queued.command->access() == store::Access::kWrite) access = store::Access::kWrite;
        if (caller.reads_since && NamesReadKeys(*queued.command)) {
          instance_.traffic().tracking.Remember(session.id(),
                                                KeysIn(*queued.command, queued.args.view()));
        }
      }
      caller.db = DbAfter(queued, caller.db);
      caller.protocol = ProtocolAfter(queued, caller.protocol, instance_.acl());
    }
    for (const auto& [key, version] : watched_) AddKeyScope(key.db, key.key, scopes, scratch);
    held.exclusive = scopes.exclusive();
    held.only_order = instance_.store().shared();
    CAIRN_CHECK(steps_.size() == queue_.size(), "{} steps of {} commands", steps_.size(),
                queue_.size());
  }

  Result<void> Run(store::Transaction& transaction) override {
    replies_.clear();
    held.wanted.Clear();
    if (!steps_.empty()) transaction.set_origin(steps_.front().caller.origin);
    CAIRN_ASSIGN_OR_RETURN(stale_, WatchedKeyChanged(transaction));
    if (stale_) return {};
    meter_.emplace(on_loop ? instance_.reply_bounds().on_loop : instance_.reply_bounds().anywhere);
    net::RespWriter(replies_, 2).ArrayHeader(queue_.size());
    header_end_ = replies_.size();
    Result<void> ran = RunSteps(transaction);
    if (!meter_->overrun()) return ran;
    replies_ = {};
    if (!on_loop) return ran;
    return Error{ErrorCode::kWouldBlock, "the replies are too large for an event loop"};
  }

  void Finish(Dispatcher& dispatcher, Session& session) override {
    std::string& out = session.connection().out();
    net::RespWriter reply(out, session.protocol);
    if (stale_) return reply.NullArray();
    // If all replies were made together, they are all there is.
    const bool whole = std::ranges::all_of(steps_, [](const Step& step) { return step.ran; });
    if (!whole) out.append(replies_, 0, header_end_);
    size_t begin = header_end_;
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
      if (!whole) out.append(replies_, begin, step.reply_end - begin);
      begin = step.reply_end;
      // CLIENT TRACKING ON or CLIENT CACHING stood before it in the queue.
      if (!step.caller.reads_since) DisownReads(dispatcher.tracking_post(), session, command, args);
      dispatcher.Count(session, command, args, step.ns, step.failed);
      dispatcher.counters().LookedUp(step.lookups.hits, step.lookups.misses);
    }
    if (whole) AppendReply(out, std::move(replies_));
    meter_.reset();
  }

 private:
  struct Step {
    Caller caller;
    SharedRequest request = {};
    bool ran = false;      // in the transaction: its reply is in replies_
    size_t reply_end = 0;  // there
    uint64_t ns = 0;
    bool failed = false;
    KeyLookups lookups;
    std::optional<AclRefusal> refusal;
  };

  Result<bool> WatchedKeyChanged(store::Transaction& transaction) const {
    for (const auto& [key, watched_version] : watched_) {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t version,
                             instance_.hooks().version_reader(transaction, key.db, key.key));
      if (version != watched_version) return true;
    }
    return false;
  }

  Result<void> RunSteps(store::Transaction& transaction) {
    for (size_t i = 0; i < queue_.size(); ++i) {
      steps_[i].ran = queue_[i].command->run && !steps_[i].refusal;
      if (steps_[i].ran) CAIRN_RETURN_IF_ERROR(RunStep(transaction, i));
      steps_[i].reply_end = replies_.size();
    }
    return {};
  }

  Result<void> RunStep(store::Transaction& transaction, size_t index) {
    const QueuedCommand& queued = queue_[index];
    Step& step = steps_[index];
    const Call call(*queued.command, queued.args.view(), step.request);
    const uint64_t begin_ns = instance_.clock().MonotonicNs();
    CommandContext context(transaction, call, step.caller,
                           net::RespWriter(replies_, step.caller.protocol, &*meter_),
                           instance_.traffic().pubsub, held);
    Result<void> result = RunHandlerOf(context, *meter_);
    step.ns = instance_.clock().MonotonicNs() - begin_ns;
    step.failed = context.failed;
    step.lookups = context.lookups;
    return result;
  }

  Instance& instance_;
  const std::vector<QueuedCommand> queue_;
  const WatchedKeys watched_;
  const net::BufferCharge charge_;  // for the two, and the requests of the steps
  std::vector<Step> steps_;
  std::string replies_;  // one array
  size_t header_end_ = 0;
  std::optional<net::ReplyMeter> meter_;
  bool stale_ = false;
};

class WatchWork final : public ClientWork {
 public:
  WatchWork(Instance& instance, const Command& command, uint8_t db, Args keys)
      : instance_(instance), command_(command) {
    Bytes scratch;
    for (const std::string_view key : keys) {
      watched_[{db, Bytes(key)}] = 0;
      bytes_ += key.size() + sizeof(WatchedKeys::value_type);
      AddKeyScope(db, key, scopes, scratch);
    }
  }

  Result<void> Run(store::Transaction& transaction) override {
    for (auto& [key, version] : watched_) {
      CAIRN_ASSIGN_OR_RETURN(version,
                             instance_.hooks().version_reader(transaction, key.db, key.key));
    }
    return {};
  }

  void Finish(Dispatcher& dispatcher, Session& session) override {
    // Watched again, a key keeps its older version: a change since then must not be forgotten.
    session.multi.watched.merge(watched_);
    session.multi.watched_bytes += bytes_;
    dispatcher.counters().Ran(command_.index, 0, false);
    net::RespWriter(session.connection().out(), session.protocol).Ok();
  }

 private:
  Instance& instance_;
  const Command& command_;
  WatchedKeys watched_;
  size_t bytes_ = 0;
};

void Multi(ConnectionContext& context) {
  if (context.session.multi.open) return context.Fail("ERR MULTI calls can not be nested");
  context.session.multi.open = true;
  context.session.in_multi = true;
  context.reply.Ok();
}

std::unique_ptr<ClientWork> Exec(ConnectionContext& context) {
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

std::unique_ptr<ClientWork> Watch(ConnectionContext& context) {
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
  context.session.multi.watched_bytes = 0;
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
