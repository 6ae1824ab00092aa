#include "app/layers.h"

#include <generated/layers.h>

#include <memory>

namespace cairn::app {

house::Layers MakeLayers() {
  const auto gaps = std::make_shared<jobs::EventGaps>();
  house::Layers layers;
  layers.push_back(admin::MakeAdminLayer());  // first: it may refuse to start
  layers.push_back(data::MakeDataLayer());
  layers.push_back(jobs::MakeJobsLayer(gaps));
  layers.push_back(seats::MakeSeatsLayer());
  layers.push_back(functions::MakeFunctionsLayer());
  layers.push_back(actors::MakeActorsLayer());
  layers.push_back(view::MakeViewLayer(gaps));
  return layers;
}

}  // namespace cairn::app
