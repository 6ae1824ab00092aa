#include "net/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace cairn::net {

std::string SocketAddress::ToString() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family() == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage_);
    inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
    return fmt::format("{}:{}", text.data(), ntohs(v4->sin_port));
  }
  if (family() == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage_);
    inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), ntohs(v6->sin6_port));
  }
  return "unknown";
}

uint16_t SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
  if (family() == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  }
  return 0;
}

Result<SocketAddress> ToSocketAddress(const Address& address) {
  SocketAddress made;
  const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
  sockaddr_in v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&made.storage_, &v4, sizeof(v4));
    made.size_ = sizeof(v4);
    return made;
  }
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    std::memcpy(&made.storage_, &v6, sizeof(v6));
    made.size_ = sizeof(v6);
    return made;
  }
  return Error{ErrorCode::kInvalid,
               fmt::format("\"{}\" is neither a numeric address nor \"localhost\"", address.host)};
}

SocketAddress PeerOf(int fd) {
  SocketAddress address;
  socklen_t size = SocketAddress::capacity();
  if (getpeername(fd, address.get(), &size) == 0) address.set_size(size);
  return address;
}

SocketAddress LocalOf(int fd) {
  SocketAddress address;
  socklen_t size = SocketAddress::capacity();
  if (getsockname(fd, address.get(), &size) == 0) address.set_size(size);
  return address;
}

Error LastSystemError(std::string_view what) {
  return {ErrorCode::kIo, fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace cairn::net
