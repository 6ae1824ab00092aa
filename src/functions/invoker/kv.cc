#include "functions/invoker/kv.h"

#include <fmt/format.h>

#include <algorithm>

#include "doors/resp/command.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"

namespace cairn::functions {
namespace {

std::string KeyOf(const NamespaceName& ns, const KvCall& call) { return KvPrefix(ns) + call.key; }

}  // namespace

Result<std::optional<std::string>> ReadKv(store::Transaction& transaction, const NamespaceName& ns,
                                          std::string_view name) {
  const std::string key = KvPrefix(ns) + std::string(name);
  CAIRN_ASSIGN_OR_RETURN(std::optional<std::string> value, ReadString(transaction, key));
  if (value && !IsJson(*value)) {
    return Refuse(Code::kStoreReadFailed, fmt::format("what is stored under {} is not JSON", key));
  }
  return value;
}

void AddKvScopes(const NamespaceName& ns, const KvCall& call, store::Scopes& scopes) {
  Bytes scratch;
  doors::AddKeyScope(kDatabase, KeyOf(ns, call), scopes, scratch);
}

Result<std::string> RunKv(store::Transaction& transaction, const NamespaceName& ns,
                          const KvCall& call) {
  const std::string key = KeyOf(ns, call);
  switch (call.operation) {
    case KvCall::Operation::kGet: {
      CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                             ReadKv(transaction, ns, call.key));
      return fmt::format(R"({{"value":{}}})", value ? *value : "null");
    }
    case KvCall::Operation::kSet: {
      std::optional<int64_t> expire_ms;
      if (call.ttl_seconds) expire_ms = transaction.now().millis() + *call.ttl_seconds * kSecondMs;
      CAIRN_RETURN_IF_ERROR(WriteString(transaction, key, call.value, expire_ms));
      return std::string("{}");
    }
    case KvCall::Operation::kDelete: {
      CAIRN_ASSIGN_OR_RETURN(const bool removed, RemoveKey(transaction, key));
      return fmt::format(R"({{"deleted":{}}})", removed);
    }
  }
  return Refuse(Code::kInternal, "unknown operation of cs.kv");
}

}  // namespace cairn::functions
