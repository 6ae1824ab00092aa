#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/thread_pool.h"
#include "doors/access/limits.h"
#include "store/store.h"

namespace cairn::doors {

class TrackedClient;

// What a client has asked CLIENT TRACKING for.
struct TrackingOptions {
  // Hears of every key with one of the prefixes; else of keys that it has read.
  bool broadcast = false;
  bool opt_in = false;    // only keys read right behind CLIENT CACHING YES count as read
  bool opt_out = false;   // all but those read right behind CLIENT CACHING NO
  bool no_loop = false;   // does not hear of what it changes itself
  uint64_t redirect = 0;  // the connection that is told instead; 0: itself
  std::set<std::string, std::less<>> prefixes = {};  // of broadcast; none: every key
};

// Which clients have read which keys, and the way they hear that one has changed: server-assisted
// client-side caching. Safe to use from any thread.
//
//   a read  ─ Remember(client, keys) ─ the command runs ─ reply
//   a write ─ commit ─ rows that changed (Store::OnChange) ─ who has read them ─ Post to their
//   loops
//           ─ message on the connection, sealed with the commit
//
// No stale value stays in a cache, because
//  - every change of a key passes Store::OnChange, whoever makes it: there is no list of commands;
//  - a key is remembered before the body that reads it begins, and OnChange is called when the
//    change can be seen: a read that misses a change was remembered in time to be told of it;
//  - a message never overtakes the reply to a read that was remembered before it
//    (Dispatcher::WriteOrHold), so a client that is told of a change has the old value already;
//  - a key is forgotten only with a message to those who have read it.
// A message too many does no harm: the client reads once more.
//
// As in Redis a key is a name, whichever database it is in, and what a client has read stays
// remembered until the key changes, even if the client is gone. Bounded by max_keys and
// kMaxTrackingBytes; past them keys are forgotten as if they had changed. While nobody tracks,
// there is no listener and nothing is remembered.
class Tracking {
 public:
  // One message. No keys: everything may have changed.
  struct Invalidation {
    uint64_t client = 0;
    std::shared_ptr<const std::vector<std::string>> keys = {};
  };
  using Invalidations = std::vector<Invalidation>;
  // Hands messages to the loop of their clients, in order. Called from any thread, must be quick.
  using Post = std::function<void(Invalidations, store::Commit)>;

  // `pool` frees what is large.
  Tracking(store::Store& store, ThreadPool& pool) : store_(store), pool_(pool) {}
  Tracking(const Tracking&) = delete;
  Tracking& operator=(const Tracking&) = delete;

  // Changes made by other processes are not heard of, so their store offers no tracking.
  bool offered() const { return !store_.shared(); }
  bool anyone() const { return active_.load(std::memory_order_relaxed); }

  // The user's key in a row's key; nullopt: the row is no key of a user. With a range, the key that
  // it begins with. Set by the layer that owns the keys, before anybody tracks.
  using KeyDecoder = std::optional<BytesView> (*)(BytesView stored);
  void set_key_decoder(KeyDecoder decode) { decode_ = decode; }

  // The client is about to read the keys: to be called before the body begins that does, on the
  // client's loop.
  void Remember(uint64_t client, std::span<const std::string_view> keys);
  // How many commits have changed keys. Grows while anybody tracks.
  uint64_t changes() const { return changes_.load(); }
  // The same as Remember inside a body that began after changes() was `since`: if there was a
  // change meanwhile, it may have been one of these keys, and the client is told so.
  void RememberLate(uint64_t client, std::span<const std::string_view> keys, uint64_t since);

  // All keys of a database were removed by the commit: everybody is told to forget everything.
  void Cleared(store::Commit commit);

  size_t max_keys() const { return max_keys_.load(std::memory_order_relaxed); }  // 0: no limit
  void set_max_keys(size_t count);

  struct Totals {
    size_t clients = 0;
    size_t keys = 0;
    size_t items = 0;  // pairs of a key and a client
    size_t prefixes = 0;
  };
  Totals totals() const;

 private:
  friend class TrackedClient;

