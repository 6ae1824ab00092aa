#include "doors/resp/dispatcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "doors/access/error_table.h"
#include "doors/access/limits.h"
#include "doors/resp/acl_checks.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/command_work.h"
#include "doors/resp/tracked_reads.h"

namespace cairn::doors {
namespace {

// Longer keys are not worth looking at before their request is executed.
constexpr size_t kMaxExpectedKeyBytes = 128;

// More batches than this would have more transactions, not more work done: they take processors
// from each other, and conflict. Fewer would leave the network idle.
constexpr size_t kMostBatchesOnPool = 4;

// A request from this size on has a line of its own: while large ones wait for memory or for the
// disk, there is a thread for the others.
constexpr size_t kLargeRequestBytes = 4 * 1024 * 1024;

// The body fails and is run again by the pool, where a large reply makes nobody else wait.
Error TooLargeForLoop() {
  return {ErrorCode::kWouldBlock, "the reply is too large for an event loop"};
}

std::string UnknownCommand(Args args) {
  std::string quoted;
  for (const std::string_view arg : args.subspan(1)) {
    if (quoted.size() >= kMaxQuotedBytes) break;
    quoted += fmt::format("'{}' ", Quotable(arg.substr(0, kMaxQuotedBytes - quoted.size())));
  }
  return fmt::format("ERR unknown command '{}', with args beginning with: {}",
                     Quotable(args[0].substr(0, kMaxQuotedBytes)), quoted);
}

// The first words of the lines of an HTTP request. A web page can make a browser send one here,
// with commands for its body: they must not be reached.
bool IsHttp(std::string_view command) {
  return EqualsIgnoreCase(command, "post") || EqualsIgnoreCase(command, "host:");
}

std::string UnknownSubcommand(const Command& container, std::string_view name) {
  std::string upper(container.name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format("ERR unknown subcommand '{}'. Try {} HELP.",
                     Quotable(name.substr(0, kMaxQuotedBytes)), upper);
}

// Whether it may share a transaction with others: it waits for nothing, and nobody has to wait long
// for it.
bool MayShare(const Command& command) {
  return command.run && !command.Has(kBlocking) && !command.Has(kAdmin) && !command.long_running &&
         (command.categories & kCategoryScripting) == 0;
}

}  // namespace

Dispatcher::Dispatcher(Instance& instance, net::Loop& loop)
    : instance_(instance),
      loop_(loop),
      self_(std::make_shared<Dispatcher*>(this)),
      store_(instance.store()),
      clock_(instance.clock()),
      turn_(instance.traffic().turns.Of(loop)),
      counters_(instance.commands().row_count()),
      audience_(instance.traffic().pubsub.Join(
          [this](const std::shared_ptr<const PubSub::Message>& message, store::Commit commit) {
            Post([message, commit](Dispatcher& self) { self.Deliver(*message, commit); });
          })),
      tracking_post_([this](Tracking::Invalidations messages, store::Commit commit) {
        const std::lock_guard lock(invalidations_mutex_);
        invalidations_.push_back({std::move(messages), commit});
        if (!invalidations_came_.exchange(true)) {
          Post([](Dispatcher& self) { self.TakeInvalidations(); });
        }
      }),
      on_pool_(std::make_shared<std::atomic<uint64_t>>(0)) {
  instance_.dispatchers().Join(*this);
  turn_->set_release([this](store::Commit durable, const std::optional<Error>& failure) {
    Release(durable, failure);
  });
}

Dispatcher::~Dispatcher() {
  *self_ = nullptr;
  turn_->set_release(nullptr);
  instance_.dispatchers().Leave(*this);
  instance_.traffic().pubsub.Leave(audience_);
  instance_.traffic().busy.EndAll();
  while (const uint64_t running = on_pool_->load()) on_pool_->wait(running);
}

void Dispatcher::Post(std::function<void(Dispatcher&)> function) {
  loop_.Post([self = self_, function = std::move(function)] {
    if (*self != nullptr) function(**self);
  });
}

std::unique_ptr<net::RespSession> Dispatcher::Open(net::RespConnection& connection) {
  auto session = std::make_unique<Session>(connection, instance_.traffic(), audience_,
                                           instance_.acl().default_user(), clock_.Now());
  session->authenticated = !instance_.acl().auth_required();
  connection.set_authenticated(session->authenticated);
  return session;
}

// --- One request --------------------------------------------------------------------------------

void Dispatcher::Execute(net::RespConnection& connection, Args args) {
  TakeInvalidations();
  ExecuteKnowing(connection, args, std::nullopt);
}

void Dispatcher::ExecuteKnowing(net::RespConnection& connection, Args args,
                                std::optional<bool> may_write) {
  Session& session = SessionOf(connection);
  if (session.gathered != nullptr && !Joins(session, args)) {
    connection.Pause(net::PauseReason::kWorking);
    session.behind_it.emplace(args);
    return;
  }
  if (session.reply_mode == ReplyMode::kSkipNext) session.reply_mode = ReplyMode::kSkipThis;
  const Command* command = Admit(session, args);
  if (command == nullptr) return;
  if (instance_.traffic().pause.any() && HoldIfPaused(session, *command, args, may_write)) return;
  session.last_command = command;
  if (instance_.dispatchers().monitors().load(std::memory_order_relaxed) != 0) [[unlikely]] {
    FeedMonitors(session, *command, args);
  }
  if (session.multi.open && !command->runs_in_multi) {
    Queue(session, *command, args);
  } else if (session.tracking != nullptr) [[unlikely]] {
    RememberReads(instance_.traffic().tracking, session, *command, args);
    Run(session, *command, args);
    // CLIENT CACHING is about one request, or one transaction.
    const bool about_clients =
        command->container != nullptr && command->container->name == "client";
    if (session.tracking != nullptr && !session.multi.open && !about_clients) {
      session.tracking->caching = false;
    }
  } else {
    Run(session, *command, args);
  }
}

const Command* Dispatcher::Admit(Session& session, Args args) {
  const CommandTable::Lookup found = instance_.commands().Find(args);
  const Command* command = found.command;
  if (command == nullptr && IsHttp(args[0])) [[unlikely]] {
    instance_.log().Warn("a connection that speaks HTTP is closed: a web page may have sent it",
                         {{"client", session.connection().peer()}});
    session.connection().CloseNow();
  } else if (command == nullptr) {
    Reject(session, nullptr, UnknownCommand(args));
  } else if (found.unknown_subcommand) {
    Reject(session, nullptr, UnknownSubcommand(*command, args[1]));
  } else if (!command->AcceptsArity(args.size())) {
    Reject(session, command, WrongArity(command->name));
  } else if (!session.authenticated && instance_.acl().auth_required() && !command->Has(kNoAuth)) {
    Reject(session, command, "NOAUTH Authentication required.");
  } else if (session.multi.open && command->Has(kNoMulti)) {
    Reject(session, command, "ERR Command not allowed inside a transaction");
  } else if (const auto refusal = session.user().unrestricted()
                                      ? std::nullopt
                                      : CheckAcl(instance_, session, *command, args,
                                                 session.in_multi ? "multi" : "toplevel")) {
    Reject(session, command, RefusalText(*refusal, *command));
  } else if (session.confined() && !command->while_subscribed) [[unlikely]] {
    Reject(session, command,
           fmt::format("ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / "
                       "QUIT / RESET are allowed in this context",
                       command->name));
  } else if (const auto busy = instance_.traffic().busy.Refusal();
             busy && !command->Has(kAllowBusy)) {
    Reject(session, command, *busy);
  } else {
    return command;
  }
  return nullptr;
}

void Dispatcher::Reject(Session& session, const Command* command, std::string_view error) {
  if (command != nullptr) counters_.Rejected(command->index);
  std::string& out = session.connection().out();
  const size_t start = out.size();
  net::RespWriter reply(out, session.protocol);
  if (command != nullptr && command->name == "exec") {
    session.EndMulti();
    if (error.starts_with("ERR ")) error.remove_prefix(4);
    reply.Error(fmt::format("EXECABORT Transaction discarded because of: {}", error));
  } else {
    session.multi.broken = session.multi.open;
    reply.Error(error);
  }
  Replied(session, start, {});
}

void Dispatcher::Queue(Session& session, const Command& command, Args args) {
  MultiState& multi = session.multi;
  OwnedArgs copy(args);
  const size_t bytes = copy.bytes() + sizeof(QueuedCommand);
  if (multi.queue.size() >= kMaxQueuedCommands || multi.queued_bytes + bytes > kMaxQueuedBytes) {
    return Reject(session, &command, "ERR too much queued in one transaction");
  }
  std::string& out = session.connection().out();
  const size_t start = out.size();
  // A transaction that cannot be executed any more need not keep its commands.
  if (!multi.broken) {
    multi.queued_bytes += bytes;
    multi.queue.push_back({&command, std::move(copy)});
    session.queued_commands = multi.queue.size();
  }
  out.append("+QUEUED\r\n");
  Replied(session, start, {});
}

void Dispatcher::Run(Session& session, const Command& command, Args args) {
  if (store_.shares_transactions() && MayShare(command)) return Gather(session, command, args);
  if (command.run) {
    if (command.Has(kBlocking)) return RunBlocking(session, command, args);
    if (!command.long_running) return RunInGroup(session, command, args);
    return Defer(session,
                 std::make_unique<CommandWork>(Call(command, args), session.caller(), instance_));
  }
  std::string& out = session.connection().out();
  const size_t start = out.size();
  if (command.connection) {
    RunOnConnection(session, command, args);
    // Who wants no replies still wants messages, and to know which.
    const bool is_message = command.Has(kPubSub) && command.while_subscribed;
    if (is_message && session.reply_mode != ReplyMode::kOn) {
      if (session.reply_mode == ReplyMode::kSkipThis) session.reply_mode = ReplyMode::kOn;
      return session.unsealed.Add({});
    }
    return Replied(session, start, {});
  }
  ConnectionContext context{
      *this, session.connection(), session, command, args, net::RespWriter(out, session.protocol)};
  if (std::unique_ptr<ClientWork> work = command.prepare(context)) {
    if (command.is_audited) {
      AuditEntry entry = EntryOf(command, args, &session.user(), session.db);
      work = WithAudit(std::move(work), std::move(entry), instance_.observed().audit);
    }
    return RunWork(session, std::move(work));
  }
  counters_.Ran(command.index, 0, context.failed);
  if (command.is_audited) {
    NoteCall(session.user(), session.db, command, args, context.failed, instance_.observed().audit);
  }
  Replied(session, start, {});
}

void Dispatcher::RunOnConnection(Session& session, const Command& command, Args args) {
  const uint64_t begin_ns = clock_.MonotonicNs();
  ConnectionContext context{*this,   session.connection(),
                            session, command,
                            args,    net::RespWriter(session.connection().out(), session.protocol)};
  command.connection(context);
  Count(session, command, args, clock_.MonotonicNs() - begin_ns, context.failed);
}

// The first argument of nearly every request is its key; where it is not, nothing is lost.
void Dispatcher::Expect(net::RespConnection& connection, std::span<const Args> requests) {
  const Hooks::KeyEncoder encode = instance_.hooks().key_encoder;
  if (encode == nullptr) return;
  const uint8_t db = SessionOf(connection).db;
  expected_bytes_.resize(std::max(expected_bytes_.size(), requests.size()));
  expected_.clear();
  for (const Args args : requests) {
    if (args.size() < 2 || args[1].size() > kMaxExpectedKeyBytes) continue;
    Bytes& stored = expected_bytes_[expected_.size()];
    stored.clear();
    encode(db, args[1], stored);
    expected_.push_back({store::Space::kData, stored});
  }
  turn_->group().Expect(expected_);
}

// The path of nearly every request: nothing here takes memory.
void Dispatcher::RunInGroup(Session& session, const Command& command, Args args) {
  const Caller caller = session.caller();
  const uint64_t begin_ns = clock_.MonotonicNs();
  const Call call(command, args);
  scopes_.Clear();
  AddScopes(call, caller.db, scopes_, scratch_);
  std::string& out = session.connection().out();
  const size_t start = out.size();
  bool failed = false;
  KeyLookups lookups;
  HeldScopes held{.exclusive = scopes_.exclusive()};
  std::optional<Serving> serving;
  net::ReplyMeter meter(instance_.reply_bounds().on_loop, start);
  store::Group& group = turn_->group();
  const auto body = [&](store::Transaction& transaction) -> Result<void> {
    out.resize(start);
    meter.Restart();
    held.wanted.Clear();
    if (serving) serving->Begin();
    const size_t woken = group.woken().size();
    if (caller.origin != 0) [[unlikely]]
      transaction.set_origin(caller.origin);
    CommandContext context(transaction, call, caller, net::RespWriter(out, caller.protocol, &meter),
                           instance_.traffic().pubsub, held);
    Result<void> result = RunHandlerOf(context, meter);
    if (meter.overrun()) result = TooLargeForLoop();
    failed = context.failed;
    lookups = context.lookups;
    if (!result.ok() || group.woken().size() == woken || !instance_.traffic().waiters.anyone()) {
      return result;
    }
    if (!serving) serving.emplace(instance_.traffic().waiters);
    const auto topics = [&group] { return group.woken(); };
    return serving->Serve(transaction, scopes_, held, topics, woken);
  };
  const size_t woken = group.woken().size();
  const Result<store::Dependency> needs = turn_->Run(scopes_, command.access(), held, body);
  if (needs.ok()) {
    Count(session, command, args, clock_.MonotonicNs() - begin_ns, failed);
    counters_.LookedUp(lookups.hits, lookups.misses);
    Replied(session, start, *needs);
    if (serving) turn_->KeepServed(*serving, /*own_found=*/false, *needs);
    return turn_->ServeWaiters(woken);
  }
  out.resize(start);
  if (meter.overrun()) out.shrink_to_fit();
  if (needs.error().code == ErrorCode::kWouldBlock) {
    auto work = std::make_unique<CommandWork>(call, caller, instance_);
    work->held.wanted = std::move(held.wanted.AddAll(held.granted));
    return Defer(session, std::move(work));
  }
  Count(session, command, args, clock_.MonotonicNs() - begin_ns, true);
  FailWith(session, start, needs.error());
}

void Dispatcher::Count(const Session& session, const Command& command, Args args, uint64_t ns,
                       bool failed) {
  counters_.Ran(command.index, ns, failed);
  if (command.is_audited) [[unlikely]] {
    NoteCall(session.user(), session.db, command, args, failed, instance_.observed().audit);
  }
  if (session.attachment != nullptr) [[unlikely]]
    session.attachment->Ran(command, args);
  const uint64_t us = ns / 1000;
  if (LatencyEvents& events = instance_.observed().latency_events; events.Wants(us)) {
    events.Add(command.Has(kFast) ? "fast-command" : "command", clock_.Now(),
               static_cast<int64_t>(us / 1000));
  }
  SlowLog& slow_log = instance_.observed().slow_log;
  if (!slow_log.Wants(us) || command.Has(kSkipSlowLog)) return;
  static constexpr std::string_view kRedacted[] = {"(redacted)"};
  slow_log.Add(clock_.Now(), us, command.secret ? Args(kRedacted) : args,
               session.connection().peer(), session.text(Session::About::kName));
}

// --- Replies ------------------------------------------------------------------------------------

void Dispatcher::Replied(Session& session, size_t start, const store::Dependency& needs) {
  const std::string& out = session.connection().out();
  if (out.size() > start && out[start] == '-') [[unlikely]] {
    CountError(std::string_view(out).substr(start));
  }
  if (session.reply_mode != ReplyMode::kOn) [[unlikely]] {
    if (session.reply_mode == ReplyMode::kSkipThis) session.reply_mode = ReplyMode::kOn;
    session.connection().out().resize(start);
    return;
  }
  session.unsealed.Add(needs);
}

void Dispatcher::CountError(std::string_view reply) {
  reply.remove_prefix(1);
  instance_.observed().errors.Count(reply.substr(0, reply.find_first_of(" \r")));
}

void Dispatcher::FailWith(Session& session, size_t start, const Error& error) {
  net::RespWriter(session.connection().out(), session.protocol).Error(StoreErrorText(error));
  Replied(session, start, {});
}

std::string Dispatcher::StoreErrorText(const Error& error) const {
  // Clients can tell a disk that failed from a server that is merely busy.
  if (store_.write_failure() && !store_.shared()) return fmt::format("IOERR {}", error.message);
  return RespErrorText(error);
}

void Dispatcher::TurnEnd(std::span<net::RespConnection* const> served) {
  const Result<store::Commit> group = turn_->Commit();
  const int64_t now_us = clock_.Now().us;
  for (net::RespConnection* connection : served) {
    Session& session = SessionOf(*connection);
    session.last_active_us = now_us;
    Seal(session, group);
    if (!session.late_messages.empty()) [[unlikely]]
      WriteHeld(session);
  }
  TakeInvalidations();
  SubmitDeferred();
}

void Dispatcher::Seal(Session& session, const Result<store::Commit>& group) {
  session.connection().set_held_bytes(session.HeldBytes());
  if (session.unsealed.count == 0) return;
  if (session.unsealed.needs.on_group && !group.ok()) {
    const UnsealedReplies unsealed = std::exchange(session.unsealed, {});
    const std::string line = fmt::format("-IOERR {}", group.error().message);
    return session.connection().Refuse(unsealed.count, line);
  }
  store::Commit& commit = session.unsealed.needs.commit;
  if (std::exchange(session.unsealed.needs.on_group, false)) commit = std::max(commit, *group);
  if (session.delay) return;
  SealAll(session);
}

void Dispatcher::SealAll(Session& session) {
  const UnsealedReplies unsealed = std::exchange(session.unsealed, {});
  const store::Commit commit = unsealed.needs.commit;
  session.connection().Seal(store_.IsDurable(commit) ? 0 : commit.number, unsealed.count);
}

void Dispatcher::DelayReplies(Session& session, std::chrono::milliseconds delay) {
  session.connection().Pause(net::PauseReason::kWorking);
  session.delay = loop_.After(delay, [this, id = session.id()] {
    net::RespConnection* connection = instance_.server()->Find(loop_, id);
    if (connection == nullptr) return;
    Session& delayed = SessionOf(*connection);
    delayed.delay.reset();
    if (delayed.unsealed.count != 0) SealAll(delayed);
    WriteHeld(delayed);
    if (!delayed.with_pool && !delayed.blocked) connection->Resume();
  });
}

void Dispatcher::Release(store::Commit durable, const std::optional<Error>& failure) {
  net::RespServer* server = instance_.server();
  if (server == nullptr) return;
  server->Release(loop_, durable.number);
  if (failure) server->Fail(loop_, fmt::format("-IOERR {}", failure->message));
}

// --- Work that waits ----------------------------------------------------------------------------

void Dispatcher::RunWork(Session& session, std::unique_ptr<ClientWork> work) {
  const size_t start = session.connection().out().size();
  const size_t woken = turn_->group().woken().size();
  const Result<store::Dependency> needs = turn_->Run(*work);
  if (needs.ok()) {
    if (work->gone) return LookedTooLate(session);
    work->still_held = work->access == store::Access::kWrite;
    work->Finish(*this, session);
    if (work->found()) Replied(session, start, *needs);
    turn_->ServeWaiters(woken);
  } else if (needs.error().code == ErrorCode::kWouldBlock) {
    Defer(session, std::move(work));
  } else {
    if (session.blocked) Unpark(session);
    FailWith(session, start, needs.error());
  }
}

void Dispatcher::Defer(Session& session, std::unique_ptr<ClientWork> work) {
  session.connection().Pause(net::PauseReason::kWorking);
  session.with_pool = true;
  work->Widen();
  auto deferred = std::make_unique<Deferred>(Deferred{session.id()});
  deferred->works.push_back(std::move(work));
  deferred_.push_back(std::move(deferred));
}

bool Dispatcher::Joins(const Session& session, Args args) const {
  const CommandTable::Lookup found = instance_.commands().Find(args);
  if (found.command == nullptr || found.unknown_subcommand) return false;
  const Command& command = *found.command;
  return command.AcceptsArity(args.size()) && MayShare(command) && !session.multi.open &&
         (session.user().unrestricted() || !session.user().rules()->Check(command, args)) &&
         !instance_.traffic().pause.any() && !instance_.traffic().busy.Refusal();
}

void Dispatcher::Gather(Session& session, const Command& command, Args args) {
  if (session.gathered == nullptr) {
    gathered_.push_back(std::make_unique<Deferred>(Deferred{session.id()}));
    session.gathered = gathered_.back().get();
  }
  auto& works = session.gathered->works;
  works.push_back(std::make_unique<CommandWork>(Call(command, args), session.caller(), instance_));
  if (works.size() == Batch::kMostRequests) {
    session.connection().Pause(net::PauseReason::kWorking);
  }
}

void Dispatcher::QueueGathered() {
  net::RespServer* server = instance_.server();
  for (std::unique_ptr<Deferred>& deferred : std::exchange(gathered_, {})) {
    if (net::RespConnection* connection = server->Find(loop_, deferred->connection_id)) {
      connection->Pause(net::PauseReason::kWorking);
      SessionOf(*connection).gathered = nullptr;
      SessionOf(*connection).with_pool = true;
    }
    queued_.push_back(std::move(deferred));
  }
}

void Dispatcher::SubmitDeferred() {
  for (std::unique_ptr<Deferred>& deferred : std::exchange(deferred_, {})) {
    auto batch = std::make_shared<Batch>();
    batch->Add(std::move(deferred));
    Submit(batch);
  }
  QueueGathered();
  while (!queued_.empty() && batches_on_pool_ < kMostBatchesOnPool) {
    auto batch = std::make_shared<Batch>();
    batch->gathered = true;
    // Those with other needs keep their places.
    for (std::unique_ptr<Deferred>& deferred : queued_) {
      if (batch->HasRoomFor(*deferred)) batch->Add(std::move(deferred));
    }
    std::erase(queued_, nullptr);
    ++batches_on_pool_;
    Submit(batch);
  }
}

void Dispatcher::Submit(const std::shared_ptr<Batch>& batch) {
  on_pool_->fetch_add(1);
  const bool is_large = batch->request_bytes() >= kLargeRequestBytes;
  ThreadPool& pool = is_large ? instance_.pools().large : instance_.pools().store;
  const bool accepted = pool.Submit([this, batch, on_pool = on_pool_] {
    batch->Run(store_, instance_.traffic().waiters);
    Post([batch](Dispatcher& self) { self.Complete(*batch); });
    on_pool->fetch_sub(1);
    on_pool->notify_all();
  });
  if (accepted) return;
  on_pool_->fetch_sub(1);
  batch->FailAll({ErrorCode::kTooMany, "too many requests wait for the disk"});
  Post([batch](Dispatcher& self) { self.Complete(*batch); });
}

void Dispatcher::Complete(Batch& batch) {
  if (batch.gathered) --batches_on_pool_;
  for (const std::unique_ptr<Deferred>& deferred : batch.deferred()) Complete(*deferred);
  turn_->ReleasePlaces();
  SubmitDeferred();
}

void Dispatcher::Complete(Deferred& deferred) {
  net::RespServer* server = instance_.server();
  net::RespConnection* connection =
      server == nullptr ? nullptr : server->Find(loop_, deferred.connection_id);
  if (connection == nullptr) return;
  Session& session = SessionOf(*connection);
  CAIRN_CHECK(deferred.results.size() == deferred.works.size(), "{} results of {} requests",
              deferred.results.size(), deferred.works.size());
  for (size_t i = 0; i < deferred.works.size(); ++i) {
    const size_t start = connection->out().size();
    ClientWork& work = *deferred.works[i];
    const Result<store::Commit>& result = deferred.results[i];
    if (result.ok() && work.gone) {
      LookedTooLate(session);
    } else if (result.ok()) {
      work.Finish(*this, session);
      if (work.found()) Replied(session, start, {.commit = *result});
    } else {
      if (session.blocked) Unpark(session);
      work.GiveUp(session);
      FailWith(session, start, result.error());
    }
  }
  Seal(session, store::Commit{});
  session.with_pool = false;
  WriteLateMessages(session);
  if (!session.blocked) connection->Resume();
  if (!session.behind_it) return;
  // Resumed first, so that the request may pause its connection again.
  const OwnedArgs args = *std::exchange(session.behind_it, std::nullopt);
  ExecuteKnowing(*connection, args.view(), std::exchange(session.behind_may_write, std::nullopt));
  TurnEnd({&connection, 1});
}

}  // namespace cairn::doors
