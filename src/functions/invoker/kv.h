#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/model/config.h"
#include "functions/model/keys.h"
#include "store/scopes.h"
#include "store/transaction.h"

// What functions keep with cs.kv: strings of the data types below KvPrefix, so no key of a function
// reaches another namespace, or the platform's own records.
namespace cairn::functions {

inline constexpr size_t kMaxKvKeyBytes = 512;
inline constexpr size_t kMaxKvValueBytes = 1024UL * 1024;
inline constexpr int64_t kMaxKvTtlSeconds = 10LL * 366 * 24 * 3'600;

// One call of cs.kv. `value` is JSON.
struct KvCall {
  enum class Operation : uint8_t { kGet, kSet, kDelete };
  Operation operation = Operation::kGet;
  std::string key;
  std::string value = {};
  std::optional<int64_t> ttl_seconds = {};
};

// Refuses (CS_RUNTIME_CAPABILITY_DENIED) what the version may not do, and (CS_VALIDATION_FAILED)
// what makes no sense.
Result<void> CheckKv(const Capabilities& capabilities, const KvCall& call);
void AddKvScopes(const NamespaceName& ns, const KvCall& call, store::Scopes& scopes);
// {"value":…} of a get, null for a key that is not there; {"deleted":true} of a delete; {} of a
// set.
Result<std::string> RunKv(store::Transaction& transaction, const NamespaceName& ns,
                          const KvCall& call);

}  // namespace cairn::functions
