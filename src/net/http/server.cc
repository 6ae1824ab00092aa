#include "net/http/server.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <ctime>
#include <latch>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/buffer_budget.h"
#include "net/http/head.h"
#include "net/http/shard.h"
#include "net/listener.h"
#include "net/loop.h"
#include "net/tls.h"

namespace cairn::net {
namespace {

// Deadlines are looked after together, a few times within the shortest of them.
std::chrono::milliseconds TickFor(const HttpServerOptions& options) {
  const auto shortest = std::min(
      {options.header_timeout, options.body_timeout, options.idle_timeout, options.write_timeout});
  return std::clamp(shortest / 4, std::chrono::milliseconds(5), std::chrono::milliseconds(500));
}

HttpServerOptions WithBudget(HttpServerOptions options) {
  if (options.budget == nullptr) options.budget = std::make_shared<BufferBudget>();
  return options;
}

}  // namespace

size_t HttpHandler::BodyLimit(HttpRequest& /*head*/) { return kDefaultBodyLimit; }

std::string HttpHandler::RefusalBody(std::string_view /*path*/, int status,
                                     std::string_view message, std::string_view request_id) {
  return HttpErrorBody(HttpErrorCode(status), message, request_id);
}

std::string FormatServerEvent(const ServerEvent& event) {
  const auto append_field = [](std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ");
    std::replace_copy_if(
        value.begin(), value.end(), std::back_inserter(out),
        [](char c) { return c == '\r' || c == '\n'; }, ' ');
    out.push_back('\n');
  };
  std::string text;
  if (!event.id.empty()) append_field(text, "id", event.id);
  if (!event.event.empty()) append_field(text, "event", event.event);
  std::string_view rest = event.data;
  while (true) {
    const size_t end = rest.find_first_of("\r\n");
    append_field(text, "data", rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + (rest.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  text.push_back('\n');
  return text;
}

HttpShard::HttpShard(Loop& loop, std::shared_ptr<HttpShared> shared,
                     std::unique_ptr<HttpHandler> handler)
    : loop_(loop),
      shared_(std::move(shared)),
      handler_(std::move(handler)),
      tick_(TickFor(shared_->options)) {
  CAIRN_CHECK(handler_ != nullptr);
}

void HttpShard::Start() {
  tick_timer_ = loop_.After(tick_, [this] { Tick(); });
}

void HttpShard::Tick() {
  const auto now = std::chrono::steady_clock::now();
  for (HttpSession* session : sessions_) session->CheckDeadline(now);
  Start();
}

void HttpShard::Adopt(FileDescriptor fd, const std::shared_ptr<TlsContext>& tls) {
  if (draining_) {
    --shared_->open;
    return;
  }
  StartHttpSession(shared_from_this(), std::move(fd), tls);
}

void HttpShard::Enter(HttpSession& session) {
  session.id = shared_->next_id++;
  sessions_.insert(&session);
}

bool HttpShard::EndIdlest() {
  const auto idlest = std::ranges::min_element(
      sessions_, {}, [](const HttpSession* session) { return session->idle_since; });
  if (idlest == sessions_.end()) return false;
  if ((*idlest)->idle_since == std::chrono::steady_clock::time_point::max()) return false;
  (*idlest)->idle_since = std::chrono::steady_clock::time_point::max();
  (*idlest)->Abort();
  return true;
}

void HttpShard::Disconnect(uint64_t session_id, size_t bytes) {
  loop_.Post([weak = weak_from_this(), session_id, bytes] {
    const std::shared_ptr<HttpShard> shard = weak.lock();
    if (shard == nullptr) return;
    const auto found = std::ranges::find(shard->sessions_, session_id, &HttpSession::id);
    if (found == shard->sessions_.end()) return;
    shard->shared_->log.Warn(
        "closing the HTTP client with the largest buffers: limits.buffers is used up",
        {{"bytes", bytes}});
    (*found)->Abort();
  });
}

void HttpShard::Leave(HttpSession& session) {
  sessions_.erase(&session);
  --shared_->open;
  if (draining_ && sessions_.empty()) FinishDrain();
}

void HttpShard::Drain(std::chrono::milliseconds limit, std::function<void()> drained) {
  draining_ = true;
  drained_ = std::move(drained);
  if (sessions_.empty()) return FinishDrain();
  drain_timer_ = loop_.After(limit, [this] {
    for (HttpSession* session : sessions_) session->Abort();
    FinishDrain();
  });
  for (HttpSession* session : sessions_) session->Drain();
}

void HttpShard::FinishDrain() {
  drain_timer_.Cancel();
  if (drained_ != nullptr) std::exchange(drained_, nullptr)();
}

void HttpShard::Shutdown() {
  draining_ = true;
  tick_timer_.Cancel();
  for (HttpSession* session : sessions_) session->Abort();
  FinishDrain();
}

const CorsPolicy& HttpShard::cors() const {
  static const CorsPolicy own_pages_only;
  return options().cors ? options().cors() : own_pages_only;
}

const std::string& HttpShard::Date() {
  const int64_t seconds = shared_->clock.Now().us / 1'000'000;
  if (seconds != date_seconds_) {
    date_seconds_ = seconds;
    date_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(static_cast<time_t>(seconds)));
  }
  return date_;
}

class HttpServer::Impl {
 public:
  Impl(const HttpServerOptions& options, LoopGroup& loops, const HttpHandlerFactory& make_handler,
       const Clock& clock, Random& random, Log log)
      : loops_(loops),
        shared_(new HttpShared{WithBudget(options), clock, random, std::move(log)}),
        shards_(loops.size()) {
    loops_.RunOnEach([&](Loop& loop) {
      auto& shard = shards_[IndexOf(loop)];
      shard = std::make_shared<HttpShard>(loop, shared_, make_handler(loop));
      shard->Start();
    });
  }

  ~Impl() {
    CloseListeners();
    loops_.RunOnEach([this](Loop& loop) {
      auto& shard = shards_[IndexOf(loop)];
      shard->Shutdown();
      shard.reset();
    });
  }

  Result<uint16_t> Listen(const Address& address, std::shared_ptr<TlsContext> tls) {
    CAIRN_ASSIGN_OR_RETURN(auto listener, Listener::Bind(
                                              address, loops_.at(0),
                                              [this, tls = std::move(tls)](FileDescriptor fd) {
                                                Accept(std::move(fd), tls);
                                              },
                                              shared_->log));
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
      loops_.at(i).Post([&pending, limit, shard = shards_[i]] {
        shard->Drain(limit, [&pending] { pending.count_down(); });
      });
    }
    pending.wait();
  }

  HttpHandler& handler(Loop& loop) { return shards_[IndexOf(loop)]->handler(); }

  HttpServerStats stats() const {
    return {shared_->received, shared_->rejected, shared_->open, shared_->requests};
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
    ++shared_->received;
    if (shared_->open >= shared_->options.max_connections && !MakeRoom()) {
      Reject(fd, tls != nullptr);
      return;
    }
    ++shared_->open;
    const size_t index = next_shard_++ % shards_.size();
    if (index == 0) {
      shards_[0]->Adopt(std::move(fd), tls);
      return;
    }
    auto carried = std::make_shared<FileDescriptor>(std::move(fd));
    loops_.at(index).Post(
        [shard = shards_[index], carried, tls] { shard->Adopt(std::move(*carried), tls); });
  }

  // A connection between requests may be closed at any time, as HTTP has it: better than to turn
  // away who has something to ask. On other loops that happens for the next one.
  bool MakeRoom() {
    for (size_t i = 1; i < shards_.size(); ++i) {
      loops_.at(i).Post([shard = shards_[i]] { shard->EndIdlest(); });
    }
    return shards_[0]->EndIdlest();
  }

  void Reject(const FileDescriptor& fd, bool speaks_tls) {
    ++shared_->rejected;
    if (speaks_tls) return;  // would take it for a broken handshake
    const std::string body =
        HttpErrorBody(HttpErrorCode(503), "too many connections", /*request_id=*/"");
    const std::string reply = SerializeHead(503, {{"Content-Type", "application/json"},
                                                  {"Content-Length", std::to_string(body.size())},
                                                  {"Retry-After", "1"},
                                                  {"Server-Timing", "proc;dur=0"},
                                                  {"Connection", "close"}}) +
                              body;
    // Best effort: whoever is turned away is not waited for.
    [[maybe_unused]] const ssize_t sent =
        send(fd.get(), reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void CloseListeners() {
    const std::lock_guard lock(mutex_);
    if (listeners_.empty()) return;
    loops_.RunOnEach([this](Loop& loop) {
      if (&loop == &loops_.at(0)) listeners_.clear();
    });
  }

  LoopGroup& loops_;
  const std::shared_ptr<HttpShared> shared_;
  std::vector<std::shared_ptr<HttpShard>> shards_;  // by index of the loop
  std::mutex mutex_;
  std::vector<std::unique_ptr<Listener>> listeners_;  // guarded by mutex_
  size_t next_shard_ = 0;                             // on the first loop
};

HttpServer::HttpServer(const HttpServerOptions& options, LoopGroup& loops,
                       const HttpHandlerFactory& make_handler, const Clock& clock, Random& random,
                       Log log)
    : impl_(std::make_unique<Impl>(options, loops, make_handler, clock, random, std::move(log))) {}

HttpServer::~HttpServer() = default;

Result<uint16_t> HttpServer::Listen(const Address& address, std::shared_ptr<TlsContext> tls) {
  return impl_->Listen(address, std::move(tls));
}

void HttpServer::Drain(std::chrono::milliseconds limit) { impl_->Drain(limit); }

HttpHandler& HttpServer::handler(Loop& loop) { return impl_->handler(loop); }

HttpServerStats HttpServer::stats() const { return impl_->stats(); }

}  // namespace cairn::net
