#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/memory.h"
#include "data/server/commands.h"
#include "data/server/info.h"
#include "data/value/keys.h"
#include "doors/access/limits.h"
#include "doors/resp/answer.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/instance.h"

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

void MemoryPurge(AnswerContext& context) {
  ReleaseFreeMemory();
  context.reply.Ok();
}

struct DatabaseKeys {
  int db = 0;
  int64_t keys = 0;
};

// Of the databases that have any.
Result<std::vector<DatabaseKeys>> CountKeys(store::Transaction& transaction) {
  std::vector<DatabaseKeys> counts;
  for (int db = 0; db < doors::kDatabases; ++db) {
    const Bytes key = EncodeKeyCounter(static_cast<uint8_t>(db));
    CAIRN_ASSIGN_OR_RETURN(const auto stored, transaction.Get({store::Space::kData, key}));
    if (const int64_t keys = DecodeCounter(stored); keys > 0) counts.push_back({db, keys});
  }
  return counts;
}

// The figures of Redis under its names, as far as there is something that they mean: the data set
// is what of it is in memory. There is no table of keys, and the allocator keeps no figures.
Result<void> MemoryStats(CommandContext& context, Instance& instance) {
  CAIRN_ASSIGN_OR_RETURN(const auto databases, CountKeys(context.transaction));
  int64_t keys = 0;
  for (const DatabaseKeys& each : databases) keys += each.keys;
  const auto resident = static_cast<int64_t>(ResidentBytes());
  const auto peak = static_cast<int64_t>(PeakResidentBytes());
  const store::StoreStats stats = instance.store().stats();
  const auto dataset =
      static_cast<int64_t>(stats.cache_bytes + stats.block_cache_bytes + stats.write_buffer_bytes);
  const auto percent = [](int64_t part, int64_t whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  };
  using Figure = std::pair<std::string_view, std::variant<int64_t, double>>;
  const Figure kBefore[] = {
      {"peak.allocated", peak},          {"total.allocated", resident},
      {"startup.allocated", int64_t{0}}, {"replication.backlog", int64_t{0}},
      {"clients.slaves", int64_t{0}},    {"clients.normal", int64_t{0}},
      {"cluster.links", int64_t{0}},     {"aof.buffer", int64_t{0}},
      {"lua.caches", int64_t{0}},        {"functions.caches", int64_t{0}},
  };
  const Figure kBehind[] = {
      {"overhead.total", std::max<int64_t>(resident - dataset, 0)},
      {"keys.count", keys},
      {"keys.bytes-per-key", keys == 0 ? int64_t{0} : dataset / keys},
      {"dataset.bytes", dataset},
      {"dataset.percentage", percent(dataset, resident)},
      {"peak.percentage", percent(resident, peak)},
      {"allocator.allocated", resident},
      {"allocator.active", resident},
      {"allocator.resident", resident},
      {"allocator-fragmentation.ratio", 1.0},
      {"allocator-fragmentation.bytes", int64_t{0}},
      {"allocator-rss.ratio", 1.0},
      {"allocator-rss.bytes", int64_t{0}},
      {"rss-overhead.ratio", 1.0},
      {"rss-overhead.bytes", int64_t{0}},
      {"fragmentation", 1.0},
      {"fragmentation.bytes", int64_t{0}},
  };
  const auto write = [&](const Figure& figure) {
    context.reply.Bulk(figure.first);
    if (const auto* number = std::get_if<int64_t>(&figure.second)) {
      context.reply.Integer(*number);
    } else {
      context.reply.Double(std::get<double>(figure.second));
    }
  };
  context.reply.MapHeader(std::size(kBefore) + databases.size() + std::size(kBehind));
  for (const Figure& figure : kBefore) write(figure);
  for (const DatabaseKeys& each : databases) {
    context.reply.Bulk(fmt::format("db.{}", each.db));
    context.reply.MapHeader(2);
    write({"overhead.hashtable.main", int64_t{0}});
    write({"overhead.hashtable.expires", int64_t{0}});
  }
  for (const Figure& figure : kBehind) write(figure);
  return {};
}

// --- The rest -----------------------------------------------------------------------------------

// CONFIG SET has stored already what it changed.
void ConfigRewrite(AnswerContext& context) { context.reply.Ok(); }

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
       "Gives memory that became free back to the operating system at once.",
       "",
       MemoryPurge,
       {"request_policy:all_shards", "response_policy:all_succeeded"}},
      {"config|rewrite", 2, kOperator, "2.8.0", "Does nothing: CONFIG SET stores what it changes.",
       "", ConfigRewrite},
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
                      .unaudited = doors::kChangesNothing,
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
