#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/model/actor_id.h"
#include "actors/model/keys.h"
#include "actors/model/records.h"
#include "actors/operations/context.h"
#include "base/bytes.h"
#include "base/result.h"
#include "store/scopes.h"
#include "store/timers.h"

// Which actors there are. Namespace, name and key together name at most one of them; its id names
// it for ever, also when another has taken its key after it was destroyed.
namespace cairn::actors {

struct ActorInfo {
  ActorId id;
  ActorRecord record;
  ActorState state;
};

// --- Made and found by key -----------------------------------------------------------------------

struct CreateRequest {
  DirectoryEntry name;
  std::optional<Bytes> input = {};
};
struct MadeActor {
  ActorInfo actor;
  bool created = false;
};
void AddCreateScopes(const CreateRequest& request, store::Scopes& scopes);
// kDuplicateKey, which names the other one, if the key is taken.
Result<ActorInfo> Create(Context& context, const CreateRequest& request);
// The input counts only if it is created.
Result<MadeActor> GetOrCreate(Context& context, const CreateRequest& request);

void AddFindScopes(const DirectoryEntry& name, store::Scopes& scopes);
Result<ActorInfo> Find(Context& context, const DirectoryEntry& name);

// --- By id ---------------------------------------------------------------------------------------

void AddRefScopes(const ActorRef& actor, store::Scopes& scopes);
Result<ActorInfo> Look(Context& context, const ActorRef& actor);
// nullopt: it was created without one.
Result<std::optional<Bytes>> Input(Context& context, const ActorRef& actor);

// An instance of the actor begins: the answer is its generation, larger than all before.
Result<uint64_t> Start(Context& context, const ActorRef& actor);

// From now on the actor is not there and its key is free. What it has kept is removed at once, or
// by timers if that is much.
Result<void> Destroy(Context& context, const ActorRef& actor);

// --- Lists ---------------------------------------------------------------------------------------

struct ListActorsRequest {
  std::string name_space;
  std::string name = {};   // empty: of all names
  std::string after = {};  // a page goes on behind this cursor
  int64_t limit = kDefaultActorsPage;
};
struct ActorsPage {
  std::vector<ActorInfo> actors;  // in the order of names and keys
  std::string next;               // the cursor of the next page; empty: this is the last
};
// Reads rows of many actors: under all scopes.
Result<ActorsPage> ListActors(Context& context, const ListActorsRequest& request);

// --- What destroyed actors leave -----------------------------------------------------------------

class PurgeTimers final : public store::TimerHandler {
 public:
  void AddScopes(const store::Timer& timer, store::Scopes& scopes) const override;
  Result<void> Fire(store::Transaction& transaction, const store::Timer& timer) override;
};

}  // namespace cairn::actors
