#pragma once

#include <memory>

#include "house/layer.h"

namespace cairn::data {

// The Redis types, JSON, scripts and functions.
std::unique_ptr<house::Layer> MakeDataLayer();

}  // namespace cairn::data
