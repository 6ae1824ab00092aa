#pragma once

#include <memory>
#include <string>

#include "functions/cadence/wire.h"

namespace cairn::functions {

// Cadence's own API, uber.cadence.api.v1.WorkerAPI, over gRPC.
std::unique_ptr<Wire> MakeGrpcWire(std::string url);

}  // namespace cairn::functions
