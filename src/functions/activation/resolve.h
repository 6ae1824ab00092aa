#pragma once

#include <cstdint>

#include "base/result.h"
#include "functions/model/records.h"

namespace cairn::functions {

// Who may invoke a version in this way (VersionConfig::roles). The roles "admin" and "role:admin"
// may all. Refuses with CS_AUTHZ_ROLE_MISSING.
Result<void> CheckRoles(const VersionConfig& config, TriggerType trigger,
                        const Principal& principal);

// A number from 0 to 99 that is always the same for an activation: which of an alias's two versions
// it gets, however often it is begun.
int64_t DrawOf(std::string_view activation_id);

}  // namespace cairn::functions
