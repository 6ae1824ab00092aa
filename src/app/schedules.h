#pragma once

#include <string>
#include <vector>

#include "app/api_client.h"
#include "app/settings.h"
#include "app/terminal.h"

namespace cairn::app {

struct SchedulesOptions {
  std::string action = "list";
  std::vector<std::string> arguments;
  ServerChoice server;
  bool json = false;
  // create, update; empty: as it is
  std::string timezone;
  std::string overlap;
  std::string catch_up;
  std::string catch_up_window;
};
const std::vector<std::string>& SchedulesActions();
std::string SchedulesActionsHelp();
// `cairn schedules [ACTION …]` against a running server. Returns an exit code.
int Schedules(const Config& config, const SchedulesOptions& options, const Terminal& terminal);

}  // namespace cairn::app
