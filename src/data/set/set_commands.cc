#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "data/set/commands.h"
#include "data/value/entry.h"
#include "data/value/fields.h"
#include "data/value/limits.h"
#include "data/value/member_scan.h"
#include "data/value/random_fields.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

// The set that the command names first.
Result<Fields> LoadSet(CommandContext& context) {
  return Fields::Load(context, context.args[1], ValueType::kSet);
}

// --- Members by name ----------------------------------------------------------------------------

Result<void> SAdd(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields set, LoadSet(context));
  if (set.wrong_type()) return context.Fail(kWrongType);
  int64_t added = 0;
  for (const std::string_view member : context.args.subspan(2)) {
    CAIRN_ASSIGN_OR_RETURN(const bool is_new, set.Add(member));
    added += is_new ? 1 : 0;
  }
  if (added > 0) set.Save(context, doors::kEventSet, "sadd");
  context.reply.Integer(added);
  return {};
}

Result<void> SRem(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields set, LoadSet(context));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const int64_t removed, set.RemoveEach(context.args.subspan(2)));
  if (removed > 0) set.Save(context, doors::kEventSet, "srem");
  context.reply.Integer(removed);
  return {};
}

Result<void> SIsMember(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields set, LoadSet(context));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const bool found, set.Contains(context.args[2]));
  context.reply.Integer(found ? 1 : 0);
  return {};
}

Result<void> SMIsMember(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields set, LoadSet(context));
  if (set.wrong_type()) return context.Fail(kWrongType);
  const Args members = context.args.subspan(2);
  context.reply.ArrayHeader(members.size());
  for (const std::string_view member : members) {
    CAIRN_ASSIGN_OR_RETURN(const bool found, set.Contains(member));
    context.reply.Integer(found ? 1 : 0);
  }
  return {};
}

Result<void> SMove(CommandContext& context) {
  const std::string_view member = context.args[3];
  CAIRN_ASSIGN_OR_RETURN(Fields source, LoadSet(context));
  // Without a source it does not matter what the destination is.
  if (!source.exists()) {
    context.reply.Integer(0);
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(Fields target, Fields::Load(context, context.args[2], ValueType::kSet));
  if (source.wrong_type() || target.wrong_type()) return context.Fail(kWrongType);
  if (context.args[1] == context.args[2]) {
    CAIRN_ASSIGN_OR_RETURN(const bool found, source.Contains(member));
    context.reply.Integer(found ? 1 : 0);
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(const bool removed, source.Remove(member));
  context.reply.Integer(removed ? 1 : 0);
  if (!removed) return {};
  source.Save(context, doors::kEventSet, "srem");
  CAIRN_ASSIGN_OR_RETURN(const bool added, target.Add(member));
  if (added) target.Save(context, doors::kEventSet, "sadd");
  return {};
}

// --- All members --------------------------------------------------------------------------------

Result<void> SCard(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Fields set, LoadSet(context));
  if (set.wrong_type()) return context.Fail(kWrongType);
  context.reply.Integer(static_cast<int64_t>(set.count()));
  return {};
}

Result<void> ReplyAll(CommandContext& context, Fields& set) {
  context.reply.SetHeader(set.count());
  return set.ForEach([&](BytesView member, BytesView) -> Result<bool> {
    context.reply.Bulk(member);
    return !context.reply.full();
  });
}

Result<void> SMembers(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields set, LoadSet(context));
  if (set.wrong_type()) return context.Fail(kWrongType);
  return ReplyAll(context, set);
}

Result<void> SScan(CommandContext& context, ScanCursors& cursors, const EncodingLimits& limits) {
  const auto write = [](net::RespWriter& reply, BytesView member, BytesView) {
    reply.Bulk(member);
  };
  return ScanMembers(context, cursors, limits,
                     {.type = ValueType::kSet,
                      .range = SuffixRange::All(),
                      .member = DecodeField,
                      .visit_in_order = VisitFields,
                      .write = write,
                      .strings = 1});
}

// --- Random members -----------------------------------------------------------------------------

// The one member that was picked, if there was one to pick.
void ReplyOne(CommandContext& context, const std::vector<Field>& picked) {
  if (picked.empty()) {
    context.reply.Null();
  } else {
    context.reply.Bulk(picked.front().member);
  }
}

Result<void> RandomMembers(CommandContext& context, Random& random) {
  ArgParser parser(context.args, 2);
  const PickCount pick = TakePickCount(parser);
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(Fields set, LoadSet(context));
  if (set.wrong_type()) return context.Fail(kWrongType);
  const bool repeated = pick.repeated && set.count() > 0;
  if (repeated && pick.count > kMaxRandomPicks) return context.Fail("ERR value is out of range");
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Field> picked,
                         repeated ? PickFields(context, set, pick.count, random)
                                  : PickDistinctFields(context, set, pick.count, random));
  context.reply.ArrayHeader(picked.size());
  for (const Field& field : picked) context.reply.Bulk(field.member);
  return {};
}

