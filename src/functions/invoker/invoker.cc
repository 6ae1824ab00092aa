#include "functions/invoker/invoker.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <utility>

#include "base/check.h"
#include "doors/turn/line_wait.h"
#include "doors/turn/side_task.h"
#include "functions/activation/activations.h"
#include "functions/codeq/dead_letters.h"
#include "functions/codeq/results.h"
#include "functions/codeq/topics.h"
#include "functions/control/aliases.h"
#include "functions/control/values.h"
#include "functions/control/versions.h"
#include "functions/invoker/activation_host.h"
#include "functions/invoker/begin.h"
#include "functions/invoker/locked_change.h"
#include "functions/model/activation_log.h"
#include "functions/model/context.h"
#include "functions/model/errors.h"
#include "functions/model/json_writer.h"
#include "functions/model/names.h"
#include "functions/pool/run_end.h"
#include "jobs/operations/fetch.h"
#include "jobs/operations/lease.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr milliseconds kFlushAfter(200);
constexpr milliseconds kPauseAfterError(500);
constexpr int64_t kPostponeMs = 100;
constexpr int64_t kFirstRetryMs = 1'000;
constexpr int64_t kLongestRetryMs = 300'000;
constexpr int kFinishTries = 5;
constexpr int64_t kMegabyte = 1024L * 1024;

constexpr std::string_view kFailedType = "InvocationFailed";

SteadyTime In(milliseconds time) { return std::chrono::steady_clock::now() + time; }

// Somebody waits for it now, or the jobs that it has are tried again by themselves.
bool HasOneTry(const Trigger& trigger) {
  return trigger.type == TriggerType::kHttp || trigger.type == TriggerType::kQueue ||
         trigger.source == kSyncSource;
}

std::string SlotName(const FunctionName& function, uint64_t version) {
  return fmt::format("{}:{}", ResourceName(function), version);
}

FunctionError ErrorOf(const Error& error) {
  return {.type = std::string(CodeRowOf(error).name), .message = std::string(RefusalText(error))};
}

int64_t RetryDelayMs(int64_t retries) {
  int64_t delay_ms = kFirstRetryMs;
  for (int64_t i = 0; i < retries && delay_ms < kLongestRetryMs; ++i) delay_ms *= 2;
  return std::min(delay_ms, kLongestRetryMs);
}

}  // namespace

// One that this process runs.
struct Invoker::Running {
  Running(Begun message, doors::RouteStore& routes) : begun(std::move(message)), flushed(routes) {}

  Begun begun;
  EnvMap env;
  Redactor redactor{EnvMap()};
  ActivationLog log{redactor};
  net::Timer flush;
  bool flush_waits = false;
  bool flushing = false;
  doors::RouteStore::Signal flushed;
};

struct Invoker::Ended {
  Status status = Status::kError;
  std::optional<FunctionResult> result = {};
  bool result_truncated = false;
  std::optional<FunctionError> error = {};
  std::optional<Usage> usage = {};
  std::string limit_hit = {};
  bool ran = false;
};

struct Invoker::LoopState {
  explicit LoopState(net::Loop& on) : loop(on), consumer(on), renewer(on) {}

  net::Loop& loop;
  size_t free = 0;  // more can run
  doors::SideTask consumer;
  doors::SideTask renewer;
  std::vector<std::shared_ptr<Running>> running;
};

// --- Claim ---------------------------------------------------------------------------------------

BeginWork::Options Invoker::BeginOptions(size_t count) const {
  return {.count = count,
          .lease_ms = options_.lease.count(),
          .worker_id = options_.node,
          .stopping = &stopping_};
}

std::function<std::unique_ptr<doors::Work>()> Invoker::MakeBegin(size_t count) const {
  return [this, count] { return std::make_unique<BeginWork>(BeginOptions(count)); };
}

