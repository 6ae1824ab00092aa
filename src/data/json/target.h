#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "data/json/document.h"
#include "data/json/path.h"
#include "data/json/select.h"
#include "doors/resp/command.h"

// What the JSON commands have in common: a key and a path lead to matches, a command does something
// to each, and tells of all of them for a `$` path, of one for a legacy path.
namespace cairn::data {

inline constexpr std::string_view kNoJsonKey =
    "ERR could not perform this operation on a key that doesn't exist";

struct JsonTarget {
  JsonPath path;
  JsonDocument document;
  std::vector<JsonMatch> matches;  // none if the key does not exist

  bool exists() const { return document.exists(); }
};

enum class MissingKey { kFails, kIsEmpty };

// Null if the reply, an error, is written.
Result<std::unique_ptr<JsonTarget>> OpenJson(doors::CommandContext& context, std::string_view key,
                                             std::string_view path,
                                             MissingKey missing = MissingKey::kIsEmpty);

Result<std::unique_ptr<JsonTarget>> OpenJson(doors::CommandContext& context, std::string_view key,
                                             JsonPath path,
                                             MissingKey missing = MissingKey::kIsEmpty);

// Makes sure of the memory that reading `text` and writing what it says may take. False: there is
// not so much, and the command fails.
bool ReserveForJson(doors::CommandContext& context, std::string_view text);

// "ERR Path '$.a' does not exist", and " or not an array".
std::string NoSuchJsonPath(const JsonPath& path, std::string_view otherwise = {});
std::string WrongJsonType(JsonType expected, JsonType found);

// Whether values nested `depth` deep may stand at the end of a location of `steps`; otherwise the
// reply is written.
bool FitsJsonDepth(doors::CommandContext& context, size_t steps, size_t depth);

// What is told of one match: nothing, a number, a text.
using JsonReply = std::variant<std::monostate, int64_t, std::string>;

// What a command is going to do to one match.
struct JsonEdit {
  JsonReply reply;
  std::function<Result<void>(JsonDocument&)> apply = {};  // none: it stays as it is
};

// Says what to do; nullopt if the match is of the wrong type. An Error of code kInvalid is the
// reply to the client.
using JsonPlanner = FunctionRef<Result<std::optional<JsonEdit>>(const JsonMatch&)>;

// Plans for every match, then does what was planned, saves and tells of `event`. The replies: one
// for each match, or with a legacy path one for the last match of the right type. nullopt if the
// reply, an error, is written; a legacy path without a match of the right type is one, worded
// with `otherwise`.
Result<std::optional<std::vector<JsonReply>>> EditJson(doors::CommandContext& context,
                                                       JsonTarget& target, std::string_view event,
                                                       std::string_view otherwise,
                                                       JsonPlanner plan);

void WriteJsonReply(doors::CommandContext& context, const JsonReply& reply);
// One for a legacy path, an array otherwise.
void WriteJsonReplies(doors::CommandContext& context, const JsonPath& path,
                      const std::vector<JsonReply>& replies);

// The matches from the last place in the document to the first: a change to one leaves the
// locations of those that follow as they are.
std::vector<const JsonMatch*> LastFirst(const std::vector<JsonMatch>& matches);

// `run`, of a command that parses its arguments.
doors::RunHandler WithJsonArguments(doors::RunHandler run);

}  // namespace cairn::data
