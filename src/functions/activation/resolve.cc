#include "functions/activation/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "functions/model/digest.h"
#include "functions/model/errors.h"

namespace cairn::functions {
namespace {

const InvokeRoles::Roles& RolesFor(const InvokeRoles& roles, TriggerType trigger) {
  switch (trigger) {
    case TriggerType::kSchedule:
    case TriggerType::kQueue:  // nobody asks for these either
    case TriggerType::kEvent:
      return roles.schedule;
    case TriggerType::kCadence:
      return roles.cadence;
    case TriggerType::kHttp:
    case TriggerType::kApi:
      break;
  }
  return roles.http;
}

}  // namespace

Result<void> CheckRoles(const VersionConfig& config, TriggerType trigger,
                        const Principal& principal) {
  const InvokeRoles::Roles& allowed = RolesFor(config.roles, trigger);
  if (!allowed) return {};
  const auto has = [&](const std::string& role) {
    return role == "admin" || role == "role:admin" ||
           std::ranges::find(*allowed, role) != allowed->end();
  };
  if (std::ranges::any_of(principal.roles, has)) return {};
  return Refuse(Code::kRoleMissing,
                fmt::format("{} has no role that may invoke this version", principal.sub));
}

int64_t DrawOf(std::string_view activation_id) {
  constexpr int kPercent = 100;
  const Bytes digest = Sha256(activation_id);
  uint32_t number = 0;
  for (size_t i = 0; i < sizeof(number); ++i) {
    number = number << 8U | static_cast<unsigned char>(digest[i]);
  }
  return number % kPercent;
}

}  // namespace cairn::functions
