#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "functions/activation/accept.h"
#include "functions/activation/activations.h"
#include "functions/codeq/topics.h"
#include "functions/control/functions.h"
#include "functions/control/versions.h"
#include "functions/engine/engine.h"
#include "functions/engine/runtime_chunks.h"
#include "functions/invoker/activation_host.h"
#include "functions/invoker/begin.h"
#include "functions/invoker/locked_change.h"
#include "functions/model/context.h"
#include "functions/model/manifest.h"
#include "functions/model/names.h"
#include "functions/steps/history.h"
#include "functions/steps/restart.h"
#include "functions/steps/suspension.h"
#include "functions/testing/codeq_server.h"
#include "outside/http_service.h"

namespace cairn::functions::testing {

// Functions with steps in one process, on time that the test moves: the real engine on the test's
// thread, what it asks answered by the real host, and each run begun and suspended by the real
// operations. A run can be made to die at any call to the server.
class StepRunner {
 public:
  static constexpr int64_t kLeaseMs = 30'000;
  inline static const FunctionName kFunction{"t_abc123", "payments", "reconcile"};

  explicit StepRunner(const std::string& source) : http_(server_.clock()), fetch_{http_, {}} {
    auto made = Engine::Make({.runtime = EmbeddedRuntime()});
    EXPECT_TRUE(made.ok());
    engine_ = *std::move(made);
    Publish(source);
  }
  ~StepRunner() { http_.Stop(); }

  // The next version of the function, under the alias "prod".
  void Publish(const std::string& source) {
    const std::string manifest =
        ManifestText({.timeout_ms = 3'000,
                      .memory_mb = 64,
                      .max_concurrency = 10,
                      .capabilities = {.kv_prefixes = {"a:"},
                                       .kv_ops = {"get", "set", "del"},
                                       .publish_topics = {"work", "told"}}});
    const Files files = {{std::string(kFunctionFile), Bytes(source)},
                         {std::string(kManifestFile), manifest}};
    const Result<Package> package = MakePackage(files);
    ASSERT_TRUE(package.ok()) << package.error().message;
    const auto body = [&](store::Transaction& transaction) -> Result<void> {
      Context context{.transaction = transaction, .secrets = &secrets_, .random = &random_};
      if (versions_ == 0) {
        CAIRN_RETURN_IF_ERROR(CreateFunction(context, {.name = kFunction}));
      }
      CAIRN_RETURN_IF_ERROR(
          functions::Publish(context, kFunction, {.package = *package, .alias = "prod"}));
      return {};
    };
    const auto done = server_.server().store().Run(store::Scopes::Exclusive(), body);
    ASSERT_TRUE(done.ok()) << done.error().message;
    auto program = std::make_shared<Program>();
    program->sha256 = fmt::format("{:064}", ++versions_);
    program->files = {{"function.js", source}};
    program->entry = "function.js";
    program_ = std::move(program);
  }

  // Queues an activation; its id.
  std::string Invoke(std::string event = "{}") {
    InvocationRequest request{.activation_id = NewActivationId(random_),
                              .request_id = NewRequestId(random_),
                              .tenant = kFunction.tenant,
                              .ns = kFunction.ns,
                              .ref = {.function = kFunction.name, .alias = "prod", .version = {}},
                              .trigger = {TriggerType::kApi, std::string(kAsyncSource)},
                              .principal = {.sub = "test", .roles = {"role:admin"}},
                              .deadline_ms = now_ms() + kAsyncDeadlineMs,
                              .event = std::move(event)};
    const Result<QueuedRequest> queued = PrepareRequest(
        request, {.message_id = NewMessageId(server_.clock().Now(), random_), .now_ms = now_ms()});
    EXPECT_TRUE(queued.ok()) << queued.error().message;
    codeq::Locks locks;
    AddRequestScopes(*queued, locks);
    const Result<void> done = Change(std::move(locks), [&](jobs::Context& context) -> Result<void> {
      return AcceptRequest(context, *queued).ok() ? Result<void>() : Error{};
    });
    EXPECT_TRUE(done.ok());
    return request.activation_id;
  }