  struct Client {
    const Post* post = nullptr;
    uint32_t origin = 0;     // 0: hears of its own changes too
    bool broadcast = false;  // hears of prefixes; what it read before that does not count
  };
  struct KeyHash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return Hash64(key); }
  };
  using Readers = std::vector<uint64_t>;  // connection ids, ascending
  using Keys = std::unordered_map<std::string, Readers, KeyHash, std::equal_to<>>;
  using Prefixes = std::unordered_map<std::string, std::set<uint64_t>, KeyHash, std::equal_to<>>;
  // Messages on their way, by loop.
  using Outbox = std::map<const Post*, Invalidations>;
  // Keys of one commit that begin with a prefix.
  struct Broadcast {
    std::vector<std::string> keys;
    std::vector<uint32_t> origins;  // of each
  };

  void Add(uint64_t client, const TrackingOptions& options, const Post& post, uint32_t origin);
  void Remove(uint64_t client, const TrackingOptions& options);
  void OnChanges(store::Commit commit, std::span<const store::Change> changes);

  // The rest is called with mutex_ held.
  void RememberLocked(uint64_t client, std::span<const std::string_view> keys);
  void AddReader(Keys::value_type& entry, uint64_t client);
  void Forget(Keys::iterator entry);
  void TellReaders(std::string_view key, uint32_t origin, Outbox& outbox);
  void CollectBroadcasts(std::string_view key, uint32_t origin,
                         std::map<std::string_view, Broadcast>& broadcasts) const;
  void TellListeners(std::map<std::string_view, Broadcast>& broadcasts, Outbox& outbox) const;
  void TellEverybody(store::Commit commit);
  // Forgets up to `most` keys beyond the limits; returns whether there are more.
  bool Shrink(size_t most, Outbox& outbox);
  void ShrinkSoon();
  static void Send(Outbox& outbox, store::Commit commit);

  store::Store& store_;
  ThreadPool& pool_;
  KeyDecoder decode_ = nullptr;
  std::atomic<bool> active_{false};
  std::atomic<uint64_t> changes_{0};
  std::atomic<size_t> max_keys_{kTrackedKeys};

  // Taken before mutex_ and before the store's own: who listens comes and goes with the clients.
  std::mutex listening_mutex_;
  uint32_t last_origin_ = 0;

  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Client> clients_;  // by connection id
  Keys keys_;
  size_t items_ = 0;
  size_t bytes_ = 0;  // of keys_, about
  size_t next_bucket_ = 0;
  Prefixes prefixes_;
  std::map<size_t, size_t> prefix_lengths_;  // how many prefixes have each length
  uint64_t cleared_ = 0;                     // the newest commit of Cleared

  store::Subscription listening_;  // last: ends first
};

// One client that tracks, as long as it does. Used on its connection's loop.
class TrackedClient {
 public:
  // `post` reaches the client's loop and outlives this.
  TrackedClient(Tracking& tracking, const Tracking::Post& post, uint64_t id,
                TrackingOptions options);
  ~TrackedClient();
  TrackedClient(const TrackedClient&) = delete;
  TrackedClient& operator=(const TrackedClient&) = delete;

  const TrackingOptions& options() const { return options_; }
  // CLIENT TRACKING ON again: prefixes are added to those there are.
  void Change(TrackingOptions options);

  // Whether the keys that a command reads now are to be remembered.
  bool remembers() const {
    if (options_.broadcast) return false;
    return options_.opt_in ? caching : !(options_.opt_out && caching);
  }
  // What Tracking::changes was when the present request began; nullopt if nothing is remembered.
  std::optional<uint64_t> reads_since;
  // CLIENT CACHING was called for the request that comes next.
  bool caching = false;
  // Names the client in Transaction::set_origin; 0: it need not be known.
  uint32_t origin() const { return origin_; }

 private:
  Tracking& tracking_;
  const Tracking::Post& post_;
  const uint64_t id_;
  TrackingOptions options_;
  uint32_t origin_ = 0;
};

}  // namespace cairn::doors
