#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/json/commands.h"
#include "data/json/document.h"
#include "data/json/encoding.h"
#include "data/json/scalar.h"
#include "data/json/target.h"
#include "data/json/text.h"
#include "data/value/limits.h"
#include "doors/resp/command.h"
#include "doors/resp/connection_commands.h"

// The commands for values of one type, but for arrays, and those that tell about values.
namespace cairn::data {
namespace {

using doors::Args;
using doors::Command;
using doors::CommandContext;

std::string_view PathOrRoot(Args args) { return args.size() > 2 ? args[2] : "."; }

// --- Numbers -------------------------------------------------------------------------------------

enum class Operation { kAdd, kMultiply };

// Exact as long as the result is a 64-bit integer, a double otherwise.
JsonValue Calculate(const JsonValue& a, const JsonValue& b, Operation operation) {
  if (a.integer() != nullptr && b.integer() != nullptr) {
    int64_t result = 0;
    const bool overflow = operation == Operation::kAdd
                              ? __builtin_add_overflow(*a.integer(), *b.integer(), &result)
                              : __builtin_mul_overflow(*a.integer(), *b.integer(), &result);
    if (!overflow) return JsonValue(result);
  }
  return JsonValue(operation == Operation::kAdd ? a.AsDouble() + b.AsDouble()
                                                : a.AsDouble() * b.AsDouble());
}

// A value that has no others, as a reply of the protocol.
void ReplyScalar(CommandContext& context, const JsonValue& value) {
  auto& reply = context.reply;
  if (value.boolean() != nullptr) {
    reply.Simple(*value.boolean() ? "true" : "false");
  } else if (value.integer() != nullptr) {
    reply.Integer(*value.integer());
  } else if (value.string() != nullptr) {
    reply.Bulk(*value.string());
  } else if (value.IsNumber() && reply.resp3()) {
    reply.Double(value.AsDouble());
  } else if (value.IsNumber()) {
    reply.Bulk(PrintJson(value));
  } else {
    reply.Null();
  }
}

// What a number has become that could be changed in place; nullopt if nothing was done.
Result<std::optional<std::string>> ChangeInPlace(CommandContext& context, const JsonPath& path,
                                                 const JsonValue& operand, Operation operation) {
  const std::optional<std::string> nothing;
  CAIRN_ASSIGN_OR_RETURN(std::optional<JsonScalar> number,
                         JsonScalar::Find(context, context.args[1], path));
  if (!number || !number->value().IsNumber()) return nothing;
  const JsonValue result = Calculate(number->value(), operand, operation);
  if (!std::isfinite(result.AsDouble()) || !number->Replace(context, result)) return nothing;
  return std::optional(PrintJson(result));
}

// The numbers, each as its JSON text: in RESP2 as one text, in RESP3 as an array of numbers.
Result<void> ReplyNumbers(CommandContext& context, const JsonPath& path,
                          const std::vector<JsonReply>& numbers) {
  if (!context.reply.resp3()) {
    std::string text = path.legacy ? "" : "[";
    for (const JsonReply& reply : numbers) {
      if (text.size() > 1) text += ',';
      const auto* number = std::get_if<std::string>(&reply);
      text += number != nullptr ? *number : "null";
    }
    if (!path.legacy) text += ']';
    context.reply.Bulk(text);
    return {};
  }
  context.reply.ArrayHeader(numbers.size());
  for (const JsonReply& reply : numbers) {
    const auto* text = std::get_if<std::string>(&reply);
    if (text == nullptr) {
      context.reply.Null();
      continue;
    }
    CAIRN_ASSIGN_OR_RETURN(const JsonValue number, ParseJson(*text));
    ReplyScalar(context, number);
  }
  return {};
}

Result<void> ChangeNumbers(CommandContext& context, Operation operation, std::string_view event) {
  const Args args = context.args;
  const Result<JsonValue> operand = ParseJson(args[3]);
  if (!operand.ok()) return context.Fail(operand.error().message);
  if (!operand->IsNumber()) return context.Fail(WrongJsonType(JsonType::kNumber, operand->type()));
  Result<JsonPath> path = ParseJsonPath(args[2]);
  if (!path.ok()) return context.Fail(path.error().message);
  // RESP3 has one shape, whichever the path.
  if (context.reply.resp3()) path->legacy = false;
  CAIRN_ASSIGN_OR_RETURN(const auto changed, ChangeInPlace(context, *path, *operand, operation));
  if (changed) {
    context.Notify(doors::kEventModule, event, args[1]);
    return ReplyNumbers(context, *path, {*changed});
  }
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, args[1], *std::move(path), MissingKey::kFails));
  if (target == nullptr) return {};
  const auto plan = [&](const JsonMatch& match) -> Result<std::optional<JsonEdit>> {
    if (!match.cursor.scalar().IsNumber()) return std::optional<JsonEdit>();
    JsonValue result = Calculate(match.cursor.scalar(), *operand, operation);
    if (!std::isfinite(result.AsDouble())) {
      return Error{ErrorCode::kInvalid, "ERR result is not a number"};
    }
    std::string text = PrintJson(result);
    return std::optional(
        JsonEdit{std::move(text), [&match, result = std::move(result)](JsonDocument& document) {
                   return document.Set(match.location, result);
                 }});
  };
  CAIRN_ASSIGN_OR_RETURN(const auto replies,
                         EditJson(context, *target, event, "does not contains a number", plan));
  if (!replies) return {};
  return ReplyNumbers(context, target->path, *replies);
}

