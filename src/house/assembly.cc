#include "house/assembly.h"

#include <optional>
#include <utility>

#include "doors/reference_page.h"
#include "doors/resp/connection_commands.h"

namespace cairn::house {

Assembly::Assembly(AssemblyOptions options, Layers layers, store::Store& store, const Clock& clock,
                   Random& random, const Log& log)
    : store_(store),
      clock_(clock),
      random_(random),
      log_(log),
      layers_(std::move(layers)),
      declarations_(layers_),
      health_(store),
      instance_(options.instance, store, clock, random, log),
      timers_(store, clock, log),
      loops_(options.loops),
      route_store_(instance_.traffic().turns, loops_, instance_.pools().store),
      routes_({.title = "Cairn", .version = options.instance.version}),
      registry_(MakeParts(options), declarations_) {
  ConfigureAll(layers_, declarations_, std::move(options.configuration));
  registered_ = RegisterAll();
  const auto held_up = [this]() -> std::optional<std::string> {
    if (!instance_.traffic().busy.AnythingLate(clock_.MonotonicNs())) return std::nullopt;
    return "a script holds others up; end it with SCRIPT KILL or FUNCTION KILL";
  };
  health_.AddCheck(held_up);
  route_store_.set_refusal(held_up);
}

Assembly::~Assembly() { Stop(); }

Parts Assembly::MakeParts(AssemblyOptions options) {
  return {.store = store_,
          .store_id = std::move(options.store_id),
          .clock = clock_,
          .random = random_,
          .log = log_,
          .version = std::move(options.instance.version),
          .revision = std::move(options.revision),
          .health = health_,
          .instance = instance_,
          .route_store = route_store_,
          .routes = routes_,
          .timers = timers_,
          .loops = loops_,
          .resp_stats = std::move(options.resp_stats),
          .http_stats = std::move(options.http_stats)};
}

// The tables are complete before the first handler is made from them.
Result<void> Assembly::RegisterAll() {
  doors::AddConnectionCommands(instance_);
  doors::AddReferenceRoutes(instance_.commands(), routes_);
  return registry_.Register(layers_);
}

Result<void> Assembly::Start() {
  CAIRN_RETURN_IF_ERROR(registered_);
  CAIRN_RETURN_IF_ERROR(instance_.Load());
  loops_.Start();
  for (const std::unique_ptr<Layer>& layer : layers_) CAIRN_RETURN_IF_ERROR(layer->Start());
  timers_.Start();
  return {};
}

void Assembly::Stop() {
  if (std::exchange(stopped_, true)) return;
  // What still runs, a script without end or a queue that is deleted, has nobody left to tell its
  // result; others wait for what it holds.
  instance_.traffic().busy.EndAll();
  timers_.Stop();
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) (*layer)->Stop();
  loops_.Stop();
  instance_.pools().Stop();
}

std::unique_ptr<net::HttpHandler> Assembly::WrapHttp(
    std::unique_ptr<net::HttpHandler> handler) const {
  for (const auto& wrap : registry_.http_wrappers()) handler = wrap(std::move(handler));
  return handler;
}

}  // namespace cairn::house
