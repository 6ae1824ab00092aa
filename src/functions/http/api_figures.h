#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "doors/http/route.h"
#include "functions/invoker/invocation_figures.h"

namespace cairn::functions {

// Counts what this process's routes of functions have answered. There are as many series as routes,
// times statuses. Safe to use from any thread.
class ApiFigures {
 public:
  void Count(const doors::Route& route, int status, uint64_t took_ns);

  struct Series {
    std::string route;  // "/v1/tenants/{tenant}/…"
    std::string method;
    int status = 0;
    friend auto operator<=>(const Series&, const Series&) = default;
  };
  struct Snapshot {
    std::map<Series, int64_t> requests;
    std::map<std::pair<std::string, std::string>, Durations> durations;  // by route and method
  };
  Snapshot Take() const;

 private:
  mutable std::mutex mutex_;
  Snapshot counted_;
};

// Has the route's handler tell `figures`, which may be null, of each request that it has answered:
// when the response is there, or a stream begins. Both outlive the route.
void CountRequests(ApiFigures* figures, const Clock& clock, doors::Route& route);

}  // namespace cairn::functions
