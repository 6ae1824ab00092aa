#include "doors/resp/pubsub.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "doors/resp/glob.h"

namespace cairn::doors {
namespace {

struct EventLetter {
  char letter;
  uint32_t bit;
};

// In the order in which Redis lists them.
constexpr EventLetter kClassLetters[] = {
    {'g', kEventGeneric}, {'$', kEventString},    {'l', kEventList},    {'s', kEventSet},
    {'h', kEventHash},    {'z', kEventSortedSet}, {'x', kEventExpired}, {'e', kEventEvicted},
    {'t', kEventStream},  {'d', kEventModule},    {'n', kEventNew},
};
constexpr EventLetter kOtherLetters[] = {
    {'K', kEventKeyspace}, {'E', kEventKeyevent}, {'m', kEventKeyMiss}};
// What the letter A stands for.
constexpr uint32_t kAllClasses = kEventGeneric | kEventString | kEventList | kEventSet |
                                 kEventHash | kEventSortedSet | kEventExpired | kEventEvicted |
                                 kEventStream | kEventModule;

uint32_t BitsOf(char letter) {
  if (letter == 'A') return kAllClasses;
  for (const EventLetter& known : kClassLetters) {
    if (known.letter == letter) return known.bit;
  }
  for (const EventLetter& known : kOtherLetters) {
    if (known.letter == letter) return known.bit;
  }
  return 0;
}

}  // namespace

std::optional<uint32_t> ParseKeyEvents(std::string_view letters) {
  uint32_t classes = 0;
  for (const char letter : letters) {
    const uint32_t bits = BitsOf(letter);
    if (bits == 0) return std::nullopt;
    classes |= bits;
  }
  return classes;
}

std::string FormatKeyEvents(uint32_t classes) {
  std::string letters;
  // As in Redis, A leaves no room for n.
  if ((classes & kAllClasses) == kAllClasses) {
    letters += 'A';
  } else {
    for (const EventLetter& known : kClassLetters) {
      if ((classes & known.bit) != 0) letters += known.letter;
    }
  }
  for (const EventLetter& known : kOtherLetters) {
    if ((classes & known.bit) != 0) letters += known.letter;
  }
  return letters;
}

PubSub::Audience& PubSub::Join(Post post) {
  const std::lock_guard lock(mutex_);
  return audiences_.emplace_back(std::move(post));
}

void PubSub::Leave(Audience& audience) {
  const std::lock_guard lock(mutex_);
  audiences_.remove_if([&](const Audience& joined) { return &joined == &audience; });
}

size_t PubSub::CountReceivers(const Audience& audience, const Message& message) {
  size_t count = 0;
  const Listeners& listeners = audience.listeners_[static_cast<size_t>(message.kind)];
  if (const auto found = listeners.find(message.channel); found != listeners.end()) {
    count += found->second.size();
  }
  if (message.kind == ChannelKind::kShard) return count;
  for (const auto& [pattern, ids] :
       audience.listeners_[static_cast<size_t>(ChannelKind::kPattern)]) {
    if (GlobMatch(pattern, message.channel)) count += ids.size();
  }
  return count;
}

size_t PubSub::Publish(store::Transaction& transaction, Message message) {
  if (!forward_ && listeners_.load(std::memory_order_relaxed) == 0) return 0;
  size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const Audience& audience : audiences_) count += CountReceivers(audience, message);
  }
  if (count == 0 && !forward_) return 0;
  transaction.AfterCommit(
      [this, shared = std::make_shared<const Message>(std::move(message))](store::Commit commit) {
        Hand(shared, commit);
        if (forward_) forward_(shared);
      });
  return count;
}

void PubSub::Hand(const std::shared_ptr<const Message>& message, store::Commit commit) {
  const std::lock_guard lock(mutex_);
  for (const Audience& audience : audiences_) {
    if (CountReceivers(audience, *message) > 0) audience.post_(message, commit);
  }
}

