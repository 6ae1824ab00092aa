#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "net/address.h"
#include "net/resp/limits.h"

// A RESP server that keeps each connection's replies in request order while the commits behind them
// become durable later and in groups.
//
// One turn of a loop, with two connections readable:
//
//   read A ─ Execute(A, SET) ─ Execute(A, GET) ─ read B ─ Execute(B, INCR)
//          └ replies are appended to A.out() and B.out(), nothing leaves yet
//   handler.TurnEnd({A, B})      one commit for all three; A.Seal(17, 2), B.Seal(17, 1)
//   …                            further turns may seal under 18, 19, … meanwhile
//   server.Release(loop, 17)     commit 17 is on disk: one write to A, one to B
//
// What is appended but not sealed never leaves, so a forgotten Seal shows as a client that waits,
// not as an acknowledgement that a crash could take back.
namespace cairn::net {

class BufferBudget;
class Loop;
class LoopGroup;
class TlsContext;
class RespConnection;

// Kinds of connections that may leave differently much unread.
enum class OutputClass : uint8_t { kNormal, kReplica, kPubSub };
inline constexpr size_t kOutputClasses = 3;

// How much output may be unsent before the connection is closed. 0: no such limit.
struct OutputLimits {
  size_t hard_bytes = 0;  // at once
  size_t soft_bytes = 0;  // when it was more than this for `soft_for`
  std::chrono::seconds soft_for{0};

  friend bool operator==(const OutputLimits&, const OutputLimits&) = default;
};

// What a handler keeps per connection. Destroyed on the loop's thread when the connection closes,
// in whatever way it closes; cleaning up belongs into the destructor of the derived class.
class RespSession {
 public:
  virtual ~RespSession() = default;
};

// What the server calls, always on the loop's thread: one handler object per loop.
class RespHandler {
 public:
  virtual ~RespHandler() = default;

  // A client has connected. Called once per connection, before any Execute of it.
  virtual std::unique_ptr<RespSession> Open(RespConnection& connection) = 0;

  // One complete request; `args` has at least one element and is valid only during the call. By the
  // end of the turn the reply is appended to connection.out(), or the connection paused until it
  // is.
  virtual void Execute(RespConnection& connection, std::span<const std::string_view> args) = 0;

  // Requests for which Execute will be called next, in this order, unless one of them pauses or
  // closes the connection: time to fetch from memory what they will need. Valid during the call.
  using Request = std::span<const std::string_view>;
  virtual void Expect(RespConnection& /*connection*/, std::span<const Request> /*requests*/) {}

  // Every connection that was ready in this turn has been served. Called if Execute was called in
  // the turn; `served` are the connections it was called for and that are still open, each once.
  virtual void TurnEnd(std::span<RespConnection* const> served) = 0;
};

// Why a connection is paused decides what happens when the client ends its input meanwhile.
enum class PauseReason {
  kWorking,  // the reply is being made: a client that stopped sending still gets it
  kBlocked,  // waits for an event that may never come: a client that stopped sending is closed
};

// One client. Belongs to a loop: used on that loop's thread only, except id(). A connection may
// close whenever the loop runs; hold its id across asynchronous work and look it up with
// RespServer::Find.
class RespConnection {
 public:
  virtual ~RespConnection() = default;

  uint64_t id() const { return id_; }  // never 0, never used twice
  Loop& loop() const { return loop_; }
  RespSession& session() const { return *session_; }
  const std::string& peer() const { return peer_; }    // "127.0.0.1:51234"
  const std::string& local() const { return local_; }  // "127.0.0.1:6666"
  virtual int fd() const = 0;
  virtual bool tls() const = 0;

  // Replies are appended here, in request order.
  std::string& out() { return out_; }

  // What has been appended since the last Seal holds `replies` replies and may leave once Release
  // has been called with `ticket` or more. Ticket 0 waits for nothing but the parts sealed before
  // it. If the ticket fails, the part is replaced by `replies` error lines.
  virtual void Seal(uint64_t ticket, uint32_t replies) = 0;
  // What has been appended since the last Seal held `replies` replies that are not true: each is
  // replaced by `error_line`, which waits for nothing but the parts sealed before it.
  virtual void Refuse(uint32_t replies, std::string_view error_line) = 0;

  // Between Pause and Resume no request of this connection is executed; what arrives waits in
  // order. Resume continues with waiting requests in a turn of their own, never inside the call.
  virtual void Pause(PauseReason reason) = 0;
  virtual void Resume() = 0;
  virtual bool paused() const = 0;

  // Executes nothing more; closes once everything sealed has left. What is unsealed then is
  // dropped.
  virtual void CloseAfterReplies() = 0;
  // Executes and sends nothing more. The object and its session live until the turn ends.
  virtual void CloseNow() = 0;
  virtual bool closing() const = 0;

