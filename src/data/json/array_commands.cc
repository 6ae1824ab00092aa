#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/json/commands.h"
#include "data/json/document.h"
#include "data/json/target.h"
#include "data/json/text.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

constexpr std::string_view kNotAnArray = "not an array";

// All the arguments as JSON; the error's message is the reply.
Result<std::vector<JsonValue>> ParseValues(Args args) {
  std::vector<JsonValue> values;
  values.reserve(args.size());
  for (const std::string_view arg : args) {
    CAIRN_ASSIGN_OR_RETURN(JsonValue value, ParseJson(arg));
    values.push_back(std::move(value));
  }
  return values;
}

size_t Deepest(const std::vector<JsonValue>& values) {
  size_t deepest = 0;
  for (const JsonValue& value : values) deepest = std::max(deepest, value.Depth());
  return deepest;
}

bool FitAt(CommandContext& context, const JsonTarget& target,
           const std::vector<JsonValue>& values) {
  const size_t depth = Deepest(values);
  return std::ranges::all_of(target.matches, [&](const JsonMatch& match) {
    return FitsJsonDepth(context, match.location.size() + 1, depth);
  });
}

// An index that counts from the end if negative, kept between the ends of an array.
int64_t ClampIndex(int64_t index, int64_t count) {
  return std::clamp<int64_t>(index < 0 ? std::max(index, -count) + count : index, 0, count);
}

// Puts values into every array that matches, where `place` says, given its length.
Result<void> InsertAll(CommandContext& context, Args texts, std::string_view event,
                       FunctionRef<std::optional<uint64_t>(uint64_t count)> place) {
  for (const std::string_view text : texts) {
    if (!ReserveForJson(context, text)) return {};
  }
  const Result<std::vector<JsonValue>> values = ParseValues(texts);
  if (!values.ok()) return context.Fail(values.error().message);
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, context.args[1], context.args[2], MissingKey::kFails));
  if (target == nullptr || !FitAt(context, *target, *values)) return {};
  const auto plan = [&](const JsonMatch& match) -> Result<std::optional<JsonEdit>> {
    if (match.cursor.type() != JsonType::kArray) return std::optional<JsonEdit>();
    CAIRN_ASSIGN_OR_RETURN(const uint64_t count, match.cursor.Count());
    const std::optional<uint64_t> at = place(count);
    if (!at) return Error{ErrorCode::kInvalid, "ERR index out of bounds"};
    return std::optional(JsonEdit{static_cast<int64_t>(count + values->size()),
                                  [&match, &values, at = *at](JsonDocument& document) {
                                    return document.Insert(match.location, at, *values);
                                  }});
  };
  CAIRN_ASSIGN_OR_RETURN(const auto replies, EditJson(context, *target, event, kNotAnArray, plan));
  if (replies) WriteJsonReplies(context, target->path, *replies);
  return {};
}

Result<void> ArrAppend(CommandContext& context) {
  return InsertAll(context, context.args.subspan(3), "json.arrappend",
                   [](uint64_t count) { return std::optional(count); });
}

Result<void> ArrInsert(CommandContext& context) {
  ArgParser parser(context.args, 3);
  const int64_t index = parser.Integer();
  if (!parser.ok()) return context.Fail(parser.error());
  return InsertAll(context, context.args.subspan(4), "json.arrinsert",
                   [index](uint64_t count) -> std::optional<uint64_t> {
                     const auto size = static_cast<int64_t>(count);
                     if (index > size || index < -size) return std::nullopt;
                     return static_cast<uint64_t>(index < 0 ? index + size : index);
                   });
}

