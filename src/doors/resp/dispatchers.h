#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "doors/resp/command_table.h"
#include "doors/resp/statistics.h"

namespace cairn::doors {

class Dispatcher;

// What a client whose wait is ended by CLIENT UNBLOCK gets.
enum class UnblockWith : uint8_t {
  kTimeout,  // the reply for when time is up
  kError,
};

// The dispatchers of all loops, as one: what has to be said to each of them, and what they have
// counted together. Safe to use from any thread.
class Dispatchers {
 public:
  // `commands` outlives it.
  explicit Dispatchers(const CommandTable& commands) : commands_(commands) {}
  Dispatchers(const Dispatchers&) = delete;
  Dispatchers& operator=(const Dispatchers&) = delete;

  // For Dispatcher: it is there from Join until Leave.
  void Join(Dispatcher& dispatcher);
  void Leave(Dispatcher& dispatcher);

  // Calls `function` soon on one of the loops; not at all if there is none any more.
  void Post(std::function<void()> function);
  // Calls `function` once on each loop.
  void PostToAll(const std::function<void(Dispatcher&)>& function);
  // Ends the wait of a blocked client, if it still waits when its loop hears of it.
  void Unblock(uint64_t connection_id, UnblockWith with);

  // How many connections MONITOR the others.
  std::atomic<size_t>& monitors() { return monitors_; }
  // Shows them a line.
  void FeedMonitors(std::string line);

  // Counts a call by a script.
  void CountNested(const Command& command, uint64_t ns, bool failed);
  CallTotals Totals(const Command& command) const;
  LookupTotals Lookups() const;
  // On the loop of `caller`, whose calls count anew at once; those of others soon.
  void ResetCalls(Dispatcher& caller);

 private:
  void ForEach(const std::function<void(Dispatcher&)>& visit) const;

  const CommandTable& commands_;
  std::atomic<size_t> monitors_{0};
  mutable std::mutex nested_mutex_;
  std::optional<CallCounters> nested_calls_;  // made for the first, when the table is complete
  mutable std::mutex mutex_;
  std::vector<Dispatcher*> dispatchers_;
};

}  // namespace cairn::doors
