#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/hash/commands.h"
#include "data/value/entry.h"
#include "data/value/fields.h"
#include "data/value/limits.h"
#include "data/value/member_scan.h"
#include "data/value/numbers.h"
#include "data/value/random_fields.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

// The hash that the command names first.
Result<Fields> LoadHash(CommandContext& context) {
  return Fields::Load(context, context.args[1], ValueType::kHash);
}

void ReplyValue(CommandContext& context, const std::optional<Bytes>& value) {
  if (value) {
    context.reply.Bulk(*value);
  } else {
    context.reply.Null();
  }
}

// --- Reading ------------------------------------------------------------------------------------

Result<void> HGet(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, hash.Get(context.args[2]));
  ReplyValue(context, value);
  return {};
}

Result<void> HMGet(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  const Args fields = context.args.subspan(2);
  context.reply.ArrayHeader(fields.size());
  for (const std::string_view field : fields) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, hash.Get(field));
    ReplyValue(context, value);
  }
  return {};
}

Result<void> HExists(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const bool found, hash.Contains(context.args[2]));
  context.reply.Integer(found ? 1 : 0);
  return {};
}

Result<void> HStrLen(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, hash.Get(context.args[2]));
  context.reply.Integer(value ? static_cast<int64_t>(value->size()) : 0);
  return {};
}

Result<void> HLen(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  context.reply.Integer(static_cast<int64_t>(hash.count()));
  return {};
}

enum class Part { kFields, kValues, kBoth };

// HKEYS, HVALS and HGETALL.
template <Part part>
Result<void> ReadAll(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  if (part == Part::kBoth) {
    context.reply.MapHeader(hash.count());
  } else {
    context.reply.ArrayHeader(hash.count());
  }
  return hash.ForEach([&](BytesView field, BytesView value) -> Result<bool> {
    if (part != Part::kValues) context.reply.Bulk(field);
    if (part != Part::kFields) context.reply.Bulk(value);
    return !context.reply.full();
  });
}

// --- Writing ------------------------------------------------------------------------------------

// Writes the pairs of field and value from args[2] on. Returns how many fields are new.
Result<int64_t> PutPairs(Fields& hash, Args args) {
  int64_t added = 0;
  for (size_t i = 2; i < args.size(); i += 2) {
    CAIRN_ASSIGN_OR_RETURN(const bool is_new, hash.Put(args[i], args[i + 1]));
    added += is_new ? 1 : 0;
  }
  return added;
}

// HSET and HMSET, which differ in what they answer.
enum class Answer { kAdded, kOk };

template <Answer answer>
Result<void> HSet(CommandContext& context) {
  if (context.args.size() % 2 != 0) return context.Fail(doors::WrongArity(context.command.name));
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const int64_t added, PutPairs(hash, context.args));
  hash.Save(context, doors::kEventHash, "hset");
  if (answer == Answer::kAdded) {
    context.reply.Integer(added);
  } else {
    context.reply.Ok();
  }
  return {};
}

Result<void> HSetNx(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const bool added, hash.Add(context.args[2], context.args[3]));
  if (added) hash.Save(context, doors::kEventHash, "hset");
  context.reply.Integer(added ? 1 : 0);
  return {};
}

Result<void> HDel(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const int64_t removed, hash.RemoveEach(context.args.subspan(2)));
  if (removed > 0) hash.Save(context, doors::kEventHash, "hdel");
  context.reply.Integer(removed);
  return {};
}

Result<void> HIncrBy(CommandContext& context) {
  const std::optional<int64_t> delta = doors::ParseInteger(context.args[3]);
  if (!delta) return context.Fail(doors::kNotAnInteger);
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, hash.Get(context.args[2]));
  const std::optional<int64_t> old = value ? doors::ParseInteger(*value) : 0;
  if (!old) return context.Fail("ERR hash value is not an integer");
  int64_t sum = 0;
  if (__builtin_add_overflow(*old, *delta, &sum)) {
    return context.Fail("ERR increment or decrement would overflow");
  }
  CAIRN_RETURN_IF_ERROR(hash.Put(context.args[2], fmt::to_string(sum)));
  hash.Save(context, doors::kEventHash, "hincrby");
  context.reply.Integer(sum);
  return {};
}

