#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/json/commands.h"
#include "data/json/document.h"
#include "data/json/target.h"
#include "data/json/text.h"
#include "data/value/limits.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"

// The commands that put, get and take away whole values, of any type.
namespace cairn::data {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;
using doors::EqualsIgnoreCase;

constexpr std::string_view kMustBeRoot = "ERR new objects must be created at the root";
constexpr std::string_view kNotStatic = "ERR wrong static path";
constexpr std::string_view kNoElement = "ERR array index out of range";
constexpr std::string_view kReplyTooLong = "ERR the reply would be too long";

// --- JSON.SET, JSON.MSET, JSON.MERGE -------------------------------------------------------------

enum class Condition { kNone, kMissing, kExists };

// Where a value is to be put.
struct Places {
  std::vector<JsonLocation> locations;  // none: nothing is to be done
  std::string_view error = {};
};

// The matches, or the place of a new member if there are none.
Result<Places> FindPlaces(JsonTarget& target, Condition condition) {
  const JsonPath& path = target.path;
  Places places;
  if (!target.exists()) {
    if (condition == Condition::kExists) return places;
    if (!path.IsRoot()) return Places{.error = kMustBeRoot};
    places.locations.emplace_back();
    return places;
  }
  if (!target.matches.empty()) {
    if (condition == Condition::kMissing) return places;
    for (const JsonMatch* match : LastFirst(target.matches)) {
      places.locations.push_back(match->location);
    }
    return places;
  }
  if (condition == Condition::kExists) return places;
  if (!path.IsStatic()) return Places{.error = kNotStatic};
  const auto* name = std::get_if<JsonName>(&path.segments.back().selectors[0]);
  if (name == nullptr) return Places{.error = kNoElement};
  CAIRN_ASSIGN_OR_RETURN(std::optional<JsonMatch> parent,
                         SelectJsonParent(path, target.document.root()));
  if (!parent || parent->cursor.type() != JsonType::kObject) return places;
  parent->location.emplace_back(name->name);
  places.locations.push_back(std::move(parent->location));
  return places;
}

bool AllFitDepth(CommandContext& context, const Places& places, const JsonValue& value) {
  const size_t depth = value.Depth();
  for (const JsonLocation& location : places.locations) {
    if (!FitsJsonDepth(context, location.size(), depth)) return false;
  }
  return true;
}

Condition ParseCondition(ArgParser& parser) {
  Condition condition = Condition::kNone;
  while (parser.HasNext()) {
    const auto given =
        parser.OneOf<Condition>({{"NX", Condition::kMissing}, {"XX", Condition::kExists}});
    if (!given || condition != Condition::kNone) {
      parser.Fail(doors::kSyntaxError);
      break;
    }
    condition = *given;
  }
  return condition;
}

Result<void> Set(CommandContext& context) {
  const Args args = context.args;
  ArgParser parser(args, 4);
  const Condition condition = ParseCondition(parser);
  if (!parser.ok()) return context.Fail(parser.error());
  if (!ReserveForJson(context, args[3])) return {};
  const Result<JsonValue> value = ParseJson(args[3]);
  if (!value.ok()) return context.Fail(value.error().message);
  CAIRN_ASSIGN_OR_RETURN(const auto target, OpenJson(context, args[1], args[2]));
  if (target == nullptr) return {};
  CAIRN_ASSIGN_OR_RETURN(const Places places, FindPlaces(*target, condition));
  if (!places.error.empty()) return context.Fail(places.error);
  if (!AllFitDepth(context, places, *value)) return {};
  if (places.locations.empty()) {
    context.reply.Null();
    return {};
  }
  for (const JsonLocation& location : places.locations) {
    CAIRN_RETURN_IF_ERROR(target->document.Set(location, *value));
  }
  target->document.Save();
  context.Notify(doors::kEventModule, "json.set", args[1]);
  context.reply.Ok();
  return {};
}

Result<void> MSet(CommandContext& context) {
  const Args args = context.args;
  if ((args.size() - 1) % 3 != 0) return context.Fail(doors::WrongArity("json.mset"));
  // All is checked against what is there before anything is changed.
  std::vector<JsonValue> values;
  for (size_t i = 1; i < args.size(); i += 3) {
    if (!ReserveForJson(context, args[i + 2])) return {};
    Result<JsonValue> value = ParseJson(args[i + 2]);
    if (!value.ok()) return context.Fail(value.error().message);
    CAIRN_ASSIGN_OR_RETURN(const auto target, OpenJson(context, args[i], args[i + 1]));
    if (target == nullptr) return {};
    CAIRN_ASSIGN_OR_RETURN(const Places places, FindPlaces(*target, Condition::kNone));
    if (!places.error.empty()) return context.Fail(places.error);
    if (!AllFitDepth(context, places, *value)) return {};
    values.push_back(*std::move(value));
  }
  for (size_t i = 1; i < args.size(); i += 3) {
    CAIRN_ASSIGN_OR_RETURN(const auto target, OpenJson(context, args[i], args[i + 1]));
    CAIRN_ASSIGN_OR_RETURN(const Places places, FindPlaces(*target, Condition::kNone));
    // An earlier pair of the same command may have taken the place away.
    if (!places.error.empty() || places.locations.empty()) continue;
    for (const JsonLocation& location : places.locations) {
      CAIRN_RETURN_IF_ERROR(target->document.Set(location, values[i / 3]));
    }
    target->document.Save();
    context.Notify(doors::kEventModule, "json.mset", args[i]);
  }
  context.reply.Ok();
  return {};
}

// What a merge patch makes of nothing: it without its nulls.
JsonValue WithoutNulls(const JsonValue& patch) {
  if (patch.object() == nullptr) return patch;
  JsonValue::Object members;
  for (const JsonMember& member : *patch.object()) {
    if (member.value.type() == JsonType::kNull) continue;
    members.push_back({member.name, WithoutNulls(member.value)});
  }
  return JsonValue(std::move(members));
}

Result<std::optional<JsonCursor>> At(JsonDocument& document, const JsonLocation& location) {
  std::optional<JsonCursor> cursor = document.root();
  for (const JsonStep& step : location) {
    CAIRN_ASSIGN_OR_RETURN(cursor, cursor->Child(step));
    if (!cursor) break;
  }
  return cursor;
}

// RFC 7396. The parent of the location exists.
Result<void> Merge(JsonDocument& document, const JsonLocation& location, const JsonValue& patch) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<JsonCursor> current, At(document, location));
  if (patch.object() == nullptr || !current || current->type() != JsonType::kObject) {
    return document.Set(location, WithoutNulls(patch));
  }
  JsonLocation child = location;
  child.emplace_back();
  for (const JsonMember& member : *patch.object()) {
    child.back() = member.name;
    if (member.value.type() != JsonType::kNull) {
      CAIRN_RETURN_IF_ERROR(Merge(document, child, member.value));
      continue;
    }
    CAIRN_ASSIGN_OR_RETURN(const std::optional<JsonCursor> there, At(document, child));
    if (there) CAIRN_RETURN_IF_ERROR(document.Remove(child));
  }
  return {};
}

