// What the dispatcher writes to connections that did not ask for it just now: messages of channels,
// and of keys that a client caches.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/resp/dispatcher.h"
#include "doors/resp/monitor.h"

namespace cairn::doors {
namespace {

void WriteMessage(const PubSub::Message& message, const std::optional<std::string>& pattern,
                  net::RespWriter writer) {
  writer.PushHeader(pattern ? 4 : 3);
  if (pattern) {
    writer.Bulk("pmessage");
    writer.Bulk(*pattern);
  } else {
    writer.Bulk(message.kind == ChannelKind::kShard ? "smessage" : "message");
  }
  writer.Bulk(message.channel);
  writer.Bulk(message.payload);
}

// The first words tell what kind of message it is.
void WriteInvalidation(const Tracking::Invalidation& message,
                       std::span<const std::string_view> first_words, net::RespWriter writer) {
  writer.PushHeader(first_words.size() + 1);
  for (const std::string_view word : first_words) writer.Bulk(word);
  if (message.keys == nullptr) return writer.Null();
  writer.ArrayHeader(message.keys->size());
  for (const std::string& key : *message.keys) writer.Bulk(key);
}

void WriteBrokenRedirect(uint64_t target, net::RespWriter writer) {
  writer.PushHeader(2);
  writer.Bulk("tracking-redir-broken");
  writer.Integer(static_cast<int64_t>(target));
}

}  // namespace

void Dispatcher::FeedMonitors(const Session& session, const Command& command, Args args) {
  if (command.Has(kAdmin)) return;
  instance_.dispatchers().FeedMonitors(
      MonitorLine(clock_.Now(), session.db, session.connection().peer(), command, args));
}

// Posted, so that no reply is half written and none is waiting to be sealed.
void Dispatcher::Deliver(const PubSub::Message& message, store::Commit commit) {
  net::RespServer* server = instance_.server();
  if (server == nullptr) return;
  const uint64_t ticket = TicketOf(commit);
  for (const PubSub::Receivers& receivers :
       instance_.traffic().pubsub.ReceiversOf(audience_, message)) {
    for (const uint64_t id : receivers.connections) {
      net::RespConnection* connection = server->Find(loop_, id);
      if (connection == nullptr) continue;
      Session& session = SessionOf(*connection);
      std::string text;
      WriteMessage(message, receivers.pattern, net::RespWriter(text, session.protocol));
      WriteOrHold(session, {std::move(text), ticket});
    }
  }
}

void Dispatcher::Push(uint64_t connection_id, std::string text) {
  net::RespServer* server = instance_.server();
  net::RespConnection* connection =
      server == nullptr ? nullptr : server->Find(loop_, connection_id);
  if (connection == nullptr) return;
  WriteOrHold(SessionOf(*connection), {std::move(text), 0});
}

// What a client tells itself, or changes itself, comes after the reply, wherever the request has
// run: on this loop the reply may still have to be sealed, from the pool it is still to come, and
// so it is from the loop that has served a blocked client.
void Dispatcher::WriteOrHold(Session& session, LateMessage message) {
  session.late_bytes += message.text.size();
  session.late_messages.push_back(std::move(message));
  session.connection().set_held_bytes(session.HeldBytes());
  WriteHeld(session);
}

void Dispatcher::WriteHeld(Session& session) const {
  if (!HoldsMessages(session)) WriteLateMessages(session);
}

bool Dispatcher::HoldsMessages(const Session& session) const {
  if (session.with_pool || session.unsealed.count != 0) return true;
  return session.blocked && !instance_.traffic().waiters.IsWaiting(session.blocked->place->id());
}

// --- Client-side caching ------------------------------------------------------------------------

void Dispatcher::TakeInvalidations() {
  if (!invalidations_came_.load(std::memory_order_relaxed)) [[likely]]
    return;
  std::vector<ComingInvalidations> taken;
  {
    const std::lock_guard lock(invalidations_mutex_);
    taken.swap(invalidations_);
    invalidations_came_ = false;
  }
  for (const ComingInvalidations& each : taken) Invalidate(each.messages, each.commit);
}

void Dispatcher::Invalidate(const Tracking::Invalidations& messages, store::Commit commit) {
  net::RespServer* server = instance_.server();
  if (server == nullptr) return;
  const uint64_t ticket = TicketOf(commit);
  for (const Tracking::Invalidation& message : messages) {
    net::RespConnection* connection = server->Find(loop_, message.client);
    if (connection == nullptr) continue;
    Session& session = SessionOf(*connection);
    if (session.tracking == nullptr) continue;
    const uint64_t redirect = session.tracking->options().redirect;
    if (redirect == 0) {
      InvalidateFor(message.client, message, ticket);
    } else if (server->Find(loop_, redirect) != nullptr &&
               instance_.traffic().clients.IsOpen(redirect)) {
      InvalidateFor(redirect, message, ticket);
    } else if (instance_.traffic().clients.IsOpen(redirect)) {
      instance_.dispatchers().PostToAll([redirect, message, ticket](Dispatcher& each) {
        each.InvalidateFor(redirect, message, ticket);
      });
    } else {
      session.redirect_broken = true;
      if (session.protocol < 3) continue;
      std::string text;
      WriteBrokenRedirect(redirect, net::RespWriter(text, session.protocol));
      WriteOrHold(session, {std::move(text), ticket});
    }
  }
}

void Dispatcher::InvalidateFor(uint64_t connection_id, const Tracking::Invalidation& message,
                               uint64_t ticket) {
  net::RespConnection* connection = instance_.server()->Find(loop_, connection_id);
  if (connection == nullptr) return;
  Session& session = SessionOf(*connection);
  std::string text;
  const net::RespWriter writer(text, session.protocol);
  if (session.protocol >= 3) {
    WriteInvalidation(message, {{"invalidate"}}, writer);
  } else if (message.client != connection_id && session.subscribed()) {
    WriteInvalidation(message, {{"message", "__redis__:invalidate"}}, writer);
  } else {
    return;  // RESP2 has no other way to say it
  }
  WriteOrHold(session, {std::move(text), ticket});
}

void Dispatcher::WriteLateMessages(Session& session) {
  if (session.late_messages.empty()) return;
  session.late_bytes = 0;
  session.connection().set_held_bytes(session.HeldBytes());
  for (const LateMessage& message : std::exchange(session.late_messages, {})) {
    session.connection().out() += message.text;
    // No request waits for it: if the commit fails, nothing takes its place.
    session.connection().Seal(message.ticket, 0);
  }
}

}  // namespace cairn::doors
