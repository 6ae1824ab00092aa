#pragma once

#include "house/dump.h"

namespace cairn::jobs {

// The dump of the queue (dump.h) as the house knows dumps.
house::LayerDump MakeLayerDump();

}  // namespace cairn::jobs
