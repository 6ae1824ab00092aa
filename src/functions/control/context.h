#pragma once

#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "doors/access/grants.h"
#include "doors/access/principal.h"
#include "doors/turn/held_scopes.h"
#include "functions/model/keys.h"
#include "functions/model/secrets.h"
#include "store/scopes.h"
#include "store/transaction.h"

namespace cairn::functions {

// What grants call functions: a resource is "TENANT/NAMESPACE/FUNCTION", so a key that is limited
// to t_abc123/payments/* may use the functions of that namespace.
inline constexpr std::string_view kFunctionKind = "function";

// What grants call a queue, as the jobs layer has declared it.
inline constexpr std::string_view kQueueKind = "queue";

// The functions that `principal`, which may be null, may use; null: all.
inline const doors::NamePatterns* FunctionsOf(const doors::Principal* principal) {
  return principal == nullptr ? nullptr : doors::NamesOf(principal->grants(), kFunctionKind);
}

// What an operation works with. Lives inside a transaction's body.
struct Context {
  store::Transaction& transaction;
  const doors::NamePatterns* names = nullptr;  // of functions that the caller may use; null: all
  // What else the caller may use, for an operation that hands it on: queues, null for all; whether
  // it may read any key; and whether it has all there is, because it has no grants.
  const doors::NamePatterns* queues = nullptr;
  bool reads_all_keys = true;
  bool has_everything = true;
  // For an operation that finds out which keys it changes. Null: everything is held.
  doors::HeldScopes* held = nullptr;
  // For environments. Null: there is no key for them.
  const SecretKeys* secrets = nullptr;
  Random* random = nullptr;

  int64_t now_ms() const { return transaction.now().millis(); }
  bool Allows(const FunctionName& function) const {
    return names == nullptr || names->Allows(ResourceName(function));
  }
  Result<void> Require(const store::Scopes& scopes) const {
    return held == nullptr ? Result<void>() : held->Require(scopes);
  }
};

// Names as the caller has given them: well-formed (CS_VALIDATION_NAME_INVALID) and allowed
// (CS_AUTHZ_RESOURCE_MISMATCH). Every operation begins with it.
Result<void> CheckFunction(const Context& context, const FunctionName& function);
Result<void> CheckNamespace(const NamespaceName& ns);

}  // namespace cairn::functions
