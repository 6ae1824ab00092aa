#pragma once

#include <cstdint>
#include <string>

#include "functions/model/message.h"
#include "functions/model/records.h"

namespace cairn::functions {

// What a handler is given as `ctx`, without its environment: JSON. One that goes on from a history
// of steps is told so, by a member that functions do not see.
std::string ContextText(const Activation& activation, const Principal& principal,
                        int64_t deadline_ms);

}  // namespace cairn::functions
