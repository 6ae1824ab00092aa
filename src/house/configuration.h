#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "house/layer.h"
#include "net/address.h"

namespace cairn::house {

class Declarations;

// What is in force, as layers may know it: the values of their settings, and what of the rest of
// the program concerns them.
struct Configuration {
  // By the setting's name, in its usual form. ConfigureAll adds the initial values of those that
  // are not here.
  std::map<std::string, std::string, std::less<>> settings;

  std::string data;           // the data directory, absolute
  bool shared_store = false;  // others may serve the same store
  net::Address resp;          // where the server listens, or would; the port may be 0
  net::Address http;
  uint64_t memory_bytes = 0;  // for the store's caches and write buffers
  // Set if other machines can reach the server: which of its addresses, as the beginning of a
  // sentence. Then the last secret cannot be taken away.
  std::optional<std::string> why_reachable;
  // Set if the server must not start unless somebody needs a secret: what to do about it.
  std::optional<std::string> why_exposed;

  // The value of a setting that a layer has declared; empty if it has none.
  const std::string& Text(std::string_view setting) const;
};

// Has each layer learn what is in force. For a server that is about to register them, and for what
// works on a store without a server.
void ConfigureAll(const Layers& layers, const Declarations& declarations,
                  Configuration configuration);

}  // namespace cairn::house