awaitable<Result<std::vector<Begun>>> Invoker::ClaimSome(LoopState& state) {
  BeginWork work(BeginOptions(state.free));
  const Result<void> done = co_await parts_.routes.Run(work);
  if (!done.ok()) co_return done.error();
  if (work.found()) co_return work.TakeBegun();
  const std::vector<std::string> queues = {std::string(kInvokeTopic)};
  doors::LineWait line(parts_.routes, jobs::FetchTopics(queues),
                       {.name = "functions", .takes = true}, MakeBegin(state.free));
  const Result<std::shared_ptr<doors::Work>> served = co_await line.Served(SteadyTime::max());
  if (!served.ok()) co_return served.error();
  if (*served == nullptr) co_return std::vector<Begun>();
  co_return static_cast<BeginWork&>(**served).TakeBegun();
}

awaitable<void> Invoker::Consume(std::shared_ptr<LoopState> shared) {
  LoopState& state = *shared;
  while (!stopping_ && !state.consumer.ended()) {
    if (state.free == 0) {
      co_await state.consumer.Sleep(SteadyTime::max());
      continue;
    }
    Result<std::vector<Begun>> claimed = co_await ClaimSome(state);
    if (!claimed.ok()) {
      parts_.log.Warn("cannot claim messages of functions", {{"error", claimed.error().message}});
      co_await state.consumer.Sleep(In(kPauseAfterError));
      continue;
    }
    for (Begun& begun : *claimed) {
      CAIRN_CHECK(state.free > 0);
      --state.free;
      auto running = std::make_shared<Running>(std::move(begun), parts_.routes);
      state.running.push_back(running);
      boost::asio::co_spawn(state.loop.io(), RunOne(shared, std::move(running)),
                            boost::asio::detached);
    }
  }
}

awaitable<void> Invoker::RenewLeases(std::shared_ptr<LoopState> shared) {
  LoopState& state = *shared;
  while (!state.renewer.ended()) {
    co_await state.renewer.Sleep(In(options_.lease / 3));
    if (state.running.empty() || state.renewer.ended()) continue;
    const std::vector<std::shared_ptr<Running>> running = state.running;
    codeq::Locks locks;
    for (const auto& one : running) codeq::AddMessageScopes(one->begun.lease, locks);
    const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
      for (const auto& one : running) {
        const Result<uint64_t> until =
            codeq::Extend(context, one->begun.lease, options_.lease.count());
        // One that has ended since, or was cancelled: its finish will find out.
        if (!until.ok() && until.error().code == ErrorCode::kWouldBlock) return until.error();
      }
      return {};
    };
    const Result<void> done = co_await Change(parts_.routes, std::move(locks), body);
    if (!done.ok()) {
      parts_.log.Warn("cannot extend leases of functions", {{"error", done.error().message}});
    }
  }
}

// --- Run -----------------------------------------------------------------------------------------

awaitable<void> Invoker::RunOne(std::shared_ptr<LoopState> state,
                                std::shared_ptr<Running> running) {
  const Begun& begun = running->begun;
  const FunctionName function = NameOf(begun.activation);
  const uint64_t version = begun.version.version;
  const bool runs = !begun.ended && !begun.stranger && !begun.refused && !begun.expired;
  if (runs && !TakeSlot(function, version, begun.version.config.max_concurrency)) {
    co_await Postpone(*running);
  } else {
    Ended ended;
    if (runs) {
      ended = co_await Execute(state->loop, running);
      GiveSlot(function, version);
    } else if (begun.refused) {
      ended.error = ErrorOf(*begun.refused);
    } else if (begun.expired) {
      ended.status = Status::kTimeout;
      ended.error = FunctionError{
          .type = "Timeout", .message = "the deadline had passed before the function could be run"};
    }
    co_await Finish(*running, std::move(ended));
  }
  std::erase(state->running, running);
  ++state->free;
  state->consumer.Wake();
}

awaitable<Result<std::string>> Invoker::OpenEnv(const Begun& begun, EnvMap& env) {
  if (begun.version.config.env_names.empty()) co_return std::string("{}");
  const doors::RouteStore::Task read = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(
        env, LoadEnv(transaction, NameOf(begun.activation), begun.version, parts_.secrets));
    return {};
  };
  const store::Scopes none;
  const Result<void> done = co_await parts_.routes.Read(none, read);
  if (!done.ok()) co_return done.error();
  std::string text;
  JsonWriter json(text);
  json.TextMap("", env);
  co_return text;
}

