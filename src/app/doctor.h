#pragma once

#include <string>
#include <vector>

#include "app/config.h"
#include "base/clock.h"
#include "house/declarations.h"
#include "house/layer.h"

namespace cairn::app {

// One thing that doctor looked at, in plain words.
struct Finding {
  enum class Level {
    kOk,
    kWarning,  // works, but someone should know
    kProblem,  // the server would not start, or would not keep its promises
  };

  Level level = Level::kOk;
  std::string check;   // what was looked at: "disk space"
  std::string text;    // what was found
  std::string advice;  // what to do about it; empty when there is nothing to do
};

struct DoctorOptions {
  bool verify = false;  // read the whole store and check every checksum
};

// Explains what is wrong, or would go wrong, with a configuration and its data directory. Changes
// nothing; it writes (and removes) one small file to measure the disk. The data directory may be in
// use, except with `verify`.
std::vector<Finding> Examine(const LoadedConfig& loaded, const house::Layers& layers,
                             const house::Declarations& declarations, const DoctorOptions& options,
                             const Clock& clock);

bool HasProblem(const std::vector<Finding>& findings);

}  // namespace cairn::app
