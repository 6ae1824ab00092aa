#pragma once

#include <cstdint>
#include <string>

#include "house/api_client.h"
#include "house/terminal.h"

namespace cairn::seats {

struct OnSaleOptions {
  std::string event;  // its id; it must not exist
  bool json = false;
  int64_t buyers = 0;    // at once
  int64_t sections = 0;  // of the house
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t max_quantity = 0;  // seats a buyer asks for, 1 to this
  int64_t pay_percent = 0;   // of the bookings; the others are cancelled
};

// `cairn seats simulate EVENT`: creates an event and sells it out. As many buyers as wanted ask at
// once, over HTTP, for the best available seats of one section after another and pay or cancel;
// when nothing is left, the event is verified. Shows a progress bar where a person looks, and a
// table at the end. Returns an exit code.
int SimulateOnSale(const house::ServerAccess& server, const OnSaleOptions& options,
                   const house::Terminal& terminal);

}  // namespace cairn::seats