awaitable<Invoker::Ended> Invoker::Execute(net::Loop& loop, std::shared_ptr<Running> shared) {
  Running& running = *shared;
  const Begun& begun = running.begun;
  const VersionConfig& config = begun.version.config;
  Result<std::string> env = co_await OpenEnv(begun, running.env);
  if (!env.ok()) co_return Ended{.error = ErrorOf(env.error())};
  running.redactor = Redactor(running.env);
  ProgramCache::Wanted wanted{.function = NameOf(begun.activation),
                              .version = begun.version.version,
                              .sha256 = begun.version.sha256,
                              .config = config};
  Result<std::shared_ptr<const Program>> program = co_await programs_.Load(std::move(wanted));
  if (!program.ok()) co_return Ended{.error = ErrorOf(program.error())};

  const auto logged = [this, &loop, shared] {
    if (std::exchange(shared->flush_waits, true)) return;
    shared->flush = loop.After(kFlushAfter, [this, &loop, weak = std::weak_ptr(shared)] {
      if (const std::shared_ptr<Running> alive = weak.lock()) {
        boost::asio::co_spawn(loop.io(), FlushLog(alive), boost::asio::detached);
      }
    });
  };
  ActivationHost host({parts_.routes, fetch_, parts_.clock, parts_.random}, begun.activation,
                      config, running.log, logged);
  const int64_t left_ms = begun.deadline_ms - parts_.clock.Now().millis();
  const int64_t wall_ms = std::max<int64_t>(1, std::min(config.timeout_ms, left_ms));
  RunRequest request{
      .tenant = begun.activation.tenant,
      .program = *program,
      .event = begun.event,
      .context = ContextText(begun.activation, begun.principal, begun.deadline_ms),
      .env = *std::move(env),
      .limits = {.wall_ms = wall_ms,
                 .cpu_ms = wall_ms,
                 .memory_bytes = static_cast<uint64_t>(config.memory_mb * kMegabyte)}};
  const RunOutcome outcome = co_await parts_.pool.Run(std::move(request), host);
  RunEnd end = EndOf(outcome, running.redactor);
  Ended ended{.status = end.status,
              .result = std::move(end.result),
              .result_truncated = end.result_truncated,
              .error = std::move(end.error),
              .usage = end.usage,
              .limit_hit = outcome.limit_hit,
              .ran = true};
  co_return ended;
}

awaitable<void> Invoker::FlushLog(std::shared_ptr<Running> running) {
  running->flush_waits = false;
  const std::optional<LogChunk> chunk = running->log.Take();
  if (!chunk) co_return;
  running->flushing = true;
  const Activation& activation = running->begun.activation;
  codeq::Locks locks;
  locks.AddKey(LogIndexKey(activation.tenant, activation.activation_id));
  const jobs::ChangeBody body = [&](jobs::Context& context) {
    return PutLogChunk(context.transaction, activation.tenant, activation.activation_id, *chunk);
  };
  const Result<void> done = co_await Change(parts_.routes, std::move(locks), body);
  if (!done.ok()) {
    parts_.log.Warn("cannot write the log of an activation",
                    {{"activation", activation.activation_id}, {"error", done.error().message}});
  }
  running->flushing = false;
  running->flushed.waker()();
}

// --- Finish --------------------------------------------------------------------------------------

