#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "seats/keys.h"
#include "store/transaction.h"

// What can be asked, as JSON text: the same over both doors.
namespace cairn::seats {

// {"id":…,"name":…,"status":…,"created_at":…,"settings":{…},"stats":{…},"sections":{"A-1":{…}},
//  "sellout":{…}}
Result<std::string> EventJson(store::Transaction& transaction, const Keys& keys,
                              std::string_view event);

// {"event_id":…,"section":…,"rows":…,"cols":…,"price":…,"stats":{…},"seats":["..rs",…]}: one text a
// row, one letter a seat (StateLetter).
Result<std::string> MapJson(store::Transaction& transaction, const Keys& keys,
                            std::string_view event, std::string_view section);

struct Page {
  std::string after = {};  // the id before the first
  size_t limit = 100;
};
// The ids of what looks like an event, in their order.
Result<std::vector<std::string>> ListEvents(store::Transaction& transaction, const Keys& keys,
                                            const Page& page);

// {"events":[{"id":…,"name":…,"stats":{…}},…],"next":"id" or null}, in the order of ids.
Result<std::string> EventsJson(store::Transaction& transaction, const Keys& keys, const Page& page);

// One booking, as it is at the transaction's time.
Result<std::string> OneBookingJson(store::Transaction& transaction, const Keys& keys,
                                   std::string_view id);

}  // namespace cairn::seats
