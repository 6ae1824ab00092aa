#include "functions/resp/control_commands.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/id.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "functions/control/aliases.h"
#include "functions/control/functions.h"
#include "functions/control/requests.h"
#include "functions/control/versions.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/resp/command_support.h"
#include "functions/resp/publish_command.h"

namespace cairn::functions {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;

constexpr std::string_view kSyntax = "syntax error";

// A handler that has parsed nothing yet.
using Handler = Result<std::string> (*)(Context&, const FunctionName&, ArgParser&);

// The first argument names the function.
CommandRows::Maker ForFunction(Handler handler) {
  return [handler](Context& context, Args args) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const FunctionName function, ParseFunctionName(args[1]));
    ArgParser parser(args, 2);
    return handler(context, function, parser);
  };
}

template <typename Record>
Result<std::string> Encoded(const Result<Record>& record) {
  if (!record.ok()) return record.error();
  return Encode(*record);
}

// --- Functions ----------------------------------------------------------------------------------

Result<std::string> Create(Context& context, const FunctionName& function, ArgParser& parser) {
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  return Encoded(CreateFunction(context, {.name = function}));
}

Result<std::string> Get(Context& context, const FunctionName& function, ArgParser& parser) {
  const Deleted deleted = parser.Keyword("DELETED") ? Deleted::kShown : Deleted::kHidden;
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  CAIRN_ASSIGN_OR_RETURN(const FunctionDetail detail, DescribeFunction(context, function, deleted));
  return DetailText(detail);
}

Result<std::string> Delete(Context& context, const FunctionName& function, ArgParser& parser) {
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  return Encoded(DeleteFunction(context, function));
}

Result<std::string> Purge(Context& context, const FunctionName& function, ArgParser& parser) {
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  CAIRN_RETURN_IF_ERROR(PurgeFunction(context, function));
  return std::string(R"({"status":"purged"})");
}

Result<std::string> Enable(Context& context, const FunctionName& function, ArgParser& parser) {
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  return Encoded(SetEnabled(context, function, true));
}

Result<std::string> Disable(Context& context, const FunctionName& function, ArgParser& parser) {
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  return Encoded(SetEnabled(context, function, false));
}

Result<std::string> List(Context& context, Args args) {
  CAIRN_ASSIGN_OR_RETURN(const NamespaceName ns, ParseNamespaceName(args[1]));
  ArgParser parser(args, 2);
  Page page;
  Deleted deleted = Deleted::kHidden;
  while (parser.HasNext()) {
    if (parser.Keyword("AFTER")) {
      page.after = parser.Next();
    } else if (parser.Keyword("LIMIT")) {
      CAIRN_ASSIGN_OR_RETURN(page.limit, TakeLimit(parser));
    } else if (parser.Keyword("DELETED")) {
      deleted = Deleted::kShown;
    } else {
      parser.Fail(kSyntax);
    }
  }
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  CAIRN_ASSIGN_OR_RETURN(const FunctionPage listed, ListFunctions(context, ns, page, deleted));
  return PageText(listed);
}

// --- Drafts and versions ------------------------------------------------------------------------

Result<std::string> Upload(Context& context, const FunctionName& function, ArgParser& parser) {
  const Args args = parser.Rest();
  if (args.size() % 2 != 0) return SyntaxError("each path is followed by the file's content");
  CAIRN_ASSIGN_OR_RETURN(const Package package, MakePackage(TakeFiles(args)));
  // Nobody else knows of this key yet, so it needs no scope.
  const std::string id = NewDraftId(context.transaction.now(), *context.random);
  CAIRN_ASSIGN_OR_RETURN(const UploadedDraft draft, UploadDraft(context, function, id, package));
  return DraftText(draft);
}

Result<std::string> Versions(Context& context, const FunctionName& function, ArgParser& parser) {
  uint64_t before = 0;
  size_t limit = kDefaultPage;
  while (parser.HasNext()) {
    if (parser.Keyword("BEFORE")) {
      before = ParseVersion(parser.Next()).value_or(0);
      if (before == 0) parser.Fail("BEFORE needs a version's number");
    } else if (parser.Keyword("LIMIT")) {
      CAIRN_ASSIGN_OR_RETURN(limit, TakeLimit(parser));
    } else {
      parser.Fail(kSyntax);
    }
  }
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  CAIRN_ASSIGN_OR_RETURN(const VersionPage page, ListVersions(context, function, before, limit));
  return PageText(page);
}