Result<void> MergeCommand(CommandContext& context) {
  const Args args = context.args;
  if (!ReserveForJson(context, args[3])) return {};
  const Result<JsonValue> patch = ParseJson(args[3]);
  if (!patch.ok()) return context.Fail(patch.error().message);
  CAIRN_ASSIGN_OR_RETURN(const auto target, OpenJson(context, args[1], args[2]));
  if (target == nullptr) return {};
  CAIRN_ASSIGN_OR_RETURN(const Places places, FindPlaces(*target, Condition::kNone));
  if (!places.error.empty()) return context.Fail(places.error);
  if (!AllFitDepth(context, places, *patch)) return {};
  if (places.locations.empty()) {
    context.reply.Null();
    return {};
  }
  JsonDocument& document = target->document;
  const bool removes = patch->type() == JsonType::kNull;
  if (!document.exists()) {
    document.SetRoot(WithoutNulls(*patch));
  } else {
    for (const JsonLocation& location : places.locations) {
      if (!removes || location.empty()) {
        CAIRN_RETURN_IF_ERROR(Merge(document, location, *patch));
      } else if (!target->matches.empty()) {
        CAIRN_RETURN_IF_ERROR(document.Remove(location));
      }
    }
  }
  document.Save();
  context.Notify(doors::kEventModule, "json.merge", args[1]);
  context.reply.Ok();
  return {};
}

// --- JSON.GET, JSON.MGET -------------------------------------------------------------------------

struct GetOptions {
  JsonFormat format;
  std::vector<std::string_view> paths;
};

GetOptions ParseGetOptions(Args args) {
  GetOptions options;
  for (size_t i = 2; i < args.size(); ++i) {
    const bool more = i + 1 < args.size();
    if (more && EqualsIgnoreCase(args[i], "INDENT")) {
      options.format.indent = args[++i];
    } else if (more && EqualsIgnoreCase(args[i], "NEWLINE")) {
      options.format.newline = args[++i];
    } else if (more && EqualsIgnoreCase(args[i], "SPACE")) {
      options.format.space = args[++i];
    } else if (!EqualsIgnoreCase(args[i], "NOESCAPE")) {
      options.paths.push_back(args[i]);
    }
  }
  if (options.paths.empty()) options.paths.emplace_back(".");
  return options;
}

