#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "doors/resp/pubsub.h"
#include "seats/event.h"
#include "seats/keys.h"
#include "store/timers.h"
#include "store/transaction.h"

// The changes of an event, as they are told: the seats that changed, never the whole map.
//
//   {"change":"reserved","section":"A-1","state":"reserved","seats":["1-1","1-2"],
//    "section_stats":{"available":498,"reserved":2,"sold":0,"blocked":0,"total":500},
//    "event_stats":{…},"at":"2025-11-05T10:30:15.123456+00:00"}
//
// `change` is reserved, sold, released, expired, refunded, blocked or unblocked. Each change goes
// to the event's pub/sub channel, and into a log in commit order, from which a stream that was
// interrupted goes on: the log keeps what is younger than kFeedKeptSeconds.
namespace cairn::seats {

// What an operation works with.
struct Context {
  store::Transaction& transaction;
  Keys keys;
  doors::PubSub& pubsub;
};

struct Change {
  std::string_view what;
  SeatState state = SeatState::kAvailable;
  std::vector<std::string> seats = {};
};

// Tells of a change, with the counts that the event and the section have now. `last_change` is when
// the event had changed before, in seconds.
void Announce(Context& context, const Event& event, const Section& section, const Change& change,
              int64_t last_change);

// Has the changes of this span of time removed when they are too old. The first change of a span
// does this; for the span in which an event is created, its creation.
void TidyFeedLater(Context& context, std::string_view event);

struct FeedEntry {
  uint64_t number = 0;
  std::string json;
};
// The changes after `number`, oldest first, kFeedBatch at most.
Result<std::vector<FeedEntry>> ReadFeed(store::Transaction& transaction, const Keys& keys,
                                        std::string_view event, uint64_t number);
// A change of some event, as a reader of all events finds it.
struct FeedChange {
  uint64_t number = 0;
  int64_t at_seconds = 0;
  std::string event;
  std::string json;
};
// The changes after `number` of the events that `wants` names, in the order of their commits,
// `limit` at most. Visits each event that has changes once.
Result<std::vector<FeedChange>> ReadFeeds(store::Reader& reader, const Keys& keys, uint64_t number,
                                          size_t limit, FunctionRef<bool(std::string_view)> wants);
// The newest of all; 0 if there is none. Visits each event that has changes once.
Result<uint64_t> NewestChangeOfAll(store::Reader& reader, const Keys& keys);
// Changes up to this number may have been removed, of whichever event.
Result<uint64_t> RemovedChanges(store::Reader& reader, const Keys& keys);
// The number of the newest change; 0 if there is none.
Result<uint64_t> NewestChange(store::Transaction& transaction, const Keys& keys,
                              std::string_view event);
// Whether the log still has the change `number`, so that nothing after it is missing.
Result<bool> HasChange(store::Transaction& transaction, const Keys& keys, std::string_view event,
                       uint64_t number);

// Removes changes that are too old.
class FeedTimers final : public store::TimerHandler {
 public:
  explicit FeedTimers(std::string prefix) : prefix_(std::move(prefix)) {}
  void AddScopes(const store::Timer& timer, store::Scopes& scopes) const override;
  Result<void> Fire(store::Transaction& transaction, const store::Timer& timer) override;

 private:
  const std::string prefix_;
};

}  // namespace cairn::seats
