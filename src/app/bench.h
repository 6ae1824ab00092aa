#pragma once

#include <cstdint>
#include <string>

#include "app/api_client.h"
#include "app/settings.h"
#include "app/terminal.h"

namespace cairn::app {

struct BenchOptions {
  std::string what;  // "jobs"
  ServerChoice server;
  bool json = false;
  int64_t jobs = 20'000;    // of each kind of work
  int64_t connections = 8;  // at once
  int64_t batch = 64;       // jobs of one request
};

// `cairn bench jobs`: how fast a running server takes and hands out jobs, over HTTP, from where
// this is run. Jobs are added; fetched and acknowledged; then both at once, each kind of work in a
// queue of its own that is deleted afterwards. Nobody else's queue is touched. Fails if a job was
// lost or done twice. Returns an exit code.
int Bench(const Config& config, const BenchOptions& options, const Terminal& terminal);

}  // namespace cairn::app
