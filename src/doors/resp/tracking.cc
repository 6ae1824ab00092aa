#include "doors/resp/tracking.h"

#include <algorithm>
#include <utility>

namespace cairn::doors {
namespace {

// What a key and a reader take besides their bytes: the node of the table, the vector.
constexpr size_t kKeyOverhead = 128;
constexpr size_t kReaderBytes = sizeof(uint64_t);

// Keys forgotten at once: what nobody notices the others wait for.
constexpr size_t kForgottenAtOnce = 1000;
constexpr size_t kForgottenPerRead = 100;

// Readers of one key from which on those that are gone are looked for.
constexpr size_t kReadersWithoutCheck = 16;

std::shared_ptr<const std::vector<std::string>> OneKey(std::string_view key) {
  return std::make_shared<const std::vector<std::string>>(1, std::string(key));
}

// A commit, or a loop, does not wait until a table of a million keys has been freed. (If the pool
// is full, it does.)
template <typename Table>
void FreeOn(ThreadPool& pool, Table& table) {
  if (table.empty()) return;
  const auto freed = std::make_shared<Table>(std::exchange(table, {}));
  static_cast<void>(pool.Submit([freed] {}));
}

}  // namespace

// --- Clients ------------------------------------------------------------------------------------

TrackedClient::TrackedClient(Tracking& tracking, const Tracking::Post& post, uint64_t id,
                             TrackingOptions options)
    : tracking_(tracking), post_(post), id_(id) {
  Change(std::move(options));
}

TrackedClient::~TrackedClient() { tracking_.Remove(id_, options_); }

void TrackedClient::Change(TrackingOptions options) {
  options.prefixes.insert(options_.prefixes.begin(), options_.prefixes.end());
  if (options.broadcast && options.prefixes.empty()) options.prefixes.insert("");
  options_ = std::move(options);
  caching = false;
  if (!options_.no_loop) {
    origin_ = 0;
  } else if (origin_ == 0) {
    const std::lock_guard lock(tracking_.listening_mutex_);
    origin_ = ++tracking_.last_origin_;
  }
  tracking_.Add(id_, options_, post_, origin_);
}

void Tracking::Add(uint64_t client, const TrackingOptions& options, const Post& post,
                   uint32_t origin) {
  const std::lock_guard listening(listening_mutex_);
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = clients_.empty();
    clients_[client] = {.post = &post, .origin = origin, .broadcast = options.broadcast};
    for (const std::string& prefix : options.prefixes) {
      const auto [listeners, is_new] = prefixes_.try_emplace(prefix);
      if (is_new) ++prefix_lengths_[prefix.size()];
      listeners->second.insert(client);
    }
  }
  if (!first) return;
  active_.store(true);
  listening_ = store_.OnChange(
      store::Space::kData, [this](store::Commit commit, std::span<const store::Change> changes) {
        OnChanges(commit, changes);
      });
}

void Tracking::Remove(uint64_t client, const TrackingOptions& options) {
  const std::lock_guard listening(listening_mutex_);
  {
    const std::lock_guard lock(mutex_);
    clients_.erase(client);
    for (const std::string& prefix : options.prefixes) {
      const auto listeners = prefixes_.find(prefix);
      listeners->second.erase(client);
      if (!listeners->second.empty()) continue;
      if (--prefix_lengths_[prefix.size()] == 0) prefix_lengths_.erase(prefix.size());
      prefixes_.erase(listeners);
    }
    if (!clients_.empty()) return;
    FreeOn(pool_, keys_);
    items_ = bytes_ = 0;
  }
  active_.store(false);
  listening_ = store::Subscription();
}

// --- Reads --------------------------------------------------------------------------------------

void Tracking::Remember(uint64_t client, std::span<const std::string_view> keys) {
  const std::lock_guard lock(mutex_);
  RememberLocked(client, keys);
}

void Tracking::RememberLate(uint64_t client, std::span<const std::string_view> keys,
                            uint64_t since) {
  const std::lock_guard lock(mutex_);
  RememberLocked(client, keys);
  const auto known = clients_.find(client);
  if (known == clients_.end() || changes_.load() == since) return;
  Invalidations messages;
  for (const std::string_view key : keys) messages.push_back({client, OneKey(key)});
  (*known->second.post)(std::move(messages), store::Commit{});
}

void Tracking::RememberLocked(uint64_t client, std::span<const std::string_view> keys) {
  if (!clients_.contains(client)) return;
  for (const std::string_view key : keys) {
    auto found = keys_.find(key);
    if (found == keys_.end()) {
      found = keys_.emplace(std::string(key), Readers()).first;
      bytes_ += key.size() + kKeyOverhead;
    }
    AddReader(*found, client);
  }
  Outbox outbox;
  Shrink(kForgottenPerRead, outbox);
  Send(outbox, store::Commit{});
}

void Tracking::AddReader(Keys::value_type& entry, uint64_t client) {
  Readers& readers = entry.second;
  auto place = std::ranges::lower_bound(readers, client);
  if (place != readers.end() && *place == client) return;
  // Clients that are gone are looked for when the list would have to grow, so that it costs a
  // reader little however many there are.
  if (readers.size() >= kReadersWithoutCheck && readers.size() == readers.capacity()) {
    const size_t gone =
        std::erase_if(readers, [&](uint64_t reader) { return !clients_.contains(reader); });
    items_ -= gone;
    bytes_ -= gone * kReaderBytes;
    place = std::ranges::lower_bound(readers, client);
  }
  readers.insert(place, client);
  ++items_;
  bytes_ += kReaderBytes;
}

