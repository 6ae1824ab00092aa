#pragma once

#include <cstddef>
#include <memory>

#include "net/socket.h"

namespace cairn::net {

class TlsContext;

// What a read or a write on a non-blocking stream came to.
struct IoResult {
  enum class Status {
    kDone,       // `bytes` were moved, at least one
    kWantRead,   // try again when the socket is readable
    kWantWrite,  // try again when it is writable
    kEnd,        // the peer sends no more
    kFailed,     // the connection is broken
  };
  Status status = Status::kDone;
  size_t bytes = 0;
};

// A connected, non-blocking byte stream: plain TCP, or TLS over it (whose handshake happens inside
// the first reads). Owns its socket. Used by one thread at a time.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual IoResult Read(char* data, size_t size) = 0;
  virtual IoResult Write(const char* data, size_t size) = 0;
  // Whether bytes can be read that the socket does not show, because they are decrypted already.
  virtual bool pending() const = 0;
  virtual bool tls() const = 0;
  // False until a TLS handshake is complete.
  virtual bool established() const = 0;
  // Tells the peer that nothing more will be sent. Best effort.
  virtual void FinishSending() = 0;

  int fd() const { return fd_.get(); }
  // Gives the socket away; nothing else may be called afterwards.
  FileDescriptor ReleaseFd() { return std::move(fd_); }

 protected:
  explicit Transport(FileDescriptor fd) : fd_(std::move(fd)) {}

  FileDescriptor fd_;
};

std::unique_ptr<Transport> MakeTcpTransport(FileDescriptor fd);
// The server's side of a TLS connection; null if OpenSSL has no memory for it.
std::unique_ptr<Transport> MakeTlsTransport(FileDescriptor fd, std::shared_ptr<TlsContext> context);

}  // namespace cairn::net
