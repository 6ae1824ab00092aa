#pragma once

#include "app/seats.h"
#include "app/server_url.h"
#include "app/settings.h"
#include "app/terminal.h"

namespace cairn::app {

// `cairn seats simulate EVENT`: creates an event and sells it out. As many buyers as wanted ask at
// once, over HTTP, for the best available seats of one section after another and pay or cancel;
// when nothing is left, the event is verified. Shows a progress bar where a person looks, and a
// table at the end. Returns an exit code.
int SimulateOnSale(const Config& config, const Url& url, const SeatsOptions& options,
                   const Terminal& terminal);

}  // namespace cairn::app
