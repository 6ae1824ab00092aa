#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "doors/resp/key_log.h"
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

// The KeyEventClass bits that a value of notify-keyspace-events asks for; nullopt if a letter is
// unknown.
std::optional<uint32_t> ParseKeyEvents(std::string_view letters);
// The shortest such value, as Redis gives it back.
std::string FormatKeyEvents(uint32_t classes);

// What a client listens to by its name.
enum class ChannelKind : uint8_t {
  kChannel,  // SUBSCRIBE
  kPattern,  // PSUBSCRIBE: all channels that match
  kShard,    // SSUBSCRIBE: a name space of its own, without patterns
};
inline constexpr size_t kChannelKinds = 3;

// Who listens to which channel, and the way messages reach them. Safe to use from any thread.
//
// A message is published inside a transaction and handed, after its commit, to each loop that has
// listeners; the loop writes it to its connections, sealed with the commit. Nobody hears of a
// commit that a crash could take back, and messages of one publisher stay in order.
//
//   PUBLISH in a body ─ commit ─ Post to the loops that listen ─ Receivers ─ connection, sealed
class PubSub {
 public:
  PubSub() = default;
  PubSub(const PubSub&) = delete;
  PubSub& operator=(const PubSub&) = delete;

  struct Message {
    ChannelKind kind = ChannelKind::kChannel;  // never kPattern
    std::string channel;
    std::string payload;
  };

  // The connections of one loop that listen. Made by Join.
  class Audience;
  // Hands a message to a loop, from any thread. Must be quick.
  using Post = std::function<void(std::shared_ptr<const Message>, store::Commit)>;
  Audience& Join(Post post);
  // After this, nothing is posted to it any more. Its connections have ended their subscriptions.
  void Leave(Audience& audience);

  // Publishes the message once the transaction has been committed. Returns how many of this process
  // will receive it, as things stand.
  size_t Publish(store::Transaction& transaction, Message message);

  // Where every message of this process also goes, after its commit: to other processes. Called
  // from any thread, must be quick. Set once, before anything is published.
  using Forward = std::function<void(std::shared_ptr<const Message>)>;
  void set_forward(Forward forward) { forward_ = std::move(forward); }
  // A message that another process has published.
  void Receive(const std::shared_ptr<const Message>& message) { Hand(message, store::Commit{}); }

  // Those who listen to one name. The message reaches a connection once for each of its names.
  struct Receivers {
    std::optional<std::string> pattern;  // nullopt: the channel itself
    std::vector<uint64_t> connections;
  };
  std::vector<Receivers> ReceiversOf(const Audience& audience, const Message& message) const;

  // What PUBSUB CHANNELS, NUMSUB and NUMPAT tell.
  std::vector<std::string> Names(ChannelKind kind, std::string_view pattern) const;
  size_t CountListeners(ChannelKind kind, std::string_view name) const;
  size_t CountNames(ChannelKind kind) const;

  // Which events are told: KeyEventClass bits. Without kEventKeyspace or kEventKeyevent, none.
  uint32_t key_events() const { return key_events_.load(std::memory_order_relaxed); }
  void set_key_events(uint32_t classes) { key_events_.store(classes, std::memory_order_relaxed); }

  // Publishes the event after the transaction's commit, if anybody asked for events of this class.
  void NotifyKeyEvent(store::Transaction& transaction, uint8_t db, KeyEventClass type,
                      std::string_view event, std::string_view key) {
    if ((key_events() & type) != 0) [[unlikely]] {
      PublishKeyEvent(transaction, db, event, key);
    }
    // A miss changes nothing, and a new key has an event that says what it is.
    if (type != kEventKeyMiss && type != kEventNew) key_log_.Note(transaction, db, event, key);
  }
  // Where events are also written, for those who must not miss one.
  KeyLog& key_log() { return key_log_; }

 private:
  friend class Subscriptions;
  // Connection ids by name; a name without listeners is not there.
  using Listeners = std::map<std::string, std::vector<uint64_t>, std::less<>>;

  void Add(Audience& audience, ChannelKind kind, const std::string& name, uint64_t connection);
  void Remove(Audience& audience, ChannelKind kind, const std::string& name, uint64_t connection);
  static size_t CountReceivers(const Audience& audience, const Message& message);
  void Hand(const std::shared_ptr<const Message>& message, store::Commit commit);
  void PublishKeyEvent(store::Transaction& transaction, uint8_t db, std::string_view event,
                       std::string_view key);

  Forward forward_;
  std::atomic<uint32_t> key_events_{0};
  KeyLog key_log_;
  // While nobody listens, a message costs no more than looking at this.
  std::atomic<size_t> listeners_{0};
  mutable std::mutex mutex_;
  std::list<Audience> audiences_;
};

class PubSub::Audience {
 public:
  explicit Audience(Post post) : post_(std::move(post)) {}

 private:
  friend class PubSub;
  Post post_;
  std::array<Listeners, kChannelKinds> listeners_;
};

// What one connection listens to; ends with the object. Used by the connection's loop.
class Subscriptions {
 public:
  using Names = std::set<std::string, std::less<>>;

  Subscriptions(PubSub& pubsub, PubSub::Audience& audience, uint64_t connection)
      : pubsub_(pubsub), audience_(audience), connection_(connection) {}
  ~Subscriptions();
  Subscriptions(const Subscriptions&) = delete;
  Subscriptions& operator=(const Subscriptions&) = delete;

  // To listen twice, or to stop what never began, changes nothing.
  void Add(ChannelKind kind, std::string_view name);
  void Remove(ChannelKind kind, std::string_view name);
  // Whether `allows(name, is_pattern)` holds for all of them.
  template <typename Allows>
  bool AllOf(Allows allows) const {
    for (size_t kind = 0; kind < kChannelKinds; ++kind) {
      for (const std::string& name : names_[kind]) {
        if (!allows(name, static_cast<ChannelKind>(kind) == ChannelKind::kPattern)) return false;
      }
    }
    return true;
  }
  const Names& names(ChannelKind kind) const { return names_[static_cast<size_t>(kind)]; }
  // What the names take.
  size_t bytes() const { return bytes_; }

 private:
  PubSub& pubsub_;
  PubSub::Audience& audience_;
  const uint64_t connection_;
  std::array<Names, kChannelKinds> names_;
  size_t bytes_ = 0;
};

}  // namespace cairn::doors
