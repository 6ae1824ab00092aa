#include "net/resp/client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "net/resp/writer.h"
#include "net/socket.h"

namespace cairn::net {
namespace {

Result<void> WaitFor(int fd, short events, std::chrono::milliseconds timeout) {
  pollfd entry{fd, events, 0};
  int ready = 0;
  do {
    ready = poll(&entry, 1, static_cast<int>(timeout.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return LastSystemError("poll");
  if (ready == 0) return Error{ErrorCode::kUnavailable, "timed out"};
  return {};
}

template <typename Args>
std::string Encode(const Args& args) {
  std::string request;
  RespWriter writer(request, 2);
  writer.ArrayHeader(args.size());
  for (const auto& arg : args) writer.Bulk(arg);
  return request;
}

}  // namespace

std::string EncodeRequest(std::span<const std::string_view> args) { return Encode(args); }

Result<RespClient> RespClient::Connect(const Address& address, std::chrono::milliseconds timeout) {
  CAIRN_ASSIGN_OR_RETURN(const SocketAddress target, ToSocketAddress(address));
  const int fd = socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return LastSystemError("socket");
  RespClient client(fd, timeout);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connect(fd, target.get(), target.size()) != 0) {
    if (errno != EINPROGRESS) return LastSystemError("connect to " + net::ToString(address));
    CAIRN_RETURN_IF_ERROR(WaitFor(fd, POLLOUT, timeout));
    int failure = 0;
    socklen_t size = sizeof(failure);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
    if (failure != 0) {
      errno = failure;
      return LastSystemError("connect to " + net::ToString(address));
    }
  }
  return client;
}

RespClient::RespClient(RespClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      timeout_(other.timeout_),
      parser_(std::move(other.parser_)) {}

RespClient& RespClient::operator=(RespClient&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    timeout_ = other.timeout_;
    parser_ = std::move(other.parser_);
  }
  return *this;
}

RespClient::~RespClient() { Close(); }

Result<RespValue> RespClient::Command(std::initializer_list<std::string_view> args) {
  CAIRN_RETURN_IF_ERROR(Send(args));
  return Receive();
}

Result<RespValue> RespClient::Command(std::span<const std::string> args) {
  CAIRN_RETURN_IF_ERROR(Send(args));
  return Receive();
}

Result<void> RespClient::Send(std::initializer_list<std::string_view> args) {
  return SendRaw(Encode(args));
}

Result<void> RespClient::Send(std::span<const std::string> args) { return SendRaw(Encode(args)); }

Result<void> RespClient::SendRaw(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      CAIRN_RETURN_IF_ERROR(WaitFor(fd_, POLLOUT, timeout_));
    } else if (errno != EINTR) {
      return LastSystemError("send");
    }
  }
  return {};
}

Result<RespValue> RespClient::Receive() {
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(auto reply, parser_.Next());
    if (reply.has_value()) return *std::move(reply);
    std::array<char, 16384> buffer;
    CAIRN_ASSIGN_OR_RETURN(const size_t size, ReadSome(buffer.data(), buffer.size()));
    if (size == 0) return Error{ErrorCode::kUnavailable, "the server closed the connection"};
    parser_.Feed({buffer.data(), size});
  }
}

Result<std::string> RespClient::ReceiveUntilClosed() {
  std::string received;
  std::array<char, 16384> buffer;
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const size_t size, ReadSome(buffer.data(), buffer.size()));
    if (size == 0) return received;
    received.append(buffer.data(), size);
  }
}

// 0 at the end of the stream.
Result<size_t> RespClient::ReadSome(char* data, size_t size) {
  while (true) {
    const ssize_t received = recv(fd_, data, size, 0);
    if (received >= 0) return static_cast<size_t>(received);
    if (errno == EAGAIN) {
      CAIRN_RETURN_IF_ERROR(WaitFor(fd_, POLLIN, timeout_));
    } else if (errno != EINTR) {
      return LastSystemError("receive");
    }
  }
}

void RespClient::FinishSending() { shutdown(fd_, SHUT_WR); }

void RespClient::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace cairn::net
