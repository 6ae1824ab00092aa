#include "net/poller.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

#include "base/check.h"
#include "net/loop.h"

namespace cairn::net {

struct Poller::Descriptor {
  boost::asio::posix::stream_descriptor stream;
};

Poller::Poller(Loop& loop, std::function<void()> on_ready)
    : on_ready_(std::move(on_ready)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      alive_(std::make_shared<Poller*>(this)) {
  CAIRN_CHECK(epoll_ >= 0, "{}", LastSystemError("epoll_create1").message);
  descriptor_ = std::make_unique<Descriptor>(
      Descriptor{boost::asio::posix::stream_descriptor(loop.io(), epoll_)});
}

Poller::~Poller() { *alive_ = nullptr; }

Result<void> Poller::Add(int fd, uint32_t events, Watcher& watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watcher;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) return LastSystemError("epoll_ctl");
  return {};
}

void Poller::Change(int fd, uint32_t events, Watcher& watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watcher;
  const int failed = epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
  CAIRN_CHECK(failed == 0, "fd {}: {}", fd, LastSystemError("epoll_ctl").message);
}

void Poller::Remove(int fd) {
  const int failed = epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  CAIRN_CHECK(failed == 0, "fd {}: {}", fd, LastSystemError("epoll_ctl").message);
}

std::span<const epoll_event> Poller::Poll() {
  const int ready = epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), 0);
  // The only failure of a correct call is an interrupting signal; the sockets are then still ready.
  return {events_.data(), ready > 0 ? static_cast<size_t>(ready) : 0};
}

void Poller::Arm() {
  if (std::exchange(armed_, true)) return;
  descriptor_->stream.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                 [alive = alive_](const boost::system::error_code& error) {
                                   Poller* const poller = *alive;
                                   if (error || poller == nullptr) return;
                                   poller->armed_ = false;
                                   poller->on_ready_();
                                 });
}

}  // namespace cairn::net
