#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/model/config.h"

// What a running function asks for through `cs`, as text that need not make sense: read, and held
// against what its version may do. The same wherever functions run.
//
//   kv.get {key}, kv.set {key,value,ttl_seconds}, kv.del {key}
//   codeq.publish {topic,payload}, jobs.enqueue {queue,payload,options}
//
// Each of them may say which step of the activation it is part of: {…,step}.
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
  std::optional<int64_t> step = {};  // the position of the step that it is part of
};

// "kv.get", "kv.set", "kv.del"; nullopt for anything else.
std::optional<KvCall::Operation> ParseKvOperation(std::string_view operation);
// CS_VALIDATION_FAILED names the member.
Result<KvCall> ParseKv(KvCall::Operation operation, std::string_view arguments);
// Refuses (CS_RUNTIME_CAPABILITY_DENIED) what the version may not do, and (CS_VALIDATION_FAILED)
// what makes no sense.
Result<void> CheckKv(const Capabilities& capabilities, const KvCall& call);

// A message for a topic, or a job for a queue.
struct NamedPayload {
  std::string name;     // of the topic or queue
  std::string payload;  // JSON
  std::string options;  // a JSON object; empty: none
  std::optional<int64_t> step = {};
};
// `member` is what the name is called: "topic" or "queue".
Result<NamedPayload> ParsePayload(std::string_view member, std::string_view arguments);
// Whether the version may publish to a topic, or enqueue in a queue: those of the platform ("cs.…")
// are never open to functions. `call` is what the refusal says was called.
Result<void> CheckTopic(const Capabilities& capabilities, std::string_view call,
                        std::string_view topic);

// A call that no server of this kind answers: cs.cadence, cs.actors, or none at all.
Error UnknownCall(std::string_view operation);

}  // namespace cairn::functions
