#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "doors/resp/acl.h"
#include "doors/resp/batch.h"
#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "doors/resp/pubsub.h"
#include "doors/resp/tracking.h"
#include "doors/turn/waiters.h"
#include "net/loop.h"
#include "net/resp/server.h"
#include "store/store.h"

namespace cairn::doors {

// A command between MULTI and EXEC.
struct QueuedCommand {
  const Command* command;
  OwnedArgs args;
};

struct WatchedKey {
  uint8_t db;
  Bytes key;

  friend auto operator<=>(const WatchedKey&, const WatchedKey&) = default;
};
// Keys under WATCH with the version each had then, also those that were not there.
using WatchedKeys = std::map<WatchedKey, uint64_t>;

// MULTI … EXEC of one connection, and what it watches.
struct MultiState {
  bool open = false;    // MULTI was called
  bool broken = false;  // a command was refused while queueing: EXEC will refuse
  std::vector<QueuedCommand> queue;
  size_t queued_bytes = 0;
  WatchedKeys watched;
  size_t watched_bytes = 0;

  void Clear() { *this = MultiState(); }
};

enum class ReplyMode {
  kOn,
  kOff,       // CLIENT REPLY OFF
  kSkipNext,  // CLIENT REPLY SKIP: neither it nor the next command gets a reply
  kSkipThis,  // the command that runs now gets none
};

// The replies of one connection that are written and not yet sealed, and what they wait for: the
// connection's replies of one turn leave together, when the last thing any of them shows is
// durable.
struct UnsealedReplies {
  uint32_t count = 0;
  store::Dependency needs;

  void Add(const store::Dependency& dependency) {
    ++count;
    if (dependency.commit > needs.commit) needs.commit = dependency.commit;
    needs.on_group = needs.on_group || dependency.on_group;
  }
};

// A number that the session's loop writes and CLIENT LIST reads from any thread.
template <typename T>
class Shared {
 public:
  explicit Shared(T value) : value_(value) {}
  operator T() const {
    return value_.load(std::memory_order_relaxed);
  }  // NOLINT(google-explicit-constructor)
  Shared& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }

 private:
  std::atomic<T> value_;
};

// A request that waits for something to be stored.
struct BlockedRequest {
  std::shared_ptr<const OwnedCall> call;
  std::string timeout_reply;
  std::unique_ptr<Waiters::Place> place;
  net::Timer timer;
  bool looking = false;              // its command is running again
  std::vector<store::Topic> asked;   // to be answered when it has run
  std::optional<UnblockWith> ended;  // meanwhile its time ran out, or its wait was ended
  // Meanwhile another transaction has served it, with this result.
  struct Served {
    std::shared_ptr<ClientWork> work;
    Result<store::Commit> commit;
  };
  std::optional<Served> served;
};

// A message that waits behind the reply to a request.
struct LateMessage {
  std::string text;
  uint64_t ticket;  // what it is sealed with
};

// What a layer keeps with a connection, until RESET or the connection's end.
class Attachment {
 public:
  virtual ~Attachment() = default;
  // A command of the connection has run, also one in EXEC. Its reply need not be durable yet.
  virtual void Ran(const Command& command, Args args) = 0;
};

// What the server knows about one connection. Used on the connection's loop; Describe and the
// getters of text from any thread. One of the `clients` of `traffic` as long as it lives.
class Session final : public net::RespSession {
 public:
  // `audience` hears what it will listen to.
  Session(net::RespConnection& connection, Traffic& traffic, PubSub::Audience& audience,
          std::shared_ptr<AclUser> user, Timestamp now);
  ~Session() override;

  net::RespConnection& connection() { return connection_; }
  const net::RespConnection& connection() const { return connection_; }
  uint64_t id() const { return connection_.id(); }

  Caller caller() const {
    Caller caller{.db = db, .protocol = protocol, .connection_id = connection_.id()};
    if (!user_->is_default() || !user_->unrestricted()) caller.user = user_;
    if (tracking != nullptr) [[unlikely]] {
      caller.origin = tracking->origin();
      caller.reads_since = tracking->reads_since;
    }
    return caller;
  }