Result<void> HIncrByFloat(CommandContext& context) {
  const std::optional<long double> delta = ParseLongDouble(context.args[3]);
  if (!delta) return context.Fail(doors::kNotAFloat);
  if (std::isinf(*delta)) return context.Fail("ERR value is NaN or Infinity");
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, hash.Get(context.args[2]));
  const std::optional<long double> old = value ? ParseLongDouble(*value) : 0;
  if (!old) return context.Fail("ERR hash value is not a float");
  const long double sum = *old + *delta;
  if (std::isnan(sum) || std::isinf(sum)) {
    return context.Fail("ERR increment would produce NaN or Infinity");
  }
  const std::string digits = FormatLongDouble(sum);
  CAIRN_RETURN_IF_ERROR(hash.Put(context.args[2], digits));
  hash.Save(context, doors::kEventHash, "hincrbyfloat");
  context.reply.Bulk(digits);
  return {};
}

// --- HRANDFIELD ---------------------------------------------------------------------------------

// RESP3 has each field in an array with its value, RESP2 both in a row.
void ReplyFields(CommandContext& context, const std::vector<Field>& fields, bool with_values) {
  const bool pairs = with_values && context.reply.resp3();
  context.reply.ArrayHeader(with_values && !pairs ? fields.size() * 2 : fields.size());
  for (const Field& field : fields) {
    if (pairs) context.reply.ArrayHeader(2);
    context.reply.Bulk(field.member);
    if (with_values) context.reply.Bulk(field.value);
  }
}

Result<void> OneRandomField(CommandContext& context, Random& random) {
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Field> picked,
                         PickDistinctFields(context, hash, 1, random));
  if (picked.empty()) {
    context.reply.Null();
  } else {
    context.reply.Bulk(picked.front().member);
  }
  return {};
}

Result<void> HRandField(CommandContext& context, Random& random) {
  if (context.args.size() == 2) return OneRandomField(context, random);
  constexpr std::string_view kOutOfRange = "ERR value is out of range";
  ArgParser parser(context.args, 2);
  const PickCount pick = TakePickCount(parser);
  const bool with_values = parser.ok() && parser.Keyword("WITHVALUES");
  if (!parser.Finish()) return context.Fail(parser.error());
  if (with_values && pick.count > std::numeric_limits<int64_t>::max() / 2) {
    return context.Fail(kOutOfRange);
  }
  CAIRN_ASSIGN_OR_RETURN(Fields hash, LoadHash(context));
  if (hash.wrong_type()) return context.Fail(kWrongType);
  const bool repeated = pick.repeated && hash.count() > 0;
  if (repeated && pick.count > kMaxRandomPicks) {
    // So many are asked for to see whether there is an end: there is, one way or the other.
    constexpr uint64_t kMany = 1ULL << 40;
    (void)context.reply.Reserve(std::min(pick.count, kMany) * sizeof(Field));
    return context.Fail(kOutOfRange);
  }
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Field> picked,
                         repeated ? PickFields(context, hash, pick.count, random)
                                  : PickDistinctFields(context, hash, pick.count, random));
  ReplyFields(context, picked, with_values);
  return {};
}

// --- HSCAN --------------------------------------------------------------------------------------

Result<void> HScan(CommandContext& context, ScanCursors& cursors, const EncodingLimits& limits) {
  const auto write = [](net::RespWriter& reply, BytesView field, BytesView value) {
    reply.Bulk(field);
    reply.Bulk(value);
  };
  return ScanMembers(context, cursors, limits,
                     {.type = ValueType::kHash,
                      .range = SuffixRange::All(),
                      .member = DecodeField,
                      .visit_in_order = VisitFields,
                      .write = write,
                      .strings = 2});
}

constexpr uint32_t kPut = doors::kWrite | doors::kDenyOom;

}  // namespace

