#pragma once

#include <string>

#include "actors/operations/identity.h"

// Actors as clients of both doors see them.
namespace cairn::actors {

// {"actor_id","namespace","name","key":["a"],"created_at_ms","generation","revision","entries",
//  "bytes"}
void AppendActor(const ActorInfo& actor, std::string& out);
std::string ActorJson(const ActorInfo& actor);
// {"actor":{…},"created":true}
std::string MadeActorJson(const MadeActor& made);
// {"actors":[…],"next":"NAME/KEY"}; next is null on the last page
std::string ActorsJson(const ActorsPage& page);

}  // namespace cairn::actors
