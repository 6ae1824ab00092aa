#include "actors/operations/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/model/actor_key.h"
#include "actors/model/limits.h"
#include "actors/model/refusal.h"
#include "base/bytes.h"

namespace cairn::actors {
namespace {

using store::Space;

Result<void> CheckAddress(Context& context, const DirectoryEntry& name) {
  CAIRN_RETURN_IF_ERROR(CheckName("a namespace", name.name_space));
  CAIRN_RETURN_IF_ERROR(CheckName("the name of an actor", name.name));
  CAIRN_RETURN_IF_ERROR(CheckActorKey(name.key));
  if (MayUse(context, name.name_space, name.name)) return {};
  return Refuse(Reason::kForbidden,
                fmt::format("the key may not use actors {}/{}", name.name_space, name.name));
}

// The id under which the directory has the name; nullopt if it has none.
Result<std::optional<ActorId>> FindId(store::Reader& reader, const DirectoryEntry& name) {
  const Bytes key = DirectoryKey(name.name_space, name.name, name.key);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, reader.Get(InActors(key)));
  if (!value) return std::optional<ActorId>();
  const std::optional<ActorId> id = ActorId::FromBytes(*value);
  if (id) return id;
  return Error{ErrorCode::kCorruption, fmt::format("the directory has no id for {}/{}/{}",
                                                   name.name_space, name.name, name.key)};
}

// Of an actor whose name is locked. Its other rows are locked by its id, which only the name has
// told.
Result<ActorInfo> LoadNamed(Context& context, const ActorId& id) {
  store::Scopes scopes;
  AddActorScope(id, scopes);
  CAIRN_RETURN_IF_ERROR(context.held.Require(scopes));
  return Look(context, {.id = id});
}

ActorInfo Make(Context& context, const CreateRequest& request) {
  const DirectoryEntry& name = request.name;
  store::Transaction& transaction = context.transaction;
  ActorInfo actor{.id = ActorId::New(context.policy.random),
                  .record = {name.name_space, name.name, name.key, transaction.now().millis()},
                  .state = {}};
  transaction.Put(InActors(DirectoryKey(name.name_space, name.name, name.key)), actor.id.view());
  transaction.Put(InActors(RecordKey(actor.id)), EncodeRecord(actor.record));
  transaction.Put(InActors(StateKey(actor.id)), EncodeState(actor.state));
  if (request.input) transaction.Put(InActors(InputKey(actor.id)), *request.input);
  transaction.Add(InActors(ActorCountKey()), 1);
  return actor;
}

Result<void> CheckCreate(Context& context, const CreateRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckAddress(context, request.name));
  const size_t size = request.input ? request.input->size() : 0;
  if (size <= kMaxInputBytes) return {};
  return Refuse(
      Reason::kPayloadTooLarge,
      TooLarge{
          .subject = "an actor's input", .unit = "bytes", .size = size, .limit = kMaxInputBytes});
}

// --- Removing ------------------------------------------------------------------------------------

// Deletes up to `most` rows of what is left of an actor; returns how many it found.
Result<size_t> RemoveRows(store::Transaction& transaction, const ActorId& id, size_t most) {
  std::vector<Bytes> rows;
  for (const Bytes& prefix : {EntriesPrefix(id), TokenPrefix(id), TokenAgePrefix(id)}) {
    if (rows.size() >= most) break;
    CAIRN_RETURN_IF_ERROR(transaction.Scan(store::Range::Prefix(Space::kActors, prefix),
                                           {.limit = most - rows.size()},
                                           [&](BytesView key, BytesView /*value*/) {
                                             rows.emplace_back(key);
                                             return true;
                                           }));
  }
  for (const Bytes& row : rows) transaction.Delete(InActors(row));
  return rows.size();
}

void PurgeLater(store::Transaction& transaction, const ActorId& id) {
  const Timestamp due = Timestamp::FromMillis(transaction.now().millis());
  Bytes value;
  AppendBig64(value, static_cast<uint64_t>(due.millis()));
  transaction.Put(InActors(PurgeKey(id)), value);
  transaction.SetTimer(due, kTimerPurge, id.view(), {});
}

// --- Pages ---------------------------------------------------------------------------------------