Result<void> SRandMember(CommandContext& context, Random& random) {
  if (context.args.size() > 3) return context.Fail(doors::kSyntaxError);
  if (context.args.size() == 3) return RandomMembers(context, random);
  CAIRN_ASSIGN_OR_RETURN(Fields set, LoadSet(context));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Field> picked,
                         PickDistinctFields(context, set, 1, random));
  ReplyOne(context, picked);
  return {};
}

Result<std::vector<Field>> TakeMembers(CommandContext& context, Fields& set, uint64_t count,
                                       Random& random) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<Field> picked,
                         PickDistinctFields(context, set, count, random));
  for (const Field& field : picked) CAIRN_RETURN_IF_ERROR(set.Remove(field.member));
  if (!picked.empty()) set.Save(context, doors::kEventSet, "spop");
  return picked;
}

Result<void> PopMembers(CommandContext& context, Random& random) {
  const std::optional<int64_t> count = doors::ParseInteger(context.args[2]);
  if (!count || *count < 0) return context.Fail("ERR value is out of range, must be positive");
  CAIRN_ASSIGN_OR_RETURN(Fields set, LoadSet(context));
  if (set.wrong_type()) return context.Fail(kWrongType);
  const auto wanted = static_cast<uint64_t>(*count);
  if (set.count() > 0 && wanted >= set.count()) {
    CAIRN_RETURN_IF_ERROR(ReplyAll(context, set));
    set.RemoveAll();
    set.Save(context, doors::kEventSet, "spop");
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Field> taken, TakeMembers(context, set, wanted, random));
  context.reply.SetHeader(taken.size());
  for (const Field& field : taken) context.reply.Bulk(field.member);
  return {};
}

Result<void> SPop(CommandContext& context, Random& random) {
  if (context.args.size() > 3) return context.Fail(doors::kSyntaxError);
  if (context.args.size() == 3) return PopMembers(context, random);
  CAIRN_ASSIGN_OR_RETURN(Fields set, LoadSet(context));
  if (set.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Field> taken, TakeMembers(context, set, 1, random));
  ReplyOne(context, taken);
  return {};
}

}  // namespace

void AddSetCommands(doors::Instance& instance, const SharedEncodingLimits& limits) {
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
  auto cursors =
      std::make_shared<ScanCursors>(instance.random(), kMaxScanCursors, kMaxScanCursorBytes);
  Random& random = instance.random();
  const std::vector<doors::KeySpec> read = {{1, 1, 1, "RO access"}};
  const std::vector<doors::KeySpec> look = {{1, 1, 1, "RO"}};
  const std::vector<std::string_view> any_output = {"nondeterministic_output"};
  const Row kRows[] = {
      {"sadd",
       -3,
       kWrite | doors::kDenyOom | kFast,
       {{1, 1, 1, "RW insert"}},
       "1.0.0",
       "O(N) for N members",
       "Adds members to a set.",
       "key:key member ...",
       SAdd},
      {"srem",
       -3,
       kWrite | kFast,
       {{1, 1, 1, "RW delete"}},
       "1.0.0",
       "O(N) for N members",
       "Removes members of a set, and the set with its last.",
       "key:key member ...",
       SRem},
      {"smove",
       4,
       kWrite | kFast,
       {{1, 1, 1, "RW access delete"}, {2, 2, 1, "RW insert"}},
       "1.0.0",
       "O(1)",
       "Moves a member from one set to another.",
       "source:key destination:key member",
       SMove},
      {"sismember", 3, kReadOnly | kFast, look, "1.0.0", "O(1)",
       "Tells whether a set has a member.", "key:key member", SIsMember},
      {"smismember", -3, kReadOnly | kFast, read, "6.2.0", "O(N) for N members",
       "Tells which of several members a set has.", "key:key member ...", SMIsMember},
      {"scard", 2, kReadOnly | kFast, look, "1.0.0", "O(1)", "Tells how many members a set has.",
       "key:key", SCard},
      {"smembers",
       2,
       kReadOnly,
       read,
       "1.0.0",
       "O(N) for a set of N members",
       "Lists the members of a set.",
       "key:key",
       SMembers,
       {"nondeterministic_output_order"}},
      {"sscan", -3, kReadOnly, read, "2.8.0", "O(N) for N members visited",
       "Lists members of a set, a few at a time.",
       "key:key cursor:integer [MATCH pattern:pattern] [COUNT count:integer]",
       [cursors, limits](CommandContext& context) { return SScan(context, *cursors, *limits); },
       any_output},
      {"srandmember", -2, kReadOnly, read, "1.0.0", "O(N) for N members returned",
       "Returns some members of a set.", "key:key [count:integer]",
       [&random](CommandContext& context) { return SRandMember(context, random); }, any_output},
      {"spop",
       -2,
       kWrite | kFast,
       {{1, 1, 1, "RW access delete"}},
       "1.0.0",
       "O(N) for N members returned",
       "Takes some members out of a set.",
       "key:key [count:integer]",
       [&random](CommandContext& context) { return SPop(context, random); },
       any_output},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = doors::kCategorySet,
                                    .keys = row.keys,
                                    .group = "set",
                                    .since = row.since,
                                    .complexity = row.complexity,
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .tips = row.tips,
                                    .run = row.run});
  }
}

}  // namespace cairn::data
