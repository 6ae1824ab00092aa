#include "data/json/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "data/value/limits.h"
#include "doors/resp/loop_work.h"

namespace cairn::data {

using doors::CommandContext;

namespace {

Result<std::unique_ptr<JsonTarget>> FailToOpen(CommandContext& context, std::string_view text) {
  CAIRN_RETURN_IF_ERROR(context.Fail(text));
  return std::unique_ptr<JsonTarget>();
}

}  // namespace

Result<std::unique_ptr<JsonTarget>> OpenJson(CommandContext& context, std::string_view key,
                                             std::string_view path, MissingKey missing) {
  Result<JsonPath> parsed = ParseJsonPath(path);
  if (!parsed.ok()) return FailToOpen(context, parsed.error().message);
  return OpenJson(context, key, *std::move(parsed), missing);
}

Result<std::unique_ptr<JsonTarget>> OpenJson(CommandContext& context, std::string_view key,
                                             JsonPath path, MissingKey missing) {
  CAIRN_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::Load(context, key));
  if (document.wrong_type()) return FailToOpen(context, kWrongType);
  if (!document.exists() && missing == MissingKey::kFails) return FailToOpen(context, kNoJsonKey);
  auto target = std::make_unique<JsonTarget>(std::move(path), std::move(document));
  if (target->exists()) {
    CAIRN_ASSIGN_OR_RETURN(target->matches, SelectJson(target->path, target->document.root()));
  }
  return target;
}

// In a text of numbers each takes a few bytes; read, it is a JsonValue in an array that grows, a
// copy of it, and a row of its own in the transaction.
bool ReserveForJson(doors::CommandContext& context, std::string_view text) {
  constexpr size_t kBytesPerValue = 400;
  // What is small costs too little to be counted.
  constexpr size_t kSmallText = 64 * 1024;
  if (text.size() < kSmallText) return true;
  const auto values = static_cast<size_t>(std::ranges::count(text, ',')) + 1;
  return context.reply.Reserve(2 * text.size() + kBytesPerValue * values);
}

std::string NoSuchJsonPath(const JsonPath& path, std::string_view otherwise) {
  std::string text = fmt::format("ERR Path '{}' does not exist", path.text);
  if (!otherwise.empty()) text += fmt::format(" or {}", otherwise);
  return text;
}

std::string WrongJsonType(JsonType expected, JsonType found) {
  return fmt::format("WRONGTYPE wrong type of path value - expected {} but found {}",
                     JsonTypeName(expected), JsonTypeName(found));
}

bool FitsJsonDepth(CommandContext& context, size_t steps, size_t depth) {
  if (steps + depth <= kMaxJsonDepth) return true;
  static_cast<void>(context.Fail("ERR the document would be nested too deeply"));
  return false;
}

std::vector<const JsonMatch*> LastFirst(const std::vector<JsonMatch>& matches) {
  std::vector<const JsonMatch*> order;
  order.reserve(matches.size());
  for (const JsonMatch& match : matches) order.push_back(&match);
  std::ranges::stable_sort(
      order, [](const JsonMatch* a, const JsonMatch* b) { return a->location > b->location; });
  return order;
}

Result<std::optional<std::vector<JsonReply>>> EditJson(CommandContext& context, JsonTarget& target,
                                                       std::string_view event,
                                                       std::string_view otherwise,
                                                       JsonPlanner plan) {
  const auto fail = [&](std::string_view text) -> Result<std::optional<std::vector<JsonReply>>> {
    CAIRN_RETURN_IF_ERROR(context.Fail(text));
    return std::optional<std::vector<JsonReply>>();
  };
  std::vector<JsonReply> replies;
  // A place that the path names twice is changed once. Later places come first, see LastFirst.
  std::map<JsonLocation, std::function<Result<void>(JsonDocument&)>, std::greater<>> changes;
  for (const JsonMatch& match : target.matches) {
    Result<std::optional<JsonEdit>> edit = plan(match);
    if (!edit.ok() && edit.error().code == ErrorCode::kInvalid) return fail(edit.error().message);
    if (!edit.ok()) return edit.error();
    const bool planned = edit->has_value();
    if (planned && (*edit)->apply) changes.emplace(match.location, (*edit)->apply);
    if (!target.path.legacy || planned) {
      replies.push_back(planned ? std::move((*edit)->reply) : JsonReply());
    }
  }
  if (target.path.legacy) {
    if (replies.empty()) return fail(NoSuchJsonPath(target.path, otherwise));
    replies.erase(replies.begin(), replies.end() - 1);
  }
  for (const auto& [location, apply] : changes) CAIRN_RETURN_IF_ERROR(apply(target.document));
  if (!changes.empty()) {
    target.document.Save();
    context.Notify(doors::kEventModule, event, context.args[1]);
  }
  return std::optional(std::move(replies));
}

void WriteJsonReply(CommandContext& context, const JsonReply& reply) {
  if (const auto* number = std::get_if<int64_t>(&reply)) {
    context.reply.Integer(*number);
  } else if (const auto* text = std::get_if<std::string>(&reply)) {
    context.reply.Bulk(*text);
  } else {
    context.reply.Null();
  }
}

void WriteJsonReplies(CommandContext& context, const JsonPath& path,
                      const std::vector<JsonReply>& replies) {
  if (!path.legacy) context.reply.ArrayHeader(replies.size());
  for (const JsonReply& reply : replies) WriteJsonReply(context, reply);
}

doors::RunHandler WithJsonArguments(doors::RunHandler run) {
  constexpr uint64_t kNsPerByte = 100;  // to parse it and to take it apart
  return doors::WithLongArguments(std::move(run), kNsPerByte);
}

}  // namespace cairn::data
