#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "doors/resp/command.h"

namespace cairn::doors {

// What MONITOR shows of a call, without line end:
//
//   1339518083.107412 [0 127.0.0.1:60866] "set" "k" "a\nb"
//
// The arguments of commands that hold passwords are left out, except for the plain options of
// HELLO.
std::string MonitorLine(Timestamp time, uint8_t db, std::string_view peer, const Command& command,
                        Args args);

}  // namespace cairn::doors
