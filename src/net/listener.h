#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/log.h"
#include "base/result.h"
#include "net/address.h"
#include "net/socket.h"

namespace cairn::net {

class Loop;

// Listens on an address and hands out what connects, as non-blocking sockets without delay (Nagle
// off). When the process has no file descriptor left it waits a moment and goes on. Made by any
// thread; destroyed on its loop's thread, or when the loop does not run.
class Listener {
 public:
  using OnAccept = std::function<void(FileDescriptor)>;  // on the loop's thread

  // Bound and listening when it returns; connections are handed out once Start is called.
  static Result<std::unique_ptr<Listener>> Bind(const Address& address, Loop& loop,
                                                OnAccept on_accept, Log log);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void Start();  // any thread, once
  uint16_t port() const { return port_; }

 private:
  struct Core;
  explicit Listener(std::shared_ptr<Core> core, uint16_t port);

  std::shared_ptr<Core> core_;
  uint16_t port_;
};

}  // namespace cairn::net
