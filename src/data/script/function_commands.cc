#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/script/commands.h"
#include "data/script/function_library.h"
#include "data/script/script_run.h"
#include "data/value/limits.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/glob.h"
#include "doors/resp/instance.h"

// FCALL and FUNCTION: scripts that are part of the database, under names.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::CommandContext;
using doors::ConnectionContext;
using doors::Instance;

// What the commands of one instance share.
struct Functions {
  explicit Functions(Instance& owner) : instance(owner) {}
  const Log& log() const { return instance.log(); }

  Instance& instance;
  StatePool<FunctionState> states{kMaxIdleScriptStates};
};

Result<void> Fcall(Functions& functions, CommandContext& context) {
  auto state = functions.states.Acquire();
  CAIRN_RETURN_IF_ERROR(
      state->Refresh(context.transaction, functions.log(), context.held.may_take_long));
  const ScriptFunction* function = state->FindFunction(context.args[1]);
  if (function == nullptr) return context.Fail("ERR Function not found");
  const Result<ScriptArguments> arguments =
      ParseScriptArguments(context.args, "ERR Bad number of keys provided");
  if (!arguments.ok()) return context.Fail(arguments.error().message);
  const bool no_writes = (function->flags & ScriptFunction::kNoWrites) != 0;
  if (!context.command.Has(doors::kWrite) && !no_writes) {
    return context.Fail("ERR Can not execute a script with write flag using *_ro command.");
  }
  ScriptRun run(
      functions.instance, context,
      {.kind = doors::Busy::Kind::kFunction, .name = function->name, .read_only = no_writes});
  const ScriptInput input{function->name, arguments->keys, arguments->args};
  return run.Finish(state->lua().RunFunction(input, run, context.reply), state->lua());
}

Result<bool> NeverWrites(Functions& functions, store::Transaction& transaction,
                         std::string_view name) {
  auto state = functions.states.Acquire();
  CAIRN_RETURN_IF_ERROR(state->Refresh(transaction, functions.log()));
  const ScriptFunction* function = state->FindFunction(name);
  return function != nullptr && (function->flags & ScriptFunction::kNoWrites) != 0;
}

// --- Changing libraries -------------------------------------------------------------------------

// The libraries as they will be, so that names can be compared before anything is written.
using Catalog = std::vector<Library>;

// The error if a function of `library` belongs to another library of the catalog.
std::optional<std::string> NameTaken(const Catalog& catalog, const Library& library) {
  for (const Library& other : catalog) {
    if (other.name == library.name) continue;
    for (const ScriptFunction& function : library.functions) {
      const auto same = [&](const ScriptFunction& theirs) {
        return doors::EqualsIgnoreCase(theirs.name, function.name);
      };
      if (std::ranges::any_of(other.functions, same)) {
        return fmt::format("ERR Function {} already exists", function.name);
      }
    }
  }
  return std::nullopt;
}

Result<void> FunctionLoad(Functions& functions, CommandContext& context) {
  ArgParser parser(context.args, 2);
  bool replace = false;
  while (parser.remaining() > 1) {
    if (parser.Keyword("REPLACE")) {
      replace = true;
    } else {
      return context.Fail(
          fmt::format("ERR Unknown option given: {}", doors::Quotable(parser.Next())));
    }
  }
  const std::string_view source = parser.Next();
  if (source.size() > kMaxLibraryBytes) return context.Fail("ERR the library is too large");
  const Result<LibraryHeader> header = ParseLibraryHeader(source);
  if (!header.ok()) return context.Fail(header.error().message);
  auto state = functions.states.Acquire();
  CAIRN_RETURN_IF_ERROR(state->Refresh(context.transaction, functions.log()));
  if (!replace && state->FindLibrary(header->name) != nullptr) {
    return context.Fail(fmt::format("ERR Library '{}' already exists", header->name));
  }
  const Result<Library> library = CompileLibrary(source, functions.log());
  if (!library.ok()) return context.Fail(library.error().message);
  if (const auto taken = NameTaken(state->libraries(), *library)) return context.Fail(*taken);
  StoreLibrary(context.transaction, *library);
  context.reply.Bulk(library->name);
  return {};
}

Result<void> FunctionDelete(Functions& functions, CommandContext& context) {
  auto state = functions.states.Acquire();
  CAIRN_RETURN_IF_ERROR(state->Refresh(context.transaction, functions.log()));
  if (state->FindLibrary(context.args[2]) == nullptr) return context.Fail("ERR Library not found");
  RemoveLibrary(context.transaction, context.args[2]);
  context.reply.Ok();
  return {};
}

