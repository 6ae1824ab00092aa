#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "data/server/commands.h"
#include "doors/resp/answer.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/instance.h"

// Replication, clusters and modules: one server has none of them, and says so in the words that
// clients know.
namespace cairn::data {
namespace {

using doors::AnswerContext;
using doors::AnswerHandler;
using doors::Command;
using doors::Instance;

AnswerHandler Refuse(std::string_view error) {
  return [error](AnswerContext& context) { context.Fail(error); };
}

constexpr std::string_view kNoCluster = "ERR This instance has cluster support disabled";
constexpr std::string_view kNoReplication = "ERR replication is not supported";
constexpr std::string_view kNoModules = "ERR modules are not supported";

// Becoming a primary is what tools ask of a server that is one already.
void ReplicaOf(AnswerContext& context) {
  if (doors::EqualsIgnoreCase(context.args[1], "no") &&
      doors::EqualsIgnoreCase(context.args[2], "one")) {
    return context.reply.Ok();
  }
  context.Fail(kNoReplication);
}

void Failover(AnswerContext& context) {
  if (context.args.size() == 2 && doors::EqualsIgnoreCase(context.args[1], "abort")) {
    return context.Fail("ERR No failover in progress.");
  }
  context.Fail("ERR FAILOVER requires connected replicas.");
}

void ModuleList(AnswerContext& context) { context.reply.ArrayHeader(0); }

struct Row {
  std::string_view name;
  int arity;
  uint32_t flags;
  std::string_view since;
  std::string_view summary;
  std::string_view syntax;
  AnswerHandler answer;
  std::string_view group = "server";
  uint32_t categories = 0;
};

void AddRows(Instance& instance, std::span<const Row> rows) {
  for (const Row& row : rows) {
    Command command{.name = row.name,
                    .arity = row.arity,
                    .flags = row.flags,
                    .categories = row.categories,
                    .scopes = doors::ScopeRule::kNothing,
                    .unaudited = doors::kChangesNothing,
                    .group = row.group,
                    .since = row.since,
                    .complexity = "O(1)",
                    .summary = row.summary,
                    .syntax = row.syntax};
    if (row.answer) command.run = doors::Answering(row.answer);
    instance.commands().Add(std::move(command));
  }
}

void AddCluster(Instance& instance) {
  using doors::kStale;
  constexpr std::string_view kSummary = "Refused: there is no cluster.";
  const auto refuse = Refuse(kNoCluster);
  const Row kRows[] = {
      {"cluster", -2, 0, "3.0.0", "Commands about the cluster: there is none.", "", {}, "cluster"},
      {"cluster|info", 2, kStale, "3.0.0", kSummary, "", refuse, "cluster"},
      {"cluster|nodes", 2, kStale, "3.0.0", kSummary, "", refuse, "cluster"},
      {"cluster|slots", 2, kStale, "3.0.0", kSummary, "", refuse, "cluster"},
      {"cluster|shards", 2, kStale, "7.0.0", kSummary, "", refuse, "cluster"},
      {"cluster|myid", 2, kStale, "3.0.0", kSummary, "", refuse, "cluster"},
      {"cluster|links", 2, kStale, "7.0.0", kSummary, "", refuse, "cluster"},
      {"cluster|keyslot", 3, kStale, "3.0.0", kSummary, "key", refuse, "cluster"},
      {"cluster|countkeysinslot", 3, kStale, "3.0.0", kSummary, "slot:integer", refuse, "cluster"},
      {"cluster|getkeysinslot", 4, kStale, "3.0.0", kSummary, "slot:integer count:integer", refuse,
       "cluster"},
      {"cluster|reset", -2, doors::kAdmin | kStale | doors::kNoScript, "3.0.0", kSummary,
       "[HARD | SOFT]", refuse, "cluster"},
      {"cluster|help", 2, doors::kLoading | kStale, "5.0.0", kSummary, "", refuse, "cluster"},
      {"readonly", 1, doors::kLoading | kStale | doors::kFast, "3.0.0", kSummary, "", refuse,
       "cluster", doors::kCategoryConnection},
      {"readwrite", 1, doors::kLoading | kStale | doors::kFast, "3.0.0", kSummary, "", refuse,
       "cluster", doors::kCategoryConnection},
      {"asking", 1, doors::kFast, "3.0.0", kSummary, "", refuse, "cluster",
       doors::kCategoryConnection},
  };
  AddRows(instance, kRows);
}

// The keys of MIGRATE: the third argument, or if it is empty, those behind KEYS.
std::vector<size_t> FindMigratedKeys(doors::Args args) {
  std::vector<size_t> keys;
  if (args.size() < 6) return keys;
  if (!args[3].empty()) return {3};
  for (size_t i = 6; i < args.size(); ++i) {
    // A password or a user may be called so.
    if (doors::EqualsIgnoreCase(args[i], "AUTH")) {
      ++i;
      continue;
    }
    if (doors::EqualsIgnoreCase(args[i], "AUTH2")) {
      i += 2;
      continue;
    }
    if (!doors::EqualsIgnoreCase(args[i], "KEYS")) continue;
    for (size_t key = i + 1; key < args.size(); ++key) keys.push_back(key);
    break;
  }
  return keys;
}

void AddMigrate(Instance& instance) {
  constexpr std::string_view kMoved = "RW access delete";
  instance.commands().Add(
      Command{.name = "migrate",
              .arity = -6,
              .flags = doors::kWrite | doors::kMovableKeys,
              .categories = doors::kCategoryKeyspace | doors::kCategoryDangerous,
              .keys = {{3, 3, 1, kMoved},
                       {.first = -2,
                        .last = -1,
                        .access = "RW access delete incomplete",
                        .search = doors::KeySearch::kKeyword,
                        .keyword = "KEYS"}},
              .find_keys = FindMigratedKeys,
              .secret = true,
              .unaudited = doors::kChangesNothing,
              .group = "generic",
              .since = "2.6.0",
              .summary = "Refused: DUMP and RESTORE move keys to another server.",
              .syntax = "host port key destination-db:integer timeout:integer [arg ...]",
              .tips = {"nondeterministic_output"},
              .run = doors::Answering(Refuse("ERR MIGRATE is not supported"))});
}

void AddReplication(Instance& instance) {
  using doors::kAdmin;
  using doors::kNoScript;
  using doors::kStale;
  constexpr uint32_t kFollow = kAdmin | kNoScript | kStale | doors::kNoAsyncLoading;
  constexpr uint32_t kSync = kAdmin | kNoScript | doors::kNoAsyncLoading | doors::kNoMulti;
  const auto refuse = Refuse(kNoReplication);
  const Row kRows[] = {
      {"replicaof", 3, kFollow, "5.0.0", "Refused but for NO ONE: there is no replication.",
       "host port", ReplicaOf},
      {"slaveof", 3, kFollow, "1.0.0", "The older name of REPLICAOF.", "host port", ReplicaOf},
      {"failover", -1, kAdmin | kNoScript | kStale, "6.2.0", "Refused: there are no replicas.",
       "[arg ...]", Failover},
      {"sync", 1, kSync, "1.0.0", "Refused: there is no replication.", "", refuse},
      {"psync", -3, kSync, "2.8.0", "Refused: there is no replication.",
       "replicationid offset:integer", refuse},
      {"replconf", -1, kAdmin | kNoScript | doors::kLoading | kStale | doors::kAllowBusy, "3.0.0",
       "Refused: there is no replication.", "[arg ...]", refuse},
  };
  AddRows(instance, kRows);
}

void AddModules(Instance& instance) {
  constexpr uint32_t kOperator = doors::kAdmin | doors::kNoScript;
  const auto refuse = Refuse(kNoModules);
  const Row kRows[] = {
      {"module", -2, 0, "4.0.0", "Commands about modules: there are none.", "", {}},
      {"module|list", 2, kOperator, "4.0.0", "Lists the modules: none.", "", ModuleList},
      {"module|load", -3, kOperator | doors::kNoAsyncLoading, "4.0.0", "Refused.", "path [arg ...]",
       refuse},
      {"module|loadex", -3, kOperator | doors::kNoAsyncLoading, "7.0.0", "Refused.",
       "path [arg ...]", refuse},
      {"module|unload", 3, kOperator | doors::kNoAsyncLoading, "4.0.0", "Refused.", "name", refuse},
  };
  AddRows(instance, kRows);
  instance.commands().Add(doors::HelpRow("module|help", 0, "server", "5.0.0"));
}

}  // namespace

void AddTopologyCommands(Instance& instance) {
  AddCluster(instance);
  AddMigrate(instance);
  AddReplication(instance);
  AddModules(instance);
}

}  // namespace cairn::data
