#include "functions/activation/activations.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/sorted_set/sorted_set.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/keys.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

int64_t ExpiryOf(const store::Transaction& transaction) {
  return transaction.now().millis() + kActivationTtlMs;
}

Result<void> Write(store::Transaction& transaction, const Activation& activation) {
  int64_t expire_ms = ExpiryOf(transaction);
  if (activation.durable && activation.durable->suspended) {
    expire_ms = std::max(expire_ms, activation.durable->suspended->until_ms + kActivationTtlMs);
  }
  CAIRN_RETURN_IF_ERROR(WriteString(transaction,
                                    ActivationKey(activation.tenant, activation.activation_id),
                                    Encode(activation), expire_ms));
  CAIRN_RETURN_IF_ERROR(
      WriteString(transaction, ActivationStatusKey(activation.tenant, activation.activation_id),
                  StatusName(activation.status), expire_ms));
  transaction.Wake(ActivationTopic(activation.tenant, activation.activation_id));
  return {};
}

}  // namespace

Result<std::optional<Activation>> LoadActivation(store::Transaction& transaction,
                                                 std::string_view tenant, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                         ReadString(transaction, ActivationKey(tenant, id)));
  if (!text) return std::optional<Activation>();
  CAIRN_ASSIGN_OR_RETURN(Activation activation, DecodeActivation(*text));
  return std::optional(std::move(activation));
}

Result<std::optional<Status>> LoadActivationStatus(store::Transaction& transaction,
                                                   std::string_view tenant, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                         ReadString(transaction, ActivationStatusKey(tenant, id)));
  if (!text) return std::optional<Status>();
  const std::optional<Status> status = ParseStatus(*text);
  if (!status) {
    return Refuse(Code::kStoreReadFailed,
                  fmt::format("'{}' is not a status of an activation", *text));
  }
  return status;
}

Result<void> PutActivation(store::Transaction& transaction, const Activation& activation) {
  return Write(transaction, activation);
}

Result<void> MoveActivation(store::Transaction& transaction, Status from, const Activation& to) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Status> stored,
                         LoadActivationStatus(transaction, to.tenant, to.activation_id));
  if (stored != from) {
    return Refuse(Code::kCasFailed,
                  fmt::format("the activation {} is {}, not {}", to.activation_id,
                              stored ? StatusName(*stored) : "unknown", StatusName(from)));
  }
  return Write(transaction, to);
}

Result<void> PutLogChunk(store::Transaction& transaction, std::string_view tenant,
                         std::string_view id, const LogChunk& chunk) {
  const int64_t expire_ms = ExpiryOf(transaction);
  CAIRN_RETURN_IF_ERROR(
      WriteString(transaction, LogChunkKey(tenant, id, chunk.number), chunk.text, expire_ms));
  const std::string index = LogIndexKey(tenant, id);
  CAIRN_ASSIGN_OR_RETURN(data::SortedSet chunks,
                         data::SortedSet::Load(transaction, kDatabase, index));
  if (chunks.wrong_type()) {
    return Refuse(Code::kStoreWriteFailed, fmt::format("the key {} holds no sorted set", index));
  }
  CAIRN_RETURN_IF_ERROR(
      chunks.Put(fmt::to_string(chunk.number), static_cast<double>(chunk.number)));
  CAIRN_RETURN_IF_ERROR(chunks.Save());
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, kDatabase, index));
  entry.SetExpiry(expire_ms);
  transaction.Wake(ActivationTopic(tenant, id));
  return {};
}

Result<std::vector<LogChunk>> ReadLogChunks(store::Transaction& transaction,
                                            std::string_view tenant, std::string_view id,
                                            uint64_t from, size_t limit) {
  std::vector<LogChunk> chunks;
  // Chunks have no holes, so the index is not needed to find them.
  for (uint64_t number = from; chunks.size() < limit; ++number) {
    CAIRN_ASSIGN_OR_RETURN(std::optional<std::string> text,
                           ReadString(transaction, LogChunkKey(tenant, id, number)));
    if (!text) break;
    chunks.push_back({number, *std::move(text)});
  }
  return chunks;
}

store::Topic ActivationTopic(std::string_view tenant, std::string_view id) {
  return store::Topic::Of(store::Space::kData, "functions activation " + ActivationKey(tenant, id));
}

}  // namespace cairn::functions