Result<void> ArrPop(CommandContext& context) {
  const Args args = context.args;
  int64_t index = -1;
  if (args.size() > 3) {
    ArgParser parser(args, 3);
    index = parser.Integer();
    if (!parser.ok()) return context.Fail(parser.error());
  }
  CAIRN_ASSIGN_OR_RETURN(
      const auto target,
      OpenJson(context, args[1], args.size() > 2 ? args[2] : ".", MissingKey::kFails));
  if (target == nullptr) return {};
  JsonLoader loader;
  const auto plan = [&](const JsonMatch& match) -> Result<std::optional<JsonEdit>> {
    if (match.cursor.type() != JsonType::kArray) return std::optional<JsonEdit>();
    CAIRN_ASSIGN_OR_RETURN(const uint64_t count, match.cursor.Count());
    if (count == 0) return std::optional(JsonEdit());
    const auto size = static_cast<int64_t>(count);
    const auto at = static_cast<uint64_t>(std::min(ClampIndex(index, size), size - 1));
    CAIRN_ASSIGN_OR_RETURN(const std::optional<JsonCursor> element, match.cursor.Child(at));
    CAIRN_ASSIGN_OR_RETURN(const JsonValue value, loader.Load(*element));
    return std::optional(JsonEdit{PrintJson(value), [&match, at](JsonDocument& document) {
                                    return document.Erase(match.location, at, 1);
                                  }});
  };
  CAIRN_ASSIGN_OR_RETURN(const auto replies,
                         EditJson(context, *target, "json.arrpop", kNotAnArray, plan));
  if (replies) WriteJsonReplies(context, target->path, *replies);
  return {};
}

Result<void> Trim(JsonDocument& document, const JsonLocation& array, uint64_t count, uint64_t begin,
                  uint64_t end) {
  // The back first: the front's elements keep their indexes.
  if (end < count) CAIRN_RETURN_IF_ERROR(document.Erase(array, end, count - end));
  if (begin > 0) CAIRN_RETURN_IF_ERROR(document.Erase(array, 0, begin));
  return {};
}

Result<void> ArrTrim(CommandContext& context) {
  ArgParser parser(context.args, 3);
  const int64_t start = parser.Integer();
  const int64_t stop = parser.Integer();
  if (!parser.Finish()) return context.Fail(parser.error());
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, context.args[1], context.args[2], MissingKey::kFails));
  if (target == nullptr) return {};
  const auto plan = [&](const JsonMatch& match) -> Result<std::optional<JsonEdit>> {
    if (match.cursor.type() != JsonType::kArray) return std::optional<JsonEdit>();
    CAIRN_ASSIGN_OR_RETURN(const uint64_t count, match.cursor.Count());
    const auto size = static_cast<int64_t>(count);
    int64_t begin = ClampIndex(start, size);
    int64_t end = stop < -size ? 0 : std::min(ClampIndex(stop, size), size - 1) + 1;
    if (begin >= end) begin = end = 0;
    return std::optional(JsonEdit{end - begin, [&match, count, begin, end](JsonDocument& document) {
                                    return Trim(document, match.location, count,
                                                static_cast<uint64_t>(begin),
                                                static_cast<uint64_t>(end));
                                  }});
  };
  CAIRN_ASSIGN_OR_RETURN(const auto replies,
                         EditJson(context, *target, "json.arrtrim", kNotAnArray, plan));
  if (replies) WriteJsonReplies(context, target->path, *replies);
  return {};
}

// --- Reading -------------------------------------------------------------------------------------

Result<void> ArrLen(CommandContext& context) {
  const Args args = context.args;
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, args[1], args.size() > 2 ? args[2] : "."));
  if (target == nullptr) return {};
  const JsonPath& path = target->path;
  if (!target->exists()) {
    if (!path.legacy) return context.Fail(NoSuchJsonPath(path));
    context.reply.Null();
    return {};
  }
  if (path.legacy && target->matches.empty()) return context.Fail(NoSuchJsonPath(path));
  std::vector<JsonReply> replies;
  for (const JsonMatch& match : target->matches) {
    JsonReply reply;
    if (match.cursor.type() == JsonType::kArray) {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t count, match.cursor.Count());
      reply = static_cast<int64_t>(count);
    } else if (path.legacy) {
      return context.Fail(NoSuchJsonPath(path, kNotAnArray));
    }
    replies.push_back(std::move(reply));
    if (path.legacy) break;
  }
  WriteJsonReplies(context, path, replies);
  return {};
}

