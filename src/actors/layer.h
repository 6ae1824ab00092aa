#pragma once

#include <memory>

#include "house/layer.h"

namespace cairn::actors {

// Actors: small stateful objects, each with a keyspace of its own.
std::unique_ptr<house::Layer> MakeActorsLayer();

}  // namespace cairn::actors