std::vector<PubSub::Receivers> PubSub::ReceiversOf(const Audience& audience,
                                                   const Message& message) const {
  std::vector<Receivers> receivers;
  const std::lock_guard lock(mutex_);
  const Listeners& listeners = audience.listeners_[static_cast<size_t>(message.kind)];
  if (const auto found = listeners.find(message.channel); found != listeners.end()) {
    receivers.push_back({std::nullopt, found->second});
  }
  if (message.kind == ChannelKind::kShard) return receivers;
  for (const auto& [pattern, ids] :
       audience.listeners_[static_cast<size_t>(ChannelKind::kPattern)]) {
    if (GlobMatch(pattern, message.channel)) receivers.push_back({pattern, ids});
  }
  return receivers;
}

std::vector<std::string> PubSub::Names(ChannelKind kind, std::string_view pattern) const {
  std::set<std::string> names;
  const std::lock_guard lock(mutex_);
  for (const Audience& audience : audiences_) {
    for (const auto& [name, ids] : audience.listeners_[static_cast<size_t>(kind)]) {
      if (GlobMatch(pattern, name)) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

size_t PubSub::CountListeners(ChannelKind kind, std::string_view name) const {
  size_t count = 0;
  const std::lock_guard lock(mutex_);
  for (const Audience& audience : audiences_) {
    const Listeners& listeners = audience.listeners_[static_cast<size_t>(kind)];
    if (const auto found = listeners.find(name); found != listeners.end()) {
      count += found->second.size();
    }
  }
  return count;
}

size_t PubSub::CountNames(ChannelKind kind) const { return Names(kind, "*").size(); }

void PubSub::Add(Audience& audience, ChannelKind kind, const std::string& name,
                 uint64_t connection) {
  const std::lock_guard lock(mutex_);
  audience.listeners_[static_cast<size_t>(kind)][name].push_back(connection);
  listeners_.fetch_add(1, std::memory_order_relaxed);
}

void PubSub::Remove(Audience& audience, ChannelKind kind, const std::string& name,
                    uint64_t connection) {
  const std::lock_guard lock(mutex_);
  Listeners& listeners = audience.listeners_[static_cast<size_t>(kind)];
  const auto found = listeners.find(name);
  CAIRN_CHECK(found != listeners.end(), "nobody listens to {}", name);
  std::erase(found->second, connection);
  if (found->second.empty()) listeners.erase(found);
  listeners_.fetch_sub(1, std::memory_order_relaxed);
}

void PubSub::PublishKeyEvent(store::Transaction& transaction, uint8_t db, std::string_view event,
                             std::string_view key) {
  const uint32_t classes = key_events();
  if ((classes & kEventKeyspace) != 0) {
    Publish(transaction,
            {.channel = fmt::format("__keyspace@{}__:{}", db, key), .payload = std::string(event)});
  }
  if ((classes & kEventKeyevent) != 0) {
    Publish(transaction,
            {.channel = fmt::format("__keyevent@{}__:{}", db, event), .payload = std::string(key)});
  }
}

// Once here, once among the listeners of the loop, each in a node of a tree.
static size_t BytesOf(const std::string& name) { return 2 * (name.size() + 64); }

Subscriptions::~Subscriptions() {
  for (size_t kind = 0; kind < kChannelKinds; ++kind) {
    for (const std::string& name : names_[kind]) {
      pubsub_.Remove(audience_, static_cast<ChannelKind>(kind), name, connection_);
    }
  }
}

void Subscriptions::Add(ChannelKind kind, std::string_view name) {
  const auto [added, is_new] = names_[static_cast<size_t>(kind)].emplace(name);
  if (!is_new) return;
  bytes_ += BytesOf(*added);
  pubsub_.Add(audience_, kind, *added, connection_);
}

void Subscriptions::Remove(ChannelKind kind, std::string_view name) {
  Names& names = names_[static_cast<size_t>(kind)];
  const auto found = names.find(name);
  if (found == names.end()) return;
  pubsub_.Remove(audience_, kind, *found, connection_);
  bytes_ -= BytesOf(*found);
  names.erase(found);
}

}  // namespace cairn::doors
