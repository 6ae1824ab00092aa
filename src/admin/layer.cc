#include "admin/layer.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "admin/cluster_status.h"
#include "admin/dump_routes.h"
#include "admin/key_routes.h"
#include "admin/keyring.h"
#include "admin/loop_latency.h"
#include "admin/metrics.h"
#include "admin/process_usage.h"
#include "admin/routes.h"
#include "admin/verify_routes.h"
#include "house/configuration.h"
#include "house/declarations.h"
#include "house/registry.h"

namespace cairn::admin {
namespace {

constexpr std::string_view kBackupDirectory = "backup.directory";

// As set, or a directory in the data directory; absolute.
std::string BackupDirectory(const house::Configuration& configuration) {
  const std::string& set = configuration.Text(kBackupDirectory);
  const std::string directory = set.empty() ? configuration.data + "/backups" : set;
  return std::filesystem::absolute(directory).lexically_normal().string();
}

BufferMetrics MetricsOf(const net::BufferBudget& budget) {
  return {.used_bytes = budget.used(),
          .limit_bytes = budget.limit(),
          .disconnected = budget.disconnected(),
          .refused = budget.refused()};
}

std::vector<CommandMetrics> MetricsOfCommands(doors::Instance& instance,
                                              const doors::CommandTable& commands) {
  std::vector<CommandMetrics> metrics;
  for (size_t i = 0; i < commands.row_count(); ++i) {
    const doors::CallTotals totals = instance.dispatchers().Totals(commands.row(i));
    metrics.push_back({.name = commands.row(i).name,
                       .calls = totals.calls,
                       .failed = totals.failed,
                       .rejected = totals.rejected,
                       .seconds = static_cast<double>(totals.ns) / 1e9});
  }
  return metrics;
}

class AdminLayer final : public house::Layer {
 public:
  std::string_view name() const override { return "admin"; }

  void Declare(house::Declarations& declarations) const override {
    using house::kOnlyReads;
    //                           name               operators workers readers unaudited
    for (const house::Permission& permission : {
             house::Permission{"server.info", true, true, true, kOnlyReads},
             house::Permission{"metrics.read", true, false, true, kOnlyReads},
             house::Permission{"admin", true, false, false},
             house::Permission{"admin.backup", true, false, false},
             house::Permission{"admin.verify", true, false, false, kOnlyReads},
             house::Permission{"keys.read", true, false, false, kOnlyReads},
             house::Permission{"keys.manage", false, false, false},
             house::Permission{"audit.read", true, false, false, kOnlyReads},
         }) {
      declarations.AddPermission(permission);
    }
    declarations.AddSetting(house::WithDefaultText(
        house::PathSetting(
            {kBackupDirectory, "Backups that a running server makes go below this directory only."},
            "DIR"),
        "backups in the data directory"));
  }

  void Configure(const house::Configuration& configuration) override {
    configuration_ = configuration;
  }

  void Register(house::Registry& registry) override {
    registry_ = &registry;
    const house::Parts& parts = registry.parts();
    const house::Permissions& permissions = registry.declarations().permissions();
    keyring_.emplace(parts.instance, permissions);
    verify_.emplace(parts.store, registry.declarations().checks());
    AddRoutes({.store = parts.store,
               .health = parts.health,
               .clock = parts.clock,
               .pool = parts.instance.pools().store,
               .data = configuration_.data,
               .backups = BackupDirectory(configuration_),
               .metrics = [this] { return Metrics(); },
               .cluster = [this] { return Cluster(); }},
              parts.routes);
    for (const house::LayerDump& dump : registry.declarations().dumps()) {
      AddDumpRoutes({.store = parts.store, .pool = parts.instance.pools().store, .dump = dump},
                    parts.routes);
    }
    AddKeyRoutes({.instance = parts.instance,
                  .store = parts.route_store,
                  .keyring = *keyring_,
                  .permissions = permissions,
                  .random = parts.random},
                 parts.routes);
    verify_->AddTo(parts.routes);
    // Of the routes of all layers, most of which register later.
    registry.WhenComplete([&parts, &permissions] {
      parts.routes.SetAudit(
          [&permissions](const doors::Route& route) { return IsAudited(permissions, route); },
          parts.clock, MakeAuditSink(parts.route_store, parts.instance.observed().audit));
    });
    registry.SetIdentify([this](std::string_view secret) { return keyring_->Identify(secret); });
  }

