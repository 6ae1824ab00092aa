#include "actors/layer.h"

#include <optional>
#include <string_view>

#include "actors/cli/verbs.h"
#include "actors/http/routes.h"
#include "actors/metrics.h"
#include "actors/model/keys.h"
#include "actors/model/limits.h"
#include "actors/operations/identity.h"
#include "actors/operations/verify.h"
#include "actors/resp/commands.h"
#include "house/configuration.h"
#include "house/declarations.h"
#include "house/registry.h"
#include "house/units.h"

namespace cairn::actors {
namespace {

constexpr std::string_view kQuota = "actors.quota";
constexpr std::string_view kProgramsDo = "is what the programs of actors do all day";

void DeclarePermissions(house::Declarations& declarations) {
  using house::kOnlyReads;
  //                           name              operators workers readers unaudited
  for (const house::Permission& permission : {
           house::Permission{"actors.get", true, true, true, kOnlyReads},
           house::Permission{"actors.list", true, false, true, kOnlyReads},
           house::Permission{"actors.work", true, true, false, kProgramsDo},
           house::Permission{"actors.destroy", true, true, false},
       }) {
    declarations.AddPermission(permission);
  }
}

void DeclareCommands(house::Declarations& declarations) {
  using house::CommandUse;
  declarations.AddResourceKind(kActorKind);
  const auto actors = doors::Touches::Only(kActorKind);
  declarations.AllowCommands(CommandUse::kLook, actors,
                             {"actor.find", "actor.info", "actor.input", "actor.get",
                              "actor.entries", "actor.scan", "actor.limits"});
  declarations.AllowCommands(CommandUse::kList, actors, {"actor.list"});
  declarations.AllowCommands(
      CommandUse::kWork, actors,
      {"actor.create", "actor.getorcreate", "actor.start", "actor.destroy", "actor.put",
       "actor.del", "actor.delrange", "actor.drop", "actor.batch"});
}

Result<void> Verify(store::Store& store, house::Verification& verification) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> snapshot, store.Read());
  return VerifyActors(*snapshot, verification);
}

class ActorsLayer final : public house::Layer {
 public:
  std::string_view name() const override { return "actors"; }

  void Declare(house::Declarations& declarations) const override {
    declarations.OwnSpace(store::Space::kActors);
    DeclarePermissions(declarations);
    DeclareCommands(declarations);
    declarations.AddSetting(
        house::SizeSetting({kQuota, "How many bytes of keys and values one actor may keep."},
                           kDefaultQuotaBytes, kMinQuotaBytes, kMaxQuotaBytes));
    declarations.AddVerb(ActorsVerb());
    declarations.AddVerify(Verify);
  }

  void Configure(const house::Configuration& configuration) override {
    quota_bytes_ = house::ParseSize(configuration.Text(kQuota)).value_or(kDefaultQuotaBytes);
  }

  void Register(house::Registry& registry) override {
    const house::Parts& parts = registry.parts();
    policy_.emplace(Policy{.random = parts.random, .quota_bytes = quota_bytes_});
    AddActorCommands(parts.instance, *policy_);
    AddActorRoutes({.store = parts.route_store, .policy = *policy_}, parts.routes);
    registry.AddTimer(kTimerPurge, purge_);
    registry.AddMetrics("cairn_actors", [&store = parts.store](house::MetricsWriter& writer) {
      (void)WriteMetrics(store, writer);
    });
  }

 private:
  uint64_t quota_bytes_ = kDefaultQuotaBytes;
  std::optional<Policy> policy_;
  PurgeTimers purge_;
};

}  // namespace

std::unique_ptr<house::Layer> MakeActorsLayer() { return std::make_unique<ActorsLayer>(); }

}  // namespace cairn::actors
