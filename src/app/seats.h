#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/settings.h"
#include "app/terminal.h"

namespace cairn::app {

struct SeatsOptions {
  std::string action;                  // one of SeatsActions()
  std::vector<std::string> arguments;  // what it is about
  std::string url;                     // of the server; empty: the one the settings name
  std::string ca_file;                 // for https
  bool json = false;
  // simulate
  int64_t buyers = 16;   // at once
  int64_t sections = 4;  // of the house
  int64_t rows = 25;
  int64_t cols = 20;
  int64_t max_quantity = 4;  // seats a buyer asks for, 1 to this
  int64_t pay_percent = 90;  // of the bookings; the others are cancelled
};

const std::vector<std::string>& SeatsActions();

// `cairn seats ACTION …`: asks a running server about events, or creates one from a file. Returns
// an exit code.
int Seats(const Config& config, const SeatsOptions& options, const Terminal& terminal);

}  // namespace cairn::app
