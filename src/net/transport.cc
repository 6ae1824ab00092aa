#include "net/transport.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ssl/context.hpp>
#include <cerrno>
#include <limits>
#include <utility>

#include "net/tls.h"

namespace cairn::net {
namespace {

using Status = IoResult::Status;

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(FileDescriptor fd) : Transport(std::move(fd)) {}

  IoResult Read(char* data, size_t size) override {
    while (true) {
      const ssize_t received = recv(fd(), data, size, 0);
      if (received > 0) return {Status::kDone, static_cast<size_t>(received)};
      if (received == 0) return {Status::kEnd};
      if (errno == EAGAIN) return {Status::kWantRead};
      if (errno != EINTR) return {Status::kFailed};
    }
  }

  IoResult Write(const char* data, size_t size) override {
    while (true) {
      const ssize_t sent = send(fd(), data, size, MSG_NOSIGNAL);
      if (sent >= 0) return {Status::kDone, static_cast<size_t>(sent)};
      if (errno == EAGAIN) return {Status::kWantWrite};
      if (errno != EINTR) return {Status::kFailed};
    }
  }

  bool pending() const override { return false; }
  bool tls() const override { return false; }
  bool established() const override { return true; }
  void FinishSending() override { shutdown(fd(), SHUT_WR); }
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(FileDescriptor fd, std::shared_ptr<TlsContext> context, SSL* ssl)
      : Transport(std::move(fd)), context_(std::move(context)), ssl_(ssl) {}
  ~TlsTransport() override { SSL_free(ssl_); }
  TlsTransport(const TlsTransport&) = delete;
  TlsTransport& operator=(const TlsTransport&) = delete;

  IoResult Read(char* data, size_t size) override {
    ERR_clear_error();
    const int limit = static_cast<int>(std::min<size_t>(size, std::numeric_limits<int>::max()));
    const int received = SSL_read(ssl_, data, limit);
    if (received > 0) return {Status::kDone, static_cast<size_t>(received)};
    return Failure(received);
  }

  IoResult Write(const char* data, size_t size) override {
    ERR_clear_error();
    const int limit = static_cast<int>(std::min<size_t>(size, std::numeric_limits<int>::max()));
    const int sent = SSL_write(ssl_, data, limit);
    if (sent > 0) return {Status::kDone, static_cast<size_t>(sent)};
    return Failure(sent);
  }

  bool pending() const override { return SSL_pending(ssl_) > 0; }
  bool tls() const override { return true; }
  bool established() const override { return SSL_is_init_finished(ssl_) == 1; }

  void FinishSending() override {
    ERR_clear_error();
    // Before the handshake is done there is no session to end, and OpenSSL refuses.
    if (established() && !broken_) SSL_shutdown(ssl_);
    shutdown(fd(), SHUT_WR);
  }

 private:
  IoResult Failure(int result) {
    switch (SSL_get_error(ssl_, result)) {
      case SSL_ERROR_WANT_READ:
        return {Status::kWantRead};
      case SSL_ERROR_WANT_WRITE:
        return {Status::kWantWrite};
      case SSL_ERROR_ZERO_RETURN:
        return {Status::kEnd};
      default:
        // After such an error OpenSSL allows no further call on the session, not even a shutdown.
        broken_ = true;
        return {Status::kFailed};
    }
  }

  const std::shared_ptr<TlsContext> context_;
  SSL* const ssl_;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<Transport> MakeTcpTransport(FileDescriptor fd) {
  return std::make_unique<TcpTransport>(std::move(fd));
}

std::unique_ptr<Transport> MakeTlsTransport(FileDescriptor fd,
                                            std::shared_ptr<TlsContext> context) {
  SSL* const ssl = SSL_new(context->context().native_handle());
  if (ssl == nullptr) return nullptr;
  SSL_set_accept_state(ssl);
  if (SSL_set_fd(ssl, fd.get()) != 1) {
    SSL_free(ssl);
    return nullptr;
  }
  return std::make_unique<TlsTransport>(std::move(fd), std::move(context), ssl);
}

}  // namespace cairn::net
