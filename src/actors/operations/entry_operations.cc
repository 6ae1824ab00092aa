#include "actors/operations/entry_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "actors/model/limits.h"
#include "actors/model/refusal.h"

namespace cairn::actors {
namespace {

using Kind = BatchChange::Kind;

Result<void> CheckAtMost(Reason reason, const TooLarge& what) {
  return what.size <= what.limit ? Result<void>() : Result<void>(Refuse(reason, what));
}

Result<void> CheckCount(size_t count) {
  return CheckAtMost(
      Reason::kTooManyKeys,
      {.subject = "the operation", .unit = "keys", .size = count, .limit = kMaxKeysPerOperation});
}
Result<void> CheckKey(BytesView key) {
  return CheckAtMost(Reason::kKeyTooLong, {.subject = "the key of an entry",
                                           .unit = "bytes",
                                           .size = key.size(),
                                           .limit = kMaxEntryKeyBytes});
}

Result<void> CheckKeys(const KeysRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckCount(request.keys.size()));
  for (const Bytes& key : request.keys) CAIRN_RETURN_IF_ERROR(CheckKey(key));
  return {};
}

Result<void> CheckPut(const PutRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckCount(request.entries.size()));
  size_t total = 0;
  for (const PutRequest::Pair& pair : request.entries) {
    CAIRN_RETURN_IF_ERROR(CheckKey(pair.key));
    CAIRN_RETURN_IF_ERROR(CheckAtMost(Reason::kValueTooLarge, {.subject = "a value",
                                                               .unit = "bytes",
                                                               .size = pair.value.size(),
                                                               .limit = kMaxValueBytes}));
    total += pair.key.size() + kKeyWrapperBytes + pair.value.size();
  }
  return CheckAtMost(Reason::kPayloadTooLarge,
                     {.subject = "the put", .unit = "bytes", .size = total, .limit = kMaxPutBytes});
}

Result<void> CheckList(const ListRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckKey(request.prefix));
  for (const auto& key : {request.begin, request.end, request.after}) {
    if (key) CAIRN_RETURN_IF_ERROR(CheckKey(*key));
  }
  if (request.limit < 0 || request.limit > kMaxListEntries) {
    return Refuse(Reason::kBadRequest,
                  fmt::format("the limit of a list is from 0 to {}", kMaxListEntries));
  }
  if (request.bytes < 1 || request.bytes > kMaxListBytes) {
    return Refuse(Reason::kBadRequest,
                  fmt::format("the bytes of a list are from 1 to {}", kMaxListBytes));
  }
  return {};
}

}  // namespace

Result<std::vector<std::optional<Entry>>> GetEntries(Context& context, const KeysRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckKeys(request));
  CAIRN_RETURN_IF_ERROR(LoadActor(context, request.actor));
  EntryReader entries(context.transaction, request.actor.id);
  std::vector<std::optional<Entry>> found;
  found.reserve(request.keys.size());
  for (const Bytes& key : request.keys) {
    CAIRN_ASSIGN_OR_RETURN(found.emplace_back(), entries.Get(key));
  }
  return found;
}

Result<BatchAnswer> DeleteEntries(Context& context, const KeysRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckKeys(request));
  BatchRequest batch{.actor = request.actor};
  for (const Bytes& key : request.keys)
    batch.changes.push_back({.kind = Kind::kDelete, .key = key});
  return Apply(context, batch);
}

Result<EntryPage> ListEntries(Context& context, const ListRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckList(request));
  CAIRN_RETURN_IF_ERROR(LoadActor(context, request.actor));
  return EntryReader(context.transaction, request.actor.id)
      .List({.prefix = request.prefix,
             .begin = request.begin,
             .end = request.end,
             .end_inclusive = !request.end_exclusive,
             .reverse = request.reverse,
             .after = request.after,
             .limit = static_cast<size_t>(request.limit),
             .bytes = static_cast<size_t>(request.bytes)});
}

Result<BatchAnswer> PutEntries(Context& context, const PutRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckPut(request));
  BatchRequest batch{.actor = request.actor};
  for (const PutRequest::Pair& pair : request.entries) {
    batch.changes.push_back({.kind = Kind::kPut, .key = pair.key, .value = pair.value});
  }
  return Apply(context, batch);
}

Result<BatchAnswer> DeleteEntryRange(Context& context, const RangeRequest& request) {
  BatchRequest batch{.actor = request.actor};
  batch.changes.push_back({.kind = Kind::kDeleteRange, .key = request.begin, .end = request.end});
  return Apply(context, batch);
}

Result<BatchAnswer> DropEntries(Context& context, const ActorRef& actor) {
  BatchRequest batch{.actor = actor};
  batch.changes.push_back({.kind = Kind::kDrop});
  return Apply(context, batch);
}

std::string LimitsJson(const Policy& policy) {
  return fmt::format(
      R"({{"name_bytes":{},"actor_key_part_bytes":{},"actor_key_bytes":{},"input_bytes":{},)"
      R"("key_bytes":{},"value_bytes":{},"keys_per_operation":{},"put_bytes":{},)"
      R"("batch_value_bytes":{},"batch_operations":{},"list_entries":{},"list_bytes":{},)"
      R"("actor_bytes":{},"idempotency_ids":{},"idempotency_seconds":{}}})",
      kMaxNameBytes, kMaxKeyPartBytes, kMaxActorKeyBytes, kMaxInputBytes, kMaxEntryKeyBytes,
      kMaxValueBytes, kMaxKeysPerOperation, kMaxPutBytes, kMaxBatchValueBytes, kMaxBatchOperations,
      kMaxListEntries, kMaxListBytes, policy.quota_bytes, kMaxIdempotencyIds,
      kIdempotencyKeptMs / 1000);
}

}  // namespace cairn::actors
