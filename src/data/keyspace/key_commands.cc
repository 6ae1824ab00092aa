#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/keyspace/commands.h"
#include "data/value/elements.h"
#include "data/value/entry.h"
#include "data/value/expiry.h"
#include "data/value/keys.h"
#include "data/value/limits.h"
#include "data/value/string_value.h"
#include "data/value/value_info.h"
#include "doors/access/limits.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/connection_commands.h"
#include "doors/resp/typed_row.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

constexpr std::string_view kSameObject = "ERR source and destination objects are the same";

// --- Existence ----------------------------------------------------------------------------------

Result<void> Del(CommandContext& context) {
  int64_t removed = 0;
  for (const std::string_view key : context.args.subspan(1)) {
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, key));
    if (!entry.exists()) continue;
    entry.Remove();
    context.Notify(doors::kEventGeneric, "del", key);
    ++removed;
  }
  context.reply.Integer(removed);
  return {};
}

// EXISTS and TOUCH. A key that is named twice counts twice.
Result<void> Exists(CommandContext& context) {
  int64_t found = 0;
  for (const std::string_view key : context.args.subspan(1)) {
    CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, key));
    if (entry.exists()) ++found;
  }
  context.reply.Integer(found);
  return {};
}

Result<void> Type(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, context.args[1]));
  context.reply.Simple(entry.exists() ? TypeName(entry.type()) : "none");
  return {};
}

// --- Moving and copying -------------------------------------------------------------------------

Result<void> RenameWith(CommandContext& context, bool only_if_free) {
  CAIRN_ASSIGN_OR_RETURN(Entry source, Entry::Load(context, context.args[1]));
  if (!source.exists()) return context.Fail(doors::kNoSuchKey);
  const bool same = context.args[1] == context.args[2];
  CAIRN_ASSIGN_OR_RETURN(Entry target, Entry::Load(context, context.args[2]));
  const bool refused = only_if_free && target.exists();
  if (only_if_free) {
    context.reply.Integer(refused ? 0 : 1);
  } else {
    context.reply.Ok();
  }
  if (refused || same) return {};
  source.MoveTo(target);
  context.Notify(doors::kEventGeneric, "rename_from", context.args[1]);
  context.Notify(doors::kEventGeneric, "rename_to", context.args[2]);
  return {};
}

Result<void> Rename(CommandContext& context) { return RenameWith(context, false); }
Result<void> RenameNx(CommandContext& context) { return RenameWith(context, true); }

// Tells of an event in any database.
void NotifyIn(CommandContext& context, uint8_t db, std::string_view event, std::string_view key) {
  context.pubsub.NotifyKeyEvent(context.transaction, db, doors::kEventGeneric, event, key);
}

// The elements of a value once more, under a generation of their own in database `db`: what a copy
// of its record refers to. 0 if it has none. What they take meanwhile is counted by `entry`, which
// serves the command.
Result<uint64_t> CopyElements(Entry& entry, Elements source, uint8_t db) {
  if (source.generation() == 0) return uint64_t{0};
  Elements target(entry.transaction(), db, 0);
  target.Begin();
  CAIRN_RETURN_IF_ERROR(source.CopyTo(target, [&](size_t bytes) { return entry.Gather(bytes); }));
  return target.generation();
}

Result<void> CopyValue(const Entry& source, Entry& target) {
  store::Transaction& transaction = source.transaction();
  CAIRN_ASSIGN_OR_RETURN(
      const uint64_t generation,
      CopyElements(target, Elements(transaction, source.db(), source.generation()), target.db()));
  target.Put({.type = source.type(),
              .payload = source.payload(),
              .expire_ms = source.expire_ms(),
              .generation = generation});
  return {};
}

struct CopyRequest {
  Bytes source;
  Bytes target;
  std::optional<uint8_t> db;  // of the target; the client's unless given
  bool replace = false;
};

