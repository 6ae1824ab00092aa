#pragma once

#include "actors/operations/batch.h"
#include "actors/operations/entry_operations.h"
#include "actors/operations/identity.h"
#include "base/result.h"
#include "store/scopes.h"

// The operations as the rows of both doors name them. A row parses its own kind of request, RESP
// arguments or HTTP, and writes its own kind of answer; what is locked and what is done in between
// is the same and stands here.
//
//   arguments ─┐            ┌─ scopes(request, scopes)           ┌─ RESP reply
//              ├─ request ──┤                          ─ answer ─┤
//   path, body ┘            └─ run(context, request)             └─ JSON
namespace cairn::actors {

// `Answer` void: there is nothing to tell but that it is done.
template <typename Request, typename Answer>
struct Operation {
  void (*scopes)(const Request&, store::Scopes&);
  // May run more than once with the same request.
  Result<Answer> (*run)(Context&, const Request&);
};

// The scopes of whatever names one actor by its id.
inline void ScopesOfActor(const auto& request, store::Scopes& scopes) {
  AddRefScopes(request.actor, scopes);
}

namespace operations {

inline constexpr Operation<CreateRequest, ActorInfo> kCreate{AddCreateScopes, Create};
inline constexpr Operation<CreateRequest, MadeActor> kGetOrCreate{AddCreateScopes, GetOrCreate};
inline constexpr Operation<DirectoryEntry, ActorInfo> kFind{AddFindScopes, Find};
inline constexpr Operation<ActorRef, ActorInfo> kLook{AddRefScopes, Look};
inline constexpr Operation<ActorRef, std::optional<Bytes>> kInput{AddRefScopes, Input};
inline constexpr Operation<ActorRef, uint64_t> kStart{AddRefScopes, Start};
inline constexpr Operation<ActorRef, void> kDestroy{AddRefScopes, Destroy};
inline constexpr Operation<ListActorsRequest, ActorsPage> kListActors{
    [](const ListActorsRequest& /*request*/, store::Scopes& scopes) {
      scopes.AddAll(store::Scopes::Exclusive());
    },
    ListActors};

inline constexpr Operation<KeysRequest, std::vector<std::optional<Entry>>> kGet{ScopesOfActor,
                                                                                GetEntries};
inline constexpr Operation<ListRequest, EntryPage> kList{ScopesOfActor, ListEntries};
inline constexpr Operation<PutRequest, BatchAnswer> kPut{ScopesOfActor, PutEntries};
inline constexpr Operation<KeysRequest, BatchAnswer> kDelete{ScopesOfActor, DeleteEntries};
inline constexpr Operation<RangeRequest, BatchAnswer> kDeleteRange{ScopesOfActor, DeleteEntryRange};
inline constexpr Operation<ActorRef, BatchAnswer> kDrop{AddRefScopes, DropEntries};
inline constexpr Operation<BatchRequest, BatchAnswer> kBatch{ScopesOfActor, Apply};

}  // namespace operations
}  // namespace cairn::actors
