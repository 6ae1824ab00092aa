#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "store/transaction.h"

namespace cairn::doors {

// Kinds of keyspace events, and the letters of CONFIG SET notify-keyspace-events that ask for them.
enum KeyEventClass : uint32_t {
  kEventKeyspace = 1U << 0,   // K: as messages of __keyspace@<db>__:<key>
  kEventKeyevent = 1U << 1,   // E: as messages of __keyevent@<db>__:<event>
  kEventGeneric = 1U << 2,    // g: DEL, EXPIRE, RENAME …
  kEventString = 1U << 3,     // $
  kEventList = 1U << 4,       // l
  kEventSet = 1U << 5,        // s
  kEventHash = 1U << 6,       // h
  kEventSortedSet = 1U << 7,  // z
  kEventExpired = 1U << 8,    // x
  kEventEvicted = 1U << 9,    // e: never happens
  kEventStream = 1U << 10,    // t
  kEventKeyMiss = 1U << 11,   // m: not part of A
  kEventModule = 1U << 12,    // d: JSON
  kEventNew = 1U << 13,       // n: not part of A
};

// Who listens to which channel, and the way messages reach them. Safe to use from any thread.
class PubSub {
 public:
  PubSub() = default;
  PubSub(const PubSub&) = delete;
  PubSub& operator=(const PubSub&) = delete;

  // Which events are told: KeyEventClass bits. Without kEventKeyspace or kEventKeyevent, none.
  uint32_t key_events() const { return key_events_.load(std::memory_order_relaxed); }
  void set_key_events(uint32_t classes) { key_events_.store(classes, std::memory_order_relaxed); }

  // Publishes the event after the transaction's commit, if anybody asked for events of this class.
  void NotifyKeyEvent(store::Transaction& transaction, uint8_t db, KeyEventClass type,
                      std::string_view event, std::string_view key) {
    if ((key_events() & type) != 0) [[unlikely]] {
      PublishKeyEvent(transaction, db, event, key);
    }
  }

 private:
  void PublishKeyEvent(store::Transaction& transaction, uint8_t db, std::string_view event,
                       std::string_view key);

  std::atomic<uint32_t> key_events_{0};
};

}  // namespace cairn::doors
