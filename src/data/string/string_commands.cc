#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "data/string/commands.h"
#include "data/string/lcs.h"
#include "data/value/entry.h"
#include "data/value/expiry.h"
#include "data/value/limits.h"
#include "data/value/numbers.h"
#include "data/value/string_value.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/loop_work.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;
using doors::ParseInteger;

// A long string is read into the reply: one that is too large for it is not read at all.
Result<void> ReplyPart(CommandContext& context, StringValue& string, size_t offset, size_t length) {
  return string.ReadTo(context.reply.BulkToFill(length), offset);
}

Result<void> ReplyString(CommandContext& context, const Entry& entry) {
  if (!entry.exists()) {
    // Commands that only read have told of it when they looked.
    if (context.command.Has(doors::kWrite)) {
      context.Notify(doors::kEventKeyMiss, "keymiss", entry.user_key());
    }
    context.reply.Null();
  } else if (IsShortString(entry)) {
    context.reply.Bulk(entry.payload());
  } else {
    CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Open(entry));
    return ReplyPart(context, string, 0, string.size());
  }
  return {};
}

void NotifySet(CommandContext& context, std::string_view key) {
  context.Notify(doors::kEventString, "set", key);
}

void NotifyExpire(CommandContext& context, std::string_view key) {
  context.Notify(doors::kEventGeneric, "expire", key);
}

// --- Reading ------------------------------------------------------------------------------------

Result<void> Get(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, context.args[1]));
  if (!entry.IsMissingOr(ValueType::kString)) return context.Fail(kWrongType);
  return ReplyString(context, entry);
}

Result<void> MGet(CommandContext& context) {
  const Args keys = context.args.subspan(1);
  context.reply.ArrayHeader(keys.size());
  for (const std::string_view key : keys) {
    CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, key));
    if (entry.Is(ValueType::kString)) {
      CAIRN_RETURN_IF_ERROR(ReplyString(context, entry));
    } else {
      context.reply.Null();
    }
  }
  return {};
}

Result<void> StrLen(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const StringValue string, StringValue::Load(context, context.args[1]));
  if (string.wrong_type()) return context.Fail(kWrongType);
  context.reply.Integer(static_cast<int64_t>(string.size()));
  return {};
}

struct Slice {
  size_t offset = 0;
  size_t length = 0;
};

// The bytes from `start` to `end`, both included; negative ones count from the end.
Slice FindSlice(size_t string_size, int64_t start, int64_t end) {
  const auto size = static_cast<int64_t>(string_size);
  if (start < 0 && end < 0 && start > end) return {};
  const auto from_front = [size](int64_t index) {
    return std::max<int64_t>(index < 0 ? size + index : index, 0);
  };
  start = from_front(start);
  end = std::min(from_front(end), size - 1);
  if (start > end || size == 0) return {};
  return {static_cast<size_t>(start), static_cast<size_t>(end - start + 1)};
}

Result<void> GetRange(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const int64_t start = parser.Integer();
  const int64_t end = parser.Integer();
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, context.args[1]));
  if (string.wrong_type()) return context.Fail(kWrongType);
  const Slice slice = FindSlice(string.size(), start, end);
  CAIRN_RETURN_IF_ERROR(doors::LeaveLoopIfLong(context, slice.length));
  return ReplyPart(context, string, slice.offset, slice.length);
}

// --- SET and its relatives ----------------------------------------------------------------------

struct SetOptions {
  bool if_missing = false;
  bool if_exists = false;
  bool keep_ttl = false;
  bool get = false;
  std::optional<ExpiryOption> expiry;
};

SetOptions ParseSetOptions(ArgParser& parser) {
  SetOptions options;
  while (parser.HasNext()) {
    if (!options.if_exists && parser.Keyword("NX")) {
      options.if_missing = true;
    } else if (!options.if_missing && parser.Keyword("XX")) {
      options.if_exists = true;
    } else if (parser.Keyword("GET")) {
      options.get = true;
    } else if (!options.expiry && parser.Keyword("KEEPTTL")) {
      options.keep_ttl = true;
    } else if (options.keep_ttl || !TakeExpiryOption(parser, options.expiry)) {
      parser.Fail(doors::kSyntaxError);
    }
  }
  return options;
}

