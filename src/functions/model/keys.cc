#include "functions/model/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "functions/model/names.h"

namespace cairn::functions {
namespace {

using Kind = FunctionKeyParts::Kind;

std::string InNamespace(std::string_view family, const NamespaceName& ns, std::string_view rest) {
  return fmt::format("cs:{}:{}:{}:{}", family, ns.tenant, ns.name, rest);
}

std::string OfFunction(const FunctionName& function, std::string_view rest) {
  return FunctionPrefix(function).append(rest);
}

std::string OfVersion(const FunctionName& function, uint64_t version, std::string_view what) {
  return fmt::format("{}ver:{}:{}", FunctionPrefix(function), version, what);
}

std::vector<std::string_view> SplitAtColons(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t colon = text.find(':');
    parts.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    text.remove_prefix(colon + 1);
  }
}

std::optional<Kind> VersionPart(std::string_view word) {
  if (word == "meta") return Kind::kVersion;
  if (word == "bundle") return Kind::kBundle;
  if (word == "env") return Kind::kEnv;
  return std::nullopt;
}

struct NamedPart {
  std::string_view word;
  Kind kind;
  NameKind name;
};
constexpr std::array kNamedParts = {
    NamedPart{"draft", Kind::kDraft, NameKind::kDraft},
    NamedPart{"alias", Kind::kAlias, NameKind::kAlias},
    NamedPart{"shift", Kind::kShift, NameKind::kAlias},
};

}  // namespace

std::string ResourceName(const FunctionName& function) {
  return fmt::format("{}/{}/{}", function.tenant, function.ns, function.name);
}

std::string ResourceName(const NamespaceName& ns) {
  return fmt::format("{}/{}/*", ns.tenant, ns.name);
}

std::string FunctionIndexKey(const NamespaceName& ns) { return InNamespace("fn", ns, "index"); }
std::string FunctionPrefix(const FunctionName& function) {
  return fmt::format("cs:fn:{}:{}:{}:", function.tenant, function.ns, function.name);
}
std::string FunctionKey(const FunctionName& function) { return OfFunction(function, "meta"); }
std::string VersionSeqKey(const FunctionName& function) {
  return OfFunction(function, "version_seq");
}
std::string DraftPrefix(const FunctionName& function) { return OfFunction(function, "draft:"); }
std::string DraftKey(const FunctionName& function, std::string_view draft) {
  return DraftPrefix(function).append(draft);
}
std::string VersionKey(const FunctionName& function, uint64_t version) {
  return OfVersion(function, version, "meta");
}
std::string BundleKey(const FunctionName& function, uint64_t version) {
  return OfVersion(function, version, "bundle");
}
std::string EnvKey(const FunctionName& function, uint64_t version) {
  return OfVersion(function, version, "env");
}
std::string AliasPrefix(const FunctionName& function) { return OfFunction(function, "alias:"); }
std::string AliasKey(const FunctionName& function, std::string_view alias) {
  return AliasPrefix(function).append(alias);
}
std::string ShiftKey(const FunctionName& function, std::string_view alias) {
  return OfFunction(function, "shift:").append(alias);
}

std::string ScheduleIndexKey(const NamespaceName& ns) {
  return InNamespace("schedule", ns, "index");
}
std::string ScheduleKey(const NamespaceName& ns, std::string_view schedule) {
  return InNamespace("schedule", ns, schedule).append(":meta");
}
std::string ScheduleStateKey(const NamespaceName& ns, std::string_view schedule) {
  return InNamespace("schedule", ns, schedule).append(":state");
}
std::string ScheduleInflightKey(const NamespaceName& ns, std::string_view schedule) {
  return InNamespace("schedule", ns, schedule).append(":inflight");
}

std::string TriggerSetKey(const NamespaceName& ns) { return InNamespace("trigger", ns, "index"); }
std::string TriggerKey(const NamespaceName& ns, std::string_view trigger) {
  return InNamespace("trigger", ns, trigger).append(":meta");
}
std::string TriggerStateKey(const NamespaceName& ns, std::string_view trigger) {
  return InNamespace("trigger", ns, trigger).append(":state");
}
std::string TriggerBatchKey(const NamespaceName& ns, std::string_view trigger,
                            std::string_view activation) {
  return InNamespace("trigger", ns, trigger).append(":batch:").append(activation);
}

std::string BindingIndexKey(const NamespaceName& ns) {
  return InNamespace("cadence", ns, "workers:index");
}
std::string BindingKey(const NamespaceName& ns, std::string_view binding) {
  return InNamespace("cadence", ns, "worker:").append(binding).append(":meta");
}
std::string CadenceTaskKey(const NamespaceName& ns, std::string_view token_hash) {
  return InNamespace("cadence", ns, "task:").append(token_hash);
}