// The first element from `start` on, in front of `stop`, that equals `wanted`; -1 if none does. A
// stop of 0 is the end.
Result<int64_t> IndexOf(const JsonCursor& array, const JsonValue& wanted, int64_t start,
                        int64_t stop) {
  CAIRN_ASSIGN_OR_RETURN(const uint64_t count, array.Count());
  const auto size = static_cast<int64_t>(count);
  const int64_t begin = start >= size ? size - 1 : ClampIndex(start, size);
  const int64_t end = stop == 0 ? size : ClampIndex(stop, size);
  if (begin >= end || begin < 0) return int64_t{-1};
  CAIRN_ASSIGN_OR_RETURN(const auto children, array.Children());
  for (auto i = begin; i < end; ++i) {
    const JsonCursor& child = children[static_cast<size_t>(i)].second;
    if (child.type() != wanted.type()) continue;
    CAIRN_ASSIGN_OR_RETURN(const JsonValue value, child.Load());
    if (value == wanted) return i;
  }
  return int64_t{-1};
}

Result<void> ArrIndex(CommandContext& context) {
  const Args args = context.args;
  ArgParser parser(args, 4);
  const int64_t start = parser.HasNext() ? parser.Integer() : 0;
  const int64_t stop = parser.HasNext() ? parser.Integer() : 0;
  if (!parser.Finish()) return context.Fail(parser.error());
  const Result<JsonValue> wanted = ParseJson(args[3]);
  if (!wanted.ok()) return context.Fail(wanted.error().message);
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, args[1], args[2], MissingKey::kFails));
  if (target == nullptr) return {};
  const JsonPath& path = target->path;
  if (path.legacy && target->matches.empty()) return context.Fail(NoSuchJsonPath(path));
  std::vector<JsonReply> replies;
  for (const JsonMatch& match : target->matches) {
    const JsonType type = match.cursor.type();
    JsonReply reply;
    if (type == JsonType::kArray) {
      CAIRN_ASSIGN_OR_RETURN(const int64_t index, IndexOf(match.cursor, *wanted, start, stop));
      reply = index;
    } else if (path.legacy) {
      return context.Fail(WrongJsonType(JsonType::kArray, type));
    }
    replies.push_back(std::move(reply));
    if (path.legacy) break;
  }
  WriteJsonReplies(context, path, replies);
  return {};
}

}  // namespace

void AddJsonArrayCommands(doors::Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    bool writes;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
  };
  const Row kRows[] = {
      {"json.arrappend", -4, true, "O(1) per value and array", "Adds values at the end of arrays.",
       "key:key path value [value ...]", ArrAppend},
      {"json.arrindex", -4, false, "O(N) for an array of N elements",
       "Finds the first element that equals a value.",
       "key:key path value [start:integer [stop:integer]]", ArrIndex},
      {"json.arrinsert", -5, true, "O(N) for N elements on the nearer side of the index",
       "Puts values into arrays in front of an index.",
       "key:key path index:integer value [value ...]", ArrInsert},
      {"json.arrlen", -2, false, "O(1) per array", "Tells how many elements arrays have.",
       "key:key [path]", ArrLen},
      {"json.arrpop", -2, true, "O(N) for N elements on the nearer side of the index",
       "Takes an element from arrays and returns it.", "key:key [path [index:integer]]", ArrPop},
      {"json.arrtrim", 5, true, "O(N) for N elements taken away",
       "Keeps a range of the elements of arrays.", "key:key path start:integer stop:integer",
       ArrTrim},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(
        Command{.name = row.name,
                .arity = row.arity,
                .flags = row.writes ? doors::kWrite | doors::kDenyOom : uint32_t{doors::kReadOnly},
                .keys = {{1, 1, 1, row.writes ? "RW access update" : "RO access"}},
                .group = "json",
                .since = "1.0.0",
                .complexity = row.complexity,
                .summary = row.summary,
                .syntax = row.syntax,
                .run = WithJsonArguments(row.run)});
  }
}

}  // namespace cairn::data
