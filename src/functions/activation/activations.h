#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/model/activation_log.h"
#include "functions/model/records.h"
#include "store/scopes.h"
#include "store/transaction.h"

// The records of activations (functions/model/keys.h), in one transaction.
//
//   queued ─→ running ─→ success, error, timeout
//               └──→ queued        to be tried again, or suspended in its steps
//
// Whoever writes them holds the lane of cs.invoke, which publishing, claiming and acknowledging a
// message hold anyway: so it is the lock of all activations.
namespace cairn::functions {

// nullopt: there is none, or its time is up.
Result<std::optional<Activation>> LoadActivation(store::Transaction& transaction,
                                                 std::string_view tenant, std::string_view id);
Result<std::optional<Status>> LoadActivationStatus(store::Transaction& transaction,
                                                   std::string_view tenant, std::string_view id);
// Writes a new one; kActivationTtlMs begins.
Result<void> PutActivation(store::Transaction& transaction, const Activation& activation);
// Compare-and-set: refuses (CS_KVROCKS_CAS_FAILED) unless the stored status is `from`. The time
// that it is kept begins anew.
Result<void> MoveActivation(store::Transaction& transaction, Status from, const Activation& to);

// --- Logs ----------------------------------------------------------------------------------------

// Numbers are given by the caller, from 0 on. Wakes who follows the log.
Result<void> PutLogChunk(store::Transaction& transaction, std::string_view tenant,
                         std::string_view id, const LogChunk& chunk);
// Chunks from number `from` on, at most `limit`.
Result<std::vector<LogChunk>> ReadLogChunks(store::Transaction& transaction,
                                            std::string_view tenant, std::string_view id,
                                            uint64_t from, size_t limit);
// Woken by each chunk, and by each change of the activation's status.
store::Topic ActivationTopic(std::string_view tenant, std::string_view id);

}  // namespace cairn::functions
