#include "doors/resp/loop_work.h"

#include <utility>

namespace cairn::doors {
namespace {

constexpr uint64_t kMaxNsOnLoop = 5'000'000;

}  // namespace

Result<void> LeaveLoopIfLong(const CommandContext& context, uint64_t ns) {
  if (ns <= kMaxNsOnLoop || context.held.may_take_long) return {};
  return Error{ErrorCode::kWouldBlock, "a command takes too long for an event loop"};
}

RunHandler WithLongArguments(RunHandler run, uint64_t ns_per_byte) {
  return [run = std::move(run), ns_per_byte](CommandContext& context) -> Result<void> {
    uint64_t bytes = 0;
    for (const std::string_view arg : context.args) bytes += arg.size();
    CAIRN_RETURN_IF_ERROR(LeaveLoopIfLong(context, bytes * ns_per_byte));
    return run(context);
  };
}

}  // namespace cairn::doors
