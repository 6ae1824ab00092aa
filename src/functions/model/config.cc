#include "functions/model/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "functions/model/json_writer.h"
#include "functions/model/names.h"

namespace cairn::functions {
namespace {

constexpr std::array<std::string_view, 3> kKvOps = {"get", "set", "del"};

InvokeRoles::Roles ReadRoles(ObjectReader& authz, std::string_view name) {
  if (!authz.Has(name)) return std::nullopt;
  return authz.Texts(name, kMaxRoles, {1, kMaxRoleBytes});
}

InvokeRoles ReadAuthz(ObjectReader& authz) {
  return {.http = ReadRoles(authz, "invoke_http_roles"),
          .schedule = ReadRoles(authz, "invoke_schedule_roles"),
          .cadence = ReadRoles(authz, "invoke_cadence_roles")};
}

void WriteAuthz(const InvokeRoles& roles, JsonWriter& json) {
  if (roles == InvokeRoles()) return;
  json.BeginObject("authz");
  if (roles.http) json.Texts("invoke_http_roles", *roles.http);
  if (roles.schedule) json.Texts("invoke_schedule_roles", *roles.schedule);
  if (roles.cadence) json.Texts("invoke_cadence_roles", *roles.cadence);
  json.EndObject();
}

void WriteCapabilities(const Capabilities& capabilities, JsonWriter& json) {
  json.BeginObject("capabilities");
  json.BeginObject("kv");
  json.Texts("prefixes", capabilities.kv_prefixes);
  json.Texts("ops", capabilities.kv_ops);
  json.EndObject();
  json.BeginObject("codeq");
  json.Texts(kConfigNames.publish_topics, capabilities.publish_topics);
  json.EndObject();
  json.BeginObject("http");
  json.Texts(kConfigNames.allow_hosts, capabilities.allow_hosts);
  json.Integer(kConfigNames.timeout_ms, capabilities.fetch_timeout_ms);
  json.EndObject();
  json.EndObject();
}

Capabilities ReadCapabilities(ObjectReader& object) {
  Capabilities capabilities;
  if (auto kv = object.OptionalObject("kv")) {
    std::tie(capabilities.kv_prefixes, capabilities.kv_ops) = ReadKv(*kv);
  }
  if (auto codeq = object.OptionalObject("codeq")) {
    capabilities.publish_topics = ReadTopics(*codeq, kConfigNames);
  }
  if (auto http = object.OptionalObject("http")) {
    capabilities.allow_hosts = ReadHosts(*http, kConfigNames);
    capabilities.fetch_timeout_ms =
        ReadFetchTimeout(*http, kConfigNames).value_or(kMaxFetchTimeoutMs);
  }
  return capabilities;
}

void ReadCapabilityOverrides(ObjectReader& object, ConfigOverrides& overrides) {
  if (auto kv = object.OptionalObject("kv")) {
    overrides.kv = ReadKv(*kv);
    kv->RefuseOthers();
  }
  if (auto codeq = object.OptionalObject("codeq")) {
    overrides.publish_topics = ReadTopics(*codeq, kConfigNames);
    codeq->RefuseOthers();
  }
  if (auto http = object.OptionalObject("http")) {
    overrides.allow_hosts = ReadHosts(*http, kConfigNames);
    overrides.fetch_timeout_ms = ReadFetchTimeout(*http, kConfigNames);
    http->RefuseOthers();
  }
  object.RefuseOthers();
}

// 0, or what has not been said, leaves it to the manifest.
int64_t ReadLimit(ObjectReader& object, std::string_view name, int64_t least, int64_t most) {
  const int64_t limit = object.OptionalInteger(name, 0, most).value_or(0);
  if (limit != 0 && limit < least) {
    object.Fail(name, fmt::format("must be an integer from {} to {}", least, most));
  }
  return limit;
}

void ReadEnv(ObjectReader& object, ConfigOverrides& overrides) {
  overrides.env = object.TextMap("env", kMaxEnvEntries, kMaxEnvBytes);
  for (const auto& [name, value] : overrides.env) {
    if (!IsName(NameKind::kEnvironment, name)) {
      object.Fail("env." + name, "is not a name such as DATABASE_URL");
    }
    if (value.find('\0') != std::string::npos) object.Fail("env." + name, "has a zero byte");
  }
  overrides.secrets = object.Texts("secrets", kMaxEnvEntries, {1, kMaxEnvNameBytes});
  for (const std::string& secret : overrides.secrets) {
    const auto has_name = [&](const auto& entry) { return entry.first == secret; };
    if (std::ranges::none_of(overrides.env, has_name)) {
      object.Fail("secrets", fmt::format("names {}, which env does not have", secret));
    }
  }
}

}  // namespace

std::string_view IsolationName(Isolation isolation) {
  return isolation == Isolation::kVersion ? "version" : "activation";
}

std::optional<Isolation> ParseIsolation(std::string_view name) {
  if (name == "activation") return Isolation::kActivation;
  if (name == "version") return Isolation::kVersion;
  return std::nullopt;
}

std::pair<std::vector<std::string>, std::vector<std::string>> ReadKv(ObjectReader& kv) {
  std::pair<std::vector<std::string>, std::vector<std::string>> read;
  read.first = kv.Texts("prefixes", kMaxKvPrefixes, {1, kMaxKvPrefixBytes});
  read.second = kv.Texts("ops", kKvOps.size(), {1, kMaxKvPrefixBytes});
  for (const std::string& op : read.second) {
    if (std::ranges::find(kKvOps, op) == kKvOps.end()) kv.Fail("ops", "may name get, set and del");
  }
  return read;
}

std::vector<std::string> ReadTopics(ObjectReader& codeq, const CapabilityNames& names) {
  return codeq.Texts(names.publish_topics, kMaxPublishTopics, {1, kMaxTopicBytes});
}

std::vector<std::string> ReadHosts(ObjectReader& http, const CapabilityNames& names) {
  std::vector<std::string> hosts =
      http.Texts(names.allow_hosts, kMaxAllowHosts, {1, kMaxHostBytes});
  // Anything else would never be the host of a URL, and whoever wrote it meant something.
  constexpr std::string_view kOfNames =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  constexpr std::string_view kOfAddresses = "[0123456789abcdefABCDEF:.]";
  for (const std::string& host : hosts) {
    const bool address = host.starts_with('[') && host.ends_with(']');
    if (host.find_first_not_of(address ? kOfAddresses : kOfNames) != std::string::npos) {
      http.Fail(names.allow_hosts,
                "names hosts as they stand in URLs, without scheme and port: \"api.example.com\"");
    }
  }
  return hosts;
}

std::optional<int64_t> ReadFetchTimeout(ObjectReader& http, const CapabilityNames& names) {
  return http.OptionalInteger(names.timeout_ms, kMinFetchTimeoutMs, kMaxFetchTimeoutMs);
}

void AppendConfig(const VersionConfig& config, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Text("entry", config.entry);
  json.Text("handler", config.handler);
  json.Integer("timeout_ms", config.timeout_ms);
  json.Integer("memory_mb", config.memory_mb);
  json.Integer("max_concurrency", config.max_concurrency);
  json.Text("isolation", IsolationName(config.isolation));
  WriteCapabilities(config.capabilities, json);
  WriteAuthz(config.roles, json);
  if (config.max_retries != 0) json.Integer("max_retries", config.max_retries);
  if (!config.on_failure.empty()) json.Text("on_failure", config.on_failure);
  if (config.rate_limit != 0) json.Integer("rate_limit", config.rate_limit);
  if (config.stream_bytes != kMaxStreamBytes) json.Integer("stream_bytes", config.stream_bytes);
  if (config.stream_idle_ms != kMaxStreamIdleMs) {
    json.Integer("stream_idle_ms", config.stream_idle_ms);
  }
  if (!config.env_names.empty()) json.Texts("env_names", config.env_names);
  if (!config.secrets.empty()) json.Texts("secrets", config.secrets);
  json.EndObject();
}

VersionConfig ReadConfig(ObjectReader& object) {
  VersionConfig config;
  config.entry = object.Text("entry", {1, kMaxBundlePathBytes});
  config.handler = object.Text("handler", {1, kMaxBundlePathBytes});
  config.timeout_ms = object.Integer("timeout_ms", kMinTimeoutMs, kMaxTimeoutMs);
  config.memory_mb = object.Integer("memory_mb", kMinMemoryMb, kMaxMemoryMb);
  config.max_concurrency = object.Integer("max_concurrency", kMinConcurrency, kMaxConcurrency);
  config.isolation =
      ParseIsolation(object.OptionalText("isolation", {1, kMaxRoleBytes}).value_or("activation"))
          .value_or(Isolation::kActivation);
  ObjectReader capabilities = object.Object("capabilities");
  config.capabilities = ReadCapabilities(capabilities);
  if (auto authz = object.OptionalObject("authz")) config.roles = ReadAuthz(*authz);
  config.max_retries = object.OptionalInteger("max_retries", 0, kMaxRetries).value_or(0);
  config.on_failure = object.OptionalText("on_failure", {0, kMaxTopicBytes}).value_or("");
  config.rate_limit = object.OptionalInteger("rate_limit", 0, kMaxRateLimit).value_or(0);
  config.stream_bytes = object.OptionalInteger("stream_bytes", kMinStreamBytes, kMaxStreamBytes)
                            .value_or(kMaxStreamBytes);
  config.stream_idle_ms =
      object.OptionalInteger("stream_idle_ms", kMinStreamIdleMs, kMaxStreamIdleMs)
          .value_or(kMaxStreamIdleMs);
  config.env_names = object.Texts("env_names", kMaxEnvEntries, {1, kMaxEnvNameBytes});
  config.secrets = object.Texts("secrets", kMaxEnvEntries, {1, kMaxEnvNameBytes});
  return config;
}

Result<ConfigOverrides> ParseOverrides(std::string_view text) {
  if (text.empty()) return ConfigOverrides();
  return ReadObject(text, Code::kValidation, [](ObjectReader& object) {
    ConfigOverrides overrides;
    overrides.timeout_ms = ReadLimit(object, "timeout_ms", kMinTimeoutMs, kMaxTimeoutMs);
    overrides.memory_mb = ReadLimit(object, "memory_mb", kMinMemoryMb, kMaxMemoryMb);
    overrides.max_concurrency =
        ReadLimit(object, "max_concurrency", kMinConcurrency, kMaxConcurrency);
    if (const auto isolation = object.OptionalChoice("isolation", {"activation", "version"})) {
      overrides.isolation = ParseIsolation(*isolation);
    }
    if (auto capabilities = object.OptionalObject("capabilities")) {
      ReadCapabilityOverrides(*capabilities, overrides);
    }
    if (auto authz = object.OptionalObject("authz")) {
      overrides.roles = ReadAuthz(*authz);
      authz->RefuseOthers();
    }
    overrides.max_retries = object.OptionalInteger("max_retries", 0, kMaxRetries).value_or(0);
    overrides.on_failure = object.OptionalText("on_failure", {1, kMaxTopicBytes}).value_or("");
    overrides.rate_limit = object.OptionalInteger("rate_limit", 0, kMaxRateLimit).value_or(0);
    overrides.stream_bytes = ReadLimit(object, "stream_bytes", kMinStreamBytes, kMaxStreamBytes);
    overrides.stream_idle_ms =
        ReadLimit(object, "stream_idle_ms", kMinStreamIdleMs, kMaxStreamIdleMs);
    ReadEnv(object, overrides);
    object.RefuseOthers();
    return overrides;
  });
}

}  // namespace cairn::functions