Result<void> Set(CommandContext& context) {
  ArgParser parser(context.args, 3);
  const SetOptions options = ParseSetOptions(parser);
  if (!parser.Finish()) return context.Fail(parser.error());
  std::optional<int64_t> expire_ms;
  if (options.expiry) {
    const Result<int64_t> deadline =
        PositiveDeadline(*options.expiry, context.now(), context.command.name);
    if (!deadline.ok()) return context.Fail(deadline.error().message);
    expire_ms = *deadline;
  }
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  if (options.get && !entry.IsMissingOr(ValueType::kString)) return context.Fail(kWrongType);
  const bool refused = entry.exists() ? options.if_missing : options.if_exists;
  if (options.get) {
    CAIRN_RETURN_IF_ERROR(ReplyString(context, entry));
  } else if (refused) {
    context.reply.Null();
  } else {
    context.reply.Ok();
  }
  if (refused) return {};
  if (options.keep_ttl && entry.exists()) expire_ms = entry.expire_ms();
  PutString(entry, context.args[2], expire_ms);
  NotifySet(context, context.args[1]);
  if (options.expiry) NotifyExpire(context, context.args[1]);
  return {};
}

Result<void> SetNx(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  context.reply.Integer(entry.exists() ? 0 : 1);
  if (entry.exists()) return {};
  PutString(entry, context.args[2]);
  NotifySet(context, context.args[1]);
  return {};
}

// SETEX and PSETEX: key, time, value.
template <ExpiryUnit unit>
Result<void> SetFor(CommandContext& context) {
  const Result<int64_t> deadline =
      PositiveDeadline({unit, context.args[2]}, context.now(), context.command.name);
  if (!deadline.ok()) return context.Fail(deadline.error().message);
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  PutString(entry, context.args[3], *deadline);
  NotifySet(context, context.args[1]);
  NotifyExpire(context, context.args[1]);
  context.reply.Ok();
  return {};
}

Result<void> GetSet(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  if (!entry.IsMissingOr(ValueType::kString)) return context.Fail(kWrongType);
  CAIRN_RETURN_IF_ERROR(ReplyString(context, entry));
  PutString(entry, context.args[2]);
  NotifySet(context, context.args[1]);
  return {};
}

Result<void> GetDel(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  if (!entry.IsMissingOr(ValueType::kString)) return context.Fail(kWrongType);
  CAIRN_RETURN_IF_ERROR(ReplyString(context, entry));
  if (!entry.exists()) return {};
  entry.Remove();
  context.Notify(doors::kEventGeneric, "del", context.args[1]);
  return {};
}

Result<void> GetEx(CommandContext& context) {
  ArgParser parser(context.args, 2);
  std::optional<ExpiryOption> expiry;
  bool persist = false;
  while (parser.HasNext()) {
    if (!expiry && parser.Keyword("PERSIST")) {
      persist = true;
    } else if (persist || !TakeExpiryOption(parser, expiry)) {
      parser.Fail(doors::kSyntaxError);
    }
  }
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  if (!entry.exists()) return ReplyString(context, entry);
  if (!entry.Is(ValueType::kString)) return context.Fail(kWrongType);
  std::optional<int64_t> expire_ms;
  if (expiry) {
    const Result<int64_t> deadline = PositiveDeadline(*expiry, context.now(), context.command.name);
    if (!deadline.ok()) return context.Fail(deadline.error().message);
    expire_ms = *deadline;
  }
  CAIRN_RETURN_IF_ERROR(ReplyString(context, entry));
  if (!expire_ms && !(persist && entry.expire_ms())) return {};
  entry.SetExpiry(expire_ms);
  const std::string_view event = !expire_ms ? "persist" : entry.exists() ? "expire" : "del";
  context.Notify(doors::kEventGeneric, event, context.args[1]);
  return {};
}

Result<void> MSet(CommandContext& context) {
  if (context.args.size() % 2 == 0) return context.Fail(doors::WrongArity(context.command.name));
  for (size_t i = 1; i < context.args.size(); i += 2) {
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[i]));
    PutString(entry, context.args[i + 1]);
    NotifySet(context, context.args[i]);
  }
  context.reply.Ok();
  return {};
}

Result<void> MSetNx(CommandContext& context) {
  if (context.args.size() % 2 == 0) return context.Fail(doors::WrongArity(context.command.name));
  for (size_t i = 1; i < context.args.size(); i += 2) {
    CAIRN_ASSIGN_OR_RETURN(const Entry entry, Entry::Load(context, context.args[i]));
    if (!entry.exists()) continue;
    context.reply.Integer(0);
    return {};
  }
  for (size_t i = 1; i < context.args.size(); i += 2) {
    CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[i]));
    PutString(entry, context.args[i + 1]);
    NotifySet(context, context.args[i]);
  }
  context.reply.Integer(1);
  return {};
}

