#include "net/resp/shard.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/check.h"

namespace cairn::net {
namespace {

// Large enough that a deep pipeline needs few reads, small enough to stay in the processor's cache.
constexpr size_t kScratchBytes = 64 * 1024;
constexpr uint64_t kLingerNs = 1'000'000'000;
constexpr size_t kLingerBytes = 16 * 1024 * 1024;

void SetKeepalive(int fd, std::chrono::seconds period) {
  if (period.count() <= 0) return;
  const int on = 1;
  const int idle = static_cast<int>(period.count());
  const int interval = std::max(idle / 3, 1);
  const int probes = 3;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

}  // namespace

// A socket on which everything was sent and whose peer has not finished. Closing it with input
// unread would reset the connection, and the last reply (an error, usually) could be lost on its
// way; so the input is thrown away for a while.
class RespShard::Lingering final : public Poller::Watcher {
 public:
  Lingering(FileDescriptor fd, uint64_t until_ns) : fd_(std::move(fd)), until_ns_(until_ns) {}

  void OnReady(uint32_t /*events*/) override {
    std::array<char, 4096> ignored;
    while (!done_) {
      const ssize_t received = recv(fd_.get(), ignored.data(), ignored.size(), 0);
      if (received > 0) {
        discarded_ += static_cast<size_t>(received);
        done_ = discarded_ > kLingerBytes;
      } else if (received < 0 && errno == EAGAIN) {
        return;
      } else if (received == 0 || errno != EINTR) {
        done_ = true;
      }
    }
  }

  int fd() const { return fd_.get(); }
  bool Done(uint64_t now_ns) const { return done_ || now_ns > until_ns_; }

