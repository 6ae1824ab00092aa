#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "store/store.h"

namespace cairn::admin {

// Whether this server should be given requests. Safe to use from any thread; the store outlives it.
class Health {
 public:
  explicit Health(const store::Store& store) : store_(store) {}

  // From now on the server is not ready: it is about to stop.
  void SetDraining() { draining_ = true; }

  // nullopt while the server takes reads and writes; else why it does not, for people.
  std::optional<std::string> WhyNotReady() const;

 private:
  const store::Store& store_;
  std::atomic<bool> draining_{false};
};

}  // namespace cairn::admin
