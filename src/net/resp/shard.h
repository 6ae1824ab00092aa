#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "net/buffer_budget.h"
#include "net/loop.h"
#include "net/poller.h"
#include "net/resp/connection.h"
#include "net/resp/reply_buffer.h"
#include "net/resp/server.h"

namespace cairn::net {

// OutputLimits that any thread may change while the loops go by them.
class SharedOutputLimits {
 public:
  void Set(const OutputLimits& limits) {
    hard_ = limits.hard_bytes;
    soft_ = limits.soft_bytes;
    soft_seconds_ = limits.soft_for.count();
  }
  OutputLimits Get() const {
    return {hard_.load(std::memory_order_relaxed), soft_.load(std::memory_order_relaxed),
            std::chrono::seconds(soft_seconds_.load(std::memory_order_relaxed))};
  }
  bool PastHard(size_t unsent) const {
    const size_t hard = hard_.load(std::memory_order_relaxed);
    return unsent > hard && hard != 0;
  }

 private:
  std::atomic<size_t> hard_ = 0;
  std::atomic<size_t> soft_ = 0;
  std::atomic<int64_t> soft_seconds_ = 0;
};

// What the shards of a server have in common. Safe to use from any thread.
struct RespShared {
  RespShared(const RespServerOptions& with, const Clock& from_clock, Log to_log)
      : options(with),
        clock(from_clock),
        log(std::move(to_log)),
        budget(options.budget ? options.budget : std::make_shared<BufferBudget>()),
        max_clients(options.max_clients),
        idle_timeout_ms(options.idle_timeout.count()),
        query_buffer_bytes(options.limits.query_buffer_bytes),
        bulk_bytes(options.limits.bulk_bytes) {
    for (size_t i = 0; i < kOutputClasses; ++i) output_limits[i].Set(options.output_limits[i]);
  }

  const RespServerOptions options;
  const Clock& clock;
  const Log log;
  const std::shared_ptr<BufferBudget> budget;
  std::atomic<size_t> max_clients;
  std::atomic<int64_t> idle_timeout_ms;
  std::atomic<size_t> query_buffer_bytes;
  std::atomic<int64_t> bulk_bytes;
  std::array<SharedOutputLimits, kOutputClasses> output_limits;
  std::atomic<uint64_t> next_id = 1;
  std::atomic<size_t> open = 0;  // connections, those on their way to a shard included
};

// A count that one thread raises and any thread reads.
class Counter {
 public:
  void Add(uint64_t count) {
    value_.store(value_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_ = 0;
};

struct RespCounters {
  Counter connections;
  Counter requests;
  Counter protocol_errors;
  Counter bytes_in;
  Counter bytes_out;
  Counter output_disconnects;
  Counter auth_timeouts;
};

// The part of a RespServer that lives on one loop: its connections, its handler, and the turns in
// which they are served. Used on the loop's thread only, except counters() and Disconnect.
//
// A turn is one round or several, as long as there is somebody to serve. A round: connections with
// waiting requests, then all sockets that are ready; then the handler's TurnEnd; then one write to
// each connection that has something to send; then closed connections are destroyed. Nothing is
// written or destroyed at any other time, except that Release and Fail write at once when they are
// called between turns.
class RespShard final : public BufferBudget::Owner {
 public:
  RespShard(Loop& loop, RespShared& shared, std::unique_ptr<RespHandler> handler);
  ~RespShard() override;
  RespShard(const RespShard&) = delete;
  RespShard& operator=(const RespShard&) = delete;

  void Adopt(std::shared_ptr<Transport> transport);
  void Release(uint64_t ticket);
  void Fail(const std::string& error_line);
  RespConnection* Find(uint64_t id);
  void ForEach(const std::function<void(RespConnection&)>& visit);
  // Calls `drained` when the last connection is closed, at the latest soon after `limit`.
  void Drain(std::chrono::milliseconds limit, std::function<void()> drained);

  RespHandler& handler() { return *handler_; }
  const RespCounters& counters() const { return counters_; }

  // From any thread: ends a connection that holds the most memory when there is too little.
  void Disconnect(uint64_t connection_id, size_t bytes) override;

  // For the shard's connections.
  Loop& loop() { return loop_; }
  Poller& poller() { return poller_; }
  const RespServerOptions& options() const { return shared_.options; }
  RespShared& shared() { return shared_; }
  const Clock& clock() const { return shared_.clock; }
  const Log& log() const { return shared_.log; }
  RespCounters& counters() { return counters_; }
  const ReleaseState& release_state() const { return release_; }
  std::span<char> scratch() { return scratch_; }
  RequestBatch& batch() { return batch_; }
  uint64_t now_ns() const { return now_ns_; }  // when the turn began
  bool draining() const { return draining_; }
  void MarkServed(SocketConnection& connection);
  void MarkDirty(SocketConnection& connection);
  void MarkRunnable(SocketConnection& connection);
  void MarkWaiting(SocketConnection& connection);
  void MarkClosed(SocketConnection& connection);

 private:
  class Lingering;

  void Turn();
  bool ServeReady();  // whether there was anybody to serve
  void EndRound();
  void ScheduleTurn();
  void FlushDirty();
  void FinishTurn();
  template <typename Step>
  void ForEachWaiting(const Step& step);
  void DestroyClosed();
  void Sweep();
  void ScheduleSweep();

  Loop& loop_;
  RespShared& shared_;
  std::unique_ptr<RespHandler> handler_;
  RespCounters counters_;
  ReleaseState release_;
  std::vector<char> scratch_;
  RequestBatch batch_;
  uint64_t now_ns_ = 0;
  bool in_turn_ = false;
  bool turn_scheduled_ = false;
  bool draining_ = false;
  std::function<void()> drained_;

  std::unordered_map<uint64_t, std::unique_ptr<SocketConnection>> connections_;
  std::vector<RespConnection*> served_;      // executed something in this turn
  std::vector<SocketConnection*> dirty_;     // may have something to send, or to decide
  std::vector<SocketConnection*> runnable_;  // have requests waiting in their input
  std::vector<SocketConnection*> running_;
  std::vector<SocketConnection*> waiting_;  // have parts that wait for a ticket
  std::vector<uint64_t> closed_;
  std::vector<std::unique_ptr<Lingering>> lingering_;
  Timer sweep_timer_;
  Timer drain_timer_;
  std::shared_ptr<RespShard*> alive_;  // null inside once this object is gone
  Poller poller_;
};

}  // namespace cairn::net
