#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace cairn::house {

// Whether this server should be given requests. Safe to use from any thread; the store outlives it.
class Health {
 public:
  explicit Health(const store::Store& store) : store_(store) {}

  // From now on the server is not ready: it is about to stop.
  void SetDraining() { draining_ = true; }

  // Something else that can keep it from serving: says why, or nullopt. Before the first request.
  using Check = std::function<std::optional<std::string>()>;
  void AddCheck(Check check) { checks_.push_back(std::move(check)); }

  // nullopt while the server takes reads and writes; else why it does not, for people.
  std::optional<std::string> WhyNotReady() const;

 private:
  const store::Store& store_;
  std::atomic<bool> draining_{false};
  std::vector<Check> checks_;
};

}  // namespace cairn::house
