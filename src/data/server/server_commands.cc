#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/server/commands.h"
#include "data/server/info.h"
#include "data/value/entry.h"
#include "data/value/limits.h"
#include "data/value/value_info.h"
#include "doors/resp/answer.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/dispatcher.h"
#include "doors/resp/instance.h"
#include "doors/resp/settings.h"

namespace cairn::data {
namespace {

using doors::AnswerContext;
using doors::ArgParser;
using doors::Command;
using doors::CommandContext;
using doors::ConnectionContext;
using doors::Instance;

// --- CONFIG -------------------------------------------------------------------------------------

void ConfigGet(ConnectionContext& context) {
  const auto values = context.dispatcher.instance().settings().Find(context.args.subspan(2));
  context.reply.MapHeader(values.size());
  for (const auto& [name, value] : values) {
    context.reply.Bulk(name);
    context.reply.Bulk(value);
  }
}

// The settings are changed where the command runs, which may happen more than once: the result is
// the same, and there is one commit that stores it.
Result<void> ConfigSet(CommandContext& context, doors::Settings& settings) {
  if (context.args.size() % 2 != 0) return context.Fail(doors::WrongArity(context.command.name));
  std::vector<std::pair<std::string_view, std::string_view>> values;
  std::vector<std::string_view> names;
  for (size_t i = 2; i < context.args.size(); i += 2) {
    values.emplace_back(context.args[i], context.args[i + 1]);
    names.push_back(context.args[i]);
  }
  const Result<void> applied = settings.Set(values);
  if (!applied.ok()) return context.Fail(applied.error().message);
  settings.Save(context.transaction, names);
  context.reply.Ok();
  return {};
}

void ConfigResetStat(ConnectionContext& context, InfoRates& rates) {
  Instance& instance = context.dispatcher.instance();
  instance.observed().errors.Reset();
  instance.observed().expired_keys = 0;
  instance.dispatchers().ResetCalls(context.dispatcher);
  if (instance.server() != nullptr) rates.network.Reset(instance.server()->stats());
  context.reply.Ok();
}

// --- SLOWLOG ------------------------------------------------------------------------------------

void SlowLogGet(AnswerContext& context, doors::SlowLog& slow_log) {
  constexpr std::string_view kBadCount = "ERR count should be greater than or equal to -1";
  int64_t count = 10;
  if (context.args.size() > 3) {
    return context.Fail(fmt::format(
        "ERR unknown subcommand or wrong number of arguments for '{}'. Try SLOWLOG HELP.",
        doors::Quotable(context.args[1])));
  }
  if (context.args.size() == 3) {
    const std::optional<int64_t> given = doors::ParseInteger(context.args[2]);
    if (!given || *given < -1) return context.Fail(kBadCount);
    count = *given;
  }
  const auto entries =
      slow_log.Newest(count < 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(count));
  context.reply.ArrayHeader(entries.size());
  for (const doors::SlowLog::Entry& entry : entries) {
    context.reply.ArrayHeader(6);
    context.reply.Integer(static_cast<int64_t>(entry.id));
    context.reply.Integer(entry.time.us / 1'000'000);
    context.reply.Integer(static_cast<int64_t>(entry.duration_us));
    context.reply.ArrayHeader(entry.args.size());
    for (const std::string& arg : entry.args) context.reply.Bulk(arg);
    context.reply.Bulk(entry.peer);
    context.reply.Bulk(entry.client_name);
  }
}

void SlowLogLen(AnswerContext& context, doors::SlowLog& slow_log) {
  context.reply.Integer(static_cast<int64_t>(slow_log.size()));
}

void SlowLogReset(AnswerContext& context, doors::SlowLog& slow_log) {
  slow_log.Clear();
  context.reply.Ok();
}

// --- MEMORY -------------------------------------------------------------------------------------

Result<void> MemoryUsage(CommandContext& context) {
  int64_t samples = 5;
  ArgParser parser(context.args, 3);
  while (parser.HasNext()) {
    if (parser.remaining() < 2 || !parser.Keyword("SAMPLES")) {
      parser.Fail(doors::kSyntaxError);
      break;
    }
    samples = parser.Integer();
    if (samples < 0) parser.Fail(doors::kSyntaxError);
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Peek(context, context.args[2]));
  if (entry.exists()) {
    CAIRN_ASSIGN_OR_RETURN(const size_t bytes, StoredBytes(entry, static_cast<size_t>(samples)));
    context.reply.Integer(static_cast<int64_t>(bytes));
  } else {
    context.reply.Null();
  }
  return {};
}

// --- Saving, replication, time, the end ----------------------------------------------------------

// SAVE looks at everything, so that its reply waits until everything is durable; BGSAVE need not.
Result<void> Save(CommandContext& context) {
  context.reply.Ok();
  return {};
}

void BgSave(ConnectionContext& context) {
  ArgParser parser(context.args);
  parser.Keyword("SCHEDULE");
  if (!parser.Finish()) return context.Fail(parser.error());
  context.reply.Simple("Background saving started");
}

void LastSave(AnswerContext& context, Timestamp now) { context.reply.Integer(now.us / 1'000'000); }

void Role(ConnectionContext& context) {
  context.reply.ArrayHeader(3);
  context.reply.Bulk("master");
  context.reply.Integer(0);
  context.reply.ArrayHeader(0);
}

// There are no replicas to wait for.
void Wait(ConnectionContext& context) {
  ArgParser parser(context.args);
  parser.Integer();
  const int64_t timeout_ms = parser.Integer("ERR timeout is not an integer or out of range");
  if (parser.ok() && timeout_ms < 0) parser.Fail("ERR timeout is negative");
  if (!parser.ok()) return context.Fail(parser.error());
  context.reply.Integer(0);
}

void Time(AnswerContext& context, Timestamp now) {
  context.reply.ArrayHeader(2);
  context.reply.BulkInteger(now.us / 1'000'000);
  context.reply.BulkInteger(now.us % 1'000'000);
}

void Shutdown(ConnectionContext& context) {
  ArgParser parser(context.args);
  bool save = false;
  bool nosave = false;
  while (parser.HasNext()) {
    if (context.args.size() == 2 && parser.Keyword("ABORT")) {
      parser.Fail("ERR No shutdown in progress.");
    } else if (!nosave && parser.Keyword("SAVE")) {
      save = true;
    } else if (!save && parser.Keyword("NOSAVE")) {
      nosave = true;
    } else if (!parser.OneOf<int>({{"NOW", 0}, {"FORCE", 1}})) {
      parser.Fail(doors::kSyntaxError);
    }
  }
  if (!parser.ok()) return context.Fail(parser.error());
  const auto& shutdown = context.dispatcher.instance().hooks().shutdown;
  if (!shutdown) return context.Fail("ERR Errors trying to SHUTDOWN. Check logs.");
  shutdown();
  // As in Redis the client learns of it by the end of the connection.
  if (context.session.reply_mode == doors::ReplyMode::kOn) {
    context.session.reply_mode = doors::ReplyMode::kSkipThis;
  }
  context.reply.Ok();
}

// --- Rows ---------------------------------------------------------------------------------------

struct Row {
  std::string_view name;
  int arity;
  uint32_t flags;
  std::string_view since;
  std::string_view summary;
  std::string_view syntax;
  doors::ConnectionHandler connection;
  std::vector<std::string_view> tips = {};
  uint32_t categories = 0;
  std::string_view group = "server";
  std::string_view unaudited = {};
};

// The names of the settings: a value may be a password.
std::string AuditNames(doors::Args args) {
  std::string text;
  for (size_t i = 0; i < args.size(); i += 2) text.append(i == 0 ? "" : " ").append(args[i]);
  return text;
}

void AddRows(Instance& instance, std::span<const Row> rows) {
  for (const Row& row : rows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = row.categories,
                                    .unaudited = row.unaudited,
                                    .audit_text = doors::AuditAllArguments,
                                    .group = row.group,
                                    .since = row.since,
                                    .complexity = "O(1)",
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .tips = row.tips,
                                    .connection = row.connection});
  }
}