Result<void> NumIncrBy(CommandContext& context) {
  return ChangeNumbers(context, Operation::kAdd, "json.numincrby");
}
Result<void> NumMultBy(CommandContext& context) {
  return ChangeNumbers(context, Operation::kMultiply, "json.nummultby");
}

// --- Strings and booleans ------------------------------------------------------------------------

Result<void> StrAppend(CommandContext& context) {
  const Args args = context.args;
  const Result<JsonValue> suffix = ParseJson(args.back());
  if (!suffix.ok()) return context.Fail(suffix.error().message);
  if (suffix->string() == nullptr) {
    return context.Fail(WrongJsonType(JsonType::kString, suffix->type()));
  }
  CAIRN_ASSIGN_OR_RETURN(
      const auto target,
      OpenJson(context, args[1], args.size() > 3 ? args[2] : ".", MissingKey::kFails));
  if (target == nullptr) return {};
  const auto plan = [&](const JsonMatch& match) -> Result<std::optional<JsonEdit>> {
    const std::string* old = match.cursor.scalar().string();
    if (old == nullptr) return std::optional<JsonEdit>();
    if (old->size() + suffix->string()->size() > kMaxStringBytes) {
      return Error{ErrorCode::kInvalid, "ERR the string would be too long"};
    }
    const auto size = static_cast<int64_t>(old->size() + suffix->string()->size());
    return std::optional(JsonEdit{size, [&match, &suffix, old](JsonDocument& document) {
                                    return document.Set(match.location,
                                                        JsonValue(*old + *suffix->string()));
                                  }});
  };
  CAIRN_ASSIGN_OR_RETURN(const auto replies,
                         EditJson(context, *target, "json.strappend", "not a string", plan));
  if (replies) WriteJsonReplies(context, target->path, *replies);
  return {};
}

Result<void> Toggle(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto target, OpenJson(context, context.args[1],
                                                     PathOrRoot(context.args), MissingKey::kFails));
  if (target == nullptr) return {};
  const bool legacy = target->path.legacy;
  const auto plan = [&](const JsonMatch& match) -> Result<std::optional<JsonEdit>> {
    const bool* old = match.cursor.scalar().boolean();
    if (old == nullptr) return std::optional<JsonEdit>();
    const bool next = !*old;
    JsonReply reply = int64_t{next ? 1 : 0};
    if (legacy) reply = std::string(next ? "true" : "false");
    return std::optional(JsonEdit{std::move(reply), [&match, next](JsonDocument& document) {
                                    return document.Set(match.location, JsonValue(next));
                                  }});
  };
  CAIRN_ASSIGN_OR_RETURN(const auto replies,
                         EditJson(context, *target, "json.toggle", "not a bool", plan));
  if (replies) WriteJsonReplies(context, target->path, *replies);
  return {};
}

// A legacy path has one match of the type, or the reply is an error, which is written.
bool FirstIs(CommandContext& context, const JsonTarget& target, JsonType type) {
  if (!target.path.legacy) return true;
  if (target.matches.empty()) {
    static_cast<void>(context.Fail(NoSuchJsonPath(target.path)));
    return false;
  }
  if (target.matches[0].cursor.type() == type) return true;
  static_cast<void>(context.Fail(WrongJsonType(type, target.matches[0].cursor.type())));
  return false;
}

