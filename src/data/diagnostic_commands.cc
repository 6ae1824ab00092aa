#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "data/commands.h"
#include "data/entry.h"
#include "data/info.h"
#include "data/keys.h"
#include "data/value_info.h"
#include "doors/arg_parser.h"
#include "doors/command.h"
#include "doors/connection_commands.h"
#include "doors/dispatcher.h"
#include "doors/instance.h"
#include "doors/limits.h"

// What operators and tools ask about the state of the server, besides INFO.
namespace cairn::data {
namespace {

using doors::Command;
using doors::CommandContext;
using doors::ConnectionContext;
using doors::ConnectionHandler;
using doors::Instance;

// --- MEMORY -------------------------------------------------------------------------------------

void MemoryDoctor(ConnectionContext& context) {
  context.reply.Verbatim("txt",
                         "Cairn keeps its data on disk and its caches within the configured "
                         "memory. INFO memory shows what they take.");
}

void MemoryMallocStats(ConnectionContext& context) {
  context.reply.Verbatim("txt", "Stats not supported for the current allocator");
}

void MemoryPurge(ConnectionContext& context) { context.reply.Ok(); }

Result<int64_t> CountKeys(store::Transaction& transaction) {
  int64_t count = 0;
  for (int db = 0; db < doors::kDatabases; ++db) {
    const Bytes key = EncodeKeyCounter(static_cast<uint8_t>(db));
    CAIRN_ASSIGN_OR_RETURN(const auto stored, transaction.Get({store::Space::kData, key}));
    count += DecodeCounter(stored);
  }
  return count;
}

Result<void> MemoryStats(CommandContext& context, Instance& instance) {
  CAIRN_ASSIGN_OR_RETURN(const int64_t keys, CountKeys(context.transaction));
  const auto resident = static_cast<int64_t>(ResidentBytes());
  const auto peak = static_cast<int64_t>(PeakResidentBytes());
  const store::StoreStats stats = instance.store().stats();
  const auto dataset =
      static_cast<int64_t>(stats.cache_bytes + stats.block_cache_bytes + stats.write_buffer_bytes);
  const std::pair<std::string_view, int64_t> kFigures[] = {
      {"peak.allocated", peak},
      {"total.allocated", resident},
      {"startup.allocated", 0},
      {"replication.backlog", 0},
      {"clients.slaves", 0},
      {"clients.normal", 0},
      {"cluster.links", 0},
      {"aof.buffer", 0},
      {"lua.caches", 0},
      {"functions.caches", 0},
      {"overhead.total", std::max<int64_t>(resident - dataset, 0)},
      {"keys.count", keys},
      {"keys.bytes-per-key", keys == 0 ? 0 : dataset / keys},
      {"dataset.bytes", dataset},
      {"allocator.allocated", resident},
      {"allocator.active", resident},
      {"allocator.resident", resident},
      {"fragmentation.bytes", 0},
  };
  const auto percent = [](int64_t part, int64_t whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  };
  context.reply.MapHeader(std::size(kFigures) + 3);
  for (const auto& [name, figure] : kFigures) {
    context.reply.Bulk(name);
    context.reply.Integer(figure);
  }
  context.reply.Bulk("dataset.percentage");
  context.reply.Double(percent(dataset, resident));
  context.reply.Bulk("peak.percentage");
  context.reply.Double(percent(resident, peak));
  context.reply.Bulk("fragmentation");
  context.reply.Double(1);
  return {};
}

// --- LATENCY: no events are monitored -----------------------------------------------------------

void LatencyGraph(ConnectionContext& context) {
  context.Fail(
      fmt::format("ERR No samples available for event '{}'", doors::Quotable(context.args[2])));
}

// Whether LATENCY HISTOGRAM was asked for the command, by its name or its container's.
bool IsNamed(const Command& command, doors::Args names) {
  return names.empty() || std::ranges::any_of(names, [&](std::string_view name) {
           return doors::EqualsIgnoreCase(name, command.name) ||
                  (command.container != nullptr &&
                   doors::EqualsIgnoreCase(name, command.container->name));
         });
}

void WriteHistogram(net::RespWriter& reply, const doors::CallTotals& totals) {
  const auto filled =
      std::ranges::count_if(totals.latency, [](uint64_t count) { return count > 0; });
  reply.MapHeader(2);
  reply.Bulk("calls");
  reply.Integer(static_cast<int64_t>(totals.calls));
  reply.Bulk("histogram_usec");
  reply.MapHeader(static_cast<size_t>(filled));
  int64_t seen = 0;
  for (size_t i = 0; i < totals.latency.size(); ++i) {
    if (totals.latency[i] == 0) continue;
    seen += static_cast<int64_t>(totals.latency[i]);
    reply.Integer(int64_t{1} << i);
    reply.Integer(seen);
  }
}

void LatencyHistogram(ConnectionContext& context) {
  Instance& instance = context.dispatcher.instance();
  const doors::CommandTable& table = instance.commands();
  std::vector<std::pair<std::string_view, doors::CallTotals>> called;
  for (size_t i = 0; i < table.row_count(); ++i) {
    if (!IsNamed(table.row(i), context.args.subspan(2))) continue;
    const doors::CallTotals totals = instance.Totals(table.row(i));
    if (totals.calls > 0) called.emplace_back(table.row(i).name, totals);
  }
  context.reply.MapHeader(called.size());
  for (const auto& [name, totals] : called) {
    context.reply.Bulk(name);
    WriteHistogram(context.reply, totals);
  }
}

// --- DEBUG --------------------------------------------------------------------------------------

// Runs on the pool, so that it holds up its own connection only.
Result<void> DebugSleep(CommandContext& context) {
  constexpr double kLongestSeconds = 60;
  double seconds = 0;
  const std::string_view text = context.args[2];
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  // What is no number, or none above zero, is no time.
  if (seconds > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(seconds, kLongestSeconds)));
  }
  context.reply.Ok();
  return {};
}

