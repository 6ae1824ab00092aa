#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "net/address.h"

namespace cairn::net {

// An Address in the form the system calls take.
class SocketAddress {
 public:
  SocketAddress() = default;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  // How much a system call may write into get(), and how much it wrote.
  static constexpr socklen_t capacity() { return sizeof(sockaddr_storage); }
  void set_size(socklen_t size) { size_ = size; }
  int family() const { return storage_.ss_family; }
  // "127.0.0.1:6666", "[::1]:6666"; "unknown" for families other than IPv4 and IPv6.
  std::string ToString() const;
  uint16_t port() const;

 private:
  friend Result<SocketAddress> ToSocketAddress(const Address& address);

  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

// Fails if the host is neither numeric nor "localhost" (which is 127.0.0.1).
Result<SocketAddress> ToSocketAddress(const Address& address);

SocketAddress PeerOf(int fd);
SocketAddress LocalOf(int fd);

// The last system call's failure as an Error of kIo: "bind 127.0.0.1:80: Permission denied".
Error LastSystemError(std::string_view what);

}  // namespace cairn::net
