#pragma once

#include <memory>

#include "house/layer.h"

namespace cairn::admin {

// Health, metrics, backups, verification; keys, and who may ask what.
std::unique_ptr<house::Layer> MakeAdminLayer();

}  // namespace cairn::admin