Result<void> DebugObject(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, context.args[2]));
  if (!entry.exists()) return context.Fail(doors::kNoSuchKey);
  CAIRN_ASSIGN_OR_RETURN(const std::string_view encoding, EncodingName(entry));
  context.reply.Simple(fmt::format(
      "Value at:0x0 refcount:1 encoding:{} serializedlength:{} lru:0 lru_seconds_idle:0", encoding,
      entry.stored_bytes()));
  return {};
}

Result<void> Debug(CommandContext& context) {
  const auto is = [&](std::string_view name, size_t args) {
    return doors::EqualsIgnoreCase(context.args[1], name) && context.args.size() == args;
  };
  if (is("sleep", 3)) return DebugSleep(context);
  if (is("object", 3)) return DebugObject(context);
  return context.Fail(
      fmt::format("ERR DEBUG {} is not supported", doors::Quotable(context.args[1])));
}

// --- The rest -----------------------------------------------------------------------------------

void ConfigRewrite(ConnectionContext& context) {
  context.Fail("ERR The server is running without a config file");
}

void BgRewriteAof(ConnectionContext& context) {
  context.reply.Simple("Background append only file rewriting started");
}

// Stones, one upon the other; as many as asked for.
void Lolwut(ConnectionContext& context) {
  constexpr int64_t kMostStones = 20;
  doors::ArgParser parser(context.args);
  int64_t stones = 5;
  if (parser.Keyword("VERSION")) stones = parser.Integer();
  if (!parser.ok()) return context.Fail(parser.error());
  stones = std::clamp<int64_t>(stones, 1, kMostStones);
  std::string picture;
  for (int64_t i = 0; i < stones; ++i) {
    const std::string stone = "(" + std::string(static_cast<size_t>(2 * i + 2), '_') + ")";
    picture += fmt::format("{}{}\n", std::string(static_cast<size_t>(stones - i), ' '), stone);
  }
  picture += fmt::format("\nCairn, which speaks Redis ver. {}\n", doors::kRedisVersion);
  context.reply.Verbatim("txt", picture);
}

struct Row {
  std::string_view name;
  int arity;
  uint32_t flags;
  std::string_view since;
  std::string_view summary;
  std::string_view syntax;
  ConnectionHandler connection;
  std::vector<std::string_view> tips = {};
};

}  // namespace

void AddDiagnosticCommands(Instance& instance) {
  constexpr uint32_t kOperator = doors::kAdmin | doors::kNoScript | doors::kLoading | doors::kStale;
  const std::vector<std::string_view> told = {
      "nondeterministic_output", "request_policy:all_shards", "response_policy:special"};
  const Row kRows[] = {
      {"memory|doctor", 2, 0, "4.0.0", "Tells where to look for what memory is used for.", "",
       MemoryDoctor, told},
      {"memory|malloc-stats", 2, 0, "4.0.0", "Tells that the allocator keeps no figures.", "",
       MemoryMallocStats, told},
      {"memory|purge",
       2,
       0,
       "4.0.0",
       "Does nothing: memory is given back as it becomes free.",
       "",
       MemoryPurge,
       {"request_policy:all_shards", "response_policy:all_succeeded"}},
      {"latency|graph",
       3,
       kOperator,
       "2.8.13",
       "Draws the times of an event: none.",
       "event",
       LatencyGraph,
       {"nondeterministic_output", "request_policy:all_nodes", "response_policy:special"}},
      {"latency|histogram",
       -2,
       kOperator,
       "7.0.0",
       "Shows how long calls of commands took.",
       "[command ...]",
       LatencyHistogram,
       {"nondeterministic_output", "request_policy:all_nodes", "response_policy:special"}},
      {"config|rewrite", 2, kOperator, "2.8.0", "Refused: settings are not written back.", "",
       ConfigRewrite},
      {"bgrewriteaof", 1, doors::kAdmin | doors::kNoScript | doors::kNoAsyncLoading, "1.0.0",
       "Does nothing: the store tidies up by itself.", "", BgRewriteAof},
      {"lolwut", -1, doors::kReadOnly | doors::kFast, "5.0.0", "Piles up stones.",
       "[VERSION version:integer]", Lolwut},
  };
  doors::CommandTable& table = instance.commands();
  for (const Row& row : kRows) {
    table.Add(Command{.name = row.name,
                      .arity = row.arity,
                      .flags = row.flags,
                      .group = "server",
                      .since = row.since,
                      .complexity = "O(1)",
                      .summary = row.summary,
                      .syntax = row.syntax,
                      .tips = row.tips,
                      .connection = row.connection});
  }
  table.Add(
      {.name = "memory|stats",
       .arity = 2,
       .scopes = doors::ScopeRule::kEverything,
       .group = "server",
       .since = "4.0.0",
       .complexity = "O(1)",
       .summary = "Shows what memory is used for.",
       .tips = told,
       .run = [&instance](CommandContext& context) { return MemoryStats(context, instance); }});
  table.Add({.name = "debug",
             .arity = -2,
             // A transaction runs on the loop, where nothing may sleep.
             .flags = kOperator | doors::kNoMulti,
             .scopes = doors::ScopeRule::kEverything,
             .long_running = true,
             .group = "server",
             .since = "1.0.0",
             .summary = "What tests of clients need: SLEEP and OBJECT.",
             .syntax = "subcommand [arg ...]",
             .run = Debug});
}

}  // namespace cairn::data