// What a path finds: the first match, or an array of all. nullopt if there is no first one.
Result<std::optional<JsonValue>> LoadMatches(JsonLoader& loader,
                                             const std::vector<JsonMatch>& matches,
                                             bool first_only) {
  if (first_only) {
    if (matches.empty()) return std::optional<JsonValue>();
    CAIRN_ASSIGN_OR_RETURN(JsonValue value, loader.Load(matches[0].cursor));
    return std::optional(std::move(value));
  }
  JsonValue::Array all;
  for (const JsonMatch& match : matches) {
    CAIRN_ASSIGN_OR_RETURN(JsonValue value, loader.Load(match.cursor));
    all.push_back(std::move(value));
  }
  return std::optional(JsonValue(std::move(all)));
}

Result<void> ReplyText(CommandContext& context, const JsonValue& value, const JsonFormat& format) {
  const std::string text = PrintJson(value, format);
  if (text.size() > kMaxStringBytes) return context.Fail(kReplyTooLong);
  context.reply.Bulk(text);
  return {};
}

Result<void> Get(CommandContext& context) {
  const GetOptions options = ParseGetOptions(context.args);
  std::vector<JsonPath> paths;
  bool all_legacy = true;
  for (const std::string_view text : options.paths) {
    Result<JsonPath> path = ParseJsonPath(text);
    if (!path.ok()) return context.Fail(path.error().message);
    all_legacy = all_legacy && path->legacy;
    paths.push_back(*std::move(path));
  }
  CAIRN_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::Load(context, context.args[1]));
  if (document.wrong_type()) return context.Fail(kWrongType);
  if (!document.exists()) {
    context.reply.Null();
    return {};
  }
  JsonLoader loader;
  JsonValue by_path(JsonValue::Object{});
  for (size_t i = 0; i < paths.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(const auto matches, SelectJson(paths[i], document.root()));
    CAIRN_ASSIGN_OR_RETURN(std::optional<JsonValue> value,
                           LoadMatches(loader, matches, all_legacy));
    if (!value) return context.Fail(NoSuchJsonPath(paths[i]));
    if (paths.size() == 1) return ReplyText(context, *value, options.format);
    by_path.Set(options.paths[i], *std::move(value));
  }
  return ReplyText(context, by_path, options.format);
}

Result<void> MGet(CommandContext& context) {
  const Args keys = context.args.subspan(1, context.args.size() - 2);
  const Result<JsonPath> path = ParseJsonPath(context.args.back());
  if (!path.ok()) return context.Fail(path.error().message);
  JsonLoader loader;
  context.reply.ArrayHeader(keys.size());
  for (const std::string_view key : keys) {
    CAIRN_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::Load(context, key));
    std::optional<JsonValue> value;
    if (!document.wrong_type() && document.exists()) {
      CAIRN_ASSIGN_OR_RETURN(const auto matches, SelectJson(*path, document.root()));
      CAIRN_ASSIGN_OR_RETURN(value, LoadMatches(loader, matches, path->legacy));
    }
    if (value) {
      context.reply.Bulk(PrintJson(*value));
    } else {
      context.reply.Null();
    }
  }
  return {};
}

// --- JSON.DEL, JSON.CLEAR ------------------------------------------------------------------------

bool IsWithin(const JsonLocation& inner, const JsonLocation& outer) {
  return inner.size() >= outer.size() && std::equal(outer.begin(), outer.end(), inner.begin());
}

// The matches from last to first, without those that are inside of others or the same.
std::vector<const JsonMatch*> Outermost(const std::vector<JsonMatch>& matches) {
  const std::vector<const JsonMatch*> order = LastFirst(matches);
  std::vector<const JsonMatch*> outermost;
  // Read backwards, what is inside of another comes right after it.
  for (size_t i = order.size(); i-- > 0;) {
    if (outermost.empty() || !IsWithin(order[i]->location, outermost.back()->location)) {
      outermost.push_back(order[i]);
    }
  }
  return {outermost.rbegin(), outermost.rend()};
}