std::string WrongUse(std::string_view subcommand) {
  return fmt::format(
      "ERR unknown subcommand or wrong number of arguments for '{}'. Try FUNCTION HELP.",
      subcommand);
}

Result<void> FunctionFlush(Functions& /*functions*/, CommandContext& context) {
  ArgParser parser(context.args, 2);
  if (parser.remaining() > 1) return context.Fail(WrongUse(context.args[1]));
  if (parser.HasNext()) parser.OneOf<int>({{"SYNC", 0}, {"ASYNC", 1}});
  if (!parser.Finish()) {
    return context.Fail("ERR FUNCTION FLUSH only supports SYNC|ASYNC option");
  }
  CAIRN_RETURN_IF_ERROR(RemoveAllLibraries(context.transaction));
  context.reply.Ok();
  return {};
}

enum class RestorePolicy : uint8_t { kAppend, kReplace, kFlush };

// Compiles the sources and checks them against the catalog. An error's message is the reply.
Result<Catalog> CheckRestored(const std::vector<std::string>& sources, Catalog catalog,
                              RestorePolicy policy, const Log& log) {
  Catalog restored;
  if (policy == RestorePolicy::kFlush) catalog.clear();
  for (const std::string& source : sources) {
    CAIRN_ASSIGN_OR_RETURN(Library library, CompileLibrary(source, log));
    const auto same = std::ranges::find(catalog, library.name, &Library::name);
    if (same != catalog.end()) {
      if (policy != RestorePolicy::kReplace) {
        return Error{ErrorCode::kConflict,
                     fmt::format("ERR Library {} already exists", library.name)};
      }
      catalog.erase(same);
    }
    restored.push_back(std::move(library));
  }
  for (const Library& library : restored) {
    if (const auto taken = NameTaken(catalog, library)) return Error{ErrorCode::kConflict, *taken};
    if (const auto taken = NameTaken(restored, library)) return Error{ErrorCode::kConflict, *taken};
  }
  return restored;
}

Result<void> FunctionRestore(Functions& functions, CommandContext& context) {
  if (context.args.size() > 4) return context.Fail(WrongUse(context.args[1]));
  ArgParser parser(context.args, 3);
  RestorePolicy policy = RestorePolicy::kAppend;
  if (parser.HasNext()) {
    const auto given = parser.OneOf<RestorePolicy>({{"APPEND", RestorePolicy::kAppend},
                                                    {"REPLACE", RestorePolicy::kReplace},
                                                    {"FLUSH", RestorePolicy::kFlush}});
    if (!given) {
      return context.Fail(
          "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.");
    }
    policy = *given;
  }
  const auto sources = DecodeFunctionDump(context.args[2]);
  if (!sources) return context.Fail("ERR DUMP payload version or checksum are wrong");
  auto state = functions.states.Acquire();
  CAIRN_RETURN_IF_ERROR(state->Refresh(context.transaction, functions.log()));
  const Result<Catalog> restored =
      CheckRestored(*sources, state->libraries(), policy, functions.log());
  if (!restored.ok()) return context.Fail(restored.error().message);
  if (policy == RestorePolicy::kFlush) {
    CAIRN_RETURN_IF_ERROR(RemoveAllLibraries(context.transaction));
  }
  for (const Library& library : *restored) StoreLibrary(context.transaction, library);
  context.reply.Ok();
  return {};
}

// --- Looking at libraries -----------------------------------------------------------------------

void WriteFunction(net::RespWriter& reply, const ScriptFunction& function) {
  reply.MapHeader(3);
  reply.Bulk("name");
  reply.Bulk(function.name);
  reply.Bulk("description");
  if (function.description) {
    reply.Bulk(*function.description);
  } else {
    reply.Null();
  }
  reply.Bulk("flags");
  const std::vector<std::string_view> flags = ScriptFlagNames(function.flags);
  reply.SetHeader(flags.size());
  for (const std::string_view flag : flags) reply.Simple(flag);
}