Result<CopyRequest> ParseCopy(doors::Args args) {
  CopyRequest request{.source = Bytes(args[1]), .target = Bytes(args[2])};
  ArgParser parser(args, 3);
  while (parser.HasNext()) {
    if (parser.Keyword("REPLACE")) {
      request.replace = true;
    } else if (parser.remaining() > 1 && parser.Keyword("DB")) {
      request.db = parser.Database();
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  if (!parser.Finish()) return Error{ErrorCode::kInvalid, std::string(parser.error())};
  return request;
}

void AddCopyScopes(const CopyRequest& request, uint8_t db, store::Scopes& scopes) {
  Bytes scratch;
  doors::AddKeyScope(db, request.source, scopes, scratch);
  doors::AddKeyScope(request.db.value_or(db), request.target, scopes, scratch);
}

Result<void> Copy(CommandContext& context, const CopyRequest& request) {
  const uint8_t target_db = request.db.value_or(context.db());
  if (target_db == context.db() && request.source == request.target) {
    return context.Fail(kSameObject);
  }
  CAIRN_ASSIGN_OR_RETURN(const Entry source, Entry::Load(context, request.source));
  CAIRN_ASSIGN_OR_RETURN(Entry target, Entry::Load(context.transaction, target_db, request.target));
  target.ServeFor(context);
  const bool copies = source.exists() && (request.replace || !target.exists());
  context.reply.Integer(copies ? 1 : 0);
  if (!copies) return {};
  CAIRN_RETURN_IF_ERROR(CopyValue(source, target));
  NotifyIn(context, target_db, "copy_to", request.target);
  return {};
}

struct MoveRequest {
  Bytes key;
  uint8_t db = 0;  // where it goes
};

Result<MoveRequest> ParseMove(doors::Args args) {
  MoveRequest request{.key = Bytes(args[1])};
  ArgParser parser(args, 2);
  request.db = parser.Database();
  if (!parser.ok()) return Error{ErrorCode::kInvalid, std::string(parser.error())};
  return request;
}

void AddMoveScopes(const MoveRequest& request, uint8_t db, store::Scopes& scopes) {
  Bytes scratch;
  doors::AddKeyScope(db, request.key, scopes, scratch);
  doors::AddKeyScope(request.db, request.key, scopes, scratch);
}

Result<void> Move(CommandContext& context, const MoveRequest& request) {
  if (request.db == context.db()) return context.Fail(kSameObject);
  CAIRN_ASSIGN_OR_RETURN(Entry source, Entry::Load(context, request.key));
  CAIRN_ASSIGN_OR_RETURN(Entry target, Entry::Load(context.transaction, request.db, request.key));
  target.ServeFor(context);
  const bool moves = source.exists() && !target.exists();
  context.reply.Integer(moves ? 1 : 0);
  if (!moves) return {};
  CAIRN_RETURN_IF_ERROR(CopyValue(source, target));
  source.Remove();
  NotifyIn(context, context.db(), "move_from", request.key);
  NotifyIn(context, request.db, "move_to", request.key);
  return {};
}

// --- SWAPDB -------------------------------------------------------------------------------------

// A key on its way to another database.
struct MovingKey {
  uint8_t from = 0;
  uint8_t to = 0;
  Bytes user_key;
  Bytes value;  // the encoded record
  uint64_t generation = 0;
};

Result<void> CollectKeys(store::Transaction& transaction, uint8_t from, uint8_t to,
                         std::vector<MovingKey>& keys) {
  return ScanRecords(transaction, RecordRange(from), [&](const RecordKey& key, const Record& row) {
    keys.push_back({from, to, Bytes(key.user_key), EncodeRecord(row), row.generation});
    return keys.size() <= kMaxSwappedRows;
  });
}

Result<size_t> CountElements(store::Transaction& transaction, uint8_t db) {
  size_t count = 0;
  CAIRN_RETURN_IF_ERROR(
      transaction.Scan(ElementRange(db), {.limit = kMaxSwappedRows + 1}, [&](BytesView, BytesView) {
        ++count;
        return true;
      }));
  return count;
}

// The keys of both databases; nullopt if they have more rows than one transaction is to move.
Result<std::optional<std::vector<MovingKey>>> KeysToSwap(store::Transaction& transaction, uint8_t a,
                                                         uint8_t b) {
  std::vector<MovingKey> keys;
  CAIRN_RETURN_IF_ERROR(CollectKeys(transaction, a, b, keys));
  if (keys.size() <= kMaxSwappedRows) CAIRN_RETURN_IF_ERROR(CollectKeys(transaction, b, a, keys));
  CAIRN_ASSIGN_OR_RETURN(const size_t elements_a, CountElements(transaction, a));
  CAIRN_ASSIGN_OR_RETURN(const size_t elements_b, CountElements(transaction, b));
  if (keys.size() + elements_a + elements_b > kMaxSwappedRows) {
    return std::optional<std::vector<MovingKey>>();
  }
  return std::optional(std::move(keys));
}

Result<void> MoveAll(CommandContext& context, std::vector<MovingKey>& keys) {
  store::Transaction& transaction = context.transaction;
  for (MovingKey& key : keys) {
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, key.from, key.user_key));
    entry.ServeFor(context);
    CAIRN_ASSIGN_OR_RETURN(
        key.generation,
        CopyElements(entry, Elements(transaction, key.from, key.generation), key.to));
    entry.Remove();
  }
  // After all removals: a name may be in use in both databases.
  for (const MovingKey& key : keys) {
    const std::optional<Record> record = DecodeRecord(key.value);
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, key.to, key.user_key));
    entry.Put({.type = record->type,
               .payload = record->payload,
               .expire_ms = record->expire_ms,
               .generation = key.generation});
  }
  return {};
}

