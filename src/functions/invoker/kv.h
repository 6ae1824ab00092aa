#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/model/host_calls.h"
#include "functions/model/keys.h"
#include "store/scopes.h"
#include "store/transaction.h"

// What functions keep with cs.kv: strings of the data types below KvPrefix, so no key of a function
// reaches another namespace, or the platform's own records.
namespace cairn::functions {

void AddKvScopes(const NamespaceName& ns, const KvCall& call, store::Scopes& scopes);
// JSON; nullopt: there is no such key.
Result<std::optional<std::string>> ReadKv(store::Transaction& transaction, const NamespaceName& ns,
                                          std::string_view key);
// {"value":…} of a get, null for a key that is not there; {"deleted":true} of a delete; {} of a
// set.
Result<std::string> RunKv(store::Transaction& transaction, const NamespaceName& ns,
                          const KvCall& call);

}  // namespace cairn::functions