// --- Changing parts -----------------------------------------------------------------------------

Result<void> Append(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, context.args[1]));
  if (string.wrong_type()) return context.Fail(kWrongType);
  const std::string_view part = context.args[2];
  if (string.exists() && string.size() + part.size() > kMaxStringBytes) {
    return context.Fail(kStringTooLong);
  }
  CAIRN_RETURN_IF_ERROR(string.Append(part));
  string.Save();
  context.Notify(doors::kEventString, "append", context.args[1]);
  context.reply.Integer(static_cast<int64_t>(string.size()));
  return {};
}

Result<void> SetRange(CommandContext& context) {
  ArgParser parser(context.args, 2);
  const int64_t offset = parser.Integer();
  const std::string_view part = parser.Next();
  if (parser.ok() && offset < 0) parser.Fail("ERR offset is out of range");
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(StringValue string, StringValue::Load(context, context.args[1]));
  if (string.wrong_type()) return context.Fail(kWrongType);
  if (!part.empty()) {
    const auto at = static_cast<size_t>(offset);
    if (at > kMaxStringBytes || at + part.size() > kMaxStringBytes)
      return context.Fail(kStringTooLong);
    CAIRN_RETURN_IF_ERROR(string.Write(at, part));
    string.Save();
    context.Notify(doors::kEventString, "setrange", context.args[1]);
  }
  context.reply.Integer(static_cast<int64_t>(string.size()));
  return {};
}

// The text of a string that is to be a number; a string that is not in its record is too long to be
// one.
BytesView NumberText(const Entry& entry) {
  return IsShortString(entry) ? entry.payload() : BytesView();
}

Result<void> AddInteger(CommandContext& context, int64_t delta) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  if (!entry.IsMissingOr(ValueType::kString)) return context.Fail(kWrongType);
  const std::optional<int64_t> old = entry.exists() ? ParseInteger(NumberText(entry)) : 0;
  if (!old) return context.Fail(doors::kNotAnInteger);
  int64_t sum = 0;
  if (__builtin_add_overflow(*old, delta, &sum)) {
    return context.Fail("ERR increment or decrement would overflow");
  }
  const fmt::format_int digits(sum);
  PutString(entry, {digits.data(), digits.size()},
            entry.exists() ? entry.expire_ms() : std::nullopt);
  context.Notify(doors::kEventString, "incrby", context.args[1]);
  context.reply.Integer(sum);
  return {};
}

Result<void> Incr(CommandContext& context) { return AddInteger(context, 1); }
Result<void> Decr(CommandContext& context) { return AddInteger(context, -1); }

Result<void> IncrBy(CommandContext& context) {
  const std::optional<int64_t> delta = ParseInteger(context.args[2]);
  if (!delta) return context.Fail(doors::kNotAnInteger);
  return AddInteger(context, *delta);
}

Result<void> DecrBy(CommandContext& context) {
  const std::optional<int64_t> delta = ParseInteger(context.args[2]);
  if (!delta) return context.Fail(doors::kNotAnInteger);
  if (*delta == std::numeric_limits<int64_t>::min()) {
    return context.Fail("ERR decrement would overflow");
  }
  return AddInteger(context, -*delta);
}

Result<void> IncrByFloat(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(context, context.args[1]));
  if (!entry.IsMissingOr(ValueType::kString)) return context.Fail(kWrongType);
  const std::optional<long double> old = entry.exists() ? ParseLongDouble(NumberText(entry)) : 0;
  const std::optional<long double> delta = ParseLongDouble(context.args[2]);
  if (!old || !delta) return context.Fail(doors::kNotAFloat);
  const long double sum = *old + *delta;
  if (std::isnan(sum) || std::isinf(sum)) {
    return context.Fail("ERR increment would produce NaN or Infinity");
  }
  const std::string digits = FormatLongDouble(sum);
  PutString(entry, digits, entry.exists() ? entry.expire_ms() : std::nullopt);
  context.Notify(doors::kEventString, "incrbyfloat", context.args[1]);
  context.reply.Bulk(digits);
  return {};
}

// --- LCS ----------------------------------------------------------------------------------------

struct LcsOptions {
  bool length_only = false;
  bool index = false;
  bool with_match_length = false;
  int64_t min_match_length = 0;
};