std::string ActivationKey(std::string_view tenant, std::string_view activation) {
  return fmt::format("cs:act:{}:{}:meta", tenant, activation);
}
std::string ActivationStatusKey(std::string_view tenant, std::string_view activation) {
  return fmt::format("cs:act:{}:{}:status", tenant, activation);
}
std::string RequestResultKey(std::string_view tenant, std::string_view request) {
  return fmt::format("cs:req:{}:{}:result", tenant, request);
}
std::string LogChunkKey(std::string_view tenant, std::string_view activation, uint64_t chunk) {
  return fmt::format("cs:log:{}:{}:{:012}", tenant, activation, chunk);
}
std::string LogIndexKey(std::string_view tenant, std::string_view activation) {
  return fmt::format("cs:log:{}:{}:chunks", tenant, activation);
}

std::string KvPrefix(const NamespaceName& ns) { return InNamespace("kv", ns, ""); }

std::optional<FunctionKeyParts> ParseFunctionKey(std::string_view key) {
  if (!key.starts_with(kFunctionsPrefix)) return std::nullopt;
  const std::vector<std::string_view> parts = SplitAtColons(key.substr(kFunctionsPrefix.size()));
  if (parts.size() < 3 || !IsName(NameKind::kTenant, parts[0]) ||
      !IsName(NameKind::kNamespace, parts[1])) {
    return std::nullopt;
  }
  FunctionKeyParts found{.function = {std::string(parts[0]), std::string(parts[1]), ""}};
  if (parts.size() == 3) {
    if (parts[2] != "index") return std::nullopt;
    found.kind = Kind::kIndex;
    return found;
  }
  if (!IsName(NameKind::kFunction, parts[2])) return std::nullopt;
  found.function.name = parts[2];
  const std::string_view what = parts[3];
  if (parts.size() == 4) {
    if (what != "meta" && what != "version_seq") return std::nullopt;
    found.kind = what == "meta" ? Kind::kMeta : Kind::kVersionSeq;
    return found;
  }
  if (parts.size() == 6 && what == "ver") {
    const std::optional<uint64_t> version = ParseVersion(parts[4]);
    const std::optional<Kind> kind = VersionPart(parts[5]);
    if (!version || !kind) return std::nullopt;
    found.version = *version;
    found.kind = *kind;
    return found;
  }
  const auto* named = std::ranges::find(kNamedParts, what, &NamedPart::word);
  if (parts.size() != 5 || named == kNamedParts.end() || !IsName(named->name, parts[4])) {
    return std::nullopt;
  }
  found.kind = named->kind;
  found.name = parts[4];
  return found;
}

std::optional<ScheduleKeyParts> ParseScheduleKey(std::string_view key) {
  if (!key.starts_with(kSchedulesPrefix)) return std::nullopt;
  const std::vector<std::string_view> parts = SplitAtColons(key.substr(kSchedulesPrefix.size()));
  if (parts.size() < 3 || parts.size() > 4 || !IsName(NameKind::kTenant, parts[0]) ||
      !IsName(NameKind::kNamespace, parts[1])) {
    return std::nullopt;
  }
  ScheduleKeyParts found{.ns = {std::string(parts[0]), std::string(parts[1])}, .schedule = ""};
  if (parts.size() == 3) {
    if (parts[2] != "index") return std::nullopt;
    found.kind = ScheduleKeyParts::Kind::kIndex;
    return found;
  }
  if (!IsName(NameKind::kSchedule, parts[2])) return std::nullopt;
  found.schedule = parts[2];
  if (parts[3] == "state") {
    found.kind = ScheduleKeyParts::Kind::kState;
  } else if (parts[3] == "inflight") {
    found.kind = ScheduleKeyParts::Kind::kInflight;
  } else if (parts[3] != "meta") {
    return std::nullopt;
  }
  return found;
}

std::optional<TriggerKeyParts> ParseTriggerKey(std::string_view key) {
  if (!key.starts_with(kTriggersPrefix)) return std::nullopt;
  const std::vector<std::string_view> parts = SplitAtColons(key.substr(kTriggersPrefix.size()));
  if (parts.size() < 3 || parts.size() > 5 || !IsName(NameKind::kTenant, parts[0]) ||
      !IsName(NameKind::kNamespace, parts[1])) {
    return std::nullopt;
  }
  TriggerKeyParts found{.ns = {std::string(parts[0]), std::string(parts[1])}};
  if (parts.size() == 3) {
    if (parts[2] != "index") return std::nullopt;
    found.kind = TriggerKeyParts::Kind::kSet;
    return found;
  }
  if (!IsName(NameKind::kTrigger, parts[2])) return std::nullopt;
  found.trigger = parts[2];
  if (parts.size() == 5) {
    if (parts[3] != "batch" || !IsName(NameKind::kActivation, parts[4])) return std::nullopt;
    found.kind = TriggerKeyParts::Kind::kBatch;
    found.activation = parts[4];
    return found;
  }
  if (parts[3] == "state") {
    found.kind = TriggerKeyParts::Kind::kState;
  } else if (parts[3] != "meta") {
    return std::nullopt;
  }
  return found;
}

}  // namespace cairn::functions
