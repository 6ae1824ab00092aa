#include "net/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

#include "net/loop.h"

namespace cairn::net {
namespace {

constexpr int kBacklog = 1024;
// How many connections are taken before other work of the loop gets its turn.
constexpr int kAcceptsPerVisit = 128;
constexpr std::chrono::milliseconds kPauseWithoutDescriptors{100};

}  // namespace

struct Listener::Core : std::enable_shared_from_this<Core> {
  Core(Loop& on_loop, FileDescriptor socket, OnAccept handler, Log to_log)
      : loop(on_loop),
        descriptor(on_loop.io(), socket.Release()),
        on_accept(std::move(handler)),
        log(std::move(to_log)) {}

  void Wait() {
    descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this()](const boost::system::error_code& error) {
                            if (!error && !self->stopped) self->Accept();
                          });
  }

  void Accept() {
    for (int i = 0; i < kAcceptsPerVisit; ++i) {
      FileDescriptor accepted(
          accept4(descriptor.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (accepted.get() < 0) {
        if (errno == EAGAIN) break;
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
          log.Warn("cannot accept a connection", {{"reason", LastSystemError("accept").message}});
          retry = loop.After(kPauseWithoutDescriptors, [this] { Wait(); });
          return;
        }
        continue;  // the client gave up between connecting and being accepted
      }
      const int on = 1;
      setsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      on_accept(std::move(accepted));
      if (stopped) return;
    }
    Wait();
  }

  Loop& loop;
  boost::asio::posix::stream_descriptor descriptor;
  OnAccept on_accept;
  Log log;
  Timer retry;
  bool stopped = false;
};

Result<std::unique_ptr<Listener>> Listener::Bind(const Address& address, Loop& loop,
                                                 OnAccept on_accept, Log log) {
  CAIRN_ASSIGN_OR_RETURN(const SocketAddress target, ToSocketAddress(address));
  FileDescriptor socket(::socket(target.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return LastSystemError("socket");
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // An IPv6 address means only that: whoever wants IPv4 too listens on both.
  if (target.family() == AF_INET6) {
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  }
  if (bind(socket.get(), target.get(), target.size()) != 0 || listen(socket.get(), kBacklog) != 0) {
    return LastSystemError("cannot listen on " + ToString(address));
  }
  const uint16_t port = LocalOf(socket.get()).port();
  auto core = std::make_shared<Core>(loop, std::move(socket), std::move(on_accept), std::move(log));
  return std::unique_ptr<Listener>(new Listener(std::move(core), port));
}

Listener::Listener(std::shared_ptr<Core> core, uint16_t port)
    : core_(std::move(core)), port_(port) {}

Listener::~Listener() {
  core_->stopped = true;
  core_->retry.Cancel();
  boost::system::error_code ignored;
  core_->descriptor.close(ignored);
}

void Listener::Start() {
  core_->loop.Post([core = core_] {
    if (!core->stopped) core->Wait();
  });
}

}  // namespace cairn::net
