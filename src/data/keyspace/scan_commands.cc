#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/keyspace/commands.h"
#include "data/keyspace/random_key.h"
#include "data/value/entry.h"
#include "data/value/keys.h"
#include "data/value/limits.h"
#include "data/value/scan_cursors.h"
#include "data/value/value_info.h"
#include "doors/access/limits.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/glob.h"

// The commands that see a whole database. They lock nothing, and their replies wait for the newest
// commit there is, since they may show any.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Command;
using doors::CommandContext;

// --- KEYS ---------------------------------------------------------------------------------------

Result<void> Keys(CommandContext& context) {
  const std::string_view pattern = context.args[1];
  const store::Range range = RecordRange(context.db(), doors::GlobLiteralPrefix(pattern));
  std::string elements;
  net::RespWriter writer = context.reply.Beside(elements);
  size_t count = 0;
  const auto visit = [&](const RecordKey& key, const Record&) {
    if (doors::GlobMatch(pattern, key.user_key)) {
      writer.Bulk(key.user_key);
      ++count;
    }
    return !writer.full();
  };
  CAIRN_RETURN_IF_ERROR(ScanRecords(context.transaction, range, visit));
  context.reply.ArrayHeader(count);
  context.reply.Raw(elements);
  return {};
}

// --- SCAN ---------------------------------------------------------------------------------------

struct ScanOptions {
  std::string_view pattern = "*";
  int64_t count = 10;
  std::optional<std::string_view> type;
};

