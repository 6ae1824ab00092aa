#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/model/config.h"

namespace cairn::functions {

// manifest.json of a bundle, schema cs.function.script.v1. The schema is closed: a member that it
// does not name is refused.
//
//   {"schema":"cs.function.script.v1","runtime":"cs-js","entry":"function.js","handler":"default",
//    "limits":{"timeoutMs":3000,"memoryMb":64,"maxConcurrency":10},
//    "capabilities":{"kv":{"prefixes":["ctr:"],"ops":["get","set","del"]},
//                    "codeq":{"publishTopics":["jobs.*"]},
//                    "http":{"allowHosts":["api.example.com"],"timeoutMs":1500}},
//    "isolation":"activation"}
//
// All members are required but `isolation` and those of the three groups of capabilities; `limits`
// may have streamBytes and streamIdleMs too.
struct Manifest {
  std::string entry = "function.js";
  std::string handler = "default";
  int64_t timeout_ms = kDefaultHttpTimeoutMs;
  int64_t memory_mb = kMinMemoryMb;
  int64_t max_concurrency = kMinConcurrency;
  Capabilities capabilities;
  Isolation isolation = Isolation::kActivation;
  int64_t stream_bytes = kMaxStreamBytes;
  int64_t stream_idle_ms = kMaxStreamIdleMs;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

inline constexpr std::string_view kManifestSchema = "cs.function.script.v1";
inline constexpr std::string_view kRuntime = "cs-js";
inline constexpr std::string_view kHandler = "default";

// CS_VALIDATION_MANIFEST_INVALID names the member.
Result<Manifest> ParseManifest(std::string_view text);
// What ParseManifest reads: for tools that make functions.
std::string ManifestText(const Manifest& manifest);

// What is in force for a version with this manifest and these overrides.
VersionConfig EffectiveConfig(const Manifest& manifest, const ConfigOverrides& overrides);

}  // namespace cairn::functions
