#include "doors/resp/session.h"

#include <fmt/format.h>

#include <utility>

#include "doors/resp/clients.h"
#include "net/loop.h"

namespace cairn::doors {

Session::Session(net::RespConnection& connection, Traffic& traffic, PubSub::Audience& audience,
                 std::shared_ptr<AclUser> user, Timestamp now)
    : last_active_us(now.us),
      connection_(connection),
      traffic_(traffic),
      audience_(audience),
      fd_(connection.fd()),
      opened_(now),
      user_(std::move(user)) {
  traffic_.clients.Add(*this);
}

Session::~Session() { traffic_.clients.Remove(*this); }

std::string Session::text(About about) const {
  const std::lock_guard lock(text_mutex_);
  return texts_[static_cast<size_t>(about)];
}

void Session::set_text(About about, std::string_view text) {
  const std::lock_guard lock(text_mutex_);
  texts_[static_cast<size_t>(about)] = text;
}

std::shared_ptr<const AclUser> Session::shared_user() const {
  const std::lock_guard lock(text_mutex_);
  return user_;
}

void Session::set_user(std::shared_ptr<AclUser> user) {
  const std::lock_guard lock(text_mutex_);
  user_ = std::move(user);
}

size_t Session::HeldBytes() const {
  size_t bytes = multi.queued_bytes + multi.watched_bytes + late_bytes;
  if (blocked) bytes += blocked->call->bytes();
  if (behind_it) bytes += behind_it->bytes();
  if (subscriptions != nullptr) bytes += subscriptions->bytes();
  return bytes;
}

void Session::EndMulti() {
  multi.Clear();
  queued_commands = 0;
  in_multi = false;
}

Subscriptions& Session::SubscriptionsToChange() {
  if (subscriptions == nullptr) {
    subscriptions = std::make_unique<Subscriptions>(traffic_.pubsub, audience_, id());
  }
  return *subscriptions;
}

void Session::CountSubscriptions() {
  const auto count = [this](ChannelKind kind) {
    return subscriptions == nullptr ? 0 : subscriptions->names(kind).size();
  };
  channels_ = count(ChannelKind::kChannel);
  patterns_ = count(ChannelKind::kPattern);
  shard_channels_ = count(ChannelKind::kShard);
  subscribed_ = channels_ + patterns_ + shard_channels_ != 0;
}

size_t Session::subscription_count(ChannelKind kind) const {
  switch (kind) {
    case ChannelKind::kChannel:
      return channels_;
    case ChannelKind::kPattern:
      return patterns_;
    case ChannelKind::kShard:
      return shard_channels_;
  }
  return 0;
}

void Session::NoteTracking() {
  tracking_ = tracking != nullptr;
  tracking_broadcast_ = tracking != nullptr && tracking->options().broadcast;
  tracking_redirect_ =
      tracking == nullptr ? -1 : static_cast<int64_t>(tracking->options().redirect);
  redirect_broken = false;
}

void Session::Reset() {
  EndMulti();
  tracking.reset();
  NoteTracking();
  subscriptions.reset();
  attachment.reset();
  monitor = false;
  monitoring = store::Subscription();
  CountSubscriptions();
  db = 0;
  protocol = 2;
  no_evict = false;
  no_touch = false;
  reply_mode = ReplyMode::kOn;
  set_text(About::kName, "");
}

std::string Session::Describe(Timestamp now) const {
  const net::RespConnection::Stats stats = connection_.stats();
  std::string flags;
  if (monitor) flags += 'O';
  if (subscribed()) flags += 'P';
  if (in_multi) flags += 'x';
  if (is_blocked) flags += 'b';
  if (tracking_) flags += 't';
  if (redirect_broken) flags += 'R';
  if (tracking_broadcast_) flags += 'B';
  if (closing) flags += 'c';
  if (no_evict) flags += 'e';
  if (no_touch) flags += 'T';
  if (flags.empty()) flags = "N";
  const Command* command = last_command;
  // Most of what waits is in blocks; what is not yet, in the buffer behind them.
  const size_t in_buffer = stats.output_blocks == 0 ? stats.output_bytes : 0;
  const std::lock_guard lock(text_mutex_);
  const auto& [name, library, library_version] = texts_;
  return fmt::format(
      "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db={} sub={} psub={} ssub={} "
      "multi={} qbuf={} qbuf-free={} argv-mem=0 multi-mem={} rbs={} rbp={} obl={} oll={} omem={} "
      "tot-mem={} events={} cmd={} user={} redir={} resp={} lib-name={} lib-ver={}",
      id(), connection_.peer(), connection_.local(), fd_, name, (now.us - opened_.us) / 1'000'000,
      (now.us - last_active_us) / 1'000'000, flags, static_cast<int>(db),
      static_cast<size_t>(channels_), static_cast<size_t>(patterns_),
      static_cast<size_t>(shard_channels_), in_multi ? static_cast<int64_t>(queued_commands) : -1,
      stats.input_bytes, stats.input_capacity - stats.input_bytes, stats.held_bytes,
      stats.output_capacity, stats.output_capacity, in_buffer, stats.output_blocks,
      stats.output_bytes, sizeof(Session) + stats.memory(), stats.output_bytes > 0 ? "rw" : "r",
      command == nullptr ? "NULL" : command->name, user_->name(),
      static_cast<int64_t>(tracking_redirect_), static_cast<int>(protocol), library,
      library_version);
}

}  // namespace cairn::doors
