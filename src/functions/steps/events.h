#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/transaction.h"

// Events that were sent to an activation and that nobody has waited for yet: the hash
// cs:events:T:ID (functions/model/keys.h). Whoever uses it holds the lane of cs.invoke.
namespace cairn::functions {

// {"name","payload","sent_ms"}
struct KeptEvent {
  uint64_t number = 0;  // in the order in which they came
  std::string name;
  std::string payload;  // JSON
  int64_t sent_ms = 0;
  friend bool operator==(const KeptEvent&, const KeptEvent&) = default;
};

// In order.
Result<std::vector<KeptEvent>> LoadEvents(store::Transaction& transaction, std::string_view tenant,
                                          std::string_view id);
// Adds one. CS_TOO_LARGE beyond kMaxKeptEvents.
Result<uint64_t> KeepEvent(store::Transaction& transaction, std::string_view tenant,
                           std::string_view id, std::string_view name, std::string_view payload);
Result<void> RemoveEvents(store::Transaction& transaction, std::string_view tenant,
                          std::string_view id, std::span<const uint64_t> numbers);

}  // namespace cairn::functions
