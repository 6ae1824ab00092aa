#pragma once

#include <cstdint>
#include <functional>

#include "app/settings.h"
#include "doors/resp/settings.h"
#include "net/resp/server.h"

namespace cairn::app {

// Adds what CONFIG GET and CONFIG SET know of this process under Redis' names: dir, bind, port,
// tls-port, maxclients, timeout. `port` tells where `server` listens, 0 as long as it does not,
// from any thread. Both outlive the settings' use.
void AddRedisSettings(const Config& config, net::RespServer& server,
                      const std::function<uint16_t()>& port, doors::Settings& settings);

}  // namespace cairn::app
