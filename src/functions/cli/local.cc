#include "functions/cli/local.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <future>
#include <utility>

#include "base/log.h"
#include "functions/cli/local_steps.h"
#include "functions/model/activation_log.h"
#include "functions/model/bundle.h"
#include "functions/model/context.h"
#include "functions/model/digest.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/names.h"

namespace cairn::functions::cli {
namespace {

using boost::asio::awaitable;

constexpr int64_t kMegabyte = 1024L * 1024;
constexpr int64_t kUsPerMs = 1'000;
// What one run may keep of the messages that it sends.
constexpr size_t kMaxMessages = 1'000;
constexpr size_t kMaxMessageBytesKept = 16UL * 1024 * 1024;

const Principal& LocalPrincipal() {
  static const Principal principal{.sub = "local", .roles = {"admin", "role:admin"}};
  return principal;
}

// Answers what a running function asks, as a server does.
class LocalHost final : public RunHost {
 public:
  struct Parts {
    LocalKv& kv;
    const FetchParts& fetch;
    const Clock& clock;
    Random& random;
  };
  LocalHost(Parts parts, const VersionConfig& config, const Redactor& redactor,
            std::function<void(std::string_view, std::string_view)> logged)
      : parts_(parts),
        config_(config),
        redactor_(redactor),
        log_(redactor),
        logged_(std::move(logged)),
        steps_(parts.clock) {}

  awaitable<Result<std::string>> Call(std::string_view operation, std::string arguments) override {
    if (const std::optional<KvCall::Operation> kv = ParseKvOperation(operation)) {
      const Result<KvCall> call = ParseKv(*kv, arguments);
      if (!call.ok()) co_return call.error();
      const Result<void> allowed = CheckKv(config_.capabilities, *call);
      if (!allowed.ok()) co_return allowed.error();
      co_return call->step ? KvInStep(*call) : parts_.kv.Run(*call);
    }
    if (operation.starts_with("steps.")) {
      co_return co_await steps_.Call(operation, std::move(arguments));
    }
    if (operation == "http.fetch") {
      Result<FetchCall> call = ParseFetch(arguments);
      if (!call.ok()) co_return call.error();
      co_return co_await Fetch(parts_.fetch, config_.capabilities, *std::move(call));
    }
    if (operation == "codeq.publish") co_return Send("cs.codeq.publish", "topic", arguments);
    if (operation == "jobs.enqueue") co_return Send("cs.jobs.enqueue", "queue", arguments);
    co_return UnknownCall(operation);
  }

  void Log(std::string_view level, std::string_view text) override {
    log_.Add(level, text);
    if (logged_) logged_(level, redactor_.Redact(text));
  }

  std::string TakeLog() {
    const std::optional<LogChunk> chunk = log_.Take();
    return chunk ? chunk->text : "";
  }
  std::vector<LocalMessage> TakeMessages() { return std::move(messages_); }

 private:
  // Reads see what the step has written; writes wait until it is done.
  Result<std::string> KvInStep(const KvCall& call) {
    const KvCall* const written = steps_.LastWrite(*call.step, call.key);
    const bool kept = written != nullptr && written->operation == KvCall::Operation::kSet;
    if (call.operation == KvCall::Operation::kGet) {
      if (written == nullptr) return parts_.kv.Run(call);
      return fmt::format(R"({{"value":{}}})", kept ? written->value : "null");
    }
    bool is_there = kept;
    if (written == nullptr) {
      const KvCall look{.operation = KvCall::Operation::kGet, .key = call.key};
      CAIRN_ASSIGN_OR_RETURN(const std::string found, parts_.kv.Run(look));
      is_there = found != R"({"value":null})";
    }
    const auto write = [this, call]() -> Result<void> {
      const Result<std::string> done = parts_.kv.Run(call);
      return done.ok() ? Result<void>() : done.error();
    };
    CAIRN_RETURN_IF_ERROR(steps_.KeepKv(*call.step, call, write));
    if (call.operation == KvCall::Operation::kSet) return std::string("{}");
    return fmt::format(R"({{"deleted":{}}})", is_there);
  }