// A cursor is NAME/KEY of the last actor shown; a name has no slash.
Bytes BeginOfPage(const ListActorsRequest& request) {
  if (request.after.empty()) {
    return request.name.empty() ? NamespacePrefix(request.name_space)
                                : NamePrefix(request.name_space, request.name);
  }
  const size_t slash = request.after.find('/');
  // Behind the row: no key of another row begins with this one.
  return DirectoryKey(request.name_space, request.after.substr(0, slash),
                      request.after.substr(slash + 1)) +
         '\xFF';
}

struct FoundActor {
  DirectoryEntry name;
  ActorId id;
};

class PageScan {
 public:
  PageScan(Context& context, const ListActorsRequest& request)
      : context_(context), request_(request), most_(static_cast<size_t>(request.limit) + 1) {}

  // One more than the page has room for, if there are so many.
  Result<std::vector<FoundActor>> Run() {
    store::Range range{
        Space::kActors, BeginOfPage(request_),
        PrefixSuccessor(request_.name.empty() ? NamespacePrefix(request_.name_space)
                                              : NamePrefix(request_.name_space, request_.name))};
    while (found_.size() < most_ && !range.empty()) {
      skip_to_.reset();
      CAIRN_RETURN_IF_ERROR(context_.transaction.Scan(
          range, {.limit = most_ - found_.size()},
          [&](BytesView key, BytesView value) { return Take(key, value); }));
      if (failure_) return *failure_;
      if (!skip_to_) break;
      range.begin = *skip_to_;
    }
    return std::move(found_);
  }

 private:
  bool Take(BytesView key, BytesView value) {
    std::optional<DirectoryEntry> name = DecodeDirectoryKey(key);
    const std::optional<ActorId> id = ActorId::FromBytes(value);
    if (!name || !id) {
      failure_ = Error{ErrorCode::kCorruption, "a row of the directory of actors is damaged"};
      return false;
    }
    if (!MayUse(context_, name->name_space, name->name)) {
      skip_to_ = PrefixSuccessor(NamePrefix(name->name_space, name->name));
      return false;
    }
    found_.push_back({std::move(*name), *id});
    return found_.size() < most_;
  }

  Context& context_;
  const ListActorsRequest& request_;
  const size_t most_;
  std::vector<FoundActor> found_;
  std::optional<Bytes> skip_to_;
  std::optional<Error> failure_;
};

Result<void> CheckList(const ListActorsRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckName("a namespace", request.name_space));
  if (!request.name.empty()) CAIRN_RETURN_IF_ERROR(CheckName("the name of an actor", request.name));
  if (request.limit < 1 || request.limit > kMaxActorsPage) {
    return Refuse(Reason::kBadRequest, fmt::format("the limit is from 1 to {}", kMaxActorsPage));
  }
  const size_t slash = request.after.find('/');
  const bool whole = slash != std::string::npos &&
                     (request.name.empty() || request.after.substr(0, slash) == request.name);
  if (!request.after.empty() && !whole) {
    return Refuse(Reason::kBadRequest, "the cursor is not one of this list");
  }
  return {};
}

}  // namespace

void AddCreateScopes(const CreateRequest& request, store::Scopes& scopes) {
  AddDirectoryScope(request.name, scopes);
}
void AddFindScopes(const DirectoryEntry& name, store::Scopes& scopes) {
  AddDirectoryScope(name, scopes);
}
void AddRefScopes(const ActorRef& actor, store::Scopes& scopes) { AddActorScope(actor.id, scopes); }

Result<ActorInfo> Create(Context& context, const CreateRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckCreate(context, request));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<ActorId> taken,
                         FindId(context.transaction, request.name));
  if (taken) {
    return Refuse(Reason::kDuplicateKey, {{"existing_actor_id", taken->ToString()}},
                  fmt::format("{}/{} has an actor with the key {}", request.name.name_space,
                              request.name.name, Printable(request.name.key)));
  }
  return Make(context, request);
}

Result<MadeActor> GetOrCreate(Context& context, const CreateRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckCreate(context, request));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<ActorId> taken,
                         FindId(context.transaction, request.name));
  if (!taken) return MadeActor{Make(context, request), /*created=*/true};
  CAIRN_ASSIGN_OR_RETURN(ActorInfo actor, LoadNamed(context, *taken));
  return MadeActor{std::move(actor), /*created=*/false};
}