Result<void> Del(CommandContext& context) {
  const Args args = context.args;
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, args[1], args.size() > 2 ? args[2] : "."));
  if (target == nullptr) return {};
  const std::vector<const JsonMatch*> gone = Outermost(target->matches);
  context.reply.Integer(static_cast<int64_t>(gone.size()));
  if (gone.empty()) return {};
  if (gone[0]->location.empty()) {
    target->document.RemoveKey();
  } else {
    for (const JsonMatch* match : gone) {
      CAIRN_RETURN_IF_ERROR(target->document.Remove(match->location));
    }
    target->document.Save();
  }
  context.Notify(doors::kEventModule, "json.del", args[1]);
  return {};
}

// What JSON.CLEAR makes of a value; nullopt if it leaves it as it is.
Result<std::optional<JsonValue>> Cleared(const JsonCursor& cursor) {
  std::optional<JsonValue> cleared;
  switch (cursor.type()) {
    case JsonType::kArray:
    case JsonType::kObject: {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t count, cursor.Count());
      if (count == 0) return cleared;
      cleared = cursor.type() == JsonType::kArray ? JsonValue(JsonValue::Array())
                                                  : JsonValue(JsonValue::Object());
      return cleared;
    }
    case JsonType::kInteger:
    case JsonType::kNumber:
      if (cursor.scalar().AsDouble() != 0) cleared = JsonValue(int64_t{0});
      return cleared;
    default:
      return cleared;
  }
}

Result<void> Clear(CommandContext& context) {
  const Args args = context.args;
  CAIRN_ASSIGN_OR_RETURN(
      const auto target,
      OpenJson(context, args[1], args.size() > 2 ? args[2] : ".", MissingKey::kFails));
  if (target == nullptr) return {};
  std::vector<std::pair<const JsonLocation*, JsonValue>> changes;
  for (const JsonMatch* match : Outermost(target->matches)) {
    CAIRN_ASSIGN_OR_RETURN(std::optional<JsonValue> cleared, Cleared(match->cursor));
    if (cleared) changes.emplace_back(&match->location, *std::move(cleared));
  }
  context.reply.Integer(static_cast<int64_t>(changes.size()));
  for (const auto& [location, value] : changes) {
    CAIRN_RETURN_IF_ERROR(target->document.Set(*location, value));
  }
  if (changes.empty()) return {};
  target->document.Save();
  context.Notify(doors::kEventModule, "json.clear", args[1]);
  return {};
}

}  // namespace

void AddJsonDocumentCommands(doors::Instance& instance) {
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
  };
  constexpr uint32_t kPut = doors::kWrite | doors::kDenyOom;
  const doors::KeySpec update{1, 1, 1, "RW access update"};
  const doors::KeySpec read{1, 1, 1, "RO access"};
  const doors::KeySpec erase{1, 1, 1, "RW delete"};
  const Row kRows[] = {
      {"json.set", -4, kPut, update, "1.0.0", "O(N) for a value of N bytes",
       "Puts a value where a path leads.", "key:key path value [NX | XX]", Set},
      {"json.mset",
       -4,
       kPut,
       {1, -1, 3, "RW access update"},
       "2.6.0",
       "O(N) for values of N bytes",
       "Puts several values, all of them or none.",
       "(key:key path value) ...",
       MSet},
      {"json.merge", 4, kPut, update, "2.6.0", "O(N) for a patch of N bytes",
       "Merges a value into the document: null takes members away.", "key:key path value",
       MergeCommand},
      {"json.get", -2, doors::kReadOnly, read, "1.0.0", "O(N) for N bytes returned",
       "Returns what paths lead to, as text.",
       "key:key [INDENT indent] [NEWLINE newline] [SPACE space] [path ...]", Get},
      {"json.mget",
       -3,
       doors::kReadOnly,
       {1, -2, 1, "RO access"},
       "1.0.0",
       "O(N) for N bytes returned",
       "Returns what one path leads to in several documents.",
       "key:key [key:key ...] path",
       MGet},
      {"json.del", -2, doors::kWrite, erase, "1.0.0", "O(N) for N values taken away",
       "Takes away what a path leads to.", "key:key [path]", Del},
      {"json.forget", -2, doors::kWrite, erase, "1.0.0", "O(N) for N values taken away",
       "Takes away what a path leads to: another name of JSON.DEL.", "key:key [path]", Del},
      {"json.clear", -2, doors::kWrite, update, "2.0.0", "O(N) for N values taken away",
       "Empties arrays and objects, and makes numbers zero.", "key:key [path]", Clear},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .keys = {row.keys},
                                    .group = "json",
                                    .since = row.since,
                                    .complexity = row.complexity,
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .run = WithJsonArguments(row.run)});
  }
}

}  // namespace cairn::data