// A number that need not be that of a database.
std::optional<int> ParseDatabase(std::string_view text) {
  const std::optional<int64_t> number = doors::ParseInteger(text);
  if (!number || *number != static_cast<int>(*number)) return std::nullopt;
  return static_cast<int>(*number);
}

bool IsDatabase(int number) { return number >= 0 && number < doors::kDatabases; }

// Rows are moved one by one: databases are part of their keys.
Result<void> SwapDb(CommandContext& context) {
  const std::optional<int> a = ParseDatabase(context.args[1]);
  if (!a) return context.Fail("ERR invalid first DB index");
  const std::optional<int> b = ParseDatabase(context.args[2]);
  if (!b) return context.Fail("ERR invalid second DB index");
  if (!IsDatabase(*a) || !IsDatabase(*b)) return context.Fail("ERR DB index is out of range");
  if (*a != *b) {
    CAIRN_ASSIGN_OR_RETURN(auto keys, KeysToSwap(context.transaction, static_cast<uint8_t>(*a),
                                                 static_cast<uint8_t>(*b)));
    if (!keys) {
      return context.Fail(
          fmt::format("ERR SWAPDB moves at most {} keys and elements", kMaxSwappedRows));
    }
    CAIRN_RETURN_IF_ERROR(MoveAll(context, *keys));
  }
  context.reply.Ok();
  return {};
}

// --- Expiry -------------------------------------------------------------------------------------

struct ExpireCondition {
  bool nx = false;
  bool xx = false;
  bool gt = false;
  bool lt = false;

  // No expiry counts as one that never comes.
  bool Holds(std::optional<int64_t> current_ms, int64_t new_ms) const {
    if (nx && current_ms) return false;
    if (xx && !current_ms) return false;
    if (gt && (!current_ms || new_ms <= *current_ms)) return false;
    return !(lt && current_ms && new_ms >= *current_ms);
  }
};

