#include "data/layer.h"

#include <optional>

#include "data/commands.h"
#include "data/value/entry.h"
#include "data/value/keys.h"
#include "data/verify.h"
#include "doors/access/limits.h"
#include "house/declarations.h"
#include "house/registry.h"

namespace cairn::data {
namespace {

bool IsCounter(store::Key key) {
  if (key.space != store::Space::kData) return false;
  for (uint8_t db = 0; db < doors::kDatabases; ++db) {
    if (key.bytes == EncodeKeyCounter(db) || key.bytes == EncodeExpiringCounter(db)) return true;
  }
  return false;
}

class DataLayer final : public house::Layer {
 public:
  std::string_view name() const override { return "data"; }

  void Declare(house::Declarations& declarations) const override {
    declarations.OwnSpace(store::Space::kData);
    // Scripts call what their caller may call.
    // A script's own commands are checked as if it were their caller.
    declarations.AllowCommands(house::CommandUse::kManage, doors::Touches::Nothing(),
                               {"eval", "evalsha", "eval_ro", "evalsha_ro", "script|load"});
    declarations.AddVerify(Verify);
    declarations.AddCounters(IsCounter);
  }

  void Register(house::Registry& registry) override {
    doors::Instance& instance = registry.parts().instance;
    AddDataCommands(instance);
    expiry_.emplace(instance.traffic().pubsub, instance.observed().expired_keys);
    registry.AddTimer(store::kTimerKeyExpiry, *expiry_);
    registry.AddTimer(store::kTimerReclaim, reclaim_);
  }

 private:
  std::optional<ExpiryTimers> expiry_;
  ReclaimTimers reclaim_;
};

}  // namespace

std::unique_ptr<house::Layer> MakeDataLayer() { return std::make_unique<DataLayer>(); }

}  // namespace cairn::data
