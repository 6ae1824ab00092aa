#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/commands.h"
#include "data/entry.h"
#include "data/expiry.h"
#include "data/value_info.h"
#include "doors/arg_parser.h"
#include "doors/command.h"
#include "doors/connection_commands.h"

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
  return {};
}

Result<void> Rename(CommandContext& context) { return RenameWith(context, false); }
Result<void> RenameNx(CommandContext& context) { return RenameWith(context, true); }

struct CopyOptions {
  uint8_t db = 0;
  bool replace = false;
};

CopyOptions ParseCopyOptions(ArgParser& parser, uint8_t db) {
  CopyOptions options{.db = db};
  while (parser.HasNext()) {
    if (parser.Keyword("REPLACE")) {
      options.replace = true;
    } else if (parser.remaining() > 1 && parser.Keyword("DB")) {
      options.db = parser.Database();
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  return options;
}

void AddCopyScopes(Args args, uint8_t db, store::Scopes& scopes) {
  ArgParser parser(args, 3);
  const CopyOptions options = ParseCopyOptions(parser, db);
  Bytes scratch;
  doors::AddKeyScope(db, args[1], scopes, scratch);
  if (parser.ok()) doors::AddKeyScope(options.db, args[2], scopes, scratch);
}

Result<void> Copy(CommandContext& context) {
  ArgParser parser(context.args, 3);
  const CopyOptions options = ParseCopyOptions(parser, context.db());
  if (!parser.Finish()) return context.Fail(parser.error());
  if (options.db == context.db() && context.args[1] == context.args[2]) {
    return context.Fail(kSameObject);
  }
  CAIRN_ASSIGN_OR_RETURN(const Entry source, Entry::Load(context, context.args[1]));
  CAIRN_ASSIGN_OR_RETURN(Entry target,
                         Entry::Load(context.transaction, options.db, context.args[2]));
  const bool copies = source.exists() && (options.replace || !target.exists());
  context.reply.Integer(copies ? 1 : 0);
  if (copies) target.Put({source.type(), source.payload(), source.expire_ms()});
  return {};
}

void AddMoveScopes(Args args, uint8_t db, store::Scopes& scopes) {
  Bytes scratch;
  doors::AddKeyScope(db, args[1], scopes, scratch);
  ArgParser parser(args, 2);
  const uint8_t target_db = parser.Database();
  if (parser.ok()) doors::AddKeyScope(target_db, args[1], scopes, scratch);
}

Result<void> Move(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const uint8_t target_db = parser.Database();
  if (!parser.ok()) return context.Fail(parser.error());
  if (target_db == context.db()) return context.Fail(kSameObject);
  CAIRN_ASSIGN_OR_RETURN(Entry source, Entry::Load(context, context.args[1]));
  CAIRN_ASSIGN_OR_RETURN(Entry target,
                         Entry::Load(context.transaction, target_db, context.args[1]));
  const bool moves = source.exists() && !target.exists();
  context.reply.Integer(moves ? 1 : 0);
  if (!moves) return {};
  target.Put({source.type(), source.payload(), source.expire_ms()});
  source.Remove();
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
  if (applies) entry.SetExpiry(*deadline);
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
  if (applies) entry.SetExpiry(std::nullopt);
  return {};
}

// --- OBJECT -------------------------------------------------------------------------------------

Result<void> ObjectEncoding(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, context.args[2]));
  if (entry.exists()) {
    context.reply.Bulk(EncodingName(entry.type(), entry.payload()));
  } else {
    context.reply.Null();
  }
  return {};
}

// OBJECT REFCOUNT and IDLETIME: values are not shared, and access times are not kept.
template <int64_t value>
Result<void> ObjectConstant(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, context.args[2]));
  if (entry.exists()) {
    context.reply.Integer(value);
  } else {
    context.reply.Null();
  }
  return {};
}

Result<void> ObjectFreq(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, context.args[2]));
  if (!entry.exists()) {
    context.reply.Null();
    return {};
  }
  return context.Fail(
      "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that "
      "when switching between policies at runtime LRU and LFU data will take some time to adjust.");
}

}  // namespace

void AddKeyCommands(doors::Instance& instance) {
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
    doors::ScopeFunction add_scopes = {};
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
      {"copy",
       -3,
       kWrite | doors::kDenyOom,
       {{1, 1, 1, "RO access"}, {2, 2, 1, "OW update"}},
       "6.2.0",
       "O(N) for N bytes",
       "Copies a key.",
       "source:key destination:key [DB destination-db:integer] [REPLACE]",
       Copy,
       {},
       AddCopyScopes},
      {"move",
       3,
       kWrite | kFast,
       {{1, 1, 1, "RW access update"}},
       "1.0.0",
       "O(N) for N bytes",
       "Moves a key to another database.",
       "key:key db:integer",
       Move,
       {},
       AddMoveScopes},
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
       "Tells how Redis would keep the value.", "key:key", ObjectEncoding, varies},
      {"object|refcount", 3, kReadOnly, object, "2.2.3", "O(1)",
       "Tells how often the value is referred to: once.", "key:key", ObjectConstant<1>, varies},
      {"object|idletime", 3, kReadOnly, object, "2.2.3", "O(1)",
       "Tells the seconds since the last use, which are not counted: 0.", "key:key",
       ObjectConstant<0>, varies},
      {"object|freq", 3, kReadOnly, object, "4.0.0", "O(1)",
       "Tells how often a key is used, which is not counted.", "key:key", ObjectFreq, varies},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = row.run ? doors::kCategoryKeyspace : 0U,
                                    .keys = row.keys,
                                    .add_scopes = row.add_scopes,
                                    .group = "generic",
                                    .since = row.since,
                                    .complexity = row.complexity,
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .tips = row.tips,
                                    .run = row.run});
  }
  instance.commands().Add(
      doors::HelpRow("object|help", doors::kCategoryKeyspace, "generic", "6.2.0"));
}

}  // namespace cairn::data
