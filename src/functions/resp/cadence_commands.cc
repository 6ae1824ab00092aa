#include "functions/resp/cadence_commands.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "functions/cadence/bindings.h"
#include "functions/cadence/requests.h"
#include "functions/control/requests.h"
#include "functions/model/errors.h"
#include "functions/model/names.h"
#include "functions/resp/command_support.h"

namespace cairn::functions {
namespace {

using doors::ArgParser;
using doors::Args;

// args[0] is the container and the subcommand's name is args[1].
constexpr size_t kNameAt = 2;

Result<BindingName> NameOf(Args args) {
  std::optional<BindingName> name = ParseBindingName(args[kNameAt]);
  if (name) return *std::move(name);
  return Refuse(Code::kNameInvalid,
                fmt::format("\"{}\" is not TENANT/NAMESPACE/WORKER", Printable(args[kNameAt])));
}

void AddScopesOf(Args args, uint8_t /*db*/, store::Scopes& scopes) {
  const std::optional<BindingName> name = ParseBindingName(args[kNameAt]);
  if (name) AddBindingScopes(*name, scopes);
}

// What stands behind ACTIVITY: a type, and the function that runs it.
std::pair<std::string, Ref> TakeActivity(ArgParser& parser) {
  std::pair<std::string, Ref> activity(parser.Next(), Ref());
  Ref& ref = activity.second;
  ref.function = parser.Next();
  if (parser.Keyword("ALIAS")) {
    ref.alias = parser.Next();
  } else if (parser.Keyword("VERSION")) {
    ref.version = ParseVersion(parser.Next());
    if (!ref.version) parser.Fail("VERSION needs a version's number");
  } else {
    parser.Fail("ACTIVITY is followed by a type and a function, and by ALIAS or VERSION");
  }
  return activity;
}

Result<BindingUpdate> TakeUpdate(ArgParser& parser) {
  BindingUpdate update;
  while (parser.HasNext()) {
    if (parser.Keyword("DOMAIN")) {
      update.domain = parser.Next();
    } else if (parser.Keyword("TASKLIST")) {
      update.tasklist = parser.Next();
    } else if (parser.Keyword("WORKERID")) {
      update.worker_id = parser.Next();
    } else if (parser.Keyword("ACTIVITY")) {
      if (!update.activity_map) update.activity_map.emplace();
      update.activity_map->push_back(TakeActivity(parser));
    } else if (parser.Keyword("POLLERS")) {
      update.pollers = parser.Integer("POLLERS needs a number");
    } else if (parser.Keyword("INFLIGHT")) {
      update.max_inflight_tasks = parser.Integer("INFLIGHT needs a number");
    } else if (parser.Keyword("DISABLED")) {
      update.enabled = false;
    } else if (parser.Keyword("ENABLED")) {
      update.enabled = true;
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  return update;
}

Result<std::string> TextOf(const Result<WorkerBinding>& binding) {
  if (!binding.ok()) return binding.error();
  return Encode(*binding);
}

Result<std::string> Create(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const BindingName name, NameOf(args));
  ArgParser parser(args, kNameAt + 1);
  CAIRN_ASSIGN_OR_RETURN(const BindingUpdate given, TakeUpdate(parser));
  return TextOf(CreateBinding(context, name, NewBindingOf(given)));
}

Result<std::string> Set(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const BindingName name, NameOf(args));
  ArgParser parser(args, kNameAt + 1);
  CAIRN_ASSIGN_OR_RETURN(const BindingUpdate given, TakeUpdate(parser));
  return TextOf(UpdateBinding(context, name, given));
}

CommandRows::Maker Enable(bool enabled) {
  return [enabled](Context& context, Args args) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const BindingName name, NameOf(args));
    return TextOf(UpdateBinding(context, name, {.enabled = enabled}));
  };
}

Result<std::string> Get(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const BindingName name, NameOf(args));
  return TextOf(GetBinding(context, name));
}

Result<std::string> Delete(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const BindingName name, NameOf(args));
  CAIRN_RETURN_IF_ERROR(DeleteBinding(context, name));
  return std::string(R"({"status":"deleted"})");
}

Result<std::string> List(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const NamespaceName ns, ParseNamespaceName(args[kNameAt]));
  ArgParser parser(args, kNameAt + 1);
  Page page;
  while (parser.HasNext()) {
    if (parser.Keyword("AFTER")) {
      page.after = parser.Next();
    } else if (parser.Keyword("LIMIT")) {
      CAIRN_ASSIGN_OR_RETURN(page.limit, TakeLimit(parser));
    } else {
      parser.Fail("syntax error");
    }
  }
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  CAIRN_ASSIGN_OR_RETURN(const BindingPage listed, ListBindings(context, ns, page));
  return PageText(listed);
}

}  // namespace

void AddCadenceCommands(doors::Instance& instance, const SecretKeys& secrets, Random& random) {
  CommandRows rows(instance, {secrets, random});
  rows.AddContainer({.name = "fn.cadence",
                     .arity = -2,
                     .summary = "A container for commands on worker bindings of Cadence."});
  rows.AddWrite({.name = "fn.cadence|create",
                 .arity = -14,
                 .complexity = "O(N) with N being the number of activities",
                 .summary = "Creates a worker binding, which runs activities as functions.",
                 .syntax = "worker [DOMAIN domain] [TASKLIST tasklist] [WORKERID id] "
                           "[ACTIVITY type] [function] [ALIAS alias] [VERSION version:integer] "
                           "[POLLERS count:integer] [INFLIGHT count:integer] [DISABLED]"},
                AddScopesOf, Create);
  rows.AddWrite({.name = "fn.cadence|set",
                 .arity = -4,
                 .complexity = "O(N) with N being the number of activities",
                 .summary = "Changes of a worker binding what is given; the rest stays.",
                 .syntax = "worker [DOMAIN domain] [TASKLIST tasklist] [WORKERID id] "
                           "[ACTIVITY type] [function] [ALIAS alias] [VERSION version:integer] "
                           "[POLLERS count:integer] [INFLIGHT count:integer] [DISABLED] "
                           "[ENABLED]"},
                AddScopesOf, Set);
  rows.AddWrite({.name = "fn.cadence|enable",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Polls for a disabled worker binding again.",
                 .syntax = "worker"},
                AddScopesOf, Enable(true));
  rows.AddWrite({.name = "fn.cadence|disable",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Polls no more until the worker binding is enabled.",
                 .syntax = "worker"},
                AddScopesOf, Enable(false));
  rows.AddWrite({.name = "fn.cadence|delete",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Deletes a worker binding; tasks that it was given are answered.",
                 .syntax = "worker"},
                AddScopesOf, Delete);
  rows.AddRead({.name = "fn.cadence|get",
                .arity = 3,
                .complexity = "O(1)",
                .summary = "Tells about a worker binding.",
                .syntax = "worker"},
               Get);
  rows.AddRead({.name = "fn.cadence|list",
                .arity = -3,
                .long_running = true,
                .complexity = "O(N) with N being the number of worker bindings",
                .summary = "Lists the worker bindings of a namespace, by name.",
                .syntax = "namespace [AFTER worker] [LIMIT count:integer]"},
               List);
}

}  // namespace cairn::functions