ScanOptions ParseScanOptions(ArgParser& parser) {
  ScanOptions options;
  while (parser.HasNext()) {
    const bool has_value = parser.remaining() > 1;
    if (has_value && parser.Keyword("MATCH")) {
      options.pattern = parser.Next();
    } else if (has_value && parser.Keyword("COUNT")) {
      options.count = parser.Integer();
      if (options.count < 1) parser.Fail(doors::kSyntaxError);
    } else if (has_value && parser.Keyword("TYPE")) {
      options.type = parser.Next();
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  return options;
}

// The part of the range that a scan has not been through.
store::Range RangeFrom(store::Range range, uint8_t db, const std::optional<Bytes>& next_key) {
  if (next_key) range.begin = std::max(range.begin, EncodeRecordKey({db, *next_key}));
  return range;
}

// How many keys the database has. One that has none is not looked through: rows that were deleted
// lately would have to be passed over.
Result<int64_t> CountOfKeys(CommandContext& context) {
  const Bytes counter = EncodeKeyCounter(context.db());
  CAIRN_ASSIGN_OR_RETURN(const auto count, context.transaction.Get({store::Space::kData, counter}));
  return DecodeCounter(count);
}

Result<void> Scan(CommandContext& context, ScanCursors& cursors) {
  const std::optional<uint64_t> cursor = ParseCursor(context.args[1]);
  if (!cursor) return context.Fail("ERR invalid cursor");
  ArgParser parser(context.args, 2);
  const ScanOptions options = ParseScanOptions(parser);
  if (!parser.Finish()) return context.Fail(parser.error());

  const uint8_t db = context.db();
  const store::Range range = RangeFrom(RecordRange(db, doors::GlobLiteralPrefix(options.pattern)),
                                       db, *cursor == 0 ? std::nullopt : cursors.Find(*cursor, db));
  std::vector<Bytes> found;
  std::optional<Bytes> next_key;
  int64_t visited = 0;
  size_t found_bytes = 0;
  // What many were asked for and are large, ends early: the cursor tells that there is more.
  const auto visit = [&](const RecordKey& key, const Record& record) {
    if (visited++ == options.count || found_bytes > kMaxScanReplyBytes) {
      next_key = key.user_key;
      return false;
    }
    if ((!options.type || doors::EqualsIgnoreCase(*options.type, TypeName(record.type))) &&
        doors::GlobMatch(options.pattern, key.user_key)) {
      found.emplace_back(key.user_key);
      found_bytes += key.user_key.size();
    }
    return true;
  };
  CAIRN_ASSIGN_OR_RETURN(const int64_t keys, CountOfKeys(context));
  if (keys > 0 && !range.empty()) {
    CAIRN_RETURN_IF_ERROR(ScanRecords(context.transaction, range, visit));
  }

  // A body that runs again leaves a cursor behind that nobody knows; it is forgotten in time.
  const uint64_t next_cursor = next_key ? cursors.Save(db, *next_key) : 0;
  context.reply.ArrayHeader(2);
  context.reply.Bulk(fmt::to_string(next_cursor));
  context.reply.ArrayHeader(found.size());
  for (const Bytes& key : found) context.reply.Bulk(key);
  return {};
}

// --- DBSIZE, RANDOMKEY, FLUSHDB, FLUSHALL -------------------------------------------------------

Result<void> DbSize(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const int64_t count, CountOfKeys(context));
  context.reply.Integer(count);
  return {};
}

Result<void> RandomKey(CommandContext& context, Random& random) {
  CAIRN_ASSIGN_OR_RETURN(const int64_t count, CountOfKeys(context));
  std::optional<Bytes> key;
  if (count > 0) {
    CAIRN_ASSIGN_OR_RETURN(key, PickRandomKey(context.transaction, context.db(), random));
  }
  if (key) {
    context.reply.Bulk(*key);
  } else {
    context.reply.Null();
  }
  return {};
}

Result<void> SetCounterToZero(store::Transaction& transaction, const Bytes& counter) {
  const store::Key key{store::Space::kData, counter};
  CAIRN_ASSIGN_OR_RETURN(const auto value, transaction.Get(key));
  const int64_t count = DecodeCounter(value);
  if (count != 0) transaction.Add(key, -count);
  return {};
}

// The keys of all rows of a database; nullopt if it has more than kMaxRowsFlushedSingly.
Result<std::optional<std::vector<Bytes>>> FewRows(store::Transaction& transaction, uint8_t db) {
  std::vector<Bytes> keys;
  for (const store::Range& range : {RecordRange(db), ElementRange(db)}) {
    const size_t limit = kMaxRowsFlushedSingly + 1 - keys.size();
    CAIRN_RETURN_IF_ERROR(transaction.Scan(range, {.limit = limit}, [&](BytesView key, BytesView) {
      keys.emplace_back(key);
      return true;
    }));
    if (keys.size() > kMaxRowsFlushedSingly) return std::optional<std::vector<Bytes>>();
  }
  return std::optional(std::move(keys));
}

// A range that was deleted keeps scans off the loops for a while (docs/decisions/0004), so a small
// database is cleared row by row. The timers of the keys stay behind; they fire in their time and
// find nothing to do.
Result<void> ClearDatabase(store::Transaction& transaction, uint8_t db) {
  CAIRN_RETURN_IF_ERROR(SetCounterToZero(transaction, EncodeKeyCounter(db)));
  CAIRN_RETURN_IF_ERROR(SetCounterToZero(transaction, EncodeExpiringCounter(db)));
  CAIRN_ASSIGN_OR_RETURN(const auto rows, FewRows(transaction, db));
  if (rows) {
    for (const Bytes& key : *rows) transaction.Delete({store::Space::kData, key});
  } else {
    transaction.DeleteRange(RecordRange(db));
    transaction.DeleteRange(ElementRange(db));
  }
  transaction.Wake(doors::ClearedTopic(db));
  return {};
}

Result<void> Flush(CommandContext& context, doors::Tracking& tracking, uint8_t first_db,
                   uint8_t last_db) {
  ArgParser parser(context.args);
  // The cost has a bound however many keys there are, so both words mean the same.
  if (!parser.Keyword("ASYNC")) parser.Keyword("SYNC");
  if (!parser.Finish()) return context.Fail(parser.error());
  for (int db = first_db; db <= last_db; ++db) {
    CAIRN_RETURN_IF_ERROR(ClearDatabase(context.transaction, static_cast<uint8_t>(db)));
  }
  // Those who cache are told that all is gone, not key by key.
  if (tracking.anyone()) {
    context.transaction.AfterCommit(
        [&tracking](store::Commit commit) { tracking.Cleared(commit); });
  }
  context.reply.Ok();
  return {};
}

Result<void> FlushDb(CommandContext& context, doors::Tracking& tracking) {
  return Flush(context, tracking, context.db(), context.db());
}

Result<void> FlushAll(CommandContext& context, doors::Tracking& tracking) {
  return Flush(context, tracking, 0, doors::kDatabases - 1);
}

}  // namespace

