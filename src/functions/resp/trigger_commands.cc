#include "functions/resp/trigger_commands.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "functions/control/requests.h"
#include "functions/model/errors.h"
#include "functions/model/names.h"
#include "functions/resp/command_support.h"
#include "functions/trigger/requests.h"

namespace cairn::functions {
namespace {

using doors::ArgParser;
using doors::Args;

// args[0] is the container and the subcommand's name is args[1].
constexpr size_t kNameAt = 2;

Result<TriggerId> IdOf(Args args) {
  std::optional<TriggerId> id = ParseTriggerId(args[kNameAt]);
  if (id) return *std::move(id);
  return Refuse(Code::kNameInvalid,
                fmt::format("\"{}\" is not TENANT/NAMESPACE/TRIGGER", Printable(args[kNameAt])));
}

void AddScopesOf(Args args, uint8_t /*db*/, store::Scopes& scopes) {
  const std::optional<TriggerId> id = ParseTriggerId(args[kNameAt]);
  if (id) AddTriggerScopes(*id, scopes);
}

// What FUNCTION, ALIAS and VERSION say together.
Ref TakeRef(ArgParser& parser) {
  Ref ref{.function = std::string(parser.Next())};
  if (parser.Keyword("ALIAS")) {
    ref.alias = parser.Next();
  } else if (parser.Keyword("VERSION")) {
    ref.version = ParseVersion(parser.Next());
    if (!ref.version) parser.Fail("VERSION needs a version's number");
  } else {
    parser.Fail("FUNCTION is followed by a function, and by ALIAS or VERSION");
  }
  return ref;
}

struct Given {
  TriggerUpdate update;
  StartAt start = StartAt::kNewest;
};

// One name of the source; all of them are of one type.
void TakeName(ArgParser& parser, SourceType type, TriggerUpdate& update) {
  if (!update.source) update.source = TriggerSource{.type = type};
  if (update.source->type != type) {
    parser.Fail("QUEUE, JOBS, SEATS and KEYS cannot be together");
  }
  update.source->names.emplace_back(parser.Next());
}

Result<Given> TakeOptions(ArgParser& parser) {
  Given given;
  TriggerUpdate& update = given.update;
  TriggerSource more;  // what stands beside the names, before or behind them
  bool has_database = false;
  while (parser.HasNext()) {
    if (const auto type = parser.OneOf<SourceType>({{"QUEUE", SourceType::kQueue},
                                                    {"JOBS", SourceType::kJobs},
                                                    {"SEATS", SourceType::kSeats},
                                                    {"KEYS", SourceType::kKeys}})) {
      TakeName(parser, *type, update);
    } else if (parser.Keyword("TYPE")) {
      more.types.emplace_back(parser.Next());
    } else if (parser.Keyword("DB")) {
      more.database = parser.Integer("DB needs a number");
      has_database = true;
    } else if (parser.Keyword("FUNCTION")) {
      update.ref = TakeRef(parser);
    } else if (parser.Keyword("BATCH")) {
      update.batch_size = parser.Integer("BATCH needs a number");
    } else if (parser.Keyword("WINDOW")) {
      update.window_ms = parser.Integer("WINDOW needs milliseconds");
    } else if (parser.Keyword("CONCURRENCY")) {
      update.concurrency = parser.Integer("CONCURRENCY needs a number");
    } else if (parser.Keyword("START")) {
      const auto start =
          parser.OneOf<StartAt>({{"NEWEST", StartAt::kNewest}, {"OLDEST", StartAt::kOldest}});
      if (!start) parser.Fail("START is newest or oldest");
      given.start = start.value_or(StartAt::kNewest);
    } else if (parser.Keyword("DISABLED")) {
      update.enabled = false;
    } else if (parser.Keyword("ENABLED")) {
      update.enabled = true;
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  if (update.source) {
    update.source->types = std::move(more.types);
    update.source->database = more.database;
  } else if (!more.types.empty() || has_database) {
    return SyntaxError("TYPE and DB belong to JOBS, SEATS or KEYS");
  }
  return given;
}

Result<std::string> TextOf(const Result<TriggerDetail>& detail) {
  if (!detail.ok()) return detail.error();
  return DetailText(*detail);
}

CommandRows::Maker Create(const TriggerPlace& place) {
  return [place](Context& context, Args args) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const TriggerId id, IdOf(args));
    ArgParser parser(args, kNameAt + 1);
    CAIRN_ASSIGN_OR_RETURN(const Given given, TakeOptions(parser));
    if (!given.update.source) return SyntaxError("QUEUE, JOBS, SEATS or KEYS must name a source");
    if (!given.update.ref) return SyntaxError("FUNCTION must say what is invoked");
    return TextOf(CreateTrigger(context, place, id, NewTriggerOf(given.update), given.start));
  };
}

CommandRows::Maker Set(const TriggerPlace& place) {
  return [place](Context& context, Args args) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const TriggerId id, IdOf(args));
    ArgParser parser(args, kNameAt + 1);
    CAIRN_ASSIGN_OR_RETURN(const Given given, TakeOptions(parser));
    return TextOf(UpdateTrigger(context, place, id, given.update));
  };
}

