#include "functions/model/host_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

// Topics and queues of the platform.
constexpr std::string_view kPlatformPrefix = "cs.";

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

}  // namespace

std::optional<KvCall::Operation> ParseKvOperation(std::string_view operation) {
  using Operation = KvCall::Operation;
  for (const Operation kv : {Operation::kGet, Operation::kSet, Operation::kDelete}) {
    if (operation.starts_with("kv.") && operation.substr(3) == NameOf(kv)) return kv;
  }
  return std::nullopt;
}

Result<KvCall> ParseKv(KvCall::Operation operation, std::string_view arguments) {
  return ReadObject(arguments, Code::kValidation, [&](ObjectReader& object) {
    KvCall call{.operation = operation, .key = object.Text("key", {1, kMaxKvKeyBytes})};
    if (operation == KvCall::Operation::kSet) {
      call.value = object.Raw("value");
      if (call.value.empty()) object.Fail("value", "is missing");
      call.ttl_seconds = object.OptionalInteger("ttl_seconds", 1, kMaxKvTtlSeconds);
    }
    call.step = object.OptionalInteger("step", 0, kMaxSteps - 1);
    object.RefuseOthers();
    return call;
  });
}

Result<NamedPayload> ParsePayload(std::string_view member, std::string_view arguments) {
  return ReadObject(arguments, Code::kValidation, [&](ObjectReader& object) {
    NamedPayload call{.name = object.Text(member, {1, kMaxTopicBytes}),
                      .payload = std::string(object.Raw("payload")),
                      .options = std::string(object.RawObject("options").value_or(""))};
    if (call.payload.empty()) object.Fail("payload", "is missing");
    call.step = object.OptionalInteger("step", 0, kMaxSteps - 1);
    object.RefuseOthers();
    return call;
  });
}

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

Result<void> CheckTopic(const Capabilities& capabilities, std::string_view call,
                        std::string_view topic) {
  if (topic.starts_with(kPlatformPrefix)) {
    return Refuse(
        Code::kCapabilityDenied,
        fmt::format("{}: names that begin with \"{}\" are the platform's", call, kPlatformPrefix));
  }
  const auto allows = [&](std::string_view allowed) {
    if (!allowed.ends_with('*')) return allowed == topic;
    return topic.starts_with(allowed.substr(0, allowed.size() - 1));
  };
  if (std::ranges::any_of(capabilities.publish_topics, allows)) return {};
  return Refuse(Code::kCapabilityDenied,
                fmt::format("{}: the manifest does not allow \"{}\": add it to "
                            "capabilities.codeq.publishTopics",
                            call, Printable(topic, kMaxTopicBytes)));
}

Error UnknownCall(std::string_view operation) {
  if (operation == "cadence.heartbeat") {
    return Refuse(Code::kCapabilityDenied,
                  "cs.cadence.heartbeat: the activation was not started by Cadence");
  }
  if (operation == "actors.call") {
    return Refuse(Code::kCapabilityDenied, "cs.actors.call: this server has no actors");
  }
  return Refuse(Code::kCapabilityDenied,
                fmt::format("there is no operation '{}'", Printable(operation, 64)));
}

}  // namespace cairn::functions
