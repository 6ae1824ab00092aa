#include "app/open_store.h"

#include <generated/version.h>

#include "store/rocks/open.h"

namespace cairn::app {

Result<std::unique_ptr<store::Store>> OpenStore(const Config& config, const Clock& clock,
                                                const Log& log) {
  store::rocks::Options options;
  options.directory = config.data;
  options.version = kVersion;
  options.durability = config.durability;
  options.sync_interval = config.sync_interval;
  options.memory = store::rocks::MemoryBudget::FromTotal(config.memory_bytes);
  return store::rocks::Open(options, clock, log);
}

}  // namespace cairn::app
