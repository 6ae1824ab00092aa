#include "functions/model/manifest.h"

#include <tuple>

#include "functions/model/bundle.h"
#include "functions/model/json_writer.h"

namespace cairn::functions {
namespace {

// The entry as a path of a bundle, of the characters that manifests allow.
void CheckEntry(ObjectReader& object, const std::string& entry) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
  if (entry.find_first_not_of(kAllowed) != std::string::npos || !IsBundlePath(entry)) {
    object.Fail("entry", "must be the path of a file in the bundle, of [a-zA-Z0-9._/-]");
  }
}

void ReadLimits(ObjectReader limits, Manifest& manifest) {
  manifest.timeout_ms = limits.Integer("timeoutMs", kMinTimeoutMs, kMaxTimeoutMs);
  manifest.memory_mb = limits.Integer("memoryMb", kMinMemoryMb, kMaxMemoryMb);
  manifest.max_concurrency = limits.Integer("maxConcurrency", kMinConcurrency, kMaxConcurrency);
  manifest.stream_bytes = limits.OptionalInteger("streamBytes", kMinStreamBytes, kMaxStreamBytes)
                              .value_or(kMaxStreamBytes);
  manifest.stream_idle_ms =
      limits.OptionalInteger("streamIdleMs", kMinStreamIdleMs, kMaxStreamIdleMs)
          .value_or(kMaxStreamIdleMs);
  limits.RefuseOthers();
}

void ReadGroups(ObjectReader groups, Capabilities& capabilities) {
  ObjectReader kv = groups.Object("kv");
  std::tie(capabilities.kv_prefixes, capabilities.kv_ops) = ReadKv(kv);
  kv.RefuseOthers();
  ObjectReader codeq = groups.Object("codeq");
  capabilities.publish_topics = ReadTopics(codeq, kManifestNames);
  codeq.RefuseOthers();
  ObjectReader http = groups.Object("http");
  capabilities.allow_hosts = ReadHosts(http, kManifestNames);
  capabilities.fetch_timeout_ms =
      ReadFetchTimeout(http, kManifestNames).value_or(kMaxFetchTimeoutMs);
  http.RefuseOthers();
  groups.RefuseOthers();
}

int64_t Or(int64_t override_value, int64_t otherwise) {
  return override_value != 0 ? override_value : otherwise;
}

}  // namespace

Result<Manifest> ParseManifest(std::string_view text) {
  if (text.size() > kMaxManifestBytes) {
    return Refuse(Code::kManifestInvalid, "manifest.json is larger than 256 KiB");
  }
  return ReadObject(text, Code::kManifestInvalid, [](ObjectReader& object) {
    Manifest manifest;
    object.Choice("schema", {kManifestSchema});
    object.Choice("runtime", {kRuntime});
    manifest.entry = object.Text("entry", {1, kMaxBundlePathBytes});
    CheckEntry(object, manifest.entry);
    manifest.handler = object.Choice("handler", {kHandler});
    ReadLimits(object.Object("limits"), manifest);
    ReadGroups(object.Object("capabilities"), manifest.capabilities);
    if (const auto isolation = object.OptionalChoice("isolation", {"activation", "version"})) {
      manifest.isolation = *ParseIsolation(*isolation);
    }
    object.RefuseOthers();
    return manifest;
  });
}

std::string ManifestText(const Manifest& manifest) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("schema", kManifestSchema);
  json.Text("runtime", kRuntime);
  json.Text("entry", manifest.entry);
  json.Text("handler", manifest.handler);
  json.BeginObject("limits");
  json.Integer("timeoutMs", manifest.timeout_ms);
  json.Integer("memoryMb", manifest.memory_mb);
  json.Integer("maxConcurrency", manifest.max_concurrency);
  if (manifest.stream_bytes != kMaxStreamBytes) json.Integer("streamBytes", manifest.stream_bytes);
  if (manifest.stream_idle_ms != kMaxStreamIdleMs) {
    json.Integer("streamIdleMs", manifest.stream_idle_ms);
  }
  json.EndObject();
  const Capabilities& capabilities = manifest.capabilities;
  json.BeginObject("capabilities");
  json.BeginObject("kv");
  json.Texts("prefixes", capabilities.kv_prefixes);
  json.Texts("ops", capabilities.kv_ops);
  json.EndObject();
  json.BeginObject("codeq");
  json.Texts(kManifestNames.publish_topics, capabilities.publish_topics);
  json.EndObject();
  json.BeginObject("http");
  json.Texts(kManifestNames.allow_hosts, capabilities.allow_hosts);
  json.Integer(kManifestNames.timeout_ms, capabilities.fetch_timeout_ms);
  json.EndObject();
  json.EndObject();
  json.Text("isolation", IsolationName(manifest.isolation));
  json.EndObject();
  return text;
}

VersionConfig EffectiveConfig(const Manifest& manifest, const ConfigOverrides& overrides) {
  VersionConfig config{.entry = manifest.entry,
                       .handler = manifest.handler,
                       .timeout_ms = Or(overrides.timeout_ms, manifest.timeout_ms),
                       .memory_mb = Or(overrides.memory_mb, manifest.memory_mb),
                       .max_concurrency = Or(overrides.max_concurrency, manifest.max_concurrency),
                       .isolation = overrides.isolation.value_or(manifest.isolation),
                       .capabilities = manifest.capabilities,
                       .roles = overrides.roles,
                       .max_retries = overrides.max_retries,
                       .on_failure = overrides.on_failure,
                       .rate_limit = overrides.rate_limit,
                       .stream_bytes = Or(overrides.stream_bytes, manifest.stream_bytes),
                       .stream_idle_ms = Or(overrides.stream_idle_ms, manifest.stream_idle_ms),
                       .secrets = overrides.secrets};
  Capabilities& capabilities = config.capabilities;
  if (overrides.kv) std::tie(capabilities.kv_prefixes, capabilities.kv_ops) = *overrides.kv;
  if (overrides.publish_topics) capabilities.publish_topics = *overrides.publish_topics;
  if (overrides.allow_hosts) capabilities.allow_hosts = *overrides.allow_hosts;
  if (overrides.fetch_timeout_ms) capabilities.fetch_timeout_ms = *overrides.fetch_timeout_ms;
  for (const auto& [name, value] : overrides.env) config.env_names.push_back(name);
  return config;
}

}  // namespace cairn::functions