// --- Aliases ------------------------------------------------------------------------------------

uint64_t TakeVersion(ArgParser& parser) {
  const std::optional<uint64_t> version = ParseVersion(parser.Next());
  if (!version) parser.Fail("a version is a number from 1 on");
  return version.value_or(0);
}

double TakeNumber(ArgParser& parser, std::string_view error) {
  const std::string_view text = parser.Next();
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) parser.Fail(error);
  return number;
}

Result<std::string> SetIt(Context& context, const FunctionName& function, ArgParser& parser) {
  AliasUpdate update{.alias = std::string(parser.Next())};
  update.target.version = TakeVersion(parser);
  while (parser.HasNext()) {
    if (parser.Keyword("WEIGHT")) {
      const uint64_t version = TakeVersion(parser);
      update.target.second =
          Target::Weighted{version, parser.Integer("WEIGHT needs a version and a percentage")};
    } else if (parser.Keyword("WARM")) {
      update.min_warm = parser.Integer("WARM needs a number");
    } else {
      parser.Fail(kSyntax);
    }
  }
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  return Encoded(SetAlias(context, function, update));
}

Result<std::string> Aliases(Context& context, const FunctionName& function, ArgParser& parser) {
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Alias> aliases, ListAliases(context, function));
  return AliasesText(aliases);
}

Result<std::string> Rollback(Context& context, const FunctionName& function, ArgParser& parser) {
  const std::string_view alias = parser.Next();
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  return Encoded(RollBackAlias(context, function, alias));
}

Result<std::string> Remove(Context& context, const FunctionName& function, ArgParser& parser) {
  const std::string_view alias = parser.Next();
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  CAIRN_RETURN_IF_ERROR(DeleteAlias(context, function, alias));
  return std::string(R"({"status":"deleted"})");
}

Result<std::string> ShiftIt(Context& context, const FunctionName& function, ArgParser& parser) {
  ShiftRequest request{.alias = std::string(parser.Next()),
                       .id = Uuid::V4(*context.random).ToString()};
  request.to = TakeVersion(parser);
  if (!parser.Keyword("STEP")) parser.Fail(kSyntax);
  request.step_percent = parser.Integer("STEP needs a percentage");
  if (!parser.Keyword("EVERY")) parser.Fail(kSyntax);
  request.interval_seconds = parser.Integer("EVERY needs seconds");
  if (!parser.Keyword("MAXERRORS")) parser.Fail(kSyntax);
  request.max_error_rate = TakeNumber(parser, "MAXERRORS needs a number from 0 to 1");
  CAIRN_RETURN_IF_ERROR(FinishArguments(parser));
  return Encoded(StartShift(context, function, request));
}

// --- The rows -----------------------------------------------------------------------------------

void AddOneScope(Args args, uint8_t /*db*/, store::Scopes& scopes) {
  const Result<FunctionName> function = ParseFunctionName(args[1]);
  if (function.ok()) AddFunctionScopes(*function, scopes);
}

void AddAliasScope(Args args, uint8_t db, store::Scopes& scopes) {
  AddOneScope(args, db, scopes);
  const Result<FunctionName> function = ParseFunctionName(args[1]);
  if (function.ok()) AddAliasScopes(*function, args[2], scopes);
}

// Rows whose first argument is a function.
class Rows {
 public:
  explicit Rows(CommandRows& rows) : rows_(rows) {}

  void AddRead(Command command, Handler handler) {
    rows_.AddRead(std::move(command), ForFunction(handler));
  }
  void AddWrite(Command command, doors::ScopeFunction add_scopes, Handler handler) {
    rows_.AddWrite(std::move(command), std::move(add_scopes), ForFunction(handler));
  }

 private:
  CommandRows& rows_;
};

