#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/steps/history.h"
#include "store/transaction.h"

// What has come of the steps of an activation that wait: time has passed, an event was sent, an
// invoked function has ended.
namespace cairn::functions {

struct Settled {
  std::vector<StepRecord> ended = {};    // in the order in which they count as ended
  std::vector<uint64_t> events = {};     // that were taken, by number
  std::vector<StepRecord> retries = {};  // steps that can be tried again now
  bool any() const { return !ended.empty() || !retries.empty(); }
};
// Looks, and changes nothing. Of several events of a name the first step that waits for it gets the
// first one.
Result<Settled> LookForEnds(store::Transaction& transaction, std::string_view tenant,
                            std::string_view id, const History& history);
// Writes it, also into `history`.
Result<void> PutEnds(store::Transaction& transaction, std::string_view tenant, std::string_view id,
                     const Settled& settled, History& history);

}  // namespace cairn::functions
