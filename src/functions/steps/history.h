#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/model/step_record.h"
#include "store/transaction.h"

// The history of an activation with steps: the hash cs:steps:T:ID (functions/model/keys.h), in one
// transaction. Whoever uses it holds the lane of cs.invoke, as for the activation itself.
namespace cairn::functions {

struct History {
  std::map<uint32_t, StepRecord> steps;  // by position
  std::optional<std::string> input;      // the event, if it was small enough to be kept

  // What the next step that ends is counted as.
  uint32_t next_seq() const;
  // As stored.
  size_t bytes() const;
};

// An activation without steps has an empty one.
Result<History> LoadHistory(store::Transaction& transaction, std::string_view tenant,
                            std::string_view id);
// Adds records, or replaces those of the same positions. The first ones bring the activation's
// event along, and say until when all is kept; it is not asked for later ones.
struct HistoryBegin {
  std::string_view input;  // kept if it is not larger than kMaxKeptInputBytes
  int64_t expire_ms = 0;
};
Result<void> PutSteps(store::Transaction& transaction, std::string_view tenant, std::string_view id,
                      std::span<const StepRecord> records,
                      const std::optional<HistoryBegin>& begin);
// An attempt of the activation has failed and there will be another one. Steps that failed after
// the last one that was done are forgotten, so that they are tried again; those before have been
// taken notice of by what came after them, and stay.
Result<void> ForgetLastFailures(store::Transaction& transaction, std::string_view tenant,
                                std::string_view id);
// The activation has ended: history and events are kept as long as its record.
Result<void> EndHistory(store::Transaction& transaction, std::string_view tenant,
                        std::string_view id);

// When records that are written now can go, if nothing else happens: an activation may be suspended
// for long.
int64_t HistoryExpiry(int64_t now_ms);

// Why a record would be too much for a history that has `steps` and `bytes`; OK if it is not.
Result<void> CheckRoom(const StepRecord& record, size_t steps, size_t bytes);

}  // namespace cairn::functions
