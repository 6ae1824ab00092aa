#pragma once

#include "house/layer.h"

namespace cairn::app {

// All layers of this program, in the order in which they start. A layer is a folder and a line
// here.
house::Layers MakeLayers();

}  // namespace cairn::app
