#include "doors/resp/relay.h"

#include <chrono>
#include <optional>
#include <utility>

#include "doors/access/limits.h"

namespace cairn::doors {
namespace {

using store::Space;

constexpr BytesView kPrefix = "\x01";
// How far apart the rows are whose age is remembered.
constexpr uint64_t kSeenEveryNs = 5'000'000'000;
constexpr std::chrono::milliseconds kTryAgain{500};

store::Topic MessagesTopic() { return store::Topic::Of(Space::kEvents, kPrefix); }

Bytes RowKey(uint64_t number) {
  Bytes key(kPrefix);
  AppendBig64(key, number);
  return key;
}

size_t SizeOf(const PubSub::Message& message) {
  return message.channel.size() + message.payload.size();
}

void Append(Bytes& row, const PubSub::Message& message) {
  row.push_back(static_cast<char>(message.kind));
  AppendBig32(row, static_cast<uint32_t>(message.channel.size()));
  row += message.channel;
  AppendBig32(row, static_cast<uint32_t>(message.payload.size()));
  row += message.payload;
}

}  // namespace

store::Topic UsersTopic() { return store::Topic::Of(Space::kSystem, "acl"); }

Relay::Relay(Options options, store::Store& store, PubSub& pubsub, const Clock& clock, Log log,
             std::function<void()> users_changed)
    : options_(options),
      store_(store),
      pubsub_(pubsub),
      clock_(clock),
      log_(std::move(log)),
      users_changed_(std::move(users_changed)) {}

Relay::~Relay() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Result<void> Relay::Start() {
  CAIRN_RETURN_IF_ERROR(store_.Run({}, [this](store::Transaction& transaction) -> Result<void> {
    id_ = transaction.NewStamp();
    return {};
  }));
  const auto wake = [this](bool& what) {
    {
      const std::lock_guard lock(mutex_);
      what = true;
    }
    changed_.notify_all();
  };
  messages_wake_ = store_.OnWake(MessagesTopic(), [=, this] { wake(messages_came_); });
  users_wake_ = store_.OnWake(UsersTopic(), [=, this] { wake(users_came_); });
  CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
  CAIRN_RETURN_IF_ERROR(snapshot->Scan(store::Range::Prefix(Space::kEvents, kPrefix),
                                       {.reverse = true, .limit = 1},
                                       [&](BytesView key, BytesView) {
                                         last_seen_ = BytesReader(key.substr(1)).Big64();
                                         return true;
                                       }));
  thread_ = std::thread([this] { ThreadMain(); });
  return {};
}

void Relay::Send(std::shared_ptr<const PubSub::Message> message) {
  {
    const std::lock_guard lock(mutex_);
    unsent_bytes_ += SizeOf(*message);
    unsent_.push_back(std::move(message));
    while (unsent_bytes_ > options_.unsent_bytes && unsent_.size() > 1) {
      unsent_bytes_ -= SizeOf(*unsent_.front());
      unsent_.pop_front();
    }
  }
  changed_.notify_all();
}

void Relay::ThreadMain() {
  std::unique_lock lock(mutex_);
  bool failing = false;
  for (;;) {
    changed_.wait(
        lock, [this] { return stopping_ || messages_came_ || users_came_ || !unsent_.empty(); });
    if (stopping_) return;
    const bool messages = std::exchange(messages_came_, false);
    const bool users = std::exchange(users_came_, false);
    Messages sending = std::exchange(unsent_, {});
    unsent_bytes_ = 0;
    lock.unlock();

    Result<void> done;
    if (!sending.empty()) done = SendAll(sending);
    // An outcome that is not known is not tried again: nobody is told twice.
    const bool unsent = !done.ok() && done.error().code != ErrorCode::kOutcomeUnknown;
    if (done.ok() && messages) done = ReceiveNew();
    if (users) users_changed_();

    lock.lock();
    if (!done.ok()) {
      if (!std::exchange(failing, true)) {
        log_.Warn("messages cannot be exchanged with other servers; trying again",
                  {{"reason", done.error().message}});
      }
      messages_came_ = true;
      if (unsent) {
        for (auto& message : sending) unsent_bytes_ += SizeOf(*message);
        unsent_.insert(unsent_.begin(), sending.begin(), sending.end());
      }
      changed_.wait_for(lock, kTryAgain, [this] { return stopping_; });
    } else {
      failing = false;
    }
  }
}

Result<void> Relay::SendAll(const Messages& messages) {
  const uint64_t old = NewestOld();
  CAIRN_RETURN_IF_ERROR(store_.Run({}, [&](store::Transaction& transaction) -> Result<void> {
    Bytes row;
    for (size_t i = 0; i < messages.size(); ++i) {
      if (row.empty()) AppendBig64(row, id_);
      Append(row, *messages[i]);
      if (row.size() < kMaxRelayRowBytes && i + 1 < messages.size()) continue;
      transaction.AppendEvent({Space::kEvents, kPrefix}, row);
      row.clear();
    }
    if (old != 0) transaction.DeleteRange({Space::kEvents, Bytes(kPrefix), RowKey(old + 1)});
    transaction.Wake(MessagesTopic());
    return {};
  }));
  if (old != 0) seen_.pop_front();
  return {};
}

uint64_t Relay::NewestOld() {
  const uint64_t now_ns = clock_.MonotonicNs();
  if (seen_.empty() || seen_.front().at_ns + options_.kept_ns > now_ns) return 0;
  return seen_.front().number;
}

Result<void> Relay::ReceiveNew() {
  CAIRN_ASSIGN_OR_RETURN(const auto snapshot, store_.Read());
  store::Range range = store::Range::Prefix(Space::kEvents, kPrefix);
  range.begin = RowKey(last_seen_ + 1);
  CAIRN_RETURN_IF_ERROR(snapshot->Scan(range, {}, [&](BytesView key, BytesView value) {
    last_seen_ = BytesReader(key.substr(kPrefix.size())).Big64();
    Receive(value);
    return true;
  }));
  const uint64_t now_ns = clock_.MonotonicNs();
  if (seen_.empty() || seen_.back().at_ns + kSeenEveryNs <= now_ns) {
    seen_.push_back({now_ns, last_seen_});
  }
  return {};
}

void Relay::Receive(BytesView row) {
  BytesReader reader(row);
  if (reader.Big64() == id_) return;  // heard already, when it was committed
  while (reader.ok() && !reader.AtEnd()) {
    PubSub::Message message;
    message.kind = static_cast<ChannelKind>(reader.Byte());
    message.channel = reader.Take(reader.Big32());
    message.payload = reader.Take(reader.Big32());
    if (!reader.ok() || message.kind == ChannelKind::kPattern) return;
    pubsub_.Receive(std::make_shared<const PubSub::Message>(std::move(message)));
  }
}

}  // namespace cairn::doors
