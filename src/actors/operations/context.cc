#include "actors/operations/context.h"

#include <fmt/format.h>

#include <charconv>

#include "actors/model/keys.h"
#include "actors/model/refusal.h"

namespace cairn::actors {

Result<ActorId> ParseActorId(std::string_view text) {
  const std::optional<ActorId> id = ActorId::Parse(text);
  if (id) return *id;
  return Refuse(Reason::kBadId, fmt::format("'{}' is not an actor's id: {} digits of base 36",
                                            Printable(text), ActorId::kTextBytes));
}

Result<ActorRef> ParseActorRef(std::string_view text) {
  const size_t at = text.find('@');
  CAIRN_ASSIGN_OR_RETURN(const ActorId id, ParseActorId(text.substr(0, at)));
  if (at == std::string_view::npos) return ActorRef{.id = id};
  const std::string_view digits = text.substr(at + 1);
  uint64_t generation = 0;
  const auto [end, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), generation);
  if (digits.empty() || failure != std::errc() || end != digits.data() + digits.size()) {
    return Refuse(Reason::kBadId, fmt::format("'{}' is not a generation, which is a whole number",
                                              Printable(digits)));
  }
  return ActorRef{.id = id, .generation = generation};
}

bool MayUse(const Context& context, std::string_view name_space, std::string_view name) {
  return context.actors == nullptr ||
         context.actors->Allows(fmt::format("{}/{}", name_space, name));
}

Error NoSuchActor(const ActorId& id) {
  return Refuse(Reason::kNoSuchActor, fmt::format("there is no actor {}", id.ToString()));
}

Result<ActorRecord> LoadRecord(store::Reader& reader, const ActorId& id) {
  const Bytes key = RecordKey(id);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, reader.Get(InActors(key)));
  const std::optional<ActorRecord> record = value ? DecodeRecord(*value) : std::nullopt;
  if (record) return *record;
  return Error{ErrorCode::kCorruption,
               fmt::format("actor {} has no record that can be read", id.ToString())};
}

Result<ActorState> LoadActor(Context& context, const ActorRef& actor) {
  const Bytes key = StateKey(actor.id);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, context.transaction.Get(InActors(key)));
  if (!value) return NoSuchActor(actor.id);
  const std::optional<ActorState> state = DecodeState(*value);
  if (!state) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("the state of actor {} cannot be read", actor.id.ToString())};
  }
  if (context.actors != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(const ActorRecord record, LoadRecord(context.transaction, actor.id));
    if (!MayUse(context, record.name_space, record.name)) return NoSuchActor(actor.id);
  }
  if (actor.generation && *actor.generation != state->generation) {
    return Refuse(
        Reason::kStaleGeneration, {{"generation", fmt::to_string(state->generation)}},
        fmt::format("the actor is in generation {}, not {}", state->generation, *actor.generation));
  }
  return *state;
}

}  // namespace cairn::actors