  // Who it is. On the session's loop; from elsewhere, shared_user.
  const AclUser& user() const { return *user_; }
  std::shared_ptr<const AclUser> shared_user() const;
  void set_user(std::shared_ptr<AclUser> user);

  // What the client says of itself.
  enum class About : uint8_t { kName, kLibrary, kLibraryVersion };
  std::string text(About about) const;
  void set_text(About about, std::string_view text);

  // One line of CLIENT LIST, without line end.
  std::string Describe(Timestamp now) const;

  // To be called when `tracking` has changed: what Describe shows of it.
  void NoteTracking();
  // `subscriptions`, made when they are first asked for.
  Subscriptions& SubscriptionsToChange();
  // To be called when `subscriptions` have changed.
  void CountSubscriptions();
  size_t subscription_count(ChannelKind kind) const;
  // Whether it listens to anything. In RESP2 such a connection can do little else.
  bool subscribed() const { return subscribed_; }
  bool confined() const { return subscribed() && protocol == 2; }

  // What is kept for the connection beside its buffers.
  size_t HeldBytes() const;

  // Leaves MULTI and forgets what was queued and watched.
  void EndMulti();
  // As RESET and a new connection have it; does not touch authentication.
  void Reset();

  Shared<uint8_t> db{0};
  Shared<int> protocol{2};
  Shared<bool> authenticated{false};
  Shared<bool> no_evict{false};
  Shared<bool> no_touch{false};
  Shared<const Command*> last_command{nullptr};
  Shared<int64_t> last_active_us;
  Shared<size_t> queued_commands{0};  // multi.queue.size(), for Describe
  Shared<bool> in_multi{false};       // multi.open, for Describe
  Shared<bool> is_blocked{false};     // blocked.has_value(), for other loops
  Shared<bool> closing{false};
  Shared<bool> monitor{false};          // sees what others do
  Shared<bool> redirect_broken{false};  // whom CLIENT TRACKING redirects to is gone

  MultiState multi;
  std::optional<BlockedRequest> blocked;
  Deferred* gathered = nullptr;            // what it has sent in this turn to run with others
  std::optional<OwnedArgs> behind_it;      // a request that waits until that has been answered
  bool with_pool = false;                  // its requests are being run there
  std::optional<bool> behind_may_write;    // what has been found out there about `behind_it`
  std::vector<LateMessage> late_messages;  // that came meanwhile
  size_t late_bytes = 0;                   // of their texts
  uint32_t failed_logins = 0;              // in a row
  std::optional<net::Timer> delay;         // until it ends, no reply is sealed
  ReplyMode reply_mode = ReplyMode::kOn;
  UnsealedReplies unsealed;
  store::Subscription monitoring;                // MONITOR, while `monitor`
  std::unique_ptr<Subscriptions> subscriptions;  // null until it listens to something
  std::unique_ptr<Attachment> attachment;        // null: none
  std::unique_ptr<TrackedClient> tracking;       // CLIENT TRACKING; null: off

 private:
  net::RespConnection& connection_;
  Traffic& traffic_;
  PubSub::Audience& audience_;
  const int fd_;  // kept for Describe: the connection's own is its loop's alone
  const Timestamp opened_;
  Shared<bool> subscribed_{false};
  Shared<size_t> channels_{0};
  Shared<size_t> patterns_{0};
  Shared<size_t> shard_channels_{0};
  Shared<bool> tracking_{false};
  Shared<bool> tracking_broadcast_{false};
  Shared<int64_t> tracking_redirect_{-1};
  mutable std::mutex text_mutex_;
  std::shared_ptr<AclUser> user_;     // changed by the loop, under text_mutex_
  std::array<std::string, 3> texts_;  // by About
};

inline Session& SessionOf(net::RespConnection& connection) {
  return static_cast<Session&>(connection.session());
}

}  // namespace cairn::doors
