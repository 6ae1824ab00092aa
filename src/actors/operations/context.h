#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "actors/model/actor_id.h"
#include "actors/model/limits.h"
#include "actors/model/records.h"
#include "base/random.h"
#include "base/result.h"
#include "doors/access/grants.h"
#include "doors/turn/held_scopes.h"
#include "store/transaction.h"

// What an operation on actors runs in, and what nearly all of them begin with.
namespace cairn::actors {

// What grants call actors; a name is NAMESPACE/NAME, whatever their keys are.
inline constexpr std::string_view kActorKind = "actor";

// What holds for all actors of a server. Outlives its use.
struct Policy {
  Random& random;
  uint64_t quota_bytes = kDefaultQuotaBytes;
};

struct Context {
  store::Transaction& transaction;
  doors::HeldScopes& held;
  const Policy& policy;
  // The actors that the caller may use; null: all. One of another name is refused as if it did not
  // exist: any other refusal would reveal that it does.
  const doors::NamePatterns* actors = nullptr;
};

// An actor as a request names it. With a generation, only while that is the actor's: an instance
// that another has replaced can neither read nor write.
//
//   0dvi4b2cq1bsv8…@3
struct ActorRef {
  ActorId id;
  std::optional<uint64_t> generation = {};

  friend bool operator==(const ActorRef&, const ActorRef&) = default;
};
Result<ActorRef> ParseActorRef(std::string_view text);
Result<ActorId> ParseActorId(std::string_view text);

bool MayUse(const Context& context, std::string_view name_space, std::string_view name);
Error NoSuchActor(const ActorId& id);

// The state of an actor that is there, may be used, and has the generation.
Result<ActorState> LoadActor(Context& context, const ActorRef& actor);
// The record of an actor whose state is there.
Result<ActorRecord> LoadRecord(store::Reader& reader, const ActorId& id);

}  // namespace cairn::actors