  Result<void> Start() override {
    const house::Parts& parts = registry_->parts();
    CAIRN_RETURN_IF_ERROR(keyring_->Start());
    CAIRN_RETURN_IF_ERROR(CheckExposure(parts.instance.acl().auth_required()));
    if (configuration_.why_reachable) {
      parts.instance.acl().RequireSecrets(*configuration_.why_reachable);
    }
    latency_.emplace(parts.loops, parts.clock);
    return {};
  }

  Result<void> CheckStart(store::Reader* store) const override {
    if (store == nullptr) return {};
    CAIRN_ASSIGN_OR_RETURN(const bool needs_secret, NeedsSecret(*store));
    return CheckExposure(needs_secret);
  }

  void Stop() override {
    if (latency_) latency_->Stop();
    if (verify_) verify_->Stop();
    if (keyring_) keyring_->Stop();
  }

 private:
  // Nobody from elsewhere is let in without a secret unless that is meant. Keys are in the store,
  // so nobody could tell before.
  Result<void> CheckExposure(bool needs_secret) const {
    if (!configuration_.why_exposed || needs_secret) return {};
    return Error{ErrorCode::kInvalid, *configuration_.why_exposed};
  }

  std::string Metrics() {
    const house::Parts& parts = registry_->parts();
    const MetricsSnapshot snapshot{
        .version = parts.version,
        .revision = parts.revision,
        .started = parts.instance.run().started,
        .ready = !parts.health.WhyNotReady().has_value(),
        .writes_stopped = parts.store.write_failure().has_value(),
        .durability = parts.store.durability(),
        .store = parts.store.stats(),
        .memory_budget_bytes = configuration_.memory_bytes,
        .buffers = MetricsOf(*parts.instance.options().buffers),
        .failed_logins = parts.instance.observed().failed_logins.count(),
        .resp = parts.resp_stats(),
        .http = parts.http_stats(),
        .commands = MetricsOfCommands(parts.instance, parts.instance.commands()),
        .loops = latency_->histograms(),
        .process = CurrentUsage(),
        .audit_failures = parts.instance.observed().audit.failures(),
    };
    return FormatMetrics(snapshot, registry_->metrics());
  }

  boost::json::object Cluster() {
    const house::Parts& parts = registry_->parts();
    const store::StoreStats stats = parts.store.stats();
    boost::json::object status = ClusterStatusJson({.shared = parts.store.shared(),
                                                    .node_id = parts.instance.run().id,
                                                    .version = parts.version,
                                                    .started = parts.instance.run().started,
                                                    .now = parts.clock.Now(),
                                                    .why_not_ready = parts.health.WhyNotReady(),
                                                    .durability = parts.store.durability(),
                                                    .last_commit = stats.last_commit,
                                                    .durable_commit = stats.durable_commit});
    // From the last to the first, see Registry::metrics.
    const auto& sources = registry_->status();
    for (auto source = sources.rbegin(); source != sources.rend(); ++source) (*source)(status);
    return status;
  }

  house::Configuration configuration_;
  const house::Registry* registry_ = nullptr;
  std::optional<Keyring> keyring_;
  std::optional<VerifyRoutes> verify_;
  std::optional<LoopLatency> latency_;
};

}  // namespace

std::unique_ptr<house::Layer> MakeAdminLayer() { return std::make_unique<AdminLayer>(); }

}  // namespace cairn::admin
