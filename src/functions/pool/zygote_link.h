#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "outside/supervisor.h"

namespace cairn::functions {

// The server's side of `cairn sandbox`: starts it when the first child is wanted, again after it
// has ended (with a pause that grows), and passes orders for children to it.
//
// Concurrency: safe from any thread.
class ZygoteLink {
 public:
  // `program` is the path of this program. `clock` and `random` outlive it.
  ZygoteLink(std::string program, const Clock& clock, Random& random, Log log);
  ~ZygoteLink();
  ZygoteLink(const ZygoteLink&) = delete;
  ZygoteLink& operator=(const ZygoteLink&) = delete;

  // Asks for a child, which will speak over `socket`: Forked first, then what it is asked for.
  // If the zygote is not there, it is asked once it is. If it never comes, the socket is closed.
  void Fork(FileDescriptor socket, uint64_t hard_memory_bytes);
  // Ends the zygote and with it all children. Sockets that wait are closed.
  void Stop();

  // How often it has been started.
  int64_t starts() const;

 private:
  struct Shared;
  class Watcher;

  const std::string program_;
  const Clock& clock_;
  Random& random_;
  const Log log_;
  std::shared_ptr<Shared> shared_;  // the watcher has it too
  std::unique_ptr<outside::ChildKeeper> keeper_;
};

}  // namespace cairn::functions
