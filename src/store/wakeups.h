#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "store/store.h"

namespace cairn::store {

// Who waits for which topic in this process. Safe to use from any thread.
class Wakeups {
 public:
  // The subscription may outlive this object.
  Subscription Subscribe(Topic topic, std::function<void()> waiter);

  // Calls every waiter of the topics, in order of their subscription, on this thread.
  void Wake(std::span<const Topic> topics);
  // Calls everyone: for when it is not known what was announced.
  void WakeAll();

 private:
  struct Waiter {
    uint64_t id;
    std::function<void()> call;
  };
  struct State {
    std::mutex mutex;
    uint64_t next_id = 1;
    std::unordered_map<uint64_t, std::vector<Waiter>> waiters;  // by Topic::id
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace cairn::store
