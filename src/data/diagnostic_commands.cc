#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/commands.h"
#include "data/info.h"
#include "data/keys.h"
#include "doors/answer.h"
#include "doors/arg_parser.h"
#include "doors/command.h"
#include "doors/instance.h"
#include "doors/limits.h"

// What operators and tools ask about the state of the server, besides INFO.
namespace cairn::data {
namespace {

using doors::AnswerContext;
using doors::Command;
using doors::CommandContext;
using doors::Instance;

// --- MEMORY -------------------------------------------------------------------------------------

void MemoryDoctor(AnswerContext& context) {
  context.reply.Verbatim("txt",
                         "Cairn keeps its data on disk and its caches within the configured "
                         "memory. INFO memory shows what they take.");
}

void MemoryMallocStats(AnswerContext& context) {
  context.reply.Verbatim("txt", "Stats not supported for the current allocator");
}

void MemoryPurge(AnswerContext& context) { context.reply.Ok(); }

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

// --- The rest -----------------------------------------------------------------------------------

void ConfigRewrite(AnswerContext& context) {
  context.Fail("ERR The server is running without a config file");
}

void BgRewriteAof(AnswerContext& context) {
  context.reply.Simple("Background append only file rewriting started");
}

// Stones, one upon the other; as many as asked for.
void Lolwut(AnswerContext& context) {
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
  doors::AnswerHandler answer;
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
                      .scopes = doors::ScopeRule::kNothing,
                      .group = "server",
                      .since = row.since,
                      .complexity = "O(1)",
                      .summary = row.summary,
                      .syntax = row.syntax,
                      .tips = row.tips,
                      .run = doors::Answering(row.answer)});
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
}

}  // namespace cairn::data