void AddHashCommands(doors::Instance& instance, const SharedEncodingLimits& limits) {
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::string_view access;
    std::string_view since;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
    std::vector<std::string_view> tips = {};
    std::string_view deprecated_since = {};
    std::string_view replaced_by = {};
  };
  using doors::kFast;
  using doors::kReadOnly;
  using doors::kWrite;
  auto cursors =
      std::make_shared<ScanCursors>(instance.random(), kMaxScanCursors, kMaxScanCursorBytes);
  Random& random = instance.random();
  const std::vector<std::string_view> any_order = {"nondeterministic_output_order"};
  const std::vector<std::string_view> any_output = {"nondeterministic_output"};
  const Row kRows[] = {
      {"hset", -4, kPut | kFast, "RW update", "2.0.0", "O(N) for N fields",
       "Writes fields of a hash.", "key:key (field value) ...", HSet<Answer::kAdded>},
      {"hmset",
       -4,
       kPut | kFast,
       "RW update",
       "2.0.0",
       "O(N) for N fields",
       "Writes fields of a hash.",
       "key:key (field value) ...",
       HSet<Answer::kOk>,
       {},
       "4.0.0",
       "`HSET` with multiple field-value pairs"},
      {"hsetnx", 4, kPut | kFast, "RW insert", "2.0.0", "O(1)",
       "Writes a field of a hash if it is free.", "key:key field value", HSetNx},
      {"hget", 3, kReadOnly | kFast, "RO access", "2.0.0", "O(1)", "Reads a field of a hash.",
       "key:key field", HGet},
      {"hmget", -3, kReadOnly | kFast, "RO access", "2.0.0", "O(N) for N fields",
       "Reads several fields of a hash.", "key:key field ...", HMGet},
      {"hgetall", 2, kReadOnly, "RO access", "2.0.0", "O(N) for a hash of N fields",
       "Reads all fields of a hash with their values.", "key:key", ReadAll<Part::kBoth>, any_order},
      {"hkeys", 2, kReadOnly, "RO access", "2.0.0", "O(N) for a hash of N fields",
       "Lists the fields of a hash.", "key:key", ReadAll<Part::kFields>, any_order},
      {"hvals", 2, kReadOnly, "RO access", "2.0.0", "O(N) for a hash of N fields",
       "Lists the values of a hash.", "key:key", ReadAll<Part::kValues>, any_order},
      {"hdel", -3, kWrite | kFast, "RW delete", "2.0.0", "O(N) for N fields",
       "Removes fields of a hash, and the hash with its last.", "key:key field ...", HDel},
      {"hexists", 3, kReadOnly | kFast, "RO", "2.0.0", "O(1)", "Tells whether a hash has a field.",
       "key:key field", HExists},
      {"hlen", 2, kReadOnly | kFast, "RO", "2.0.0", "O(1)", "Tells how many fields a hash has.",
       "key:key", HLen},
      {"hstrlen", 3, kReadOnly | kFast, "RO", "3.2.0", "O(1)",
       "Tells how long the value of a field is.", "key:key field", HStrLen},
      {"hincrby", 4, kPut | kFast, "RW access update", "2.0.0", "O(1)",
       "Adds to an integer in a field.", "key:key field increment:integer", HIncrBy},
      {"hincrbyfloat", 4, kPut | kFast, "RW access update", "2.6.0", "O(1)",
       "Adds to a number in a field.", "key:key field increment:double", HIncrByFloat},
      {"hrandfield", -2, kReadOnly, "RO access", "6.2.0", "O(N) for N fields returned",
       "Returns some fields of a hash.", "key:key [count:integer [WITHVALUES]]",
       [&random](CommandContext& context) { return HRandField(context, random); }, any_output},
      {"hscan", -3, kReadOnly, "RO access", "2.8.0", "O(N) for N fields visited",
       "Lists fields of a hash with their values, a few at a time.",
       "key:key cursor:integer [MATCH pattern:pattern] [COUNT count:integer]",
       [cursors, limits](CommandContext& context) { return HScan(context, *cursors, *limits); },
       any_output},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = doors::kCategoryHash,
                                    .keys = {{1, 1, 1, row.access}},
                                    .group = "hash",
                                    .since = row.since,
                                    .complexity = row.complexity,
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .tips = row.tips,
                                    .deprecated_since = row.deprecated_since,
                                    .replaced_by = row.replaced_by,
                                    .run = row.run});
  }
}

}  // namespace cairn::data
