#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "doors/access/principal.h"
#include "doors/http/route_table.h"
#include "doors/resp/instance.h"
#include "doors/turn/route_store.h"
#include "house/claims.h"
#include "house/declarations.h"
#include "house/health.h"
#include "house/layer.h"
#include "house/metrics.h"
#include "net/http/server.h"
#include "net/loop.h"
#include "net/resp/server.h"
#include "store/store.h"
#include "store/timers.h"

namespace cairn::house {

// The server that layers become part of. All of it outlives them.
struct Parts {
  store::Store& store;
  std::string store_id;  // the store's own name, the same in every process that serves it
  const Clock& clock;
  Random& random;
  Log log;
  std::string version;
  std::string revision;
  Health& health;
  doors::Instance& instance;       // commands, users, settings, pub/sub, the pool
  doors::RouteStore& route_store;  // how routes reach the store
  doors::RouteTable& routes;
  store::TimerService& timers;
  net::LoopGroup& loops;
  // Counted since the start; called once clients can connect.
  std::function<net::RespServerStats()> resp_stats;
  std::function<net::HttpServerStats()> http_stats;
};

// Where a layer registers what it has in a running server, besides commands and routes, whose
// tables are among the parts.
class Registry {
 public:
  // `declarations` outlives it.
  Registry(Parts parts, const Declarations& declarations);

  const Parts& parts() const { return parts_; }
  // What all layers have declared.
  const Declarations& declarations() const { return declarations_; }

  // Calls `handler`, which outlives the timers, for timers of this kind.
  void AddTimer(uint8_t kind, store::TimerHandler& handler);
  // Figures whose names are `prefix`, or begin with it and an underscore: "cairn_jobs", unless
  // clients know them by another name.
  void AddMetrics(std::string prefix, MetricsSource source);
  // Adds members to what GET /api/v1/cluster/status tells. Called on a thread that may wait.
  using StatusSource = std::function<void(boost::json::object& status)>;
  void AddStatus(StatusSource source) { status_.push_back(std::move(source)); }
  // Says who presents a secret; null: nobody. One layer does so. Called on loops.
  using Identify = std::function<std::shared_ptr<const doors::Principal>(std::string_view secret)>;
  void SetIdentify(Identify identify);
  // Looks at every HTTP request before anybody else does, and passes it on or answers.
  using HttpWrapper =
      std::function<std::unique_ptr<net::HttpHandler>(std::unique_ptr<net::HttpHandler> inner)>;
  void WrapHttp(HttpWrapper wrap) { wrappers_.push_back(std::move(wrap)); }

  // Calls `function` once all layers have registered, before the first handler is made: the tables
  // of commands and routes are complete by then.
  void WhenComplete(std::function<void()> function) { complete_.push_back(std::move(function)); }

  // Registers all layers. kInvalid, naming both layers, if two of them claim the same.
  Result<void> Register(const Layers& layers);

  struct Metrics {
    std::string prefix;
    MetricsSource source;
  };
  // In the order of the layers. Called from the last to the first: what a layer says about how far
  // it has followed another is then never ahead of the other.
  const std::vector<Metrics>& metrics() const { return metrics_; }
  const std::vector<StatusSource>& status() const { return status_; }
  const Identify& identify() const { return identify_; }
  const std::vector<HttpWrapper>& http_wrappers() const { return wrappers_; }

 private:
  // Grants can only name kinds that are declared: a row of another kind would be closed for ever.
  Result<void> CheckResources() const;

  const Parts parts_;
  const Declarations& declarations_;
  Claims claims_;
  std::vector<Metrics> metrics_;
  std::vector<StatusSource> status_;
  Identify identify_;
  std::vector<HttpWrapper> wrappers_;
  std::vector<std::function<void()>> complete_;
};

}  // namespace cairn::house