void WriteLibrary(net::RespWriter& reply, const Library& library, bool with_code) {
  reply.MapHeader(with_code ? 4 : 3);
  reply.Bulk("library_name");
  reply.Bulk(library.name);
  reply.Bulk("engine");
  reply.Bulk("LUA");
  reply.Bulk("functions");
  reply.ArrayHeader(library.functions.size());
  for (const ScriptFunction& function : library.functions) WriteFunction(reply, function);
  if (!with_code) return;
  reply.Bulk("library_code");
  reply.Bulk(library.source);
}

Result<void> FunctionList(Functions& functions, CommandContext& context) {
  ArgParser parser(context.args, 2);
  bool with_code = false;
  std::optional<std::string_view> pattern;
  while (parser.HasNext()) {
    if (!with_code && parser.Keyword("WITHCODE")) {
      with_code = true;
    } else if (!pattern && parser.Keyword("LIBRARYNAME")) {
      if (!parser.HasNext()) return context.Fail("ERR library name argument was not given");
      pattern = parser.Next();
    } else {
      return context.Fail(fmt::format("ERR Unknown argument {}", doors::Quotable(parser.Next())));
    }
  }
  auto state = functions.states.Acquire();
  CAIRN_RETURN_IF_ERROR(state->Refresh(context.transaction, functions.log()));
  std::vector<const Library*> found;
  for (const Library& library : state->libraries()) {
    if (!pattern || doors::GlobMatch(*pattern, library.name)) found.push_back(&library);
  }
  context.reply.ArrayHeader(found.size());
  for (const Library* library : found) WriteLibrary(context.reply, *library, with_code);
  return {};
}

Result<void> FunctionDump(Functions& functions, CommandContext& context) {
  auto state = functions.states.Acquire();
  CAIRN_RETURN_IF_ERROR(state->Refresh(context.transaction, functions.log()));
  context.reply.Bulk(EncodeFunctionDump(state->libraries()));
  return {};
}

void WriteRunning(net::RespWriter& reply, const Instance& instance,
                  const doors::Busy::Running& running) {
  reply.MapHeader(3);
  reply.Bulk("name");
  reply.Bulk(running.name);
  reply.Bulk("command");
  reply.ArrayHeader(running.args.size());
  for (const std::string& arg : running.args) reply.Bulk(arg);
  reply.Bulk("duration_ms");
  const uint64_t ns = instance.clock().MonotonicNs() - running.begin_ns;
  reply.Integer(static_cast<int64_t>(ns / 1'000'000));
}

Result<void> FunctionStats(Functions& functions, CommandContext& context) {
  auto state = functions.states.Acquire();
  CAIRN_RETURN_IF_ERROR(state->Refresh(context.transaction, functions.log()));
  net::RespWriter& reply = context.reply;
  reply.MapHeader(2);
  reply.Bulk("running_script");
  if (const auto running = functions.instance.traffic().busy.RunningFunction()) {
    WriteRunning(reply, functions.instance, *running);
  } else {
    reply.Null();
  }
  size_t count = 0;
  for (const Library& library : state->libraries()) count += library.functions.size();
  reply.Bulk("engines");
  reply.MapHeader(1);
  reply.Bulk("LUA");
  reply.MapHeader(2);
  reply.Bulk("libraries_count");
  reply.Integer(static_cast<int64_t>(state->libraries().size()));
  reply.Bulk("functions_count");
  reply.Integer(static_cast<int64_t>(count));
  return {};
}

void FunctionKill(ConnectionContext& context) {
  const auto refused =
      context.dispatcher.instance().traffic().busy.Kill(doors::Busy::Kind::kFunction);
  if (refused) return context.Fail(*refused);
  context.reply.Ok();
}

// --- Rows ---------------------------------------------------------------------------------------

using Handler = Result<void> (*)(Functions&, CommandContext&);

void AddFcallRows(Instance& instance, const std::shared_ptr<Functions>& functions) {
  for (const bool writes : {true, false}) {
    const uint32_t access = writes ? doors::kWrite : doors::kReadOnly;
    instance.commands().Add(
        {.name = writes ? "fcall" : "fcall_ro",
         .arity = -3,
         .flags = access | doors::kNoScript | doors::kStale | doors::kMovableKeys |
                  doors::kNoMandatoryKeys,
         .categories = doors::kCategoryScripting,
         .keys = {doors::CountedKeys(2, writes ? "RW access update" : "RO access")},
         .never_writes =
             [functions](store::Transaction& transaction, doors::Args args) {
               return NeverWrites(*functions, transaction, args[1]);
             },
         .group = "scripting",
         .since = "7.0.0",
         .complexity = "What the function does",
         .summary = writes ? "Calls a function of a library."
                           : "Calls a function of a library that must not write.",
         .syntax = "function numkeys:integer [key:key ...] [arg ...]",
         .run = [functions](CommandContext& context) { return Fcall(*functions, context); }});
  }
}

