#pragma once

#include <vector>

#include "app/config.h"
#include "base/clock.h"
#include "house/finding.h"

namespace cairn::app {

using house::Finding;

struct DoctorOptions {
  bool verify = false;  // read the whole store and check every checksum
};

// Explains what is wrong, or would go wrong, with a configuration and its data directory. Changes
// nothing; it writes (and removes) one small file to measure the disk. The data directory may be in
// use, except with `verify`.
std::vector<Finding> Examine(const LoadedConfig& loaded, const DoctorOptions& options,
                             const Clock& clock);

bool HasProblem(const std::vector<Finding>& findings);

}  // namespace cairn::app