  Result<std::string> Send(std::string_view call, std::string_view member,
                           std::string_view arguments) {
    CAIRN_ASSIGN_OR_RETURN(NamedPayload sent, ParsePayload(member, arguments));
    CAIRN_RETURN_IF_ERROR(CheckTopic(config_.capabilities, call, sent.name));
    bytes_ += sent.payload.size();
    if (messages_.size() >= kMaxMessages || bytes_ > kMaxMessageBytesKept) {
      return Refuse(Code::kTooLarge,
                    fmt::format("{}: more than {} messages, or {} MiB, are not kept locally", call,
                                kMaxMessages, kMaxMessageBytesKept / kMegabyte));
    }
    const std::string id = NewMessageId(parts_.clock.Now(), parts_.random);
    LocalMessage message{std::string(call), std::move(sent.name), std::move(sent.payload)};
    if (sent.step) {
      CAIRN_RETURN_IF_ERROR(steps_.Keep(*sent.step, [this, message]() -> Result<void> {
        messages_.push_back(message);
        return {};
      }));
    } else {
      messages_.push_back(std::move(message));
    }
    if (member == "topic") return fmt::format(R"({{"id":"{}"}})", id);
    return fmt::format(R"({{"id":"{}","status":"pending"}})", id);
  }

  const Parts parts_;
  const VersionConfig& config_;
  const Redactor& redactor_;
  ActivationLog log_;
  const std::function<void(std::string_view, std::string_view)> logged_;
  LocalSteps steps_;
  std::vector<LocalMessage> messages_;
  size_t bytes_ = 0;
};

std::string EnvText(const EnvMap& env) {
  std::string text;
  JsonWriter json(text);
  json.TextMap("", env);
  return text;
}

}  // namespace

// --- LocalKv -------------------------------------------------------------------------------------

void LocalKv::Remove(std::map<std::string, Value, std::less<>>::iterator at) {
  bytes_ -= at->first.size() + at->second.json.size();
  values_.erase(at);
}

Result<std::string> LocalKv::Run(const KvCall& call) {
  const int64_t now_ms = clock_.Now().millis();
  auto found = values_.find(call.key);
  if (found != values_.end() && found->second.expires_ms && *found->second.expires_ms <= now_ms) {
    Remove(found);
    found = values_.end();
  }
  switch (call.operation) {
    case KvCall::Operation::kGet:
      return fmt::format(R"({{"value":{}}})", found == values_.end() ? "null" : found->second.json);
    case KvCall::Operation::kSet: {
      const size_t before =
          found == values_.end() ? 0 : found->first.size() + found->second.json.size();
      if (bytes_ - before + call.key.size() + call.value.size() > kMaxBytes) {
        return Refuse(Code::kTooLarge, fmt::format("cs.kv.set: more than {} MiB are not kept "
                                                   "locally",
                                                   kMaxBytes / kMegabyte));
      }
      if (found != values_.end()) Remove(found);
      bytes_ += call.key.size() + call.value.size();
      Value value{.json = call.value, .expires_ms = std::nullopt};
      if (call.ttl_seconds) value.expires_ms = now_ms + *call.ttl_seconds * kSecondMs;
      values_.emplace(call.key, std::move(value));
      return std::string("{}");
    }
    case KvCall::Operation::kDelete: {
      const bool deleted = found != values_.end();
      if (deleted) Remove(found);
      return fmt::format(R"({{"deleted":{}}})", deleted);
    }
  }
  return Refuse(Code::kInternal, "unknown operation of cs.kv");
}

// --- LocalRuntime --------------------------------------------------------------------------------

LocalRuntime::LocalRuntime(const LocalOptions& options)
    : http_(clock_),
      fetch_{http_, options.policy},
      kv_(clock_),
      pool_(SandboxPoolOptions{.max_children = 16}, clock_, random_,
            Log(LogLevel::kWarn, LogFormat::kText), loops_) {
  loops_.Start();
}

LocalRuntime::~LocalRuntime() {
  pool_.Stop();
  http_.Stop();
  loops_.Stop();
}

Result<LocalFunction> LocalRuntime::Load(const Packed& packed, FunctionName name,
                                         const VersionConfig& config, EnvMap env) {
  CAIRN_ASSIGN_OR_RETURN(const Bytes tar, WriteBundle(packed.files));
  auto program = std::make_shared<Program>();
  program->sha256 =
      Sha256Hex(fmt::format("{}\n{}", Sha256Hex(tar), IsolationName(config.isolation)));
  for (const auto& [path, text] : packed.files) program->files.push_back({path, text});
  program->entry = config.entry;
  program->handler = config.handler;
  program->isolation = config.isolation;

  auto compiled = std::make_shared<std::promise<Result<std::string>>>();
  const auto compile =
      [](SandboxPool& pool, std::shared_ptr<Program> of,
         std::shared_ptr<std::promise<Result<std::string>>> into) -> awaitable<void> {
    std::vector<SourceFile> files = of->files;
    std::string entry = of->entry;
    Result<std::string> made = co_await pool.Compile(std::move(files), std::move(entry));
    into->set_value(std::move(made));
  };
  loops_.at(0).Post([this, compile, program, compiled] {
    boost::asio::co_spawn(loops_.at(0).io(), compile(pool_, program, compiled),
                          boost::asio::detached);
  });
  CAIRN_ASSIGN_OR_RETURN(program->compiled, compiled->get_future().get());
  return LocalFunction{.program = std::move(program),
                       .config = config,
                       .name = std::move(name),
                       .env = std::move(env)};
}

awaitable<LocalOutcome> LocalRuntime::Run(std::shared_ptr<const LocalFunction> function,
                                          Invocation invocation) {
  const VersionConfig& config = function->config;
  const Redactor redactor(function->env);
  LocalOutcome outcome;
  outcome.activation_id = NewActivationId(random_);
  Activation activation;
  activation.activation_id = outcome.activation_id;
  activation.request_id = NewRequestId(random_);
  activation.tenant = function->name.tenant;
  activation.ns = function->name.ns;
  activation.ref.function = function->name.name;
  activation.resolved_version = function->version;
  activation.trigger = invocation.trigger;
  LocalHost host({kv_, fetch_, clock_, random_}, config, redactor, std::move(invocation.logged));
  RunRequest request;
  request.tenant = function->name.tenant;
  request.program = function->program;
  request.event = std::move(invocation.event);
  request.context =
      ContextText(activation, LocalPrincipal(), clock_.Now().millis() + config.timeout_ms);
  request.env = EnvText(function->env);
  request.limits = {.wall_ms = config.timeout_ms,
                    .cpu_ms = config.timeout_ms,
                    .memory_bytes = static_cast<uint64_t>(config.memory_mb * kMegabyte)};
  const RunOutcome ran = co_await pool_.Run(std::move(request), host);
  outcome.duration_ms = ran.usage.wall_us / kUsPerMs;
  outcome.end = EndOf(ran, redactor);
  outcome.limit_hit = ran.limit_hit;
  outcome.log = host.TakeLog();
  outcome.messages = host.TakeMessages();
  co_return outcome;
}

LocalOutcome LocalRuntime::RunToEnd(const LocalFunction& function, Invocation invocation) {
  auto done = std::make_shared<std::promise<LocalOutcome>>();
  auto shared = std::make_shared<const LocalFunction>(function);
  auto kept = std::make_shared<Invocation>(std::move(invocation));
  const auto run = [](LocalRuntime& runtime, std::shared_ptr<const LocalFunction> of,
                      std::shared_ptr<Invocation> with,
                      std::shared_ptr<std::promise<LocalOutcome>> into) -> awaitable<void> {
    LocalOutcome outcome = co_await runtime.Run(std::move(of), std::move(*with));
    into->set_value(std::move(outcome));
  };
  loops_.at(0).Post([this, run, shared, kept, done] {
    boost::asio::co_spawn(loops_.at(0).io(), run(*this, shared, kept, done), boost::asio::detached);
  });
  return done->get_future().get();
}

std::string OutcomeText(const LocalOutcome& outcome) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("activation_id", outcome.activation_id);
  json.Text("status", StatusName(outcome.end.status));
  if (outcome.end.result) {
    WriteFunctionResult(*outcome.end.result, "result", json);
  } else {
    json.Null("result");
  }
  if (outcome.end.error) {
    WriteFunctionError(*outcome.end.error, "error", json);
  } else {
    json.Null("error");
  }
  json.Text("logs", outcome.log);
  json.Integer("duration_ms", outcome.duration_ms);
  json.BeginObject("usage");
  json.Integer("cpu_us", outcome.end.usage.cpu_us);
  json.Integer("peak_memory_bytes", outcome.end.usage.peak_memory_bytes);
  json.Switch("cold", outcome.end.usage.cold);
  json.EndObject();
  json.Text("limit_hit", outcome.limit_hit);
  json.Switch("result_truncated", outcome.end.result_truncated);
  json.BeginArray("published");
  for (const LocalMessage& message : outcome.messages) {
    json.BeginObject();
    json.Text("call", message.call);
    json.Text(message.call == "cs.codeq.publish" ? "topic" : "queue", message.name);
    json.Raw("payload", message.payload);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text;
}

}  // namespace cairn::functions::cli