struct AnswerRow {
  std::string_view name;
  int arity;
  uint32_t flags;
  std::string_view since;
  std::string_view summary;
  std::string_view syntax;
  doors::AnswerHandler answer;
  std::vector<std::string_view> tips = {};
  uint32_t categories = 0;
  std::string_view unaudited = doors::kOnlyReads;
};

void AddAnswers(Instance& instance, std::span<const AnswerRow> rows) {
  for (const AnswerRow& row : rows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = row.categories,
                                    .scopes = doors::ScopeRule::kNothing,
                                    .unaudited = row.unaudited,
                                    .group = "server",
                                    .since = row.since,
                                    .complexity = "O(1)",
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .tips = row.tips,
                                    .run = doors::Answering(row.answer)});
  }
}

void AddSlowLog(Instance& instance) {
  constexpr uint32_t kSlowLog = doors::kAdmin | doors::kLoading | doors::kStale;
  const auto with_log = [&instance](void (*answer)(AnswerContext&, doors::SlowLog&)) {
    return [&instance, answer](AnswerContext& context) {
      answer(context, instance.observed().slow_log);
    };
  };
  const AnswerRow kRows[] = {
      {"slowlog|get",
       -2,
       kSlowLog,
       "2.2.12",
       "Shows the newest entries.",
       "[count:integer]",
       with_log(SlowLogGet),
       {"request_policy:all_nodes", "nondeterministic_output"}},
      {"slowlog|len",
       2,
       kSlowLog,
       "2.2.12",
       "Tells how many entries there are.",
       "",
       with_log(SlowLogLen),
       {"request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"}},
      {"slowlog|reset",
       2,
       kSlowLog,
       "2.2.12",
       "Removes all entries.",
       "",
       with_log(SlowLogReset),
       {"request_policy:all_nodes", "response_policy:all_succeeded"},
       0,
       doors::kChangesNothing},
  };
  AddAnswers(instance, kRows);
  instance.commands().Add(doors::HelpRow("slowlog|help", 0, "server", "6.2.0"));
}

