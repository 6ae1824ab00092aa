// What the dispatcher writes to connections that did not ask for it just now: messages of channels,
// and what MONITOR shows.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doors/dispatcher.h"
#include "doors/monitor.h"

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

}  // namespace

Subscriptions& Dispatcher::SubscriptionsOf(Session& session) {
  if (session.subscriptions == nullptr) {
    session.subscriptions =
        std::make_unique<Subscriptions>(instance_.pubsub(), audience_, session.id());
  }
  return *session.subscriptions;
}

void Dispatcher::StartMonitor(Session& session) {
  if (session.monitor) return;
  session.monitor = true;
  std::atomic<size_t>& count = instance_.monitors();
  ++count;
  session.monitoring = store::Subscription([&count] { --count; });
  session.connection().set_output_limit(instance_.pubsub().output_limit());
  monitors_.push_back(session.id());
}

void Dispatcher::FeedMonitors(const Session& session, const Command& command, Args args) {
  if (command.Has(kAdmin)) return;
  instance_.FeedMonitors(
      MonitorLine(clock_.Now(), session.db, session.connection().peer(), command, args));
}

// What is posted from the loop itself may be overtaken by what the pool posts, so the lines stand
// in a line of their own.
void Dispatcher::ShowToMonitors(std::shared_ptr<const std::string> line) {
  const std::lock_guard lock(monitor_lines_mutex_);
  monitor_lines_.push_back(std::move(line));
  if (monitor_lines_.size() > 1) return;  // somebody is already on the way
  Post([](Dispatcher& self) {
    std::vector<std::shared_ptr<const std::string>> lines;
    {
      const std::lock_guard inner(self.monitor_lines_mutex_);
      lines.swap(self.monitor_lines_);
    }
    for (const auto& each : lines) self.WriteToMonitors(*each);
  });
}

void Dispatcher::WriteToMonitors(const std::string& line) {
  net::RespServer* server = instance_.server();
  if (server == nullptr) return;
  std::erase_if(monitors_, [&](uint64_t id) {
    net::RespConnection* connection = server->Find(loop_, id);
    if (connection == nullptr || !SessionOf(*connection).monitor) return true;
    net::RespWriter(connection->out(), SessionOf(*connection).protocol).Simple(line);
    connection->Seal(0, 0);
    return false;
  });
}

// Posted, so that no reply is half written and none is waiting to be sealed.
void Dispatcher::Deliver(const PubSub::Message& message, store::Commit commit) {
  net::RespServer* server = instance_.server();
  if (server == nullptr) return;
  const uint64_t ticket = store_.IsDurable(commit) ? 0 : commit.number;
  for (const PubSub::Receivers& receivers : instance_.pubsub().ReceiversOf(audience_, message)) {
    for (const uint64_t id : receivers.connections) {
      net::RespConnection* connection = server->Find(loop_, id);
      if (connection == nullptr) continue;
      Session& session = SessionOf(*connection);
      std::string text;
      WriteMessage(message, receivers.pattern, net::RespWriter(text, session.protocol));
      session.late_messages.push_back({std::move(text), ticket});
      // What a client publishes to itself comes after the reply, wherever the request has run.
      if (!session.with_pool) WriteLateMessages(session);
    }
  }
}

void Dispatcher::Push(uint64_t connection_id, std::string text) {
  net::RespServer* server = instance_.server();
  net::RespConnection* connection =
      server == nullptr ? nullptr : server->Find(loop_, connection_id);
  if (connection == nullptr) return;
  Session& session = SessionOf(*connection);
  session.late_messages.push_back({std::move(text), 0});
  if (!session.with_pool) WriteLateMessages(session);
}

void Dispatcher::WriteLateMessages(Session& session) {
  for (const LateMessage& message : std::exchange(session.late_messages, {})) {
    session.connection().out() += message.text;
    // No request waits for it: if the commit fails, nothing takes its place.
    session.connection().Seal(message.ticket, 0);
  }
}

}  // namespace cairn::doors