  // How a run ends.
  enum class End { kNothingToRun, kDied, kSuspended, kEnded };
  struct Death {
    int at_call = 0;        // of those to the server, from 1 on
    bool answered = false;  // the server has done what it was asked to
  };
  // Claims a message and runs its function until it ends, waits, or dies.
  End RunOnce(const std::optional<Death>& death = {}) {
    std::shared_ptr<Attempt> attempt = Claim();
    if (attempt == nullptr) return End::kNothingToRun;
    attempts_.push_back(attempt);
    last_ = attempt;
    if (attempt->begun.expired || attempt->begun.refused) {
      Finish(*attempt, {.status = RunStatus::kError, .error = {.type = "Refused", .message = ""}});
      return End::kEnded;
    }
    attempt->death = death;
    const Begun& begun = attempt->begun;
    const std::string context = ContextText(begun.activation, begun.principal, begun.deadline_ms);
    const EngineOutcome outcome = engine_->Run(
        {.program = program_, .event = begun.event, .context = context, .env = "{}"}, *attempt);
    calls_ = attempt->calls;
    if (attempt->dead) return End::kDied;
    if (outcome.status == RunStatus::kSuspended && attempt->steps.may_leave()) {
      Suspend(*attempt);
      return End::kSuspended;
    }
    Finish(*attempt, outcome);
    return End::kEnded;
  }
  // Runs what there is, moving time to whatever is next, until the activation has ended.
  Activation RunToEnd(const std::string& id) {
    for (int runs = 0; runs < 1'000; ++runs) {
      const Activation activation = Get(id);
      if (IsTerminal(activation.status)) return activation;
      if (RunOnce() == End::kNothingToRun) AdvanceToNext(id);
    }
    ADD_FAILURE() << "the activation does not end";
    return Get(id);
  }
  // To when the activation is to go on.
  void AdvanceToNext(const std::string& id) {
    const Activation activation = Get(id);
    int64_t ms = 1'000;
    if (activation.durable && activation.durable->suspended) {
      ms = std::max<int64_t>(1, activation.durable->suspended->until_ms - now_ms());
    }
    server_.Advance(ms);
  }

