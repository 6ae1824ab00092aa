#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/access/grants.h"
#include "store/transaction.h"

// Histories as both doors show them.
namespace cairn::functions {

struct StepsPage {
  uint32_t from = 0;  // position of the first one
  size_t limit = 0;
};
// {"activation_id","status","steps":[…],"cursor":"17","events":[{"number","name","payload",
//  "sent_ms"}],"suspended":{…}}; cursor is where the next page begins, null behind the last one.
Result<std::string> StepsText(store::Transaction& transaction, const doors::NamePatterns* names,
                              std::string_view tenant, std::string_view id, const StepsPage& page);

}  // namespace cairn::functions