LcsOptions ParseLcsOptions(ArgParser& parser) {
  LcsOptions options;
  while (parser.HasNext()) {
    if (parser.Keyword("IDX")) {
      options.index = true;
    } else if (parser.Keyword("LEN")) {
      options.length_only = true;
    } else if (parser.Keyword("WITHMATCHLEN")) {
      options.with_match_length = true;
    } else if (parser.remaining() > 1 && parser.Keyword("MINMATCHLEN")) {
      options.min_match_length = std::max<int64_t>(parser.Integer(), 0);
    } else {
      parser.Fail(doors::kSyntaxError);
    }
  }
  return options;
}

void ReplyMatches(CommandContext& context, const Lcs& lcs, const LcsOptions& options) {
  std::vector<Lcs::Match> matches;
  for (const Lcs::Match& match : lcs.matches) {
    if (match.length >= static_cast<size_t>(options.min_match_length)) matches.push_back(match);
  }
  const auto range = [&](size_t begin, size_t length) {
    context.reply.ArrayHeader(2);
    context.reply.Integer(static_cast<int64_t>(begin));
    context.reply.Integer(static_cast<int64_t>(begin + length - 1));
  };
  context.reply.MapHeader(2);
  context.reply.Bulk("matches");
  context.reply.ArrayHeader(matches.size());
  for (const Lcs::Match& match : matches) {
    context.reply.ArrayHeader(options.with_match_length ? 3 : 2);
    range(match.a, match.length);
    range(match.b, match.length);
    if (options.with_match_length) context.reply.Integer(static_cast<int64_t>(match.length));
  }
  context.reply.Bulk("len");
  context.reply.Integer(static_cast<int64_t>(lcs.length));
}

Result<void> LcsCommand(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(StringValue a, StringValue::Load(context, context.args[1]));
  CAIRN_ASSIGN_OR_RETURN(StringValue b, StringValue::Load(context, context.args[2]));
  if (a.wrong_type() || b.wrong_type()) {
    return context.Fail("ERR The specified keys must contain string values");
  }
  ArgParser parser(context.args, 3);
  const LcsOptions options = ParseLcsOptions(parser);
  if (!parser.Finish()) return context.Fail(parser.error());
  if (options.index && options.length_only) {
    return context.Fail("ERR If you want both the length and indexes, please just use IDX.");
  }
  CAIRN_ASSIGN_OR_RETURN(const BytesView text_a, a.ReadAll());
  CAIRN_ASSIGN_OR_RETURN(const BytesView text_b, b.ReadAll());
  if (LcsTableBytes(text_a, text_b) > kMaxLcsBytes) {
    return context.Fail(
        "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
  }
  CAIRN_RETURN_IF_ERROR(doors::LeaveLoopIfLong(context, text_a.size() * text_b.size()));
  const Lcs lcs = FindLcs(text_a, text_b);
  if (options.index) {
    ReplyMatches(context, lcs, options);
  } else if (options.length_only) {
    context.reply.Integer(static_cast<int64_t>(lcs.length));
  } else {
    context.reply.Bulk(lcs.text);
  }
  return {};
}

constexpr uint32_t kPut = doors::kWrite | doors::kDenyOom;

}  // namespace