ExpireCondition ParseExpireCondition(ArgParser& parser) {
  ExpireCondition condition;
  while (parser.HasNext()) {
    const std::string_view word = parser.Next();
    if (doors::EqualsIgnoreCase(word, "NX")) {
      condition.nx = true;
    } else if (doors::EqualsIgnoreCase(word, "XX")) {
      condition.xx = true;
    } else if (doors::EqualsIgnoreCase(word, "GT")) {
      condition.gt = true;
    } else if (doors::EqualsIgnoreCase(word, "LT")) {
      condition.lt = true;
    } else {
      parser.Fail(fmt::format("ERR Unsupported option {}", doors::Quotable(word)));
    }
  }
  if (condition.nx && (condition.xx || condition.gt || condition.lt)) {
    parser.Fail("ERR NX and XX, GT or LT options at the same time are not compatible");
  }
  if (condition.gt && condition.lt) {
    parser.Fail("ERR GT and LT options at the same time are not compatible");
  }
  return condition;
}

template <ExpiryUnit unit>
Result<void> Expire(CommandContext& context) {
  ArgParser options(context.args, 3);
  const ExpireCondition condition = ParseExpireCondition(options);
  if (!options.Finish()) return context.Fail(options.error());
  const std::optional<int64_t> number = doors::ParseInteger(context.args[2]);
  if (!number) return context.Fail(doors::kNotAnInteger);
  const Result<int64_t> deadline = Deadline(unit, *number, context.now(), context.command.name);
  if (!deadline.ok()) return context.Fail(deadline.error().message);
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  const bool applies = entry.exists() && condition.Holds(entry.expire_ms(), *deadline);
  context.reply.Integer(applies ? 1 : 0);
  if (!applies) return {};
  entry.SetExpiry(*deadline);
  context.Notify(doors::kEventGeneric, entry.exists() ? "expire" : "del", context.args[1]);
  return {};
}

// TTL, PTTL, EXPIRETIME and PEXPIRETIME: -2 without a key, -1 without an expiry.
template <ExpiryUnit unit>
Result<void> TimeLeft(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, context.args[1]));
  if (!entry.exists() || !entry.expire_ms()) {
    context.reply.Integer(entry.exists() ? -1 : -2);
    return {};
  }
  const int64_t ms = *entry.expire_ms() - (unit.absolute ? 0 : context.now().millis());
  context.reply.Integer(unit.seconds ? ms / 1000 + (ms % 1000 >= 500 ? 1 : 0) : ms);
  return {};
}

Result<void> Persist(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  const bool applies = entry.exists() && entry.expire_ms();
  context.reply.Integer(applies ? 1 : 0);
  if (!applies) return {};
  entry.SetExpiry(std::nullopt);
  context.Notify(doors::kEventGeneric, "persist", context.args[1]);
  return {};
}

// --- OBJECT -------------------------------------------------------------------------------------

Result<void> ObjectEncoding(CommandContext& context, const EncodingLimits& limits) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Peek(context, context.args[2]));
  if (entry.exists()) {
    CAIRN_ASSIGN_OR_RETURN(const std::string_view name, EncodingName(entry, limits));
    context.reply.Bulk(name);
  } else {
    context.reply.Null();
  }
  return {};
}

// Values are not shared; those that are in Redis, small integers, have the count that it gives for
// them.
Result<void> ObjectRefcount(CommandContext& context) {
  constexpr int64_t kSharedIntegers = 10'000;
  constexpr int64_t kShared = std::numeric_limits<int32_t>::max();
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Peek(context, context.args[2]));
  if (!entry.exists()) {
    context.reply.Null();
    return {};
  }
  const bool is_short = entry.type() == ValueType::kString && IsShortString(entry);
  const std::optional<int64_t> integer =
      is_short ? doors::ParseInteger(entry.payload()) : std::nullopt;
  const bool shared = integer && *integer >= 0 && *integer < kSharedIntegers;
  context.reply.Integer(shared ? kShared : 1);
  return {};
}

// To keep the time of each use, reads would have to write.
Result<void> ObjectIdleTime(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Peek(context, context.args[2]));
  if (!entry.exists()) {
    context.reply.Null();
    return {};
  }
  return context.Fail("ERR the time of a key's last use is not kept, idle time not tracked.");
}

