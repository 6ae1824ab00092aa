#include "functions/resp/step_commands.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "doors/resp/acl.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "functions/control/context.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/resp/caller.h"
#include "functions/resp/command_support.h"
#include "functions/steps/restart.h"
#include "functions/steps/suspension.h"
#include "functions/steps/views.h"
#include "jobs/operations/store_access.h"

namespace cairn::functions {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

constexpr std::string_view kActivationsTell = "is done all day: the activations tell it";

// A call whose arguments are parsed once, and whose body runs under the lane of cs.invoke.
template <typename Parsed>
class LaneRequest : public doors::CommandRequest {
 public:
  explicit LaneRequest(Result<Parsed> parsed, codeq::Locks locks)
      : parsed_(std::move(parsed)), locks_(std::move(locks)) {}

  void AddScopes(uint8_t /*db*/, store::Scopes& scopes) const override {
    if (parsed_.ok()) scopes.AddAll(locks_.ToScopes());
  }
  Result<void> Run(CommandContext& command) const override {
    if (!parsed_.ok()) return ReplyWith(command, parsed_.error());
    std::string text;
    const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(text, Do(command, context, *parsed_));
      return {};
    };
    const Result<void> done = jobs::RunUnder(locks_.lanes, command.held, command.transaction,
                                             /*queues=*/nullptr, body);
    if (!done.ok()) return ReplyWith(command, done.error());
    return ReplyWith(command, std::move(text));
  }

 protected:
  virtual Result<std::string> Do(CommandContext& command, jobs::Context& context,
                                 const Parsed& parsed) const = 0;

 private:
  const Result<Parsed> parsed_;
  const codeq::Locks locks_;
};

// --- FN.SIGNAL -----------------------------------------------------------------------------------

Result<SignalRequest> ParseSignal(Args args) {
  SignalRequest request{.tenant = std::string(args[1]),
                        .activation = std::string(args[2]),
                        .name = std::string(args[3])};
  ArgParser parser(args, 4);
  if (parser.HasNext()) request.payload = parser.Next();
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  CAIRN_RETURN_IF_ERROR(CheckSignal(request));
  return request;
}

codeq::Locks SignalLocks() {
  codeq::Locks locks;
  AddSignalScopes(locks);
  return locks;
}

class SignalCall final : public LaneRequest<SignalRequest> {
 public:
  explicit SignalCall(Args args) : LaneRequest(ParseSignal(args), SignalLocks()) {}

 protected:
  Result<std::string> Do(CommandContext& command, jobs::Context& context,
                         const SignalRequest& request) const override {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t number, Signal(context, NamesOf(command), request));
    return fmt::to_string(number);
  }
};

// --- FN.RESTART ----------------------------------------------------------------------------------

struct RestartArgs {
  RestartRequest request;
};

Result<Ref> ParseRef(std::string_view text) {
  Ref ref;
  ref.version = ParseVersion(text);
  if (ref.version) return ref;
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kAlias, text));
  ref.alias = text;
  return ref;
}

Result<RestartArgs> ParseRestart(Args args, Random& random) {
  RestartRequest request{.tenant = std::string(args[1]), .activation = std::string(args[2])};
  bool has_from = false;
  ArgParser parser(args, 3);
  while (parser.HasNext()) {
    if (parser.Keyword("FROM")) {
      const int64_t from = parser.Integer("FROM needs the position of a step");
      if (from < 0 || from > static_cast<int64_t>(kMaxSteps)) {
        parser.Fail(fmt::format("FROM needs the position of a step, 0 to {}", kMaxSteps));
      }
      request.from = static_cast<uint32_t>(from);
      has_from = true;
    } else if (parser.Keyword("EVENT")) {
      request.event = std::string(parser.Next());
    } else if (parser.Keyword("REF")) {
      CAIRN_ASSIGN_OR_RETURN(request.ref, ParseRef(parser.Next()));
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  if (!has_from) return SyntaxError("say where to begin: FROM and the position of a step");
  request.new_activation = NewActivationId(random);
  request.request_id = NewRequestId(random);
  request.message_id = "msg_" + request.new_activation;
  return RestartArgs{std::move(request)};
}

codeq::Locks RestartLocks() {
  codeq::Locks locks;
  AddRestartScopes(locks);
  return locks;
}

class RestartCall final : public LaneRequest<RestartArgs> {
 public:
  RestartCall(Args args, Random& random)
      : LaneRequest(ParseRestart(args, random), RestartLocks()) {}

 protected:
  Result<std::string> Do(CommandContext& command, jobs::Context& context,
                         const RestartArgs& args) const override {
    RestartRequest request = args.request;
    request.principal = PrincipalOf(command);
    CAIRN_ASSIGN_OR_RETURN(const Restarted restarted, Restart(context, NamesOf(command), request));
    return RestartedText(restarted);
  }
};

// --- FN.STEPS ------------------------------------------------------------------------------------

Result<void> RunSteps(CommandContext& command) {
  StepsPage page{.limit = kDefaultPage};
  ArgParser parser(command.args, 3);
  while (parser.HasNext()) {
    if (parser.Keyword("FROM")) {
      const int64_t from = parser.Integer("FROM needs a cursor");
      if (from < 0 || from > static_cast<int64_t>(kMaxSteps)) {
        parser.Fail("FROM needs a cursor that an earlier page gave");
      }
      page.from = static_cast<uint32_t>(from);
    } else if (parser.Keyword("LIMIT")) {
      const Result<size_t> limit = TakeLimit(parser);
      if (!limit.ok()) return ReplyWith(command, limit.error());
      page.limit = *limit;
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  const Result<void> finished = FinishArguments(parser);
  if (!finished.ok()) return ReplyWith(command, finished.error());
  return ReplyWith(command, StepsText(command.transaction, NamesOf(command), command.args[1],
                                      command.args[2], page));
}

void AddRow(doors::Instance& instance, Command row) {
  row.group = "functions";
  row.since = "1.0.0";
  instance.commands().Add(std::move(row));
}

}  // namespace

void AddStepCommands(doors::Instance& instance, Random& random) {
  const auto run = [](CommandContext& command) { return command.call.request->Run(command); };
  AddRow(instance,
         {.name = "fn.signal",
          .arity = -4,
          .flags = doors::kWrite,
          .parse = [](Args args) -> doors::SharedRequest {
            return std::make_shared<const SignalCall>(args);
          },
          .unaudited = kActivationsTell,
          .complexity = "O(N) with N being the steps of the activation",
          .summary = "Sends an event to an activation, which waits for it now or gets it when it "
                     "does.",
          .syntax = "tenant activation name [payload]",
          .run = run});
  AddRow(instance,
         {.name = "fn.restart",
          .arity = -5,
          .flags = doors::kWrite,
          .parse = [&random](Args args) -> doors::SharedRequest {
            return std::make_shared<const RestartCall>(args, random);
          },
          .unaudited = kActivationsTell,
          .complexity = "O(N) with N being the steps of the activation",
          .summary = "Runs an activation that has ended again from one of its steps on, as a new "
                     "one.",
          .syntax = "tenant activation FROM position:integer [EVENT json] [REF ref]",
          .run = run});
  AddRow(instance, {.name = "fn.steps",
                    .arity = -3,
                    .flags = doors::kReadOnly,
                    .scopes = doors::ScopeRule::kEverything,
                    .complexity = "O(N) with N being the steps of the activation",
                    .summary = "Replies the steps of an activation, and what it waits for.",
                    .syntax = "tenant activation [FROM cursor:integer] [LIMIT count:integer]",
                    .run = RunSteps});
}

}  // namespace cairn::functions