void AddStringCommands(doors::Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    doors::KeySpec keys;
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
  constexpr doors::KeySpec kRead = {1, 1, 1, "RO access"};
  constexpr doors::KeySpec kUpdate = {1, 1, 1, "RW access update"};
  constexpr doors::KeySpec kOverwrite = {1, 1, 1, "OW update"};
  const Row kRows[] = {
      {"get", 2, kReadOnly | kFast, kRead, "1.0.0", "O(1)", "Reads a string.", "key:key", Get},
      {"set",
       -3,
       kPut,
       {1, 1, 1, "RW access update variable_flags"},
       "1.0.0",
       "O(1)",
       "Writes a string, whatever was there.",
       "key:key value [NX | XX] [GET] [EX seconds:integer | PX milliseconds:integer | EXAT "
       "unix-time-seconds:unix-time | PXAT unix-time-milliseconds:unix-time | KEEPTTL]",
       Set},
      {"getset",
       3,
       kPut | kFast,
       kUpdate,
       "1.0.0",
       "O(1)",
       "Writes a string and returns the old.",
       "key:key value",
       GetSet,
       {},
       "6.2.0",
       "`SET` with `GET`"},
      {"getdel",
       2,
       kWrite | kFast,
       {1, 1, 1, "RW access delete"},
       "6.2.0",
       "O(1)",
       "Reads a string and removes it.",
       "key:key",
       GetDel},
      {"getex", -2, kWrite | kFast, kUpdate, "6.2.0", "O(1)",
       "Reads a string and changes when it expires.",
       "key:key [EX seconds:integer | PX milliseconds:integer | EXAT unix-time-seconds:unix-time | "
       "PXAT unix-time-milliseconds:unix-time | PERSIST]",
       GetEx},
      {"setex", 4, kPut, kOverwrite, "2.0.0", "O(1)", "Writes a string that expires.",
       "key:key seconds:integer value", SetFor<kEx>},
      {"psetex", 4, kPut, kOverwrite, "2.6.0", "O(1)",
       "Writes a string that expires, to the millisecond.", "key:key milliseconds:integer value",
       SetFor<kPx>},
      {"setnx",
       3,
       kPut | kFast,
       {1, 1, 1, "OW insert"},
       "1.0.0",
       "O(1)",
       "Writes a string if the key is free.",
       "key:key value",
       SetNx},
      {"mget",
       -2,
       kReadOnly | kFast,
       {1, -1, 1, "RO access"},
       "1.0.0",
       "O(N) for N keys",
       "Reads several strings.",
       "key:key ...",
       MGet,
       {"request_policy:multi_shard"}},
      {"mset",
       -3,
       kPut,
       {1, -1, 2, "OW update"},
       "1.0.1",
       "O(N) for N keys",
       "Writes several strings at once.",
       "(key:key value) ...",
       MSet,
       {"request_policy:multi_shard", "response_policy:all_succeeded"}},
      {"msetnx",
       -3,
       kPut,
       {1, -1, 2, "OW insert"},
       "1.0.1",
       "O(N) for N keys",
       "Writes several strings if all keys are free.",
       "(key:key value) ...",
       MSetNx,
       {"request_policy:multi_shard", "response_policy:agg_min"}},
      {"append",
       3,
       kPut | kFast,
       {1, 1, 1, "RW insert"},
       "2.0.0",
       "O(N) for N bytes written",
       "Adds to the end of a string.",
       "key:key value",
       Append},
      {"strlen",
       2,
       kReadOnly | kFast,
       {1, 1, 1, "RO"},
       "2.2.0",
       "O(1)",
       "Tells a string's length.",
       "key:key",
       StrLen},
      {"setrange",
       4,
       kPut,
       {1, 1, 1, "RW update"},
       "2.2.0",
       "O(N) for N bytes written",
       "Writes over a part of a string.",
       "key:key offset:integer value",
       SetRange},
      {"getrange", 4, kReadOnly, kRead, "2.4.0", "O(N) for N bytes returned",
       "Reads a part of a string.", "key:key start:integer end:integer", GetRange},
      {"substr",
       4,
       kReadOnly,
       kRead,
       "1.0.0",
       "O(N) for N bytes returned",
       "Reads a part of a string.",
       "key:key start:integer end:integer",
       GetRange,
       {},
       "2.0.0",
       "`GETRANGE`"},
      {"incr", 2, kPut | kFast, kUpdate, "1.0.0", "O(1)", "Adds one to an integer.", "key:key",
       Incr},
      {"decr", 2, kPut | kFast, kUpdate, "1.0.0", "O(1)", "Takes one from an integer.", "key:key",
       Decr},
      {"incrby", 3, kPut | kFast, kUpdate, "1.0.0", "O(1)", "Adds to an integer.",
       "key:key increment:integer", IncrBy},
      {"decrby", 3, kPut | kFast, kUpdate, "1.0.0", "O(1)", "Takes from an integer.",
       "key:key decrement:integer", DecrBy},
      {"incrbyfloat", 3, kPut | kFast, kUpdate, "2.6.0", "O(1)", "Adds to a number.",
       "key:key increment:double", IncrByFloat},
      {"lcs",
       -3,
       kReadOnly,
       {1, 2, 1, "RO access"},
       "7.0.0",
       "O(N*M) for strings of N and M bytes",
       "Finds the longest common subsequence of two strings.",
       "key1:key key2:key [LEN] [IDX] [MINMATCHLEN min-match-len:integer] [WITHMATCHLEN]",
       LcsCommand},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .categories = doors::kCategoryString,
                                    .keys = {row.keys},
                                    .long_running = row.name == "lcs",
                                    .group = "string",
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
