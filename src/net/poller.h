#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "net/socket.h"

namespace cairn::net {

class Loop;

// A set of sockets of one loop, watched together: the loop is told once when any of them is ready,
// and then asks for all that are. A server with many small requests serves them as one batch that
// way, and pays per request a read and a write but no further system call.
//
// Watching is level-triggered: a socket is reported again as long as it stays ready, so a reader
// may leave input for the next time. Used on the loop's thread only.
class Poller {
 public:
  // What is told about a socket: the owner of the file descriptor.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // `events` as in epoll_wait.
    virtual void OnReady(uint32_t events) = 0;
  };

  // `on_ready` is called from the loop, once after each Arm, when some socket is ready.
  Poller(Loop& loop, std::function<void()> on_ready);
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // The watcher must stay alive until Remove, and until the events that Poll returned before are
  // dealt with. `events`: EPOLLIN and so on; errors and hang-ups are always reported.
  Result<void> Add(int fd, uint32_t events, Watcher& watcher);
  void Change(int fd, uint32_t events, Watcher& watcher);
  void Remove(int fd);

  // What is ready now, at most kBatch sockets, without waiting. Valid until the next call.
  std::span<const epoll_event> Poll();
  // Asks for on_ready when a socket is ready. Best called after what Poll returned has been dealt
  // with: sockets that are still ready count at once.
  void Arm();

  static constexpr size_t kBatch = 512;

 private:
  struct Descriptor;

  std::function<void()> on_ready_;
  int epoll_ = -1;
  bool armed_ = false;
  std::unique_ptr<Descriptor>
      descriptor_;                  // the epoll set itself, as a descriptor the loop waits for
  std::shared_ptr<Poller*> alive_;  // null inside once this object is gone
  std::array<epoll_event, kBatch> events_;
};

}  // namespace cairn::net