  Activation Get(const std::string& id) {
    std::optional<Activation> found;
    Read([&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(found, LoadActivation(transaction, kFunction.tenant, id));
      return {};
    });
    EXPECT_TRUE(found.has_value()) << id;
    return found.value_or(Activation());
  }
  History Steps(const std::string& id) {
    History history;
    Read([&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(history, LoadHistory(transaction, kFunction.tenant, id));
      return {};
    });
    return history;
  }
  // JSON of a key of cs.kv; "null" if it is not there.
  std::string Kv(const std::string& key) {
    std::string value;
    Read([&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const auto stored, ReadKv(transaction, kFunction.in(), key));
      value = stored.value_or("null");
      return {};
    });
    return value;
  }
  // "ok 1" or the refusal.
  std::string Signal(const std::string& id, const std::string& name,
                     const std::string& payload = "null") {
    uint64_t number = 0;
    codeq::Locks locks;
    AddSignalScopes(locks);
    const Result<void> done = Change(std::move(locks), [&](jobs::Context& context) -> Result<void> {
      const SignalRequest request{kFunction.tenant, id, name, payload};
      CAIRN_ASSIGN_OR_RETURN(number, functions::Signal(context, nullptr, request));
      return {};
    });
    return done.ok() ? fmt::format("ok {}", number) : done.error().message;
  }
  Result<Restarted> Restart(RestartRequest request) {
    request.tenant = kFunction.tenant;
    request.principal = {.sub = "test", .roles = {"role:admin"}};
    request.new_activation = NewActivationId(random_);
    request.request_id = NewRequestId(random_);
    request.message_id = NewMessageId(server_.clock().Now(), random_);
    Restarted restarted;
    codeq::Locks locks;
    AddRestartScopes(locks);
    const Result<void> done = Change(std::move(locks), [&](jobs::Context& context) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(restarted, functions::Restart(context, nullptr, request));
      return {};
    });
    if (!done.ok()) return done.error();
    return restarted;
  }
  // What the host of the last run says to a call now, as a process that is still there would hear.
  Result<std::string> AskLast(const std::string& operation, const std::string& arguments) {
    return Do<Result<std::string>>(
        [this, &operation, &arguments] { return last_->host.Call(operation, arguments); });
  }
  size_t JobsIn(const std::string& queue) {
    const std::string text = server_.Run({"QUEUE.GET", queue});
    const size_t at = text.find("\"pending\":");
    return at == std::string::npos ? 0 : std::stoul(text.substr(at + 10));
  }

  int64_t now_ms() { return server_.clock().Now().millis(); }
  int calls() const { return calls_; }  // of the last run to the server
  CodeqServer& server() { return server_; }
  const std::vector<std::string>& log() const { return log_; }

 private:
  template <typename T>
  static boost::asio::awaitable<void> Fulfil(std::function<boost::asio::awaitable<T>()> make,
                                             std::shared_ptr<std::promise<T>> into) {
    T value = co_await make();
    into->set_value(std::move(value));
  }
  template <typename T>
  T Do(std::function<boost::asio::awaitable<T>()> make) {
    auto result = std::make_shared<std::promise<T>>();
    net::Loop& loop = server_.loops().at(0);
    loop.Post([&loop, make, result] {
      boost::asio::co_spawn(loop.io(), Fulfil<T>(make, result), boost::asio::detached);
    });
    return result->get_future().get();
  }
  Result<void> Change(codeq::Locks locks, const jobs::ChangeBody& body) {
    return Do<Result<void>>([&] { return functions::Change(server_.store(), locks, body); });
  }
  void Read(const doors::RouteStore::Task& task) {
    const store::Scopes none;
    const Result<void> done = Do<Result<void>>([&] { return server_.store().Read(none, task); });
    EXPECT_TRUE(done.ok()) << done.error().message;
  }

  // One run, which may outlive its lease.
  struct Attempt final : EngineHost {
    Attempt(StepRunner& of, Begun message)
        : runner(of),
          begun(std::move(message)),
          steps({of.server_.store(), of.server_.clock(), of.random_}, begun),
          log(redactor),
          host({of.server_.store(), of.fetch_, of.server_.clock(), of.random_, steps},
               begun.activation, begun.version.config, log, [] {}) {}

    void Call(uint64_t call, std::string_view operation, std::string_view arguments) override {
      if (dead) return;
      ++calls;
      const bool dies = death && death->at_call == calls;
      if (dies && !death->answered) {
        dead = true;
        return;
      }
      const std::string op(operation);
      const std::string args(arguments);
      const Result<std::string> reply =
          runner.Do<Result<std::string>>([&] { return host.Call(op, args); });
      if (dies) {
        dead = true;
        return;
      }
      replies.push_back({.call = call,
                         .ok = reply.ok(),
                         .text = reply.ok() ? *reply : std::string(RefusalText(reply.error()))});
    }
    void Log(std::string_view level, std::string_view text) override {
      runner.log_.push_back(fmt::format("{} {}", level, text));
    }
    std::optional<HostReply> WaitForReply(std::optional<uint64_t> /*timeout_ns*/) override {
      if (replies.empty() || dead) return std::nullopt;
      HostReply reply = std::move(replies.front());
      replies.pop_front();
      return reply;
    }
    bool connected() const override { return !dead; }

    StepRunner& runner;
    Begun begun;
    StepHost steps;
    Redactor redactor{EnvMap()};
    ActivationLog log;
    ActivationHost host;
    std::optional<Death> death;
    int calls = 0;
    bool dead = false;
    std::deque<HostReply> replies;
  };

  std::shared_ptr<Attempt> Claim() {
    BeginWork work({.count = 1, .lease_ms = kLeaseMs, .worker_id = "test"});
    const Result<void> done = Do<Result<void>>([&] { return server_.store().Run(work); });
    EXPECT_TRUE(done.ok()) << done.error().message;
    std::vector<Begun> begun = work.TakeBegun();
    if (begun.empty()) return nullptr;
    return std::make_shared<Attempt>(*this, std::move(begun.front()));
  }
  void Suspend(Attempt& attempt) {
    codeq::Locks locks;
    codeq::AddMessageScopes(attempt.begun.lease, locks);
    const Result<void> done = Change(std::move(locks), [&](jobs::Context& context) -> Result<void> {
      Activation activation = attempt.begun.activation;
      if (!activation.durable) activation.durable.emplace();
      CAIRN_RETURN_IF_ERROR(PutSteps(context.transaction, activation.tenant,
                                     activation.activation_id, attempt.steps.unsaved(),
                                     attempt.steps.begin()));
      return functions::Suspend(context,
                                {.lease = attempt.begun.lease, .last_ms = attempt.begun.last_ms},
                                attempt.steps.history(), activation);
    });
    EXPECT_TRUE(done.ok()) << done.error().message;
  }
  void Finish(Attempt& attempt, const EngineOutcome& outcome) {
    codeq::Locks locks;
    codeq::AddMessageScopes(attempt.begun.lease, locks);
    const Result<void> done = Change(std::move(locks), [&](jobs::Context& context) -> Result<void> {
      Activation activation = attempt.begun.activation;
      const bool succeeded = outcome.status == RunStatus::kSuccess;
      activation.status = succeeded ? Status::kSuccess : Status::kError;
      activation.end_ms = now_ms();
      if (succeeded) {
        activation.result = FunctionResult{.status_code = 200, .body = outcome.result};
      } else {
        activation.error = FunctionError{outcome.error.type, outcome.error.message, ""};
      }
      CAIRN_RETURN_IF_ERROR(codeq::Ack(context, attempt.begun.lease));
      CAIRN_RETURN_IF_ERROR(MoveActivation(context.transaction, Status::kRunning, activation));
      CAIRN_RETURN_IF_ERROR(
          EndHistory(context.transaction, activation.tenant, activation.activation_id));
      return TellParent(context, activation);
    });
    EXPECT_TRUE(done.ok()) << done.error().message;
  }

  CodeqServer server_;
  SeededRandom random_{11};
  SecretKeys secrets_;
  outside::HttpService http_;
  const FetchParts fetch_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const Program> program_;
  int versions_ = 0;
  int calls_ = 0;
  std::vector<std::shared_ptr<Attempt>> attempts_;
  std::shared_ptr<Attempt> last_;
  std::vector<std::string> log_;
};

}  // namespace cairn::functions::testing
