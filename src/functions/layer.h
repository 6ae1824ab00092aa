#pragma once

#include <memory>

#include "house/layer.h"

namespace cairn::functions {

// JavaScript that users publish, run in a sandbox.
std::unique_ptr<house::Layer> MakeFunctionsLayer();

}  // namespace cairn::functions
