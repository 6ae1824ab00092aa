#pragma once

#include "house/verb.h"

namespace cairn::seats {

// `cairn seats ACTION …`: asks a running server about events, creates one from a file, or simulates
// a sale.
house::Verb SeatsVerb();

}  // namespace cairn::seats
