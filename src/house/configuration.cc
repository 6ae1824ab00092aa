#include "house/configuration.h"

#include <memory>

#include "base/check.h"
#include "house/declarations.h"

namespace cairn::house {

const std::string& Configuration::Text(std::string_view setting) const {
  const auto found = settings.find(setting);
  CAIRN_CHECK(found != settings.end(), "no layer declares the setting {}", setting);
  return found->second;
}

void ConfigureAll(const Layers& layers, const Declarations& declarations,
                  Configuration configuration) {
  for (const Setting& setting : declarations.settings()) {
    configuration.settings.try_emplace(setting.name, setting.initial);
  }
  for (const std::unique_ptr<Layer>& layer : layers) layer->Configure(configuration);
}

}  // namespace cairn::house
