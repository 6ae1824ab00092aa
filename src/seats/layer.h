#pragma once

#include <memory>

#include "house/layer.h"

namespace cairn::seats {

// Reservations of seats.
std::unique_ptr<house::Layer> MakeSeatsLayer();

}  // namespace cairn::seats
