#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "doors/resp/command.h"

namespace cairn::doors {

class Dispatcher;
class Session;

// What MONITOR shows of a call, without line end:
//
//   1339518083.107412 [0 127.0.0.1:60866] "set" "k" "a\nb"
//
// The arguments of commands that hold passwords are left out, except for the plain options of
// HELLO.
std::string MonitorLine(Timestamp time, uint8_t db, std::string_view peer, const Command& command,
                        Args args);

// The connections of one loop that see what the others do.
class MonitorFeed {
 public:
  // The feed is part of the dispatcher.
  explicit MonitorFeed(Dispatcher& dispatcher) : dispatcher_(dispatcher) {}
  MonitorFeed(const MonitorFeed&) = delete;
  MonitorFeed& operator=(const MonitorFeed&) = delete;

  // From now on the session sees every command that is not an operator's, of all loops. On the
  // loop.
  void Start(Session& session);
  // Shows a line to all of them; from any thread, in the order of the calls.
  void Show(std::shared_ptr<const std::string> line);

 private:
  void WriteLines();
  void Write(const std::string& line);

  Dispatcher& dispatcher_;
  std::vector<uint64_t> connections_;  // some may be gone
  std::mutex mutex_;
  std::vector<std::shared_ptr<const std::string>> lines_;  // not yet written
};

}  // namespace cairn::doors
