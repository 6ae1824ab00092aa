#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "doors/http/route_table.h"
#include "doors/resp/instance.h"
#include "doors/turn/route_store.h"
#include "house/configuration.h"
#include "house/declarations.h"
#include "house/health.h"
#include "house/layer.h"
#include "house/registry.h"
#include "net/http/server.h"
#include "net/loop.h"
#include "store/store.h"
#include "store/timers.h"

namespace cairn::house {

struct AssemblyOptions {
  doors::InstanceOptions instance = {};
  size_t loops = 1;
  std::string store_id = {};
  std::string revision = {};
  Configuration configuration = {};
  // See Parts.
  std::function<net::RespServerStats()> resp_stats = {};
  std::function<net::HttpServerStats()> http_stats = {};
};

// Layers put together over an open store: a server that has all it needs except listeners.
//
//   store ─ timers
//     └ instance (commands)
//       routes              ─ loops
//
// Built, started and stopped by one thread:
//
//   Assembly assembly(options, layers, store, clock, random, log);
//   net::RespServer resp(…, assembly.loops(), assembly.instance().HandlerFactory(), …);
//   net::HttpServer http(…, assembly.loops(), …);    its handlers go through WrapHttp
//   assembly.Start();
//   resp.Listen(…);
//   http.Listen(…);
//   assembly.Stop();                                 before the listeners are gone
//
// What it is given outlives it.
class Assembly {
 public:
  Assembly(AssemblyOptions options, Layers layers, store::Store& store, const Clock& clock,
           Random& random, const Log& log);
  ~Assembly();  // stops
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  // Starts loops, layers and timers. An error is a collision of two layers, or what a layer says.
  Result<void> Start();
  // Nothing runs any more when it returns. A second call does nothing.
  void Stop();

  // What layers have wrapped around the handler of routes, the first layer innermost.
  std::unique_ptr<net::HttpHandler> WrapHttp(std::unique_ptr<net::HttpHandler> handler) const;

  doors::Instance& instance() { return instance_; }
  doors::RouteTable& routes() { return routes_; }
  net::LoopGroup& loops() { return loops_; }
  Health& health() { return health_; }
  const Declarations& declarations() const { return declarations_; }
  const Registry& registry() const { return registry_; }

 private:
  Parts MakeParts(AssemblyOptions options);
  Result<void> RegisterAll();

  // The order of members is the order in which things come to life; they go in reverse.
  store::Store& store_;
  const Clock& clock_;
  Random& random_;
  const Log log_;
  const Layers layers_;
  const Declarations declarations_;
  Health health_;
  doors::Instance instance_;
  store::TimerService timers_;
  net::LoopGroup loops_;
  doors::RouteStore route_store_;
  doors::RouteTable routes_;
  Registry registry_;
  Result<void> registered_;
  bool stopped_ = false;
};

}  // namespace cairn::house