// What is told of a missing key: nothing to a legacy path, an error to others.
Result<void> ReplyMissing(CommandContext& context, const JsonPath& path, std::string_view error) {
  if (!path.legacy) return context.Fail(error);
  context.reply.Null();
  return {};
}

Result<void> StrLen(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, context.args[1], PathOrRoot(context.args)));
  if (target == nullptr) return {};
  if (!target->exists()) return ReplyMissing(context, target->path, kNoJsonKey);
  if (!FirstIs(context, *target, JsonType::kString)) return {};
  std::vector<JsonReply> replies;
  for (const JsonMatch& match : target->matches) {
    const std::string* text = match.cursor.scalar().string();
    replies.push_back(text != nullptr ? JsonReply(static_cast<int64_t>(text->size()))
                                      : JsonReply());
    if (target->path.legacy) break;
  }
  WriteJsonReplies(context, target->path, replies);
  return {};
}

// --- Objects -------------------------------------------------------------------------------------

Result<void> ObjLen(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, context.args[1], PathOrRoot(context.args)));
  if (target == nullptr) return {};
  const JsonPath& path = target->path;
  if (!target->exists()) {
    return ReplyMissing(context, path, NoSuchJsonPath(path, "not an object"));
  }
  if (path.legacy && target->matches.empty()) {
    context.reply.Null();
    return {};
  }
  if (!FirstIs(context, *target, JsonType::kObject)) return {};
  std::vector<JsonReply> replies;
  for (const JsonMatch& match : target->matches) {
    JsonReply reply;
    if (match.cursor.type() == JsonType::kObject) {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t count, match.cursor.Count());
      reply = static_cast<int64_t>(count);
    }
    replies.push_back(std::move(reply));
    if (path.legacy) break;
  }
  WriteJsonReplies(context, path, replies);
  return {};
}

Result<void> ReplyNames(CommandContext& context, const JsonCursor& object) {
  if (object.type() != JsonType::kObject) {
    context.reply.Null();
    return {};
  }
  CAIRN_ASSIGN_OR_RETURN(const auto members, object.Children());
  context.reply.ArrayHeader(members.size());
  for (const auto& [name, value] : members) context.reply.Bulk(std::get<std::string>(name));
  return {};
}

Result<void> ObjKeys(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, context.args[1], PathOrRoot(context.args)));
  if (target == nullptr) return {};
  if (!target->exists()) return ReplyMissing(context, target->path, kNoJsonKey);
  if (target->path.legacy) {
    if (target->matches.empty()) {
      context.reply.Null();
      return {};
    }
    if (!FirstIs(context, *target, JsonType::kObject)) return {};
    return ReplyNames(context, target->matches[0].cursor);
  }
  context.reply.ArrayHeader(target->matches.size());
  for (const JsonMatch& match : target->matches) {
    CAIRN_RETURN_IF_ERROR(ReplyNames(context, match.cursor));
  }
  return {};
}

// --- Telling -------------------------------------------------------------------------------------

Result<void> Type(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, context.args[1], PathOrRoot(context.args)));
  if (target == nullptr) return {};
  const bool legacy = target->path.legacy;
  // RESP3 has the same in an array of its own.
  if (context.reply.resp3()) context.reply.ArrayHeader(1);
  if (!target->exists() || (legacy && target->matches.empty())) {
    context.reply.Null();
    return {};
  }
  if (!legacy) context.reply.ArrayHeader(target->matches.size());
  for (const JsonMatch& match : target->matches) {
    context.reply.Bulk(JsonTypeName(match.cursor.type()));
    if (legacy) break;
  }
  return {};
}

void ReplyAsResp(CommandContext& context, const JsonValue& value) {
  auto& reply = context.reply;
  if (value.array() != nullptr) {
    reply.ArrayHeader(1 + value.array()->size());
    reply.Simple("[");
    for (const JsonValue& element : *value.array()) ReplyAsResp(context, element);
  } else if (value.object() != nullptr) {
    reply.ArrayHeader(1 + 2 * value.object()->size());
    reply.Simple("{");
    for (const JsonMember& member : *value.object()) {
      reply.Bulk(member.name);
      ReplyAsResp(context, member.value);
    }
  } else {
    ReplyScalar(context, value);
  }
}

