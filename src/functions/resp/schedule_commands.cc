#include "functions/resp/schedule_commands.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "functions/control/requests.h"
#include "functions/model/errors.h"
#include "functions/model/names.h"
#include "functions/resp/command_support.h"
#include "functions/schedule/requests.h"
#include "functions/schedule/schedules.h"

namespace cairn::functions {
namespace {

using doors::ArgParser;
using doors::Args;

// args[0] is the container and the subcommand's name is args[1].
constexpr size_t kNameAt = 2;

Result<ScheduleName> NameOf(Args args) {
  std::optional<ScheduleName> name = ParseScheduleName(args[kNameAt]);
  if (name) return *std::move(name);
  return Refuse(Code::kNameInvalid,
                fmt::format("\"{}\" is not TENANT/NAMESPACE/SCHEDULE", Printable(args[kNameAt])));
}

void AddScopesOf(Args args, uint8_t /*db*/, store::Scopes& scopes) {
  const std::optional<ScheduleName> name = ParseScheduleName(args[kNameAt]);
  if (name) AddScheduleScopes(*name, scopes);
}

// What FUNCTION, ALIAS and VERSION say together.
void TakeRef(ArgParser& parser, ScheduleUpdate& update) {
  Ref ref{.function = std::string(parser.Next())};
  if (parser.Keyword("ALIAS")) {
    ref.alias = parser.Next();
  } else if (parser.Keyword("VERSION")) {
    ref.version = ParseVersion(parser.Next());
    if (!ref.version) parser.Fail("VERSION needs a version's number");
  } else {
    parser.Fail("FUNCTION is followed by a function, and by ALIAS or VERSION");
  }
  update.ref = std::move(ref);
}

Result<ScheduleUpdate> TakeUpdate(ArgParser& parser) {
  ScheduleUpdate update;
  while (parser.HasNext()) {
    if (parser.Keyword("EVERY")) {
      update.every_seconds = parser.Integer("EVERY needs seconds");
    } else if (parser.Keyword("CRON")) {
      update.cron = parser.Next();
    } else if (parser.Keyword("TZ")) {
      update.time_zone = parser.Next();
    } else if (parser.Keyword("FUNCTION")) {
      TakeRef(parser, update);
    } else if (parser.Keyword("OVERLAP")) {
      update.overlap = ParseOverlap(parser.Next());
      if (!update.overlap) parser.Fail("OVERLAP is one of skip, queue, parallel");
    } else if (parser.Keyword("PAYLOAD")) {
      update.payload = parser.Next();
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

Result<std::string> TextOf(const Result<ScheduleDetail>& detail) {
  if (!detail.ok()) return detail.error();
  return DetailText(*detail);
}

Result<std::string> Create(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const ScheduleName name, NameOf(args));
  ArgParser parser(args, kNameAt + 1);
  CAIRN_ASSIGN_OR_RETURN(const ScheduleUpdate given, TakeUpdate(parser));
  if (!given.ref) return SyntaxError("FUNCTION must say what is invoked");
  return TextOf(CreateSchedule(context, name, NewScheduleOf(given)));
}

Result<std::string> Set(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const ScheduleName name, NameOf(args));
  ArgParser parser(args, kNameAt + 1);
  CAIRN_ASSIGN_OR_RETURN(const ScheduleUpdate given, TakeUpdate(parser));
  return TextOf(UpdateSchedule(context, name, given));
}

CommandRows::Maker Enable(bool enabled) {
  return [enabled](Context& context, Args args) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const ScheduleName name, NameOf(args));
    return TextOf(UpdateSchedule(context, name, {.enabled = enabled}));
  };
}

Result<std::string> Get(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const ScheduleName name, NameOf(args));
  return TextOf(GetSchedule(context, name));
}

Result<std::string> Delete(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const ScheduleName name, NameOf(args));
  CAIRN_RETURN_IF_ERROR(DeleteSchedule(context, name));
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
  CAIRN_ASSIGN_OR_RETURN(const SchedulePage listed, ListSchedules(context, ns, page));
  return PageText(listed);
}

}  // namespace

void AddScheduleCommands(doors::Instance& instance, const SecretKeys& secrets, Random& random) {
  CommandRows rows(instance, {secrets, random});
  rows.AddContainer(
      {.name = "fn.schedule", .arity = -2, .summary = "A container for commands on schedules."});
  rows.AddWrite({.name = "fn.schedule|create",
                 .arity = -9,
                 .complexity = "O(1)",
                 .summary = "Creates a schedule, which invokes a function again and again.",
                 .syntax = "schedule [EVERY seconds:integer] [CRON expression] [TZ zone] "
                           "[FUNCTION function] [ALIAS alias] [VERSION version:integer] "
                           "[OVERLAP policy] [PAYLOAD json] [DISABLED]"},
                AddScopesOf, Create);
  rows.AddWrite({.name = "fn.schedule|set",
                 .arity = -4,
                 .complexity = "O(1)",
                 .summary = "Changes of a schedule what is given; the rest stays.",
                 .syntax = "schedule [EVERY seconds:integer] [CRON expression] [TZ zone] "
                           "[FUNCTION function] [ALIAS alias] [VERSION version:integer] "
                           "[OVERLAP policy] [PAYLOAD json] [DISABLED] [ENABLED]"},
                AddScopesOf, Set);
  rows.AddWrite({.name = "fn.schedule|enable",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Lets a disabled schedule go on with its next tick from now.",
                 .syntax = "schedule"},
                AddScopesOf, Enable(true));
  rows.AddWrite({.name = "fn.schedule|disable",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Disables the schedule: it does not fire until it is enabled.",
                 .syntax = "schedule"},
                AddScopesOf, Enable(false));
  rows.AddWrite({.name = "fn.schedule|delete",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Deletes a schedule; activations of its ticks go on.",
                 .syntax = "schedule"},
                AddScopesOf, Delete);
  rows.AddRead({.name = "fn.schedule|get",
                .arity = 3,
                .complexity = "O(1)",
                .summary = "Tells about a schedule, how far it is, and its next ticks.",
                .syntax = "schedule"},
               Get);
  rows.AddRead({.name = "fn.schedule|list",
                .arity = -3,
                .long_running = true,
                .complexity = "O(N) with N being the number of schedules",
                .summary = "Lists the schedules of a namespace, by name.",
                .syntax = "namespace [AFTER schedule] [LIMIT count:integer]"},
               List);
}

}  // namespace cairn::functions