void AddFunctionRows(Rows& rows) {
  rows.AddWrite({.name = "fn.create",
                 .arity = 2,
                 .complexity = "O(1)",
                 .summary = "Creates a function.",
                 .syntax = "function"},
                AddOneScope, Create);
  rows.AddRead({.name = "fn.get",
                .arity = -2,
                .complexity = "O(N) with N being the number of aliases",
                .summary = "Tells about a function, its aliases and its latest version.",
                .syntax = "function [DELETED]"},
               Get);
  rows.AddWrite({.name = "fn.delete",
                 .arity = 2,
                 .complexity = "O(1)",
                 .summary = "Deletes a function; its versions are kept until it is purged.",
                 .syntax = "function"},
                AddOneScope, Delete);
  rows.AddWrite({.name = "fn.purge",
                 .arity = 2,
                 .long_running = true,
                 .complexity = "O(N) with N being the number of versions",
                 .summary = "Removes a deleted function with all it has.",
                 .syntax = "function"},
                AddOneScope, Purge);
  rows.AddWrite({.name = "fn.enable",
                 .arity = 2,
                 .complexity = "O(1)",
                 .summary = "Lets a disabled function be invoked again.",
                 .syntax = "function"},
                AddOneScope, Enable);
  rows.AddWrite({.name = "fn.disable",
                 .arity = 2,
                 .complexity = "O(1)",
                 .summary = "Refuses invocations of a function until it is enabled.",
                 .syntax = "function"},
                AddOneScope, Disable);
}

void AddVersionRows(Rows& rows) {
  rows.AddWrite({.name = "fn.draft",
                 .arity = -4,
                 .long_running = true,
                 .complexity = "O(N) with N being the size of the files",
                 .summary = "Uploads files; they wait 24 hours to be published.",
                 .syntax = "function (path content) ..."},
                AddOneScope, Upload);
  rows.AddRead({.name = "fn.versions",
                .arity = -2,
                .long_running = true,
                .complexity = "O(N) with N being the number of versions returned",
                .summary = "Lists the versions of a function, the newest first.",
                .syntax = "function [BEFORE version:integer] "
                          "[LIMIT count:integer]"},
               Versions);
}

void AddAliasRows(Rows& rows) {
  rows.AddWrite({.name = "fn.alias",
                 .arity = -4,
                 .complexity = "O(1)",
                 .summary = "Points an alias to a version, or to two by weight.",
                 .syntax = "function alias version:integer "
                           "[WEIGHT version:integer percent:integer] [WARM children:integer]"},
                AddAliasScope, SetIt);
  rows.AddRead({.name = "fn.aliases",
                .arity = 2,
                .complexity = "O(N) with N being the number of aliases",
                .summary = "Lists the aliases of a function.",
                .syntax = "function"},
               Aliases);
  rows.AddWrite({.name = "fn.rollback",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Points an alias to where it pointed before.",
                 .syntax = "function alias"},
                AddAliasScope, Rollback);
  rows.AddWrite({.name = "fn.delalias",
                 .arity = 3,
                 .complexity = "O(1)",
                 .summary = "Deletes an alias.",
                 .syntax = "function alias"},
                AddAliasScope, Remove);
  rows.AddWrite({.name = "fn.shift",
                 .arity = 10,
                 .complexity = "O(1)",
                 .summary = "Moves an alias to another version step by step, and back if it fails.",
                 .syntax = "function alias version:integer STEP percent:integer "
                           "EVERY seconds:integer MAXERRORS rate:double"},
                AddAliasScope, ShiftIt);
}

}  // namespace

void AddControlCommands(doors::Instance& instance, const SecretKeys& secrets, Random& random,
                        BundleCompiler* compiler) {
  CommandRows all(instance, {secrets, random});
  AddPublishCommand(instance, {secrets, random}, compiler);
  all.AddRead({.name = "fn.list",
               .arity = -2,
               .long_running = true,
               .complexity = "O(N) with N being the number of functions returned",
               .summary = "Lists the functions of a namespace.",
               .syntax = "namespace [AFTER function] [LIMIT count:integer] [DELETED]"},
              List);
  Rows rows(all);
  AddFunctionRows(rows);
  AddVersionRows(rows);
  AddAliasRows(rows);
}

}  // namespace cairn::functions
