#include "house/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace cairn::house {

Registry::Registry(Parts parts, const Declarations& declarations)
    : parts_(std::move(parts)), declarations_(declarations) {}

void Registry::AddTimer(uint8_t kind, store::TimerHandler& handler) {
  if (claims_.Claim(fmt::format("timer kind {}", kind))) parts_.timers.Register(kind, handler);
}

void Registry::AddMetrics(std::string prefix, MetricsSource source) {
  CAIRN_CHECK(!prefix.empty());
  if (claims_.Claim(fmt::format("metrics that begin with {}", prefix))) {
    metrics_.push_back({std::move(prefix), std::move(source)});
  }
}

void Registry::SetIdentify(Identify identify) {
  if (claims_.Claim("to know who asks")) identify_ = std::move(identify);
}

Result<void> Registry::CheckResources() const {
  const std::vector<std::string_view>& kinds = declarations_.resource_kinds();
  for (size_t i = 0; i < parts_.routes.size(); ++i) {
    const doors::Route& route = parts_.routes.row(i);
    const bool known = route.touches == doors::Touches::Anything() ||
                       route.touches == doors::Touches::Nothing() ||
                       std::ranges::find(kinds, route.touches.kind()) != kinds.end();
    if (known) continue;
    return Error{ErrorCode::kInvalid,
                 fmt::format("{} {} touches resources of the kind {}, which no layer declares",
                             route.method, route.path, route.touches.kind())};
  }
  return {};
}

Result<void> Registry::Register(const Layers& layers) {
  if (declarations_.collision()) return *declarations_.collision();
  for (const std::unique_ptr<Layer>& layer : layers) {
    claims_.set_layer(layer->name());
    layer->Register(*this);
  }
  if (claims_.collision()) return *claims_.collision();
  CAIRN_RETURN_IF_ERROR(CheckResources());
  for (const std::function<void()>& function : complete_) function();
  return {};
}

}  // namespace cairn::house