awaitable<void> Invoker::Finish(Running& running, Ended ended) {
  Begun& begun = running.begun;
  running.flush.Cancel();
  while (running.flushing) co_await running.flushed.Wait();

  Activation activation = begun.activation;
  const int64_t now_ms = parts_.clock.Now().millis();
  const VersionConfig& config = begun.version.config;
  const bool failed = !begun.ended && ended.status != Status::kSuccess;
  const bool again = failed && ended.ran && !HasOneTry(activation.trigger) &&
                     activation.retries < config.max_retries && now_ms < begun.deadline_ms;
  const int64_t delay_ms = RetryDelayMs(activation.retries);
  if (!begun.ended) {
    activation.usage = ended.usage;
    activation.limit_hit = ended.limit_hit;
    activation.error = ended.error;
    if (again) {
      activation.status = Status::kQueued;
      ++activation.retries;
    } else {
      activation.status = ended.status;
      activation.result = std::move(ended.result);
      activation.result_truncated = ended.result_truncated;
      activation.end_ms = now_ms;
      activation.duration_ms = std::max<int64_t>(0, now_ms - activation.start_ms.value_or(now_ms));
    }
  }

  const Timestamp now = parts_.clock.Now();
  const Result<codeq::Outgoing> result =
      codeq::PrepareResult({.tenant = activation.tenant,
                            .result = InvocationResultText(ResultOf(activation)),
                            .message_id = NewMessageId(now, parts_.random),
                            .ts_ms = now.millis()});
  // A retry has no result yet, and a stranger's is nobody's.
  const bool tells = !again && !begun.stranger;
  if (tells && !result.ok()) {
    parts_.log.Error("the result of an activation cannot be published",
                     {{"activation", activation.activation_id}, {"error", result.error().message}});
  }
  std::optional<codeq::Outgoing> failure;
  if (failed && tells && !config.on_failure.empty()) {
    Envelope envelope{.id = NewMessageId(now, parts_.random),
                      .ts_ms = now.millis(),
                      .tenant = activation.tenant,
                      .type = std::string(kFailedType)};
    Result<codeq::Outgoing> made = codeq::Prepare(
        {.topic = config.on_failure, .text = codeq::Wrap(std::move(envelope), Encode(activation))});
    if (made.ok()) failure = *std::move(made);
  }
  const std::optional<LogChunk> chunk = running.log.Take();

  codeq::Locks locks;
  codeq::AddMessageScopes(begun.lease, locks);
  if (tells && result.ok()) codeq::AddPublishScopes(*result, locks);
  if (failure) codeq::AddPublishScopes(*failure, locks);
  if (chunk) locks.AddKey(LogIndexKey(activation.tenant, activation.activation_id));
  if (begun.stranger) locks.lanes.AddQueue(kInvokeDeadTopic);
  const ActivationEnding* const ending = parts_.ending != nullptr && !again && !begun.ended &&
                                                 !begun.stranger &&
                                                 parts_.ending->Concerns(activation)
                                             ? parts_.ending
                                             : nullptr;
  if (ending != nullptr) ending->AddScopes(activation, locks);
  const bool counts = ended.ran && !again && !begun.shift.empty();
  if (counts) AddAliasScopes(NameOf(activation), activation.ref.alias, locks.keys);

  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    store::Transaction& transaction = context.transaction;
    if (again) {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t until, jobs::Snooze(context, begun.lease, delay_ms));
      (void)until;
    } else {
      CAIRN_RETURN_IF_ERROR(codeq::Ack(context, begun.lease));
    }
    if (begun.stranger) {
      const Error reason = Refuse(Code::kConflict, "activation_id is that of another request");
      CAIRN_ASSIGN_OR_RETURN(const std::string letter,
                             codeq::AddDeadLetter(context, kInvokeTopic, begun.event, reason));
      (void)letter;
      return {};
    }
    if (!begun.ended) {
      CAIRN_RETURN_IF_ERROR(MoveActivation(transaction, Status::kRunning, activation));
    }
    if (ending != nullptr) CAIRN_RETURN_IF_ERROR(ending->End(context, activation));
    if (chunk) {
      CAIRN_RETURN_IF_ERROR(
          PutLogChunk(transaction, activation.tenant, activation.activation_id, *chunk));
    }
    if (counts) {
      CAIRN_RETURN_IF_ERROR(RecordOutcome(transaction, {.function = NameOf(activation),
                                                        .alias = activation.ref.alias,
                                                        .shift = begun.shift,
                                                        .failed = failed}));
    }
    if (tells && result.ok()) {
      CAIRN_ASSIGN_OR_RETURN(const codeq::Published published, codeq::Publish(context, *result));
      (void)published;
    }
    if (failure) {
      CAIRN_ASSIGN_OR_RETURN(const codeq::Published published, codeq::Publish(context, *failure));
      (void)published;
    }
    return {};
  };
  doors::SideTask pause(parts_.routes.turn().loop());
  for (int tries = 1;; ++tries) {
    const Result<void> done = co_await Change(parts_.routes, locks, body);
    if (done.ok()) break;
    const bool lost =
        done.error().code == ErrorCode::kConflict || done.error().code == ErrorCode::kNotFound;
    if (lost || tries == kFinishTries || stopping_) {
      parts_.log.Warn("the end of an activation was not written",
                      {{"activation", activation.activation_id}, {"error", done.error().message}});
      const std::scoped_lock lock(mutex_);
      ++figures_.lost;
      co_return;
    }
    co_await pause.Sleep(In(kPauseAfterError * tries));
  }
  if (!tells || begun.ended) co_return;
  ended_.Count(activation);
  if (!ended.usage || !ended.usage->cold) co_return;
  const std::scoped_lock lock(mutex_);
  ++figures_.cold;
}