// The name of the library that FUNCTION LOAD is given.
std::string AuditLoad(doors::Args args) {
  const Result<LibraryHeader> header = ParseLibraryHeader(args.back());
  return header.ok() ? header->name : std::string();
}

doors::AuditText AuditTextOf(std::string_view name) {
  if (name == "function|load") return AuditLoad;
  return name == "function|delete" ? doors::AuditAllArguments : doors::AuditNoArguments;
}

struct FunctionRow {
  std::string_view name;
  int arity;
  uint32_t flags;
  std::string_view complexity;
  std::string_view summary;
  std::string_view syntax;
  std::vector<std::string_view> tips;
  Handler run;
};

void AddFunctionRow(Instance& instance, const std::shared_ptr<Functions>& functions,
                    const FunctionRow& row) {
  const bool writes = (row.flags & doors::kWrite) != 0;
  instance.commands().Add(
      {.name = row.name,
       .arity = row.arity,
       .flags = row.flags | doors::kNoScript,
       .categories = doors::kCategoryScripting,
       .scopes = writes ? doors::ScopeRule::kEverything : doors::ScopeRule::kNothing,
       .long_running = writes,  // the code of libraries runs
       .audit_text = AuditTextOf(row.name),
       .group = "scripting",
       .since = "7.0.0",
       .complexity = row.complexity,
       .summary = row.summary,
       .syntax = row.syntax,
       .tips = row.tips,
       .run = [functions, run = row.run](CommandContext& context) {
         return run(*functions, context);
       }});
}

}  // namespace

void AddFunctionCommands(Instance& instance) {
  using doors::kWrite;
  const auto functions = std::make_shared<Functions>(instance);
  AddFcallRows(instance, functions);
  instance.commands().Add({.name = "function",
                           .arity = -2,
                           .group = "scripting",
                           .since = "7.0.0",
                           .complexity = "Depends on the subcommand.",
                           .summary = "Commands for libraries of functions."});
  const std::vector<std::string_view> everywhere = {"request_policy:all_shards",
                                                    "response_policy:all_succeeded"};
  const FunctionRow kRows[] = {
      {"function|load", -3, kWrite | doors::kDenyOom, "O(1)", "Adds a library.",
       "[REPLACE] function-code", everywhere, FunctionLoad},
      {"function|delete", 3, kWrite, "O(1)", "Removes a library.", "library-name", everywhere,
       FunctionDelete},
      {"function|flush", -2, kWrite, "O(N) for N functions", "Removes all libraries.",
       "[ASYNC | SYNC]", everywhere, FunctionFlush},
      {"function|restore", -3, kWrite | doors::kDenyOom, "O(N) for N functions",
       "Adds the libraries of a dump.", "serialized-value [FLUSH | APPEND | REPLACE]", everywhere,
       FunctionRestore},
      {"function|dump",
       2,
       0,
       "O(N) for N functions",
       "Returns all libraries in one string.",
       "",
       {},
       FunctionDump},
      {"function|list",
       -2,
       0,
       "O(N) for N functions",
       "Lists the libraries and their functions.",
       "[LIBRARYNAME library-name-pattern:pattern] [WITHCODE]",
       {"nondeterministic_output_order"},
       FunctionList},
      {"function|stats",
       2,
       doors::kAllowBusy,
       "O(1)",
       "Tells which function runs, and how many there are.",
       "",
       {"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
       FunctionStats},
  };
  for (const FunctionRow& row : kRows) AddFunctionRow(instance, functions, row);
  instance.commands().Add({.name = "function|kill",
                           .arity = 2,
                           .flags = doors::kNoScript | doors::kAllowBusy,
                           .categories = doors::kCategoryScripting,
                           .audited = true,
                           .group = "scripting",
                           .since = "7.0.0",
                           .complexity = "O(1)",
                           .summary = "Ends the function that runs, if it has not written.",
                           .tips = {"request_policy:all_shards", "response_policy:one_succeeded"},
                           .connection = FunctionKill});
  instance.commands().Add(
      doors::HelpRow("function|help", doors::kCategoryScripting, "scripting", "7.0.0"));
}

}  // namespace cairn::data
