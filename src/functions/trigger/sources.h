#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doors/resp/key_log.h"
#include "functions/trigger/record.h"
#include "store/scopes.h"
#include "store/transaction.h"

// The logs that event triggers read, each from a number of its own on. All of them are written by
// the commits that they tell of, so whoever goes on from its stored number misses nothing that a
// log still has:
//
//   jobs    jobs/ledger/event.h    kept for a day; not the events of the platform's own queues
//   seats   seats/feed.h           kept for some minutes
//   keys    doors/resp/key_log.h   kept until every trigger has read them, at most a day
namespace cairn::functions {

// How long events of keys wait for triggers that do not read them.
inline constexpr int64_t kKeyEventsKeptMs = kDayMs;

struct SourceEvent {
  uint64_t number = 0;
  int64_t at_ms = 0;
  std::string json;  // {"seq",…}
};
struct SourcePage {
  std::vector<SourceEvent> events;  // that the source asks for, oldest first
  uint64_t read_to = 0;             // up to this number everything was looked at
  bool at_end = false;              // and behind it there was nothing
  uint64_t missed_to = 0;           // events up to this one were removed unread; 0: none
};
struct SourcePlace {
  const TriggerSource& source;
  const std::string& seats_prefix;  // the setting seats.key_prefix
};
// At most `limit` events behind the number `after`. Looks at kMaxEventsRead at most. A queue is no
// such source.
inline constexpr size_t kMaxEventsRead = 2'000;
Result<SourcePage> ReadSource(store::Reader& reader, const SourcePlace& place, uint64_t after,
                              size_t limit);
// The newest number of the log; 0: it is empty.
Result<uint64_t> NewestOf(store::Reader& reader, const SourcePlace& place);
// The number from which on the log has all there is.
Result<uint64_t> OldestOf(store::Reader& reader, const SourcePlace& place);

// What may bring a batch: woken by commits that do.
std::vector<store::Topic> TopicsOf(const SourcePlace& place);

// What has to be recorded for a source of keys.
doors::KeyLog::Rule KeyRuleOf(const TriggerSource& source);

// The platform's own queues have names of this beginning.
bool IsPlatformQueue(std::string_view queue);

}  // namespace cairn::functions