  // Until set, the limits for clients that have not authenticated apply (RespLimits). A handler
  // that needs no authentication sets it in Open.
  virtual void set_authenticated(bool authenticated) = 0;
  // Whose limits its unsent output is held to; at first, kNormal.
  virtual void set_output_class(OutputClass output_class) = 0;
  // What the handler keeps for the connection (requests that are queued, say), so that it counts as
  // memory of the connection.
  virtual void set_held_bytes(size_t bytes) = 0;

  struct Stats {
    Timestamp opened;
    Timestamp last_active;   // the last time bytes arrived
    size_t input_bytes = 0;  // received, not executed yet; the request that is executed included
    size_t input_capacity = 0;
    size_t output_bytes = 0;   // appended, not yet taken by the kernel
    size_t output_blocks = 0;  // the pieces in which most of that waits
    size_t output_capacity = 0;
    size_t held_bytes = 0;  // by the handler
    uint64_t requests = 0;

    size_t memory() const { return input_capacity + output_capacity + held_bytes; }
  };
  // From any thread, as long as the connection is there; on another than the loop's, as it was at
  // the end of its last turn, and without the times.
  virtual Stats stats() const = 0;

 protected:
  RespConnection(uint64_t id, Loop& loop) : id_(id), loop_(loop) {}

  const uint64_t id_;
  Loop& loop_;
  std::string peer_;
  std::string local_;
  std::string out_;
  std::unique_ptr<RespSession> session_;
};

struct RespServerOptions {
  size_t max_clients = 10'000;                // further ones are told so and closed
  std::chrono::milliseconds idle_timeout{0};  // close clients silent for that long; 0: never
  std::chrono::seconds keepalive{300};        // TCP keep-alive probes; 0: none
  std::chrono::milliseconds auth_timeout{0};  // close clients that do not authenticate; 0: never
  RespLimits limits;
  // By OutputClass, as Redis has them.
  std::array<OutputLimits, kOutputClasses> output_limits = {
      {{},
       {256UL * 1024 * 1024, 64UL * 1024 * 1024, std::chrono::seconds(60)},
       {32UL * 1024 * 1024, 8UL * 1024 * 1024, std::chrono::seconds(60)}}};
  // What all buffers may hold together; null: no bound.
  std::shared_ptr<BufferBudget> budget;
  // How often clients are looked at that are idle, or do not read.
  std::chrono::milliseconds sweep_interval{250};
};

struct RespServerStats {
  uint64_t connections_received = 0;
  uint64_t connections_rejected = 0;
  uint64_t connections_open = 0;
  uint64_t requests = 0;
  uint64_t protocol_errors = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t output_disconnects = 0;  // clients that did not read their replies
  uint64_t auth_timeouts = 0;
};

using RespHandlerFactory = std::function<std::unique_ptr<RespHandler>(Loop&)>;

// Accepts connections and spreads them over the loops of a group. Construct before the group starts
// or while it runs; destroy before the group, after Drain or Stop of the group. Listen, Drain and
// the getters may be called from any thread that is not a loop's; functions that take a Loop, on
// its thread.
class RespServer {
 public:
  RespServer(const RespServerOptions& options, LoopGroup& loops,
             const RespHandlerFactory& make_handler, const Clock& clock, Log log);
  ~RespServer();
  RespServer(const RespServer&) = delete;
  RespServer& operator=(const RespServer&) = delete;

  // May be called several times, for several addresses; with `tls`, clients must speak TLS on this
  // one. Returns the port that was bound.
  Result<uint16_t> Listen(const Address& address, std::shared_ptr<TlsContext> tls = nullptr);

  // Everything sealed on this loop with a ticket ≤ `ticket` may go out. A ticket lower than one
  // released before changes nothing.
  void Release(Loop& loop, uint64_t ticket);

  // Tickets above the last released one will never be: replaces the parts sealed with them by
  // `error_line` ("-ERR …", without line end) once per reply and sends those; parts sealed later
  // fail at once in the same way. There is no way back.
  void Fail(Loop& loop, const std::string& error_line);

  // The open connection with this id, or null. The pointer holds until the caller returns to the
  // loop.
  RespConnection* Find(Loop& loop, uint64_t id);
  void ForEachConnection(Loop& loop, const std::function<void(RespConnection&)>& visit);
  RespHandler& handler(Loop& loop);

  // Stops accepting and reading, lets requests in execution finish and their replies leave, and
  // closes each connection as soon as it has none; what is left after `limit` is closed as it is.
  // Returns when all connections are closed. The loops must be running.
  void Drain(std::chrono::milliseconds limit);

  RespServerStats stats() const;

  size_t max_clients() const;
  void set_max_clients(size_t count);
  std::chrono::milliseconds idle_timeout() const;
  void set_idle_timeout(std::chrono::milliseconds timeout);
  OutputLimits output_limits(OutputClass output_class) const;
  void set_output_limits(OutputClass output_class, const OutputLimits& limits);
  // RespLimits::query_buffer_bytes and bulk_bytes. A request that has begun keeps its bounds.
  size_t query_buffer_limit() const;
  void set_query_buffer_limit(size_t bytes);
  int64_t bulk_limit() const;
  void set_bulk_limit(int64_t bytes);
  const BufferBudget& budget() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::net
