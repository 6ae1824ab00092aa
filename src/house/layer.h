#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/transaction.h"

namespace cairn::house {

class Declarations;
struct Configuration;
class Registry;

// What a layer brings into the process: a folder under src, and one line in app/layers.cc. Its
// life:
//
//   Declare    what is known before a server runs: permissions, spaces, settings, verbs of the
//              command line, the check of its rows, its dump
//   Configure  the values of its settings; also for what works on a store without a server
//   Register   the tables of a server that is being built: commands, routes, timers, metrics
//   Start      the store is open, all layers are registered, nobody is connected yet
//   Stop       connections may still be open; requests that arrive later get an error
//
// Each is called once, on one thread, in the order of app/layers.cc; Stop in reverse, also for a
// layer whose Start has failed or was never called. A layer outlives the event loops, so what
// requests still hold of it when they are dropped is there.
class Layer {
 public:
  virtual ~Layer() = default;

  // The folder's name. Names the layer in errors and in `cairn verify`.
  virtual std::string_view name() const = 0;
  virtual void Declare(Declarations& declarations) const = 0;
  virtual void Configure(const Configuration& /*configuration*/) {}
  virtual void Register(Registry& registry) = 0;
  virtual Result<void> Start() { return {}; }
  // Whether Start would fail for a reason that shows without a server: `cairn doctor` asks, after
  // Configure alone. `store` is null if it cannot be read now.
  virtual Result<void> CheckStart(store::Reader* /*store*/) const { return {}; }
  // Ends its threads. Must not wait for clients.
  virtual void Stop() {}
};

using Layers = std::vector<std::unique_ptr<Layer>>;

}  // namespace cairn::house
