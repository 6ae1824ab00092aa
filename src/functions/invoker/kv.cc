#include "functions/invoker/kv.h"

#include <fmt/format.h>

#include <algorithm>

#include "doors/resp/command.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"

namespace cairn::functions {
namespace {

std::string_view NameOf(KvCall::Operation operation) {
  switch (operation) {
    case KvCall::Operation::kGet:
      return "get";
    case KvCall::Operation::kSet:
      return "set";
    case KvCall::Operation::kDelete:
      return "del";
  }
  return "";
}

std::string KeyOf(const NamespaceName& ns, const KvCall& call) { return KvPrefix(ns) + call.key; }

}  // namespace

Result<void> CheckKv(const Capabilities& capabilities, const KvCall& call) {
  const std::string_view name = NameOf(call.operation);
  if (call.key.empty() || call.key.size() > kMaxKvKeyBytes) {
    return Refuse(Code::kValidation,
                  fmt::format("cs.kv.{}: a key has 1 to {} bytes", name, kMaxKvKeyBytes));
  }
  if (call.value.size() > kMaxKvValueBytes) {
    return Refuse(Code::kTooLarge,
                  fmt::format("cs.kv.set: the value is larger than {} bytes", kMaxKvValueBytes));
  }
  if (call.ttl_seconds && (*call.ttl_seconds < 1 || *call.ttl_seconds > kMaxKvTtlSeconds)) {
    return Refuse(Code::kValidation,
                  fmt::format("cs.kv.set: ttlSeconds must be from 1 to {}", kMaxKvTtlSeconds));
  }
  if (std::ranges::find(capabilities.kv_ops, name) == capabilities.kv_ops.end()) {
    return Refuse(Code::kCapabilityDenied,
                  fmt::format("the manifest does not allow cs.kv.{}: add \"{}\" to "
                              "capabilities.kv.ops",
                              name, name));
  }
  const auto allows = [&](const std::string& prefix) { return call.key.starts_with(prefix); };
  if (std::ranges::none_of(capabilities.kv_prefixes, allows)) {
    return Refuse(Code::kCapabilityDenied,
                  fmt::format("no prefix in the manifest's capabilities.kv.prefixes begins the key "
                              "that cs.kv.{} was called with",
                              name));
  }
  return {};
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
      CAIRN_ASSIGN_OR_RETURN(const std::optional<std::string> value, ReadString(transaction, key));
      if (value && !IsJson(*value)) {
        return Refuse(Code::kStoreReadFailed,
                      fmt::format("what is stored under {} is not JSON", key));
      }
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