CommandRows::Maker Enable(const TriggerPlace& place, bool enabled) {
  return [place, enabled](Context& context, Args args) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const TriggerId id, IdOf(args));
    return TextOf(UpdateTrigger(context, place, id, {.enabled = enabled}));
  };
}

CommandRows::Maker Get(const TriggerPlace& place) {
  return [place](Context& context, Args args) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const TriggerId id, IdOf(args));
    return TextOf(GetTrigger(context, place, id));
  };
}

Result<std::string> Delete(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const TriggerId id, IdOf(args));
  CAIRN_RETURN_IF_ERROR(DeleteTrigger(context, id));
  return std::string(R"({"status":"deleted"})");
}

CommandRows::Maker List(const TriggerPlace& place) {
  return [place](Context& context, Args args) -> Result<std::string> {
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
    CAIRN_ASSIGN_OR_RETURN(const TriggerPage listed, ListTriggers(context, place, ns, page));
    return PageText(listed);
  };
}

}  // namespace

void AddTriggerCommands(doors::Instance& instance, const SecretKeys& secrets, Random& random,
                        const TriggerPlace& place) {
  CommandRows rows(instance, {secrets, random});
  rows.AddContainer(
      {.name = "fn.trigger", .arity = -2, .summary = "A container for commands on triggers."});
  rows.AddWrite({.name = "fn.trigger|create",
                 .arity = -9,
                 .complexity = "O(1)",
                 .summary = "Creates a trigger, which invokes a function with what has happened.",
                 .syntax = "trigger [QUEUE queue] [JOBS pattern] [SEATS pattern] [KEYS pattern] "
                           "[TYPE type] [DB database:integer] [FUNCTION function] [ALIAS alias] "
                           "[VERSION version:integer] [BATCH size:integer] "
                           "[WINDOW milliseconds:integer] [CONCURRENCY count:integer] "
                           "[START start] [DISABLED]"},
                AddScopesOf, Create(place));
  rows.AddWrite({.name = "fn.trigger|set",
                 .arity = -4,
                 .complexity = "O(1)",
                 .summary = "Changes of a trigger what is given; the rest stays.",
                 .syntax = "trigger [QUEUE queue] [JOBS pattern] [SEATS pattern] [KEYS pattern] "
                           "[TYPE type] [DB database:integer] [FUNCTION function] [ALIAS alias] "
                           "[VERSION version:integer] [BATCH size:integer] "
                           "[WINDOW milliseconds:integer] [CONCURRENCY count:integer] "
                           "[DISABLED] [ENABLED]"},
                AddScopesOf, Set(place));
  rows.AddWrite({.name = "fn.trigger|enable",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Lets a disabled trigger go on from where it was.",
                 .syntax = "trigger"},
                AddScopesOf, Enable(place, true));
  rows.AddWrite({.name = "fn.trigger|disable",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Lets the trigger begin no batch until it is enabled.",
                 .syntax = "trigger"},
                AddScopesOf, Enable(place, false));
  rows.AddWrite({.name = "fn.trigger|delete",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Deletes a trigger; activations of its batches go on.",
                 .syntax = "trigger"},
                AddScopesOf, Delete);
  rows.AddRead({.name = "fn.trigger|get",
                .arity = 3,
                .long_running = true,
                .complexity = "O(1)",
                .summary = "Tells about a trigger, how far it is, and why it waits.",
                .syntax = "trigger"},
               Get(place));
  rows.AddRead({.name = "fn.trigger|list",
                .arity = -3,
                .long_running = true,
                .complexity = "O(N) with N being the number of triggers",
                .summary = "Lists the triggers of a namespace, by name.",
                .syntax = "namespace [AFTER trigger] [LIMIT count:integer]"},
               List(place));
}

}  // namespace cairn::functions