void AddContainers(Instance& instance, const std::shared_ptr<InfoRates>& rates) {
  using doors::kAdmin;
  using doors::kLoading;
  using doors::kNoScript;
  using doors::kStale;
  constexpr uint32_t kOperator = kAdmin | kNoScript | kLoading | kStale;
  const Row kRows[] = {
      {"config", -2, 0, "2.0.0", "Commands about the server's settings.", "", {}},
      {"config|get",
       -3,
       kOperator,
       "2.0.0",
       "Shows settings.",
       "parameter ...",
       ConfigGet,
       {},
       0,
       "server",
       doors::kOnlyReads},
      {"config|resetstat",
       2,
       kOperator,
       "2.0.0",
       "Starts the statistics anew.",
       "",
       [rates](ConnectionContext& context) { ConfigResetStat(context, *rates); },
       {},
       0,
       "server",
       doors::kChangesNothing},
      {"slowlog", -2, 0, "2.2.12", "Commands about the log of slow commands.", "", {}},
      {"memory", -2, 0, "4.0.0", "Commands about the size of things.", "", {}},
  };
  AddRows(instance, kRows);
  doors::Settings& settings = instance.settings();
  const auto add_scope = [](doors::Args, uint8_t, store::Scopes& scopes) {
    doors::Settings::AddScope(scopes);
  };
  instance.commands().Add(
      {.name = "config|set",
       .arity = -4,
       .flags = kOperator,
       .add_scopes = add_scope,
       .secret = true,
       .stores = true,
       .audit_text = AuditNames,
       .group = "server",
       .since = "2.0.0",
       .complexity = "O(1)",
       .summary = "Changes settings, all or none, and stores them.",
       .syntax = "(parameter value) ...",
       .tips = {"request_policy:all_nodes", "response_policy:all_succeeded"},
       .run = [&settings](CommandContext& context) { return ConfigSet(context, settings); }});
  instance.commands().Add(doors::HelpRow("config|help", 0, "server", "5.0.0"));
  AddSlowLog(instance);
  instance.commands().Add({.name = "memory|usage",
                           .arity = -3,
                           .flags = doors::kReadOnly,
                           .keys = {{2, 2, 1, "RO"}},
                           .group = "server",
                           .since = "4.0.0",
                           .complexity = "O(N) for N samples",
                           .summary = "Tells how many bytes a key and its value take.",
                           .syntax = "key:key [SAMPLES count:integer]",
                           .run = MemoryUsage});
  instance.commands().Add(doors::HelpRow("memory|help", 0, "server", "4.0.0"));
}

