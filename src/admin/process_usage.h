#pragma once

#include <cstdint>

namespace cairn::admin {

// What this process uses, as the kernel counts it.
struct ProcessUsage {
  uint64_t resident_bytes = 0;
  double cpu_seconds = 0;
  uint64_t open_files = 0;
  uint64_t max_files = 0;
};

ProcessUsage CurrentUsage();

}  // namespace cairn::admin
