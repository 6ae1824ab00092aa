#include "functions/resp/invoke_commands.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/resp/acl.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "functions/activation/accept.h"
#include "functions/activation/views.h"
#include "functions/codeq/results.h"
#include "functions/control/requests.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/resp/caller.h"
#include "functions/resp/command_support.h"
#include "jobs/operations/store_access.h"

namespace cairn::functions {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

constexpr std::string_view kActivationsTell = "is done all day: the activations tell it";
constexpr size_t kMaxIdempotencyBytes = 256;

// --- FN.INVOKE ----------------------------------------------------------------------------------

// What the arguments of FN.INVOKE say.
struct InvokeArgs {
  Invocation invocation;
  std::string idempotency_key;
  // An activation that was accepted before: its result is waited for, nothing is invoked.
  std::string await;
};

Result<Ref> ParseRef(const FunctionName& function, std::string_view text) {
  Ref ref{.function = function.name};
  ref.version = ParseVersion(text);
  if (ref.version) return ref;
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kAlias, text));
  ref.alias = text;
  return ref;
}

Result<void> CheckInvoke(const InvokeArgs& args) {
  const Invocation& invocation = args.invocation;
  if (invocation.event.size() > kMaxEventBytes) {
    return Refuse(Code::kTooLarge, fmt::format("an event has up to {} bytes", kMaxEventBytes));
  }
  if (!IsJson(invocation.event)) {
    return SyntaxError("EVENT must be JSON that is not nested too deeply");
  }
  if (args.idempotency_key.size() > kMaxIdempotencyBytes) {
    return SyntaxError(
        fmt::format("IDEMPOTENCY needs a key of 1 to {} bytes", kMaxIdempotencyBytes));
  }
  return {};
}