Result<ActorInfo> Find(Context& context, const DirectoryEntry& name) {
  CAIRN_RETURN_IF_ERROR(CheckAddress(context, name));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<ActorId> id, FindId(context.transaction, name));
  if (id) return LoadNamed(context, *id);
  return Refuse(Reason::kNoSuchActor, fmt::format("{}/{} has no actor with the key {}",
                                                  name.name_space, name.name, Printable(name.key)));
}

Result<ActorInfo> Look(Context& context, const ActorRef& actor) {
  CAIRN_ASSIGN_OR_RETURN(const ActorState state, LoadActor(context, actor));
  CAIRN_ASSIGN_OR_RETURN(ActorRecord record, LoadRecord(context.transaction, actor.id));
  return ActorInfo{actor.id, std::move(record), state};
}

Result<std::optional<Bytes>> Input(Context& context, const ActorRef& actor) {
  CAIRN_RETURN_IF_ERROR(LoadActor(context, actor));
  const Bytes key = InputKey(actor.id);
  return context.transaction.Get(InActors(key));
}

Result<uint64_t> Start(Context& context, const ActorRef& actor) {
  CAIRN_ASSIGN_OR_RETURN(ActorState state, LoadActor(context, actor));
  ++state.generation;
  context.transaction.Put(InActors(StateKey(actor.id)), EncodeState(state));
  return state.generation;
}

Result<void> Destroy(Context& context, const ActorRef& actor) {
  CAIRN_ASSIGN_OR_RETURN(const ActorInfo info, Look(context, actor));
  const DirectoryEntry name{info.record.name_space, info.record.name, info.record.key};
  store::Scopes scopes;
  AddDirectoryScope(name, scopes);
  CAIRN_RETURN_IF_ERROR(context.held.Require(scopes));
  store::Transaction& transaction = context.transaction;
  CAIRN_ASSIGN_OR_RETURN(const size_t removed,
                         RemoveRows(transaction, actor.id, kRowsRemovedAtOnce));
  if (removed == kRowsRemovedAtOnce) PurgeLater(transaction, actor.id);
  transaction.Delete(InActors(DirectoryKey(name.name_space, name.name, name.key)));
  transaction.Delete(InActors(RecordKey(actor.id)));
  transaction.Delete(InActors(StateKey(actor.id)));
  transaction.Delete(InActors(InputKey(actor.id)));
  transaction.Add(InActors(ActorCountKey()), -1);
  if (info.state.bytes > 0) {
    transaction.Add(InActors(ByteCountKey()), -static_cast<int64_t>(info.state.bytes));
  }
  return {};
}

Result<ActorsPage> ListActors(Context& context, const ListActorsRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckList(request));
  CAIRN_RETURN_IF_ERROR(context.held.Require(store::Scopes::Exclusive()));
  CAIRN_ASSIGN_OR_RETURN(std::vector<FoundActor> found, PageScan(context, request).Run());
  ActorsPage page;
  const auto limit = static_cast<size_t>(request.limit);
  if (found.size() > limit) {
    found.erase(found.begin() + static_cast<std::ptrdiff_t>(limit), found.end());
    page.next = fmt::format("{}/{}", found.back().name.name, found.back().name.key);
  }
  for (const FoundActor& one : found) {
    CAIRN_ASSIGN_OR_RETURN(page.actors.emplace_back(), Look(context, {.id = one.id}));
  }
  return page;
}

void PurgeTimers::AddScopes(const store::Timer& timer, store::Scopes& scopes) const {
  if (const auto id = ActorId::FromBytes(timer.owner)) AddActorScope(*id, scopes);
}

Result<void> PurgeTimers::Fire(store::Transaction& transaction, const store::Timer& timer) {
  const std::optional<ActorId> id = ActorId::FromBytes(timer.owner);
  if (!id) return Error{ErrorCode::kCorruption, "a timer of a destroyed actor without its id"};
  CAIRN_ASSIGN_OR_RETURN(const size_t removed, RemoveRows(transaction, *id, kRowsRemovedAtOnce));
  if (removed == kRowsRemovedAtOnce) {
    PurgeLater(transaction, *id);
  } else {
    transaction.Delete(InActors(PurgeKey(*id)));
  }
  return {};
}

}  // namespace cairn::actors
