#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/buffer_budget.h"
#include "net/poller.h"
#include "net/resp/input_buffer.h"
#include "net/resp/parser.h"
#include "net/resp/reply_buffer.h"
#include "net/resp/request_batch.h"
#include "net/resp/server.h"
#include "net/transport.h"

namespace cairn::net {

class RespShard;
class SharedOutputLimits;

// The RespConnection behind a socket. Everything happens inside a turn of its shard: the socket is
// read and requests are executed first, output is flushed at the end of the turn, and only there a
// connection decides to close.
//
// Input is read into a buffer that all connections of the loop share and is executed out of it;
// only the beginning of a request whose rest has not arrived is kept per connection. So arguments
// are not copied, and a connection's own buffer is small, unless it sends large requests, and given
// back when it is idle.
//
// A connection is read from however much of its output is unsent, because a client may write all
// its requests before it reads the first reply. What it does not read is bounded by the limits of
// its OutputClass and by the server's BufferBudget.
class SocketConnection final : public RespConnection, public Poller::Watcher {
 public:
  SocketConnection(uint64_t id, RespShard& shard, std::shared_ptr<Transport> transport,
                   uint64_t now_ns);
  ~SocketConnection() override;

  // Watches the socket and opens the session. False: the connection could not be set up.
  bool Start();

  int fd() const override { return transport_->fd(); }
  bool tls() const override { return transport_->tls(); }
  void Seal(uint64_t ticket, uint32_t replies) override;
  void Refuse(uint32_t replies, std::string_view error_line) override;
  void Pause(PauseReason reason) override;
  void Resume() override;
  bool paused() const override { return paused_; }
  void CloseAfterReplies() override;
  void CloseNow() override;
  bool closing() const override { return closing_ || closed_; }
  void set_authenticated(bool authenticated) override { parser_.set_authenticated(authenticated); }
  void set_output_class(OutputClass output_class) override { output_class_ = output_class; }
  void set_held_bytes(size_t bytes) override {
    held_bytes_ = bytes;
    Account();
  }
  Stats stats() const override;

  // For the shard only.
  void OnReady(uint32_t events) override;
  void Run();    // executes requests that have arrived earlier
  void Flush();  // at the end of a turn: writes what may leave, closes what is done
  void Release() { replies_.Release(ReleaseStateOfShard()); }
  void Fail() { replies_.Fail(ReleaseStateOfShard()); }
  void Drain();
  bool closed() const { return closed_; }
  bool waiting() const { return replies_.waiting(); }
  // From time to time: closes a connection that has been silent, has not authenticated or has not
  // read for too long, and gives back memory that it has not used for a while.
  void LookAfter(uint64_t now_ns, uint64_t idle_timeout_ns);
  // The socket, after its last byte was written, if the peer may still be sending.
  FileDescriptor TakeLingering();

  // Which of the shard's lists the connection is on.
  struct Listed {
    bool served = false;
    bool dirty = false;
    bool runnable = false;
    bool waiting = false;
  } listed;

 private:
  const ReleaseState& ReleaseStateOfShard() const;
  void ReadAndExecute();
  std::string_view ExecuteAll(std::string_view input);
  RespParser::Status ParseSome(std::string_view input, RequestBatch& batch);
  void ExecuteOne(RespHandler::Request args);
  void EndOfInput();
  void KeepInput(std::string_view rest);
  void Continue();
  bool CanExecute() const;
  bool CanRead() const;
  bool ReserveForRequest();
  bool Overdue(uint64_t now_ns, uint64_t idle_timeout_ns) const;
  bool AuthOverdue(uint64_t now_ns) const;
  void RefuseUnauthenticated();
  void Trim(uint64_t now_ns);
  const SharedOutputLimits& output_limits() const;
  bool PastHardLimit() const;
  bool PastUnauthenticatedLimit() const;
  bool PastSoftLimit(uint64_t now_ns);
  void CloseUnread(std::string_view limit);
  Stats Sizes() const;
  size_t Memory() const;
  void Account() { share_.Set(Memory()); }
  void Write();
  void UpdateInterest();
  void FailProtocol();

  RespShard& shard_;
  std::shared_ptr<Transport> transport_;
  RespParser parser_;
  InputBuffer input_;
  ReplyBuffer replies_;
  std::string protocol_error_;  // to be appended once earlier replies are
  uint64_t opened_ns_;
  uint64_t active_ns_;
  uint64_t requests_ = 0;
  BufferBudget::Share share_;
  size_t held_bytes_ = 0;
  size_t executing_bytes_ = 0;    // of the input, from the request that is executed on
  size_t input_peak_ = 0;         // the most input that waited since the last look
  uint64_t unread_since_ns_ = 0;  // when unsent output passed the soft limit; 0: it is below
  OutputClass output_class_ = OutputClass::kNormal;
  uint32_t interest_ = 0;
  PauseReason pause_reason_ = PauseReason::kWorking;
  bool paused_ = false;
  bool backlog_ = false;  // stopped executing before the input was looked through
  bool input_ended_ = false;
  bool write_blocked_ = false;
  bool read_wants_write_ = false;
  bool closing_ = false;
  bool closed_ = false;
  bool lingers_ = false;

  // What other threads see of stats().
  struct Published {
    void Write(const Stats& stats);
    Stats Read() const;

    std::atomic<size_t> input_bytes = 0;
    std::atomic<size_t> input_capacity = 0;
    std::atomic<size_t> output_bytes = 0;
    std::atomic<size_t> output_blocks = 0;
    std::atomic<size_t> output_capacity = 0;
    std::atomic<size_t> held_bytes = 0;
  } published_;
};

}  // namespace cairn::net