void Tracking::Forget(Keys::iterator entry) {
  items_ -= entry->second.size();
  bytes_ -= entry->first.size() + kKeyOverhead + entry->second.size() * kReaderBytes;
  keys_.erase(entry);
}

// --- Changes ------------------------------------------------------------------------------------

void Tracking::OnChanges(store::Commit commit, std::span<const store::Change> changes) {
  const std::lock_guard lock(mutex_);
  changes_.fetch_add(1);
  if (cleared_ == commit.number) return;  // everybody has been told
  Outbox outbox;
  std::map<std::string_view, Broadcast> broadcasts;
  for (const store::Change& change : changes) {
    const std::optional<BytesView> key = decode_(change.key);
    if (!key) continue;
    if (change.is_range) return TellEverybody(commit);
    TellReaders(*key, change.origin, outbox);
    CollectBroadcasts(*key, change.origin, broadcasts);
  }
  TellListeners(broadcasts, outbox);
  Send(outbox, commit);
}

void Tracking::TellReaders(std::string_view key, uint32_t origin, Outbox& outbox) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return;
  std::shared_ptr<const std::vector<std::string>> keys;
  std::optional<uint64_t> writer;
  for (const uint64_t reader : found->second) {
    const auto client = clients_.find(reader);
    if (client == clients_.end() || client->second.broadcast) continue;
    if (origin != 0 && client->second.origin == origin) {
      writer = reader;
      continue;
    }
    if (keys == nullptr) keys = OneKey(key);
    outbox[client->second.post].push_back({reader, keys});
  }
  if (!writer) return Forget(found);
  // Who has written it knows the new value, and has to hear of the next one.
  items_ -= found->second.size() - 1;
  bytes_ -= (found->second.size() - 1) * kReaderBytes;
  found->second = {*writer};
}

void Tracking::CollectBroadcasts(std::string_view key, uint32_t origin,
                                 std::map<std::string_view, Broadcast>& broadcasts) const {
  for (const auto& [length, count] : prefix_lengths_) {
    if (length > key.size()) break;
    const auto found = prefixes_.find(key.substr(0, length));
    if (found == prefixes_.end()) continue;
    Broadcast& broadcast = broadcasts[found->first];
    broadcast.keys.emplace_back(key);
    broadcast.origins.push_back(origin);
  }
}

void Tracking::TellListeners(std::map<std::string_view, Broadcast>& broadcasts,
                             Outbox& outbox) const {
  for (auto& [prefix, broadcast] : broadcasts) {
    const auto all = std::make_shared<const std::vector<std::string>>(std::move(broadcast.keys));
    for (const uint64_t id : prefixes_.find(prefix)->second) {
      const Client& client = clients_.at(id);
      const auto own = [&](uint32_t origin) { return origin != 0 && origin == client.origin; };
      auto keys = all;
      if (std::ranges::any_of(broadcast.origins, own)) {
        std::vector<std::string> others;
        for (size_t i = 0; i < all->size(); ++i) {
          if (!own(broadcast.origins[i])) others.push_back((*all)[i]);
        }
        if (others.empty()) continue;
        keys = std::make_shared<const std::vector<std::string>>(std::move(others));
      }
      outbox[client.post].push_back({id, keys});
    }
  }
}

void Tracking::Cleared(store::Commit commit) {
  const std::lock_guard lock(mutex_);
  TellEverybody(commit);
}

void Tracking::TellEverybody(store::Commit commit) {
  cleared_ = commit.number;
  changes_.fetch_add(1);
  Outbox outbox;
  for (const auto& [id, client] : clients_) outbox[client.post].push_back({id});
  Send(outbox, commit);
  FreeOn(pool_, keys_);
  items_ = bytes_ = 0;
}

void Tracking::Send(Outbox& outbox, store::Commit commit) {
  for (auto& [post, messages] : outbox) (*post)(std::move(messages), commit);
}

// --- Bounds -------------------------------------------------------------------------------------

void Tracking::set_max_keys(size_t count) {
  max_keys_.store(count, std::memory_order_relaxed);
  ShrinkSoon();
}

void Tracking::ShrinkSoon() {
  const std::lock_guard lock(mutex_);
  Outbox outbox;
  const bool more = Shrink(kForgottenAtOnce, outbox);
  Send(outbox, store::Commit{});
  // If the pool has no room, reads go on with it.
  if (more) static_cast<void>(pool_.Submit([this] { ShrinkSoon(); }));
}

bool Tracking::Shrink(size_t most, Outbox& outbox) {
  const auto beyond = [this] {
    const size_t limit = max_keys();
    return (limit != 0 && keys_.size() > limit) || bytes_ > kMaxTrackingBytes;
  };
  // Buckets in turn: as good as any key, and few of them are empty.
  if (beyond() && keys_.size() < keys_.bucket_count() / 16) keys_.rehash(0);
  for (size_t forgotten = 0; beyond() && forgotten < most;) {
    next_bucket_ = (next_bucket_ + 1) % keys_.bucket_count();
    const auto first = keys_.begin(next_bucket_);
    if (first == keys_.end(next_bucket_)) continue;
    const std::string key = first->first;
    TellReaders(key, 0, outbox);
    ++forgotten;
  }
  return beyond();
}

Tracking::Totals Tracking::totals() const {
  const std::lock_guard lock(mutex_);
  return {.clients = clients_.size(),
          .keys = keys_.size(),
          .items = items_,
          .prefixes = prefixes_.size()};
}

}  // namespace cairn::doors
