#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "data/lua/lua_state.h"
#include "data/script/commands.h"
#include "data/script/script_cache.h"
#include "data/script/script_run.h"
#include "data/value/limits.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/instance.h"
#include "doors/resp/loop_work.h"

// EVAL and SCRIPT. A script is one command: it runs inside the command's transaction, and what it
// has written stays when it fails.
namespace cairn::data {
namespace {

using doors::Command;
using doors::CommandContext;
using doors::ConnectionContext;
using doors::Instance;

// What the commands of one instance share.
struct Scripts {
  explicit Scripts(Instance& owner) : instance(owner) {}

  Instance& instance;
  ScriptCache cache;
  StatePool<LuaState> states{kMaxIdleScriptStates};
};

Result<ScriptCache::Entry> Prepare(Scripts& scripts, LuaState& state, std::string_view source) {
  std::string sha = Sha1Hex(source);
  ScriptCache::Entry script = scripts.cache.Find(sha);
  if (script == nullptr) {
    CAIRN_ASSIGN_OR_RETURN(Script parsed, ParseScript(std::move(sha), source));
    script = std::make_shared<const Script>(std::move(parsed));
  }
  const Result<void> compiled = state.Compile(script->sha, script->body());
  if (!compiled.ok()) {
    return Error{ErrorCode::kInvalid, fmt::format("ERR Error compiling script (new function): {}",
                                                  compiled.error().message)};
  }
  scripts.cache.Add(script);
  return script;
}

Result<void> Run(Scripts& scripts, CommandContext& context, LuaState& state, const Script& script,
                 const ScriptArguments& arguments) {
  const bool no_writes = script.never_writes();
  const bool read_only_command = !context.command.Has(doors::kWrite);
  if (read_only_command && script.declares_flags && !no_writes) {
    return context.Fail("ERR Can not execute a script with write flag using *_ro command.");
  }
  ScriptRun run(scripts.instance, context,
                {.name = script.sha, .read_only = read_only_command || no_writes});
  const ScriptInput input{script.sha, arguments.keys, arguments.args};
  return run.Finish(state.RunScript(script.sha, input, run, context.reply), state);
}

Result<void> Eval(Scripts& scripts, CommandContext& context) {
  const Result<ScriptArguments> arguments =
      ParseScriptArguments(context.args, doors::kNotAnInteger);
  if (!arguments.ok()) return context.Fail(arguments.error().message);
  auto state = scripts.states.Acquire();
  const Result<ScriptCache::Entry> script = Prepare(scripts, *state, context.args[1]);
  if (!script.ok()) return context.Fail(script.error().message);
  return Run(scripts, context, *state, **script, *arguments);
}

Result<void> EvalSha(Scripts& scripts, CommandContext& context) {
  constexpr std::string_view kNoScript = "NOSCRIPT No matching script. Please use EVAL.";
  if (context.args[1].size() != 40) return context.Fail(kNoScript);
  const Result<ScriptArguments> arguments =
      ParseScriptArguments(context.args, doors::kNotAnInteger);
  if (!arguments.ok()) return context.Fail(arguments.error().message);
  const ScriptCache::Entry script = scripts.cache.Find(context.args[1]);
  if (script == nullptr) return context.Fail(kNoScript);
  auto state = scripts.states.Acquire();
  const Result<void> compiled = state->Compile(script->sha, script->body());
  if (!compiled.ok()) return context.Fail(fmt::format("ERR {}", compiled.error().message));
  return Run(scripts, context, *state, *script, *arguments);
}

bool SaysItNeverWrites(std::string_view source) {
  const Result<Script> script = ParseScript({}, source);
  return script.ok() && script->never_writes();
}

bool IsKnownNeverToWrite(const Scripts& scripts, std::string_view sha) {
  const ScriptCache::Entry script = scripts.cache.Find(sha);
  return script != nullptr && script->never_writes();
}

// --- SCRIPT -------------------------------------------------------------------------------------

Result<void> ScriptLoad(Scripts& scripts, CommandContext& context) {
  auto state = scripts.states.Acquire();
  const Result<ScriptCache::Entry> script = Prepare(scripts, *state, context.args[2]);
  if (!script.ok()) return context.Fail(script.error().message);
  context.reply.Bulk((*script)->sha);
  return {};
}

Result<void> ScriptExists(Scripts& scripts, CommandContext& context) {
  context.reply.ArrayHeader(context.args.size() - 2);
  for (const std::string_view sha : context.args.subspan(2)) {
    context.reply.Integer(scripts.cache.Find(sha) == nullptr ? 0 : 1);
  }
  return {};
}

Result<void> ScriptFlush(Scripts& scripts, CommandContext& context) {
  doors::ArgParser parser(context.args, 2);
  if (parser.HasNext()) parser.OneOf<int>({{"SYNC", 0}, {"ASYNC", 1}});
  if (!parser.Finish()) {
    return context.Fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option");
  }
  scripts.cache.Clear();
  scripts.states.Clear();
  context.reply.Ok();
  return {};
}

void ScriptKill(ConnectionContext& context) {
  const auto refused =
      context.dispatcher.instance().traffic().busy.Kill(doors::Busy::Kind::kScript);
  if (refused) return context.Fail(*refused);
  context.reply.Ok();
}

// There is no debugger to switch on.
void ScriptDebug(ConnectionContext& context) {
  const std::string_view mode = context.args[2];
  if (doors::EqualsIgnoreCase(mode, "NO")) return context.reply.Ok();
  if (doors::EqualsIgnoreCase(mode, "YES") || doors::EqualsIgnoreCase(mode, "SYNC")) {
    return context.Fail("ERR scripts cannot be debugged");
  }
  context.Fail("ERR Use SCRIPT DEBUG YES/SYNC/NO");
}

// --- Rows ---------------------------------------------------------------------------------------

// To compile, and to hand over arguments.
constexpr uint64_t kScriptNsPerByte = 20;

using Handler = Result<void> (*)(Scripts&, CommandContext&);

struct EvalRow {
  std::string_view name;
  uint32_t flags;
  std::string_view since;
  std::string_view summary;
  std::string_view syntax;
  Handler run;
};

void AddEvalRows(Instance& instance, const std::shared_ptr<Scripts>& scripts) {
  constexpr std::string_view kByText = "script numkeys:integer [key:key ...] [arg ...]";
  constexpr std::string_view kBySha = "sha1 numkeys:integer [key:key ...] [arg ...]";
  const EvalRow kRows[] = {
      {"eval", doors::kWrite, "2.6.0", "Runs a script.", kByText, Eval},
      {"evalsha", doors::kWrite, "2.6.0", "Runs a script that was sent before.", kBySha, EvalSha},
      {"eval_ro", doors::kReadOnly, "7.0.0", "Runs a script that must not write.", kByText, Eval},
      {"evalsha_ro", doors::kReadOnly, "7.0.0",
       "Runs a script that was sent before and must not write.", kBySha, EvalSha},
  };
  for (const EvalRow& row : kRows) {
    instance.commands().Add(
        {.name = row.name,
         .arity = -3,
         .flags = row.flags | doors::kNoScript | doors::kStale | doors::kMovableKeys |
                  doors::kNoMandatoryKeys,
         .categories = doors::kCategoryScripting,
         .keys = {doors::CountedKeys(
             2, row.flags == doors::kWrite ? "RW access update" : "RO access")},
         .never_writes =
             [scripts, by_text = row.run == Eval](store::Transaction&, doors::Args args) {
               return by_text ? SaysItNeverWrites(args[1]) : IsKnownNeverToWrite(*scripts, args[1]);
             },
         .group = "scripting",
         .since = row.since,
         .complexity = "What the script does",
         .summary = row.summary,
         .syntax = row.syntax,
         .run = doors::WithLongArguments(
             [scripts, run = row.run](CommandContext& context) { return run(*scripts, context); },
             kScriptNsPerByte)});
  }
}

struct ScriptRow {
  std::string_view name;
  int arity;
  uint32_t flags;
  std::string_view since;
  std::string_view complexity;
  std::string_view summary;
  std::string_view syntax;
  std::vector<std::string_view> tips;
  Handler run = nullptr;
  doors::ConnectionHandler connection = {};
};

void AddScriptRow(Instance& instance, const std::shared_ptr<Scripts>& scripts,
                  const ScriptRow& row) {
  Command command{.name = row.name,
                  .arity = row.arity,
                  .flags = row.flags,
                  .categories = doors::kCategoryScripting,
                  .scopes = doors::ScopeRule::kNothing,
                  .audited = row.name == "script|flush" || row.name == "script|kill",
                  .audit_text = doors::AuditNoArguments,
                  .group = "scripting",
                  .since = row.since,
                  .complexity = row.complexity,
                  .summary = row.summary,
                  .syntax = row.syntax,
                  .tips = row.tips,
                  .connection = row.connection};
  if (row.run != nullptr) {
    command.run = doors::WithLongArguments(
        [scripts, run = row.run](CommandContext& context) { return run(*scripts, context); },
        kScriptNsPerByte);
  }
  instance.commands().Add(std::move(command));
}

}  // namespace

void AddScriptCommands(Instance& instance) {
  using doors::kNoScript;
  const auto scripts = std::make_shared<Scripts>(instance);
  instance.hooks().figures.push_back({"number_of_cached_scripts", [scripts] {
                                        return static_cast<int64_t>(scripts->cache.count());
                                      }});
  instance.hooks().figures.push_back({"used_memory_scripts_eval", [scripts] {
                                        return static_cast<int64_t>(scripts->cache.bytes());
                                      }});
  AddEvalRows(instance, scripts);
  instance.commands().Add({.name = "script",
                           .arity = -2,
                           .group = "scripting",
                           .since = "2.6.0",
                           .complexity = "Depends on the subcommand.",
                           .summary = "Commands for scripts that are kept."});
  const ScriptRow kRows[] = {
      {"script|load",
       3,
       kNoScript | doors::kStale,
       "2.6.0",
       "O(N) for N bytes",
       "Keeps a script for EVALSHA without running it.",
       "script",
       {"request_policy:all_nodes", "response_policy:all_succeeded"},
       ScriptLoad},
      {"script|exists",
       -3,
       kNoScript,
       "2.6.0",
       "O(N) for N scripts",
       "Tells which scripts are kept.",
       "sha1 ...",
       {"request_policy:all_shards", "response_policy:agg_logical_and"},
       ScriptExists},
      {"script|flush",
       -2,
       kNoScript,
       "2.6.0",
       "O(N) for N scripts",
       "Forgets all scripts.",
       "[ASYNC | SYNC]",
       {"request_policy:all_nodes", "response_policy:all_succeeded"},
       ScriptFlush},
      {"script|kill",
       2,
       kNoScript | doors::kAllowBusy,
       "2.6.0",
       "O(1)",
       "Ends the script that runs, if it has not written.",
       "",
       {"request_policy:all_shards", "response_policy:one_succeeded"},
       nullptr,
       ScriptKill},
      {"script|debug",
       3,
       kNoScript,
       "3.2.0",
       "O(1)",
       "Refuses to debug scripts.",
       "(YES | SYNC | NO)",
       {},
       nullptr,
       ScriptDebug},
  };
  for (const ScriptRow& row : kRows) AddScriptRow(instance, scripts, row);
  instance.commands().Add(
      doors::HelpRow("script|help", doors::kCategoryScripting, "scripting", "5.0.0"));
}

}  // namespace cairn::data
