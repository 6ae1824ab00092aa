// Which actors there are. Replies are JSON, the same as over HTTP: scripts decode them with cjson.

#include <string>
#include <utility>

#include "actors/operations/actor_json.h"
#include "actors/resp/command_support.h"
#include "doors/resp/answer.h"

namespace cairn::actors {
namespace {

using doors::ArgParser;
using doors::Args;

DirectoryEntry NameOf(Args args) {
  return {std::string(args[1]), std::string(args[2]), std::string(args[3])};
}

Result<CreateRequest> ParseCreate(Args args) {
  CreateRequest request{.name = NameOf(args)};
  ArgParser parser(args, 4);
  if (parser.Keyword("INPUT")) request.input = Bytes(parser.Next());
  if (!parser.Finish()) return Syntax("behind the key comes INPUT with a value, or nothing");
  return request;
}

Result<DirectoryEntry> ParseName(Args args) { return NameOf(args); }

Result<ListActorsRequest> ParseList(Args args) {
  ArgParser parser(args);
  ListActorsRequest request{.name_space = std::string(parser.Next())};
  while (parser.HasNext()) {
    if (parser.Keyword("NAME")) {
      request.name = parser.Next();
    } else if (parser.Keyword("AFTER")) {
      request.after = parser.Next();
    } else if (parser.Keyword("LIMIT")) {
      request.limit = parser.Integer("LIMIT needs a whole number");
    } else {
      parser.Fail("options are NAME, AFTER and LIMIT");
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  return request;
}

// Writes an answer as JSON.
template <typename Answer, std::string (*to_json)(const Answer&)>
void ReplyJson(net::RespWriter& reply, const Result<Answer>& answer) {
  reply.Bulk(to_json(*answer));
}

void ReplyInput(net::RespWriter& reply, const Result<std::optional<Bytes>>& input) {
  if (*input) {
    reply.Bulk(**input);
  } else {
    reply.Null();
  }
}

void ReplyGeneration(net::RespWriter& reply, const Result<uint64_t>& generation) {
  reply.Integer(static_cast<int64_t>(*generation));
}

void ReplyOk(net::RespWriter& reply, const Result<void>& /*done*/) { reply.Ok(); }

}  // namespace

void AddIdentityCommands(const CommandParts& parts) {
  constexpr auto kActorReply = ReplyJson<ActorInfo, ActorJson>;
  AddRow(parts,
         {.name = "actor.create",
          .arity = -4,
          .flags = doors::kWrite | doors::kDenyOom,
          .unaudited = kWorkOfActors,
          .complexity = "O(1)",
          .summary = "Creates an actor; an error if its key is taken.",
          .syntax = "namespace name actor-key [INPUT input]"},
         ParseCreate, operations::kCreate, kActorReply);
  AddRow(parts,
         {.name = "actor.getorcreate",
          .arity = -4,
          .flags = doors::kWrite | doors::kDenyOom,
          .unaudited = kWorkOfActors,
          .complexity = "O(1)",
          .summary = "Tells about the actor with a key, which is created if there is none.",
          .syntax = "namespace name actor-key [INPUT input]"},
         ParseCreate, operations::kGetOrCreate, ReplyJson<MadeActor, MadeActorJson>);
  AddRow(parts,
         {.name = "actor.find",
          .arity = 4,
          .flags = doors::kReadOnly | doors::kFast,
          .complexity = "O(1)",
          .summary = "Tells about the actor with a key.",
          .syntax = "namespace name actor-key"},
         ParseName, operations::kFind, kActorReply);
  AddRow(parts,
         {.name = "actor.info",
          .arity = 2,
          .flags = doors::kReadOnly | doors::kFast,
          .complexity = "O(1)",
          .summary = "Tells about an actor.",
          .syntax = "actor"},
         ParseActor, operations::kLook, kActorReply);
  AddRow(parts,
         {.name = "actor.input",
          .arity = 2,
          .flags = doors::kReadOnly,
          .complexity = "O(N) with N being the size of the input",
          .summary = "Returns what an actor was given when it was created.",
          .syntax = "actor"},
         ParseActor, operations::kInput, ReplyInput);
  AddRow(parts,
         {.name = "actor.list",
          .arity = -2,
          .flags = doors::kReadOnly,
          .long_running = true,
          .complexity = "O(N) with N being the number of actors listed",
          .summary = "Lists the actors of a namespace by name and key.",
          .syntax = "namespace [NAME name] [AFTER cursor] [LIMIT count:integer]"},
         ParseList, operations::kListActors, ReplyJson<ActorsPage, ActorsJson>);
  AddRow(parts,
         {.name = "actor.start",
          .arity = 2,
          .flags = doors::kWrite | doors::kDenyOom | doors::kFast,
          .unaudited = kWorkOfActors,
          .complexity = "O(1)",
          .summary = "Begins an actor's next generation, which fences off those before.",
          .syntax = "actor"},
         ParseActor, operations::kStart, ReplyGeneration);
  AddRow(parts,
         {.name = "actor.destroy",
          .arity = 2,
          .flags = doors::kWrite,
          .complexity = "O(N) with N being the number of rows removed at once",
          .summary = "Destroys an actor with all its data.",
          .syntax = "actor"},
         ParseActor, operations::kDestroy, ReplyOk);
  doors::Command limits{
      .name = "actor.limits",
      .arity = 1,
      .flags = doors::kReadOnly | doors::kFast,
      .scopes = doors::ScopeRule::kNothing,
      .group = "actors",
      .since = "0.1.0",
      .complexity = "O(1)",
      .summary = "Tells the limits of actors.",
      .run = doors::Answering([&policy = parts.policy](doors::AnswerContext& answer) {
        answer.reply.Bulk(LimitsJson(policy));
      })};
  parts.instance.commands().Add(std::move(limits));
}

}  // namespace cairn::actors