Result<void> ObjectFreq(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Peek(context, context.args[2]));
  if (!entry.exists()) {
    context.reply.Null();
    return {};
  }
  return context.Fail(
      "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that "
      "when switching between policies at runtime LRU and LFU data will take some time to adjust.");
}

}  // namespace

void AddKeyCommands(doors::Instance& instance, const SharedEncodingLimits& limits) {
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::vector<doors::KeySpec> keys;
    std::string_view since;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
    std::vector<std::string_view> tips = {};
  };
  using doors::kFast;
  using doors::kReadOnly;
  using doors::kWrite;
  const std::vector<doors::KeySpec> remove_all = {{1, -1, 1, "RM delete"}};
  const std::vector<doors::KeySpec> look_at_all = {{1, -1, 1, "RO"}};
  const std::vector<doors::KeySpec> read = {{1, 1, 1, "RO access"}};
  const std::vector<doors::KeySpec> update = {{1, 1, 1, "RW update"}};
  const std::vector<doors::KeySpec> object = {{2, 2, 1, "RO"}};
  const std::vector<std::string_view> sum = {"request_policy:multi_shard",
                                             "response_policy:agg_sum"};
  const std::vector<std::string_view> varies = {"nondeterministic_output"};
  constexpr std::string_view kExpire = "key:key seconds:integer [NX | XX | GT | LT]";
  constexpr std::string_view kPExpire = "key:key milliseconds:integer [NX | XX | GT | LT]";
  constexpr std::string_view kExpireAt = "key:key unix-time-seconds:unix-time [NX | XX | GT | LT]";
  constexpr std::string_view kPExpireAt =
      "key:key unix-time-milliseconds:unix-time [NX | XX | GT | LT]";
  const Row kRows[] = {
      {"del", -2, kWrite, remove_all, "1.0.0", "O(N) for N keys", "Removes keys.", "key:key ...",
       Del, sum},
      {"unlink", -2, kWrite | kFast, remove_all, "4.0.0", "O(N) for N keys", "Removes keys.",
       "key:key ...", Del, sum},
      {"exists", -2, kReadOnly | kFast, look_at_all, "1.0.0", "O(N) for N keys",
       "Counts which of the keys exist.", "key:key ...", Exists, sum},
      {"touch", -2, kReadOnly | kFast, look_at_all, "3.2.1", "O(N) for N keys",
       "Counts which of the keys exist.", "key:key ...", Exists, sum},
      {"type",
       2,
       kReadOnly | kFast,
       {{1, 1, 1, "RO"}},
       "1.0.0",
       "O(1)",
       "Tells what kind of value a key holds.",
       "key:key",
       Type},
      {"rename",
       3,
       kWrite,
       {{1, 1, 1, "RW access delete"}, {2, 2, 1, "OW update"}},
       "1.0.0",
       "O(N) for N bytes",
       "Gives a key another name.",
       "key:key newkey:key",
       Rename},
      {"renamenx",
       3,
       kWrite | kFast,
       {{1, 1, 1, "RW access delete"}, {2, 2, 1, "OW insert"}},
       "1.0.0",
       "O(N) for N bytes",
       "Gives a key another name if that is free.",
       "key:key newkey:key",
       RenameNx},
      {"expire", -3, kWrite | kFast, update, "1.0.0", "O(1)", "Lets a key expire after some time.",
       kExpire, Expire<kEx>},
      {"pexpire", -3, kWrite | kFast, update, "2.6.0", "O(1)",
       "Lets a key expire after some time, to the millisecond.", kPExpire, Expire<kPx>},
      {"expireat", -3, kWrite | kFast, update, "1.2.0", "O(1)", "Lets a key expire at a time.",
       kExpireAt, Expire<kExAt>},
      {"pexpireat", -3, kWrite | kFast, update, "2.6.0", "O(1)",
       "Lets a key expire at a time, to the millisecond.", kPExpireAt, Expire<kPxAt>},
      {"ttl", 2, kReadOnly | kFast, read, "1.0.0", "O(1)", "Tells the seconds until a key expires.",
       "key:key", TimeLeft<kEx>, varies},
      {"pttl", 2, kReadOnly | kFast, read, "2.6.0", "O(1)",
       "Tells the milliseconds until a key expires.", "key:key", TimeLeft<kPx>, varies},
      {"expiretime", 2, kReadOnly | kFast, read, "7.0.0", "O(1)",
       "Tells when a key expires, in seconds.", "key:key", TimeLeft<kExAt>},
      {"pexpiretime", 2, kReadOnly | kFast, read, "7.0.0", "O(1)",
       "Tells when a key expires, in milliseconds.", "key:key", TimeLeft<kPxAt>},
      {"persist", 2, kWrite | kFast, update, "2.2.0", "O(1)", "Makes a key stay.", "key:key",
       Persist},
      {"object", -2, 0, {}, "2.2.3", "", "Commands that look into a value.", "", {}},
      {"object|encoding", 3, kReadOnly, object, "2.2.3", "O(1)",
       "Tells how Redis would keep the value.", "key:key",
       [limits](CommandContext& context) { return ObjectEncoding(context, *limits); }, varies},
      {"object|refcount", 3, kReadOnly, object, "2.2.3", "O(1)",
       "Tells how often the value is referred to: once.", "key:key", ObjectRefcount, varies},
      {"object|idletime", 3, kReadOnly, object, "2.2.3", "O(1)",
       "Refused: the time of a key's last use is not kept.", "key:key", ObjectIdleTime, varies},
      {"object|freq", 3, kReadOnly, object, "4.0.0", "O(1)",
       "Tells how often a key is used, which is not counted.", "key:key", ObjectFreq, varies},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = row.run ? doors::kCategoryKeyspace : 0U,
                                    .keys = row.keys,
                                    .group = "generic",
                                    .since = row.since,
                                    .complexity = row.complexity,
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .tips = row.tips,
                                    .run = row.run});
  }
  instance.commands().Add(doors::TypedRow<CopyRequest>(
      {.name = "copy",
       .arity = -3,
       .flags = kWrite | doors::kDenyOom,
       .categories = doors::kCategoryKeyspace,
       .keys = {{1, 1, 1, "RO access"}, {2, 2, 1, "OW update"}},
       .group = "generic",
       .since = "6.2.0",
       .complexity = "O(N) for N bytes",
       .summary = "Copies a key.",
       .syntax = "source:key destination:key [DB destination-db:integer] [REPLACE]"},
      {.parse = ParseCopy, .scopes = AddCopyScopes, .run = Copy}));
  instance.commands().Add(
      doors::TypedRow<MoveRequest>({.name = "move",
                                    .arity = 3,
                                    .flags = kWrite | kFast,
                                    .categories = doors::kCategoryKeyspace,
                                    .keys = {{1, 1, 1, "RW access update"}},
                                    .group = "generic",
                                    .since = "1.0.0",
                                    .complexity = "O(N) for N bytes",
                                    .summary = "Moves a key to another database.",
                                    .syntax = "key:key db:integer"},
                                   {.parse = ParseMove, .scopes = AddMoveScopes, .run = Move}));
  instance.commands().Add(
      Command{.name = "swapdb",
              .arity = 3,
              .flags = kWrite | kFast,
              .categories = doors::kCategoryKeyspace | doors::kCategoryDangerous,
              .scopes = doors::ScopeRule::kEverything,
              .long_running = true,
              .audit_text = doors::AuditAllArguments,
              .group = "server",
              .since = "4.0.0",
              .complexity = "O(N) for N keys and elements of both databases",
              .summary = "Exchanges the keys of two databases.",
              .syntax = "index1:integer index2:integer",
              .run = SwapDb});
  instance.commands().Add(
      doors::HelpRow("object|help", doors::kCategoryKeyspace, "generic", "6.2.0"));
}

}  // namespace cairn::data
