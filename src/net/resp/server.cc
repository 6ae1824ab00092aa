#include "net/resp/server.h"

#include <sys/socket.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/listener.h"
#include "net/loop.h"
#include "net/resp/shard.h"
#include "net/tls.h"

namespace cairn::net {

class RespServer::Impl {
 public:
  Impl(const RespServerOptions& options, LoopGroup& loops, const RespHandlerFactory& make_handler,
       const Clock& clock, Log log)
      : loops_(loops), shared_(options, clock, std::move(log)), shards_(loops.size()) {
    // On the loops' own threads: a shard belongs to its loop from the first moment.
    loops_.RunOnEach([&](Loop& loop) {
      shards_[IndexOf(loop)] = std::make_unique<RespShard>(loop, shared_, make_handler(loop));
    });
  }

  ~Impl() {
    CloseListeners();
    loops_.RunOnEach([this](Loop& loop) { shards_[IndexOf(loop)].reset(); });
  }

  Result<uint16_t> Listen(const Address& address, std::shared_ptr<TlsContext> tls) {
    CAIRN_ASSIGN_OR_RETURN(auto listener, Listener::Bind(
                                              address, loops_.at(0),
                                              [this, tls = std::move(tls)](FileDescriptor fd) {
                                                Accept(std::move(fd), tls);
                                              },
                                              shared_.log));
    const uint16_t port = listener->port();
    const std::lock_guard lock(mutex_);
    listeners_.push_back(std::move(listener));
    listeners_.back()->Start();
    return port;
  }

  void Drain(std::chrono::milliseconds limit) {
    CloseListeners();
    if (!loops_.running()) return;
    std::latch pending(static_cast<ptrdiff_t>(shards_.size()));
    for (size_t i = 0; i < shards_.size(); ++i) {
      loops_.at(i).Post([&pending, limit, shard = shards_[i].get()] {
        shard->Drain(limit, [&pending] { pending.count_down(); });
      });
    }
    pending.wait();
  }

  RespShard& shard(Loop& loop) { return *shards_[IndexOf(loop)]; }
  RespShared& shared() { return shared_; }
  const RespShared& shared() const { return shared_; }

  RespServerStats stats() const {
    RespServerStats stats;
    stats.connections_rejected = rejected_;
    stats.connections_open = shared_.open;
    for (const auto& shard : shards_) {
      const RespCounters& counters = std::as_const(*shard).counters();
      stats.connections_received += counters.connections.value();
      stats.requests += counters.requests.value();
      stats.protocol_errors += counters.protocol_errors.value();
      stats.bytes_in += counters.bytes_in.value();
      stats.bytes_out += counters.bytes_out.value();
      stats.output_disconnects += counters.output_disconnects.value();
      stats.auth_timeouts += counters.auth_timeouts.value();
    }
    return stats;
  }

 private:
  size_t IndexOf(const Loop& loop) {
    for (size_t i = 0; i < loops_.size(); ++i) {
      if (&loops_.at(i) == &loop) return i;
    }
    CAIRN_CHECK(false, "a loop of another group");
    return 0;
  }

  // On the first loop, which all listeners share.
  void Accept(FileDescriptor fd, const std::shared_ptr<TlsContext>& tls) {
    if (shared_.open >= shared_.max_clients) {
      Reject(std::move(fd), tls != nullptr);
      return;
    }
    std::shared_ptr<Transport> transport =
        tls == nullptr ? MakeTcpTransport(std::move(fd)) : MakeTlsTransport(std::move(fd), tls);
    if (transport == nullptr) return;
    ++shared_.open;
    const size_t index = next_shard_++ % shards_.size();
    if (index == 0) {
      shards_[0]->Adopt(std::move(transport));
    } else {
      loops_.at(index).Post([shard = shards_[index].get(), transport]() mutable {
        shard->Adopt(std::move(transport));
      });
    }
  }

  void Reject(FileDescriptor fd, bool speaks_tls) {
    ++rejected_;
    if (speaks_tls) return;  // would take it for a broken handshake
    constexpr std::string_view kReply = "-ERR max number of clients reached\r\n";
    // Best effort: whoever is turned away is not waited for.
    [[maybe_unused]] const ssize_t sent =
        send(fd.get(), kReply.data(), kReply.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void CloseListeners() {
    const std::lock_guard lock(mutex_);
    if (listeners_.empty()) return;
    loops_.RunOnEach([this](Loop& loop) {
      if (&loop == &loops_.at(0)) listeners_.clear();
    });
  }

  LoopGroup& loops_;
  RespShared shared_;
  std::vector<std::unique_ptr<RespShard>> shards_;  // by index of the loop
  std::mutex mutex_;
  std::vector<std::unique_ptr<Listener>> listeners_;  // guarded by mutex_
  size_t next_shard_ = 0;                             // on the first loop
  std::atomic<uint64_t> rejected_ = 0;
};

RespServer::RespServer(const RespServerOptions& options, LoopGroup& loops,
                       const RespHandlerFactory& make_handler, const Clock& clock, Log log)
    : impl_(std::make_unique<Impl>(options, loops, make_handler, clock, std::move(log))) {}

RespServer::~RespServer() = default;

Result<uint16_t> RespServer::Listen(const Address& address, std::shared_ptr<TlsContext> tls) {
  return impl_->Listen(address, std::move(tls));
}

void RespServer::Release(Loop& loop, uint64_t ticket) { impl_->shard(loop).Release(ticket); }

void RespServer::Fail(Loop& loop, const std::string& error_line) {
  impl_->shard(loop).Fail(error_line);
}

RespConnection* RespServer::Find(Loop& loop, uint64_t id) { return impl_->shard(loop).Find(id); }

void RespServer::ForEachConnection(Loop& loop, const std::function<void(RespConnection&)>& visit) {
  impl_->shard(loop).ForEach(visit);
}

RespHandler& RespServer::handler(Loop& loop) { return impl_->shard(loop).handler(); }

void RespServer::Drain(std::chrono::milliseconds limit) { impl_->Drain(limit); }

RespServerStats RespServer::stats() const { return impl_->stats(); }

size_t RespServer::max_clients() const { return impl_->shared().max_clients; }

void RespServer::set_max_clients(size_t count) { impl_->shared().max_clients = count; }

std::chrono::milliseconds RespServer::idle_timeout() const {
  return std::chrono::milliseconds(impl_->shared().idle_timeout_ms);
}

void RespServer::set_idle_timeout(std::chrono::milliseconds timeout) {
  impl_->shared().idle_timeout_ms = timeout.count();
}

OutputLimits RespServer::output_limits(OutputClass output_class) const {
  return impl_->shared().output_limits[static_cast<size_t>(output_class)].Get();
}

void RespServer::set_output_limits(OutputClass output_class, const OutputLimits& limits) {
  impl_->shared().output_limits[static_cast<size_t>(output_class)].Set(limits);
}

size_t RespServer::query_buffer_limit() const { return impl_->shared().query_buffer_bytes; }

void RespServer::set_query_buffer_limit(size_t bytes) {
  impl_->shared().query_buffer_bytes = bytes;
}

int64_t RespServer::bulk_limit() const { return impl_->shared().bulk_bytes; }

void RespServer::set_bulk_limit(int64_t bytes) { impl_->shared().bulk_bytes = bytes; }

const BufferBudget& RespServer::budget() const { return *impl_->shared().budget; }

}  // namespace cairn::net
