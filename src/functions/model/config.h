#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "functions/model/isolation.h"
#include "functions/model/json_object.h"
#include "functions/model/limits.h"

// What a version may do and how it is run: what its manifest asks for, what the publish has
// overridden, and what is in force because of both. What is in force is what versions store, so
// nobody has to look into a manifest to run one.
namespace cairn::functions {

// What code may reach besides its arguments. An empty list allows nothing.
struct Capabilities {
  std::vector<std::string> kv_prefixes;
  std::vector<std::string> kv_ops;  // of get, set, del
  std::vector<std::string> publish_topics;
  std::vector<std::string> allow_hosts;
  int64_t fetch_timeout_ms = kMaxFetchTimeoutMs;
  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

// Who may invoke a version in each way, by role. nullopt: whoever may invoke the function at all;
// an empty list: nobody.
struct InvokeRoles {
  using Roles = std::optional<std::vector<std::string>>;
  Roles http;
  Roles schedule;
  Roles cadence;
  friend bool operator==(const InvokeRoles&, const InvokeRoles&) = default;
};

using EnvMap = std::vector<std::pair<std::string, std::string>>;

// What is in force for a version. As JSON, in a version's `config`:
//
//   {"entry":"function.js","handler":"default","timeout_ms":3000,"memory_mb":64,
//    "max_concurrency":10,"isolation":"activation",
//    "capabilities":{"kv":{"prefixes":["ctr:"],"ops":["get","set"]},"codeq":{"publish_topics":[]},
//                    "http":{"allow_hosts":[],"timeout_ms":30000}},
//    "authz":{"invoke_http_roles":["role:app"]},"max_retries":2,"on_failure":"failed.topic",
//    "rate_limit":20,"stream_bytes":65536,"stream_idle_ms":5000,"env_names":["TOKEN"],"secrets":["TOKEN"]}
//
// Members from "authz" on are there if they say something.
struct VersionConfig {
  std::string entry = "function.js";
  std::string handler = "default";
  int64_t timeout_ms = kDefaultHttpTimeoutMs;
  int64_t memory_mb = 64;
  int64_t max_concurrency = 1;
  Isolation isolation = Isolation::kActivation;
  Capabilities capabilities;
  InvokeRoles roles;
  int64_t max_retries = 0;  // of an asynchronous invocation that failed
  std::string on_failure;   // the topic that is told of its last failure; empty: none
  int64_t rate_limit = 0;   // requests per second; 0: the server's own
  int64_t stream_bytes = kMaxStreamBytes;  // of an answer that is sent as it is made
  int64_t stream_idle_ms = kMaxStreamIdleMs;
  std::vector<std::string> env_names;  // the values are in the version's env record
  std::vector<std::string> secrets;    // those of env_names that no log may show
  friend bool operator==(const VersionConfig&, const VersionConfig&) = default;
};
void AppendConfig(const VersionConfig& config, std::string& out);
// Of a stored config; members that it does not know are ignored.
VersionConfig ReadConfig(ObjectReader& object);

// `config` of a publish: what it does not name, or names as 0, is the manifest's. Values of `env`
// are given here, and stored encrypted; `secrets` names some of them.
struct ConfigOverrides {
  int64_t timeout_ms = 0;
  int64_t memory_mb = 0;
  int64_t max_concurrency = 0;
  std::optional<Isolation> isolation;
  // Each group replaces that of the manifest.
  std::optional<std::pair<std::vector<std::string>, std::vector<std::string>>> kv;
  std::optional<std::vector<std::string>> publish_topics;
  std::optional<std::vector<std::string>> allow_hosts;
  std::optional<int64_t> fetch_timeout_ms;
  InvokeRoles roles;
  int64_t max_retries = 0;
  std::string on_failure;
  int64_t rate_limit = 0;
  int64_t stream_bytes = 0;
  int64_t stream_idle_ms = 0;
  EnvMap env;
  std::vector<std::string> secrets;
};
// CS_VALIDATION_FAILED names the member; `text` empty: nothing is overridden.
Result<ConfigOverrides> ParseOverrides(std::string_view text);

// The spelling of the three groups differs between manifests and the rest of the API.
struct CapabilityNames {
  std::string_view publish_topics;
  std::string_view allow_hosts;
  std::string_view timeout_ms;
};
inline constexpr CapabilityNames kManifestNames{"publishTopics", "allowHosts", "timeoutMs"};
inline constexpr CapabilityNames kConfigNames{"publish_topics", "allow_hosts", "timeout_ms"};
// Readers of one group each.
std::pair<std::vector<std::string>, std::vector<std::string>> ReadKv(ObjectReader& kv);
std::vector<std::string> ReadTopics(ObjectReader& codeq, const CapabilityNames& names);
std::vector<std::string> ReadHosts(ObjectReader& http, const CapabilityNames& names);
std::optional<int64_t> ReadFetchTimeout(ObjectReader& http, const CapabilityNames& names);

}  // namespace cairn::functions