awaitable<void> Invoker::Postpone(Running& running) {
  const Begun& begun = running.begun;
  Activation activation = begun.activation;
  activation.status = Status::kQueued;
  codeq::Locks locks;
  codeq::AddMessageScopes(begun.lease, locks);
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t until, jobs::Snooze(context, begun.lease, kPostponeMs));
    (void)until;
    return MoveActivation(context.transaction, Status::kRunning, activation);
  };
  const Result<void> done = co_await Change(parts_.routes, std::move(locks), body);
  if (!done.ok()) {
    parts_.log.Warn("an activation was not postponed",
                    {{"activation", activation.activation_id}, {"error", done.error().message}});
  }
}

// --- Accept --------------------------------------------------------------------------------------

Result<void> Invoker::Admit(const Invocation& invocation, const VersionMeta& version) {
  const auto refuse = [](std::string_view what, int64_t wait_ms) {
    return Refuse(
        Code::kRateLimited,
        fmt::format("too many invocations of {} a second; try again in {} ms", what, wait_ms));
  };
  const VersionConfig& config = version.config;
  if (const auto wait_ms = rates_.Take(invocation.function.tenant, options_.tenant_rate)) {
    return refuse("the tenant " + invocation.function.tenant, *wait_ms);
  }
  const int64_t rate = config.rate_limit > 0 ? config.rate_limit : options_.function_rate;
  const std::string name = ResourceName(invocation.function);
  if (const auto wait_ms = rates_.Take(name, rate)) return refuse(name, *wait_ms);
  if (invocation.mode == Invocation::Mode::kSync &&
      !HasSlot(invocation.function, version.version, config.max_concurrency)) {
    return Refuse(Code::kConcurrencyLimited,
                  fmt::format("{} runs {} times now, which is its max_concurrency", name,
                              config.max_concurrency));
  }
  return {};
}

awaitable<Result<Accepted>> Invoker::Accept(Invocation invocation) {
  const bool sync = invocation.mode == Invocation::Mode::kSync;
  if (invocation.activation_id.empty()) {
    invocation.activation_id = NewActivationId(parts_.random);
  }
  InvocationRequest request{.activation_id = invocation.activation_id,
                            .request_id = invocation.request_id,
                            .tenant = invocation.function.tenant,
                            .ns = invocation.function.ns,
                            .ref = invocation.ref,
                            .trigger = invocation.trigger,
                            .principal = invocation.principal,
                            .event = std::move(invocation.event)};
  request.ref.function = invocation.function.name;
  if (request.trigger.type == TriggerType::kApi && request.trigger.source == "{}") {
    request.trigger.source = sync ? kSyncSource : kAsyncSource;
  }
  VersionMeta version;
  const doors::RouteStore::Task look = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(Resolved resolved, CheckRequest(transaction, request));
    version = std::move(resolved.version);
    return {};
  };
  const store::Scopes none;
  const Result<void> looked = co_await parts_.routes.Read(none, look);
  if (!looked.ok()) co_return looked.error();
  const Result<void> allowed = Admit(invocation, version);
  if (!allowed.ok()) co_return allowed.error();

  const Timestamp now = parts_.clock.Now();
  request.deadline_ms = now.millis() + (sync ? version.config.timeout_ms : kAsyncDeadlineMs);
  RequestOptions options{.message_id = NewMessageId(now, parts_.random), .now_ms = now.millis()};
  const Result<QueuedRequest> queued = PrepareRequest(request, std::move(options));
  if (!queued.ok()) co_return queued.error();
  Accepted accepted{.activation_id = request.activation_id,
                    .request_id = request.request_id,
                    .deadline_ms = request.deadline_ms};
  codeq::Locks locks;
  AddRequestScopes(*queued, locks);
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const AcceptedRequest done, AcceptRequest(context, *queued));
    accepted.existing = done.existing.has_value();
    if (!done.existing) return {};
    accepted.request_id = done.existing->request_id;
    if (IsTerminal(done.existing->status)) accepted.result = ResultOf(*done.existing);
    return {};
  };
  const Result<void> done = co_await Change(parts_.routes, std::move(locks), body);
  if (!done.ok()) co_return done.error();
  co_return accepted;
}

