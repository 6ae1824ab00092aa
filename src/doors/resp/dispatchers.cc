#include "doors/resp/dispatchers.h"

#include <memory>
#include <utility>

#include "doors/resp/dispatcher.h"

namespace cairn::doors {

void Dispatchers::Join(Dispatcher& dispatcher) {
  const std::lock_guard lock(mutex_);
  dispatchers_.push_back(&dispatcher);
}

void Dispatchers::Leave(Dispatcher& dispatcher) {
  const std::lock_guard lock(mutex_);
  std::erase(dispatchers_, &dispatcher);
}

void Dispatchers::ForEach(const std::function<void(Dispatcher&)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (Dispatcher* dispatcher : dispatchers_) visit(*dispatcher);
}

void Dispatchers::Post(std::function<void()> function) {
  const std::lock_guard lock(mutex_);
  if (dispatchers_.empty()) return;
  dispatchers_.front()->Post(
      [function = std::move(function)](Dispatcher& /*self*/) { function(); });
}

void Dispatchers::PostToAll(const std::function<void(Dispatcher&)>& function) {
  ForEach([&](Dispatcher& dispatcher) { dispatcher.Post(function); });
}

void Dispatchers::Unblock(uint64_t connection_id, UnblockWith with) {
  PostToAll([connection_id, with](Dispatcher& self) { self.Unblock(connection_id, with); });
}

void Dispatchers::FeedMonitors(std::string line) {
  const auto shared = std::make_shared<const std::string>(std::move(line));
  ForEach([&](Dispatcher& dispatcher) { dispatcher.monitors().Show(shared); });
}

void Dispatchers::CountNested(const Command& command, uint64_t ns, bool failed) {
  const std::lock_guard lock(nested_mutex_);
  if (!nested_calls_) nested_calls_.emplace(commands_.row_count());
  nested_calls_->Ran(command.index, ns, failed);
}

CallTotals Dispatchers::Totals(const Command& command) const {
  CallTotals totals;
  ForEach([&](Dispatcher& dispatcher) { totals += dispatcher.counters().Totals(command.index); });
  const std::lock_guard lock(nested_mutex_);
  if (nested_calls_) totals += nested_calls_->Totals(command.index);
  return totals;
}

LookupTotals Dispatchers::Lookups() const {
  LookupTotals totals;
  ForEach([&](Dispatcher& dispatcher) { totals += dispatcher.counters().Lookups(); });
  return totals;
}

void Dispatchers::ResetCalls(Dispatcher& caller) {
  {
    const std::lock_guard lock(nested_mutex_);
    nested_calls_.reset();
  }
  caller.counters().Reset();
  PostToAll([&caller](Dispatcher& dispatcher) {
    if (&dispatcher != &caller) dispatcher.counters().Reset();
  });
}

}  // namespace cairn::doors
