#pragma once

#include <cstdint>

#include "base/result.h"
#include "doors/resp/command.h"

// The store counts what a body reads and writes, and lets it leave an event loop when that becomes
// much. What a handler does beside, it says itself before it begins.
namespace cairn::doors {

// The handler is about to work for about `ns`. Fails with kWouldBlock if an event loop would stand
// still too long meanwhile; returned as the handler's error, that makes the body run again on the
// pool.
//
//   CAIRN_RETURN_IF_ERROR(LeaveLoopIfLong(context, a.size() * b.size()));
Result<void> LeaveLoopIfLong(const CommandContext& context, uint64_t ns);

// `run`, of a command whose arguments take `ns_per_byte` to read.
RunHandler WithLongArguments(RunHandler run, uint64_t ns_per_byte);

}  // namespace cairn::doors