Result<InvokeArgs> ParseInvoke(Args args, Random& random) {
  InvokeArgs parsed;
  Invocation& invocation = parsed.invocation;
  CAIRN_ASSIGN_OR_RETURN(invocation.function, ParseFunctionName(args[1]));
  CAIRN_ASSIGN_OR_RETURN(invocation.ref, ParseRef(invocation.function, args[2]));
  ArgParser parser(args, 3);
  while (parser.HasNext()) {
    if (parser.Keyword("EVENT")) {
      invocation.event = parser.Next();
    } else if (parser.Keyword("ASYNC")) {
      invocation.mode = Invocation::Mode::kAsync;
    } else if (parser.Keyword("IDEMPOTENCY")) {
      parsed.idempotency_key = parser.Next();
      if (parsed.idempotency_key.empty()) parser.Fail("IDEMPOTENCY needs a key");
    } else if (parser.Keyword("AWAIT")) {
      parsed.await = parser.Next();
      if (!IsName(NameKind::kActivation, parsed.await)) parser.Fail("AWAIT needs an activation");
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  CAIRN_RETURN_IF_ERROR(CheckInvoke(parsed));
  invocation.request_id = NewRequestId(random);
  invocation.activation_id =
      parsed.idempotency_key.empty()
          ? NewActivationId(random)
          : IdempotentActivationId(invocation.function, invocation.ref, parsed.idempotency_key);
  return parsed;
}

// One call. What it invokes has one id, however often the call runs.
class InvokeRequest final : public doors::CommandRequest {
 public:
  InvokeRequest(Args args, Invoker& invoker, Random& random)
      : invoker_(invoker), random_(random), parsed_(ParseInvoke(args, random)) {}

  void AddScopes(uint8_t /*db*/, store::Scopes& scopes) const override {
    if (!parsed_.ok() || !parsed_->await.empty()) return;
    Lanes().AddTo(scopes);
  }

  Result<void> Run(CommandContext& command) const override {
    if (!parsed_.ok()) return command.Fail(parsed_.error().message);
    const Result<void> done = parsed_->await.empty() ? Invoke(command) : Await(command);
    if (done.ok() || !done.error().message.starts_with(CodeRowOf(done.error()).name)) return done;
    return command.Fail(done.error().message);
  }

 private:
  static jobs::Held Lanes() {
    jobs::Held lanes;
    lanes.AddQueue(kInvokeTopic);
    return lanes;
  }

  const Invocation& invocation() const { return parsed_->invocation; }
  bool sync() const { return invocation().mode == Invocation::Mode::kSync; }

  InvocationRequest RequestOf(const CommandContext& command) const {
    const Invocation& from = invocation();
    return {.activation_id = from.activation_id,
            .request_id = from.request_id,
            .tenant = from.function.tenant,
            .ns = from.function.ns,
            .ref = from.ref,
            .trigger = {TriggerType::kApi, std::string(sync() ? kSyncSource : kAsyncSource)},
            .principal = PrincipalOf(command),
            .event = from.event};
  }

  // Counted once, however often the call runs.
  Result<void> Admit(const VersionMeta& version) const {
    const std::scoped_lock lock(mutex_);
    if (!admitted_) admitted_ = invoker_.Admit(invocation(), version);
    return *admitted_;
  }

  Result<void> Invoke(CommandContext& command) const {
    const Context caller{.transaction = command.transaction, .names = NamesOf(command)};
    CAIRN_RETURN_IF_ERROR(CheckFunction(caller, invocation().function));
    if (sync() && !command.caller.may_block) {
      return SyntaxError(
          "FN.INVOKE waits for the result, which MULTI and scripts cannot; say "
          "ASYNC");
    }
    InvocationRequest request = RequestOf(command);
    CAIRN_ASSIGN_OR_RETURN(const Resolved resolved, CheckRequest(command.transaction, request));
    CAIRN_RETURN_IF_ERROR(Admit(resolved.version));
    const int64_t now_ms = command.now().millis();
    const int64_t time_ms = sync() ? resolved.version.config.timeout_ms : kAsyncDeadlineMs;
    request.deadline_ms = now_ms + time_ms;
    RequestOptions options{.message_id = NewMessageId(command.now(), random_), .now_ms = now_ms};
    CAIRN_ASSIGN_OR_RETURN(const QueuedRequest queued, PrepareRequest(request, std::move(options)));
    AcceptedRequest accepted;
    const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(accepted, AcceptRequest(context, queued));
      return {};
    };
    CAIRN_RETURN_IF_ERROR(
        jobs::RunUnder(Lanes(), command.held, command.transaction, /*queues=*/nullptr, body));
    const Activation& activation = accepted.existing ? *accepted.existing : queued.activation;
    if (!sync()) {
      command.reply.Bulk(AcceptedText(activation.activation_id, activation.status));
      return {};
    }
    return AnswerOrWait(command, activation, time_ms + kAnswerGraceMs);
  }

  Result<void> Await(CommandContext& command) const {
    CAIRN_ASSIGN_OR_RETURN(const Activation activation,
                           FindActivation(command.transaction, NamesOf(command),
                                          invocation().function.tenant, parsed_->await));
    if (NameOf(activation) != invocation().function) {
      return Refuse(Code::kNotFound,
                    fmt::format("{} has no activation {}", ResourceName(invocation().function),
                                parsed_->await));
    }
    return AnswerOrWait(command, activation, kMaxTimeoutMs + kAnswerGraceMs);
  }

  // The call that looks for the result has other arguments than the one that has invoked.
  Result<void> AnswerOrWait(CommandContext& command, const Activation& activation,
                            int64_t wait_ms) const {
    if (IsTerminal(activation.status)) {
      command.reply.Bulk(AnswerText(ResultOf(activation)));
      return {};
    }
    const Error late =
        Refuse(Code::kCorrelationTimeout,
               fmt::format("there is no result of the activation {} yet; ask FN.ACTIVATION later",
                           activation.activation_id));
    if (!command.caller.may_block) return late;
    command.reply.Error(late.message);
    return command.Block(
        {.timeout_ms = wait_ms,
         .topics = {codeq::ResultTopic(activation.tenant, activation.request_id)},
         .args = {"fn.invoke", std::string(command.args[1]), std::string(command.args[2]), "AWAIT",
                  activation.activation_id}});
  }

  Invoker& invoker_;
  Random& random_;
  const Result<InvokeArgs> parsed_;
  mutable std::mutex mutex_;
  mutable std::optional<Result<void>> admitted_;
};

// --- FN.ACTIVATION, FN.LOGS ---------------------------------------------------------------------

Result<void> RunActivation(CommandContext& command) {
  const Result<Activation> activation =
      FindActivation(command.transaction, NamesOf(command), command.args[1], command.args[2]);
  if (!activation.ok()) return ReplyWith(command, activation.error());
  return ReplyWith(command, Encode(*activation));
}

struct LogsArgs {
  uint64_t from = 0;
  size_t limit = kDefaultPage;
  std::optional<int64_t> block_ms = {};
};

Result<LogsArgs> ParseLogs(Args args) {
  LogsArgs parsed;
  ArgParser parser(args, 3);
  while (parser.HasNext()) {
    if (parser.Keyword("FROM")) {
      const int64_t from = parser.Integer("FROM needs a cursor");
      if (from < 0) parser.Fail("FROM needs a cursor, a number from 0 on");
      parsed.from = static_cast<uint64_t>(from);
    } else if (parser.Keyword("LIMIT")) {
      CAIRN_ASSIGN_OR_RETURN(parsed.limit, TakeLimit(parser));
    } else if (parser.Keyword("BLOCK")) {
      parsed.block_ms = parser.Integer("BLOCK needs milliseconds");
      if (*parsed.block_ms < 0) parser.Fail("BLOCK needs milliseconds, 0 for no end");
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  return parsed;
}

Result<void> RunLogs(CommandContext& command) {
  const Result<LogsArgs> args = ParseLogs(command.args);
  if (!args.ok()) return ReplyWith(command, args.error());
  const std::string_view tenant = command.args[1];
  const std::string_view id = command.args[2];
  const Result<LogPage> page =
      ReadLog(command.transaction, NamesOf(command), tenant, id, args->from, args->limit);
  if (!page.ok()) return ReplyWith(command, page.error());
  command.reply.Bulk(LogText(*page));
  if (!page->chunks.empty() || page->ended || !args->block_ms) return {};
  return command.Block({.timeout_ms = *args->block_ms == 0 ? std::nullopt : args->block_ms,
                        .topics = {ActivationTopic(tenant, id)}});
}

void AddRow(doors::Instance& instance, Command row) {
  row.group = "functions";
  row.since = "1.0.0";
  instance.commands().Add(std::move(row));
}

}  // namespace

void AddInvokeCommands(doors::Instance& instance, Invoker& invoker, Random& random) {
  AddRow(instance,
         {.name = "fn.invoke",
          .arity = -3,
          .flags = doors::kWrite | doors::kBlocking,
          .parse = [&invoker, &random](Args args) -> doors::SharedRequest {
            return std::make_shared<const InvokeRequest>(args, invoker, random);
          },
          .unaudited = kActivationsTell,
          .complexity = "O(N) with N being the size of the event",
          .summary = "Runs a function and replies with its result, or queues it (ASYNC).",
          .syntax = "function ref [EVENT json] [ASYNC] [IDEMPOTENCY key] [AWAIT activation]",
          .run = [](CommandContext& command) { return command.call.request->Run(command); }});
  AddRow(instance, {.name = "fn.activation",
                    .arity = 3,
                    .flags = doors::kReadOnly,
                    .scopes = doors::ScopeRule::kEverything,
                    .complexity = "O(1)",
                    .summary = "Tells how far an activation is, or how it has ended.",
                    .syntax = "tenant activation",
                    .run = RunActivation});
  AddRow(instance, {.name = "fn.logs",
                    .arity = -3,
                    .flags = doors::kReadOnly | doors::kBlocking,
                    .scopes = doors::ScopeRule::kEverything,
                    .complexity = "O(N) with N being the number of chunks returned",
                    .summary = "Replies chunks of an activation's log, and waits for some if there "
                               "are none yet (BLOCK).",
                    .syntax = "tenant activation [FROM cursor:integer] [LIMIT count:integer] "
                              "[BLOCK milliseconds:integer]",
                    .run = RunLogs});
}

}  // namespace cairn::functions