void AddTimes(Instance& instance) {
  constexpr uint32_t kFlags = doors::kLoading | doors::kStale | doors::kFast;
  const std::vector<std::string_view> varies = {"nondeterministic_output"};
  const auto with_now = [&instance](void (*answer)(AnswerContext&, Timestamp)) {
    return [&instance, answer](AnswerContext& context) { answer(context, instance.clock().Now()); };
  };
  const AnswerRow kRows[] = {
      {"time", 1, kFlags, "2.6.0", "Tells the server's time.", "", with_now(Time), varies},
      {"lastsave", 1, kFlags, "1.0.0", "Tells when all was last saved, which is now.", "",
       with_now(LastSave), varies, doors::kCategoryAdmin},
  };
  AddAnswers(instance, kRows);
}

void AddPlainCommands(Instance& instance) {
  using doors::kAdmin;
  using doors::kFast;
  using doors::kLoading;
  using doors::kNoScript;
  using doors::kStale;
  const Row kRows[] = {
      {"bgsave",
       -1,
       kAdmin | kNoScript | doors::kNoAsyncLoading,
       "1.0.0",
       "Does nothing: what was acknowledged is kept as it is configured to be.",
       "[SCHEDULE]",
       BgSave,
       {},
       0,
       "server",
       doors::kChangesNothing},
      {"role",
       1,
       kNoScript | kLoading | kStale | kFast,
       "2.8.12",
       "Tells that this is a primary.",
       "",
       Role,
       {},
       doors::kCategoryAdmin,
       "server",
       doors::kOnlyReads},
      {"wait",
       3,
       kNoScript,
       "3.0.0",
       "Tells how many replicas have followed: none.",
       "numreplicas:integer timeout:integer",
       Wait,
       {"request_policy:all_shards", "response_policy:agg_min"},
       doors::kCategoryConnection,
       "generic"},
      {"shutdown", -1, kAdmin | kNoScript | kLoading | kStale | doors::kNoMulti | doors::kAllowBusy,
       "1.0.0", "Stops the server.", "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]", Shutdown},
  };
  AddRows(instance, kRows);
  instance.commands().Add({.name = "save",
                           .arity = 1,
                           .flags = kAdmin | kNoScript | doors::kNoAsyncLoading | doors::kNoMulti,
                           .scopes = doors::ScopeRule::kEverything,
                           .unaudited = doors::kChangesNothing,
                           .group = "server",
                           .since = "1.0.0",
                           .complexity = "O(1)",
                           .summary = "Returns when all that was written before is durable.",
                           .run = Save});
}

}  // namespace

void AddServerCommands(Instance& instance) {
  const auto rates = std::make_shared<InfoRates>();
  AddContainers(instance, rates);
  AddPlainCommands(instance);
  AddTimes(instance);
  instance.commands().Add(
      {.name = "info",
       .arity = -1,
       .flags = doors::kLoading | doors::kStale,
       .categories = doors::kCategoryDangerous,
       .scopes = doors::ScopeRule::kEverything,
       .unaudited = doors::kOnlyReads,
       .group = "server",
       .since = "1.0.0",
       .complexity = "O(1)",
       .summary = "Describes the server and what it has done.",
       .syntax = "[section ...]",
       .tips = {"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
       .run = [&instance, rates](CommandContext& context) {
         return Info(context, instance, *rates);
       }});
}

}  // namespace cairn::data
