#include "functions/cadence/keys.h"

#include "functions/model/names.h"

namespace cairn::functions {
namespace {

using Kind = CadenceKeyParts::Kind;

bool IsTokenHash(std::string_view text) {
  constexpr size_t kDigits = 64;
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The part before the next colon, which is taken off; all of it if there is none.
std::string_view TakePart(std::string_view& rest) {
  const size_t colon = rest.find(':');
  const std::string_view part = rest.substr(0, colon);
  rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
  return part;
}

}  // namespace

std::optional<CadenceKeyParts> ParseCadenceKey(std::string_view key) {
  if (!key.starts_with(kCadencePrefix)) return std::nullopt;
  std::string_view rest = key.substr(kCadencePrefix.size());
  const std::string_view tenant = TakePart(rest);
  const std::string_view ns = TakePart(rest);
  if (!IsName(NameKind::kTenant, tenant) || !IsName(NameKind::kNamespace, ns)) return std::nullopt;
  CadenceKeyParts found{.ns = {std::string(tenant), std::string(ns)}, .name = ""};
  if (rest == "workers:index") {
    found.kind = Kind::kIndex;
    return found;
  }
  const std::string_view family = TakePart(rest);
  if (family == "task" && IsTokenHash(rest)) {
    found.kind = Kind::kTask;
    found.name = rest;
    return found;
  }
  constexpr std::string_view kMeta = ":meta";
  if (family != "worker" || !rest.ends_with(kMeta)) return std::nullopt;
  rest.remove_suffix(kMeta.size());
  if (!IsName(NameKind::kBinding, rest)) return std::nullopt;
  found.name = rest;
  return found;
}

}  // namespace cairn::functions
