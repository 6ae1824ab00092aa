#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "doors/access/grants.h"
#include "functions/codeq/names.h"
#include "functions/model/message.h"
#include "jobs/ledger/context.h"

namespace cairn::functions {

// A new activation that goes on from a step of one that has ended: the records of the steps before
// are its history, so they are not run again.
struct RestartRequest {
  std::string tenant;
  std::string activation;  // that has ended
  uint32_t from = 0;       // position of the first step that is run again
  // JSON. Without it the event of the activation, which is kept if it has up to kMaxKeptInputBytes.
  std::optional<std::string> event = {};
  std::optional<Ref> ref = {};  // without its function; else as it was
  Principal principal;
  // Of the new activation, and of its message.
  std::string new_activation;
  std::string request_id;
  std::string message_id;
};
void AddRestartScopes(codeq::Locks& locks);

struct Restarted {
  std::string activation_id;
  uint32_t kept = 0;  // steps that are not run again
};
// {"activation_id","status":"queued","kept_steps":3}
std::string RestartedText(const Restarted& restarted);
// CS_CONFLICT for one that has not ended, or had no steps; CS_VALIDATION_FAILED for a position that
// its history does not reach, and without an event if none was kept.
Result<Restarted> Restart(jobs::Context& context, const doors::NamePatterns* names,
                          const RestartRequest& request);

}  // namespace cairn::functions