 private:
  FileDescriptor fd_;
  const uint64_t until_ns_;
  size_t discarded_ = 0;
  bool done_ = false;
};

RespShard::RespShard(Loop& loop, RespShared& shared, std::unique_ptr<RespHandler> handler)
    : loop_(loop),
      shared_(shared),
      handler_(std::move(handler)),
      scratch_(kScratchBytes),
      now_ns_(shared.clock.MonotonicNs()),
      alive_(std::make_shared<RespShard*>(this)),
      poller_(loop, [this] { Turn(); }) {
  CAIRN_CHECK(handler_ != nullptr);
  poller_.Arm();
  ScheduleSweep();
}

RespShard::~RespShard() {
  *alive_ = nullptr;
  in_turn_ = true;  // what the sessions' destructors ask for has nowhere to go any more
  shared_.open -= connections_.size();
  const auto doomed = std::exchange(connections_, {});
}

void RespShard::Adopt(std::shared_ptr<Transport> transport) {
  if (draining_) {
    --shared_.open;
    return;
  }
  SetKeepalive(transport->fd(), shared_.options.keepalive);
  const uint64_t id = shared_.next_id++;
  auto made = std::make_unique<SocketConnection>(id, *this, std::move(transport),
                                                 shared_.clock.MonotonicNs());
  SocketConnection& connection = *made;
  connections_.emplace(id, std::move(made));
  counters_.connections.Add(1);
  if (!connection.Start()) {
    shared_.log.Warn("cannot watch a connection", {{"client", connection.peer()}});
    connections_.erase(id);
    --shared_.open;
  }
}

// --- Turns --------------------------------------------------------------------------------------

void RespShard::Turn() {
  turn_scheduled_ = false;
  in_turn_ = true;
  // Clients that were answered soon ask again. Looking at once is one call of the kernel; going
  // back to the loop to be told would be three, which is much for a few requests. But the loop has
  // others to serve, among them who says that a commit is durable.
  constexpr int kMostRounds = 8;
  constexpr uint64_t kLongestTurnNs = 200'000;
  const uint64_t began_ns = shared_.clock.MonotonicNs();
  for (int round = 0; round < kMostRounds && ServeReady(); ++round) {
    EndRound();
    if (shared_.clock.MonotonicNs() - began_ns > kLongestTurnNs) break;
  }
  FinishTurn();
}

bool RespShard::ServeReady() {
  now_ns_ = shared_.clock.MonotonicNs();
  std::swap(runnable_, running_);
  for (SocketConnection* connection : running_) {
    connection->listed.runnable = false;
    connection->Run();
  }
  running_.clear();
  for (const epoll_event& event : poller_.Poll()) {
    static_cast<Poller::Watcher*>(event.data.ptr)->OnReady(event.events);
  }
  return !served_.empty();
}

void RespShard::EndRound() {
  for (RespConnection* connection : served_) {
    static_cast<SocketConnection*>(connection)->listed.served = false;
  }
  std::erase_if(served_, [](RespConnection* connection) {
    return static_cast<SocketConnection*>(connection)->closed();
  });
  handler_->TurnEnd(served_);
  served_.clear();
  FlushDirty();
  DestroyClosed();
}

void RespShard::FinishTurn() {
  FlushDirty();
  DestroyClosed();
  in_turn_ = false;
  poller_.Arm();
  if (!runnable_.empty() || !dirty_.empty()) ScheduleTurn();
  if (draining_ && connections_.empty() && drained_ != nullptr) {
    drain_timer_.Cancel();
    std::exchange(drained_, nullptr)();
  }
}

void RespShard::ScheduleTurn() {
  if (turn_scheduled_ || in_turn_) return;
  turn_scheduled_ = true;
  loop_.Post([alive = alive_] {
    RespShard* const shard = *alive;
    if (shard != nullptr && shard->turn_scheduled_) shard->Turn();
  });
}

void RespShard::FlushDirty() {
  for (SocketConnection* connection : dirty_) {
    connection->Flush();
    connection->listed.dirty = false;
  }
  dirty_.clear();
}

void RespShard::DestroyClosed() {
  const auto is_closed = [](const SocketConnection* connection) { return connection->closed(); };
  // A session's destructor may close other connections: hence the loop.
  while (!closed_.empty()) {
    std::erase_if(dirty_, is_closed);
    std::erase_if(runnable_, is_closed);
    std::erase_if(waiting_, is_closed);
    for (const uint64_t id : std::exchange(closed_, {})) {
      const auto found = connections_.find(id);
      CAIRN_CHECK(found != connections_.end(), "connection {}", id);
      const std::unique_ptr<SocketConnection> doomed = std::move(found->second);
      connections_.erase(found);
      --shared_.open;
      FileDescriptor lingering = doomed->TakeLingering();
      if (lingering.get() >= 0) {
        auto& watcher = lingering_.emplace_back(
            std::make_unique<Lingering>(std::move(lingering), now_ns_ + kLingerNs));
        if (!poller_.Add(watcher->fd(), EPOLLIN, *watcher).ok()) lingering_.pop_back();
      }
    }
  }
  if (!lingering_.empty()) {
    std::erase_if(lingering_, [this](const auto& watcher) { return watcher->Done(now_ns_); });
  }
}

void RespShard::MarkServed(SocketConnection& connection) {
  if (std::exchange(connection.listed.served, true)) return;
  served_.push_back(&connection);
}

void RespShard::MarkDirty(SocketConnection& connection) {
  if (std::exchange(connection.listed.dirty, true)) return;
  dirty_.push_back(&connection);
  ScheduleTurn();
}

void RespShard::MarkRunnable(SocketConnection& connection) {
  if (std::exchange(connection.listed.runnable, true)) return;
  runnable_.push_back(&connection);
  ScheduleTurn();
}

void RespShard::MarkWaiting(SocketConnection& connection) {
  if (std::exchange(connection.listed.waiting, true)) return;
  waiting_.push_back(&connection);
}

void RespShard::MarkClosed(SocketConnection& connection) {
  closed_.push_back(connection.id());
  ScheduleTurn();
}

// --- Tickets ------------------------------------------------------------------------------------

void RespShard::Release(uint64_t ticket) {
  if (ticket <= release_.released || release_.failure.has_value()) return;
  release_.released = ticket;
  ForEachWaiting([](SocketConnection& connection) { connection.Release(); });
}

void RespShard::Fail(const std::string& error_line) {
  if (release_.failure.has_value()) return;
  release_.failure = error_line;
  ForEachWaiting([](SocketConnection& connection) { connection.Fail(); });
}

// Between turns what became sendable is written at once; within one, at its end.
template <typename Step>
void RespShard::ForEachWaiting(const Step& step) {
  const bool between_turns = !std::exchange(in_turn_, true);
  if (between_turns) now_ns_ = shared_.clock.MonotonicNs();
  std::erase_if(waiting_, [this, &step](SocketConnection* connection) {
    step(*connection);
    MarkDirty(*connection);
    connection->listed.waiting = connection->waiting();
    return !connection->listed.waiting;
  });
  if (between_turns) FinishTurn();
}

// --- Looking after connections ------------------------------------------------------------------

RespConnection* RespShard::Find(uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second->closed()) return nullptr;
  return found->second.get();
}

void RespShard::ForEach(const std::function<void(RespConnection&)>& visit) {
  for (const auto& [id, connection] : connections_) {
    if (!connection->closed()) visit(*connection);
  }
}

void RespShard::Disconnect(uint64_t connection_id, size_t bytes) {
  loop_.Post([alive = alive_, connection_id, bytes] {
    if (*alive == nullptr) return;
    RespConnection* const connection = (*alive)->Find(connection_id);
    if (connection == nullptr) return;
    (*alive)->log().Warn("closing the client with the largest buffers: limits.buffers is used up",
                         {{"client", connection->peer()}, {"bytes", bytes}});
    (*alive)->counters_.output_disconnects.Add(1);
    connection->CloseNow();
  });
}

void RespShard::Sweep() {
  now_ns_ = shared_.clock.MonotonicNs();
  const auto idle_timeout_ns = static_cast<uint64_t>(shared_.idle_timeout_ms.load()) * 1'000'000;
  for (const auto& [id, connection] : connections_) {
    if (!connection->closed()) connection->LookAfter(now_ns_, idle_timeout_ns);
  }
  const uint64_t now_ns = now_ns_;
  std::erase_if(lingering_, [now_ns](const auto& watcher) { return watcher->Done(now_ns); });
  ScheduleSweep();
}

void RespShard::ScheduleSweep() {
  sweep_timer_ = loop_.After(shared_.options.sweep_interval, [this] { Sweep(); });
}

void RespShard::Drain(std::chrono::milliseconds limit, std::function<void()> drained) {
  draining_ = true;
  drained_ = std::move(drained);
  for (const auto& [id, connection] : connections_) connection->Drain();
  drain_timer_ = loop_.After(limit, [this] {
    for (const auto& [id, connection] : connections_) connection->CloseNow();
  });
  ScheduleTurn();
}

}  // namespace cairn::net