void AddScanCommands(doors::Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::string_view group;
    std::string_view since;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
    std::vector<std::string_view> tips;
  };
  using doors::kFast;
  using doors::kReadOnly;
  using doors::kWrite;
  auto cursors =
      std::make_shared<ScanCursors>(instance.random(), kMaxScanCursors, kMaxScanCursorBytes);
  Random& random = instance.random();
  doors::Tracking& tracking = instance.traffic().tracking;
  const std::vector<std::string_view> flush = {"request_policy:all_shards",
                                               "response_policy:all_succeeded"};
  const Row kRows[] = {
      {"keys",
       2,
       kReadOnly,
       "generic",
       "1.0.0",
       "O(N) for N keys under the pattern's prefix",
       "Lists the keys that match a pattern.",
       "pattern:pattern",
       Keys,
       {"request_policy:all_shards", "nondeterministic_output_order"}},
      {"scan",
       -2,
       kReadOnly,
       "generic",
       "2.8.0",
       "O(N) for N keys visited",
       "Lists keys a few at a time.",
       "cursor:integer [MATCH pattern:pattern] [COUNT count:integer] [TYPE type]",
       [cursors](CommandContext& context) { return Scan(context, *cursors); },
       {"nondeterministic_output", "request_policy:special"}},
      {"randomkey",
       1,
       kReadOnly,
       "generic",
       "1.0.0",
       "O(L) for a key of L bytes",
       "Returns some key.",
       "",
       [&random](CommandContext& context) { return RandomKey(context, random); },
       {"request_policy:all_shards", "nondeterministic_output"}},
      {"dbsize",
       1,
       kReadOnly | kFast,
       "server",
       "1.0.0",
       "O(1)",
       "Tells how many keys the database has.",
       "",
       DbSize,
       {"request_policy:all_shards", "response_policy:agg_sum"}},
      {"flushdb", -1, kWrite, "server", "1.0.0", "O(1)", "Removes all keys of the database.",
       "[ASYNC | SYNC]",
       [&tracking](CommandContext& context) { return FlushDb(context, tracking); }, flush},
      {"flushall", -1, kWrite, "server", "1.0.0", "O(1)", "Removes all keys of all databases.",
       "[ASYNC | SYNC]",
       [&tracking](CommandContext& context) { return FlushAll(context, tracking); }, flush},
  };
  for (const Row& row : kRows) {
    const bool dangerous = row.name == "keys" || row.flags == kWrite;
    instance.commands().Add(Command{
        .name = row.name,
        .arity = row.arity,
        .flags = row.flags,
        .categories = doors::kCategoryKeyspace | (dangerous ? doors::kCategoryDangerous : 0U),
        .scopes = doors::ScopeRule::kEverything,
        .long_running = row.name == "keys",
        .unaudited = row.flags == kWrite ? std::string_view() : doors::kOnlyReads,
        .audit_text = doors::AuditNoArguments,
        .group = row.group,
        .since = row.since,
        .complexity = row.complexity,
        .summary = row.summary,
        .syntax = row.syntax,
        .tips = row.tips,
        .run = row.run});
  }
}

}  // namespace cairn::data