awaitable<Result<Invoker::Answer>> Invoker::Invoke(Invocation invocation) {
  const std::string tenant = invocation.function.tenant;
  invocation.mode = Invocation::Mode::kSync;
  Result<Accepted> accepted = co_await Accept(std::move(invocation));
  if (!accepted.ok()) co_return accepted.error();
  if (accepted->result) {
    InvocationResult result = *accepted->result;
    co_return Answer{*std::move(accepted), std::move(result)};
  }
  const int64_t wait_ms = accepted->deadline_ms - parts_.clock.Now().millis() + kAnswerGraceMs;
  codeq::AwaitedResult what{tenant, accepted->request_id, accepted->activation_id};
  const Result<std::optional<std::string>> text = co_await codeq::AwaitResult(
      parts_.routes, std::move(what), In(milliseconds(std::max<int64_t>(0, wait_ms))));
  if (!text.ok()) co_return text.error();
  if (!*text) {
    co_return Refuse(Code::kCorrelationTimeout,
                     fmt::format("there is no result of the activation {} yet; ask for it later",
                                 accepted->activation_id));
  }
  Result<InvocationResult> result = ParseInvocationResult(**text);
  if (!result.ok()) co_return result.error();
  co_return Answer{*std::move(accepted), *std::move(result)};
}

// --- Life ----------------------------------------------------------------------------------------

Invoker::Invoker(InvokerParts parts, InvokerOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      fetch_{parts_.http, parts_.policy},
      programs_(parts_.routes, parts_.pool, options_.cache_bytes),
      rates_(parts_.clock) {}

Invoker::~Invoker() = default;

void Invoker::Start() {
  const size_t count = parts_.loops.size();
  const size_t each = std::max<size_t>(1, options_.running / count);
  for (size_t i = 0; i < count; ++i) {
    net::Loop* const loop = &parts_.loops.at(i);
    loop->Post([this, loop, each] {
      auto state = std::make_shared<LoopState>(*loop);
      state->free = each;
      state->consumer.Start(Consume(state), state);
      state->renewer.Start(RenewLeases(state), state);
      const std::scoped_lock lock(mutex_);
      loops_.push_back(state);
    });
  }
}

void Invoker::Stop() {
  stopping_ = true;
  const std::scoped_lock lock(mutex_);
  for (const std::weak_ptr<LoopState>& weak : loops_) {
    if (const std::shared_ptr<LoopState> state = weak.lock()) {
      state->loop.Post([state] {
        state->consumer.End();
        state->renewer.End();
      });
    }
  }
}

bool Invoker::TakeSlot(const FunctionName& function, uint64_t version, int64_t most) {
  const std::scoped_lock lock(mutex_);
  int64_t& running = by_version_[SlotName(function, version)];
  if (running >= most) return false;
  ++running;
  ++figures_.running;
  ++figures_.started;
  return true;
}

void Invoker::GiveSlot(const FunctionName& function, uint64_t version) {
  const std::scoped_lock lock(mutex_);
  const auto found = by_version_.find(SlotName(function, version));
  CAIRN_CHECK(found != by_version_.end() && found->second > 0);
  if (--found->second == 0) by_version_.erase(found);
  --figures_.running;
}

bool Invoker::HasSlot(const FunctionName& function, uint64_t version, int64_t most) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_version_.find(SlotName(function, version));
  return found == by_version_.end() || found->second < most;
}

InvokerFigures Invoker::figures() const {
  InvokerFigures figures;
  {
    const std::scoped_lock lock(mutex_);
    figures = figures_;
  }
  figures.ended = ended_.Take();
  return figures;
}

}  // namespace cairn::functions