Result<void> Resp(CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, context.args[1], PathOrRoot(context.args)));
  if (target == nullptr) return {};
  if (!target->exists()) {
    context.reply.Null();
    return {};
  }
  const bool legacy = target->path.legacy;
  if (legacy && target->matches.empty()) return context.Fail(NoSuchJsonPath(target->path));
  JsonLoader loader;
  if (!legacy) context.reply.ArrayHeader(target->matches.size());
  for (const JsonMatch& match : target->matches) {
    CAIRN_ASSIGN_OR_RETURN(const JsonValue value, loader.Load(match.cursor));
    ReplyAsResp(context, value);
    if (legacy) break;
  }
  return {};
}

Result<void> DebugMemory(CommandContext& context) {
  const Args args = context.args;
  CAIRN_ASSIGN_OR_RETURN(const auto target,
                         OpenJson(context, args[2], args.size() > 3 ? args[3] : "."));
  if (target == nullptr) return {};
  const bool legacy = target->path.legacy;
  std::vector<JsonReply> replies;
  for (const JsonMatch& match : target->matches) {
    CAIRN_ASSIGN_OR_RETURN(const JsonValue value, match.cursor.Load());
    replies.emplace_back(
        static_cast<int64_t>(EncodedJsonSize(value, std::numeric_limits<size_t>::max())));
    if (legacy) break;
  }
  if (legacy && replies.empty()) {
    if (target->exists()) return context.Fail(NoSuchJsonPath(target->path));
    replies.emplace_back(int64_t{0});
  }
  WriteJsonReplies(context, target->path, replies);
  return {};
}

}  // namespace

void AddJsonValueCommands(doors::Instance& instance) {
  struct Row {
    std::string_view name;
    int arity;
    uint32_t flags;
    std::vector<doors::KeySpec> keys;
    std::string_view complexity;
    std::string_view summary;
    std::string_view syntax;
    doors::RunHandler run;
  };
  constexpr uint32_t kPut = doors::kWrite | doors::kDenyOom;
  const std::vector<doors::KeySpec> update{{1, 1, 1, "RW access update"}};
  const std::vector<doors::KeySpec> read{{1, 1, 1, "RO access"}};
  const Row kRows[] = {
      {"json.numincrby", 4, kPut, update, "O(1) per number", "Adds to numbers.",
       "key:key path value:double", NumIncrBy},
      {"json.nummultby", 4, kPut, update, "O(1) per number", "Multiplies numbers.",
       "key:key path value:double", NumMultBy},
      {"json.strappend", -3, kPut, update, "O(N) for strings of N bytes in the end",
       "Adds to the end of strings.", "key:key [path] value", StrAppend},
      {"json.strlen", -2, doors::kReadOnly, read, "O(1) per string",
       "Tells how many bytes strings have.", "key:key [path]", StrLen},
      {"json.toggle", -2, kPut, update, "O(1) per boolean", "Turns booleans into their opposite.",
       "key:key path", Toggle},
      {"json.objkeys", -2, doors::kReadOnly, read, "O(N) for N members",
       "Lists the names of the members of objects.", "key:key [path]", ObjKeys},
      {"json.objlen", -2, doors::kReadOnly, read, "O(1) per object",
       "Tells how many members objects have.", "key:key [path]", ObjLen},
      {"json.type", -2, doors::kReadOnly, read, "O(1) per value", "Tells the types of values.",
       "key:key [path]", Type},
      {"json.resp", -2, doors::kReadOnly, read, "O(N) for N values",
       "Returns values as replies of the protocol.", "key:key [path]", Resp},
      {"json.debug", -2, 0, {}, "", "Commands that tell about the store.", "", {}},
      {"json.debug|memory",
       -3,
       doors::kReadOnly,
       {{2, 2, 1, "RO access"}},
       "O(N) for N values",
       "Tells how many bytes values take in the store.",
       "key:key [path]",
       DebugMemory},
  };
  for (const Row& row : kRows) {
    instance.commands().Add(Command{.name = row.name,
                                    .arity = row.arity,
                                    .flags = row.flags,
                                    .keys = row.keys,
                                    .group = "json",
                                    .since = "1.0.0",
                                    .complexity = row.complexity,
                                    .summary = row.summary,
                                    .syntax = row.syntax,
                                    .run = WithJsonArguments(row.run)});
  }
  instance.commands().Add(doors::HelpRow("json.debug|help", 0, "json", "1.0.0"));
}

}  // namespace cairn::data
