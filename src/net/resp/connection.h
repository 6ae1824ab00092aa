#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/poller.h"
#include "net/resp/input_buffer.h"
#include "net/resp/parser.h"
#include "net/resp/reply_buffer.h"
#include "net/resp/request_batch.h"
#include "net/resp/server.h"
#include "net/transport.h"

namespace cairn::net {

class RespShard;

// The RespConnection behind a socket. Everything happens inside a turn of its shard: the socket is
// read and requests are executed first, output is flushed at the end of the turn, and only there a
// connection decides to close.
//
// Input is read into a buffer that all connections of the loop share and is executed out of it;
// only the beginning of a request whose rest has not arrived is kept per connection. So idle
// connections cost little memory, and arguments are not copied.
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
  void Pause(PauseReason reason) override;
  void Resume() override;
  bool paused() const override { return paused_; }
  void CloseAfterReplies() override;
  void CloseNow() override;
  bool closing() const override { return closing_ || closed_; }
  void set_authenticated(bool authenticated) override { parser_.set_authenticated(authenticated); }
  void set_output_limit(size_t bytes) override { output_limit_ = bytes; }
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
  // Silent for longer than the time-out, or than a handshake may take.
  bool Overdue(uint64_t now_ns, uint64_t idle_timeout_ns) const;
  // Gives back the memory of a connection that has been silent for a while.
  void TrimIfIdle(uint64_t now_ns);
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
  size_t output_limit_;
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
};

}  // namespace cairn::net
