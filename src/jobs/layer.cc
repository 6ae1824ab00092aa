#include "jobs/layer.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <optional>
#include <utility>

#include "house/configuration.h"
#include "house/declarations.h"
#include "house/registry.h"
#include "jobs/cli/verbs.h"
#include "jobs/http/routes.h"
#include "jobs/layer_dump.h"
#include "jobs/ledger/verify.h"
#include "jobs/metrics.h"
#include "jobs/operations/due_timers.h"
#include "jobs/resp/commands.h"
#include "jobs/schedule/schedule.h"
#include "jobs/webhook/webhook_delivery.h"
#include "jobs/webhook/webhook_loop.h"
#include "jobs/webhook/webhook_targets.h"

namespace cairn::jobs {
namespace {

constexpr std::string_view kJobsTell = "is done all day: the jobs tell it";

void DeclarePermissions(house::Declarations& declarations) {
  using house::kOnlyReads;
  //                           name                operators workers readers unaudited
  for (const house::Permission& permission : {
           house::Permission{"jobs.enqueue", true, true, false, kJobsTell},
           house::Permission{"jobs.work", true, true, false, kJobsTell},
           house::Permission{"jobs.get", true, true, true, kOnlyReads},
           house::Permission{"jobs.read", true, false, true, kOnlyReads},
           house::Permission{"jobs.manage", true, false, false},
           house::Permission{"queues.manage", true, false, false},
           house::Permission{"schedules.manage", true, false, false},
           house::Permission{"webhooks.read", true, false, true, kOnlyReads},
           house::Permission{"webhooks.manage", true, false, false},
           // Changes nothing, but takes everything along, secrets too.
           house::Permission{"jobs.backup", false, false, false},
           house::Permission{"jobs.restore", false, false, false},
       }) {
    declarations.AddPermission(permission);
  }
}

void DeclareCommands(house::Declarations& declarations) {
  using house::CommandUse;
  declarations.AddResourceKind(kQueueKind);
  const auto queues = doors::Touches::Only(kQueueKind);
  declarations.AllowCommands(CommandUse::kLook, queues, {"job.get", "job.batch"});
  declarations.AllowCommands(CommandUse::kList, queues,
                             {"queue.list", "queue.get", "queue.workers"});
  declarations.AllowCommands(
      CommandUse::kWork, queues,
      {"job.enqueue", "job.enqueuem", "job.batchopen", "job.batchseal", "job.fetch", "job.ack",
       "job.ackm", "job.fail", "job.heartbeat", "job.snooze", "job.subscribe", "job.unsubscribe"});
  declarations.AllowCommands(
      CommandUse::kManage, queues,
      {"job.cancel", "job.hold", "job.approve", "job.reject", "job.move", "job.retry", "job.replay",
       "job.delete", "job.priority", "queue.pause", "queue.resume", "queue.drain", "queue.clear",
       "queue.delete", "queue.config", "queue.throttle", "queue.unthrottle", "queue.concurrency"});
}

void DeclareVerbs(house::Declarations& declarations) {
  declarations.AddVerb(JobsVerb());
  declarations.AddVerb(QueuesVerb());
  declarations.AddVerb(WorkersVerb());
  declarations.AddVerb(SchedulesVerb());
  declarations.AddVerb(BenchVerb());
}

constexpr std::string_view kAllow = "webhooks.allow";

house::Setting AllowSetting() {
  const auto normalize = [](std::string_view text) -> std::optional<std::string> {
    const std::optional<WebhookTargets> targets = WebhookTargets::Parse(text);
    if (!targets) return std::nullopt;
    return targets->ToString();
  };
  return house::WithDefaultText(
      house::TextSetting({kAllow,
                          "Where webhooks may be sent beside public addresses: public for nowhere "
                          "else, or a list of loopback, private and networks."},
                         "TARGETS", "public, or a list such as loopback,private,10.1.0.0/16",
                         normalize),
      "loopback while all listens there, else public");
}

Result<void> VerifyJobs(store::Store& store, house::Verification& verification) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> snapshot, store.Read());
  const Result<VerifyReport> report = Verify(*snapshot, &verification);
  if (verification.abandoned()) return {};
  if (!report.ok()) return report.error();
  for (const std::string& problem : report->problems) verification.Problem(problem);
  verification.CountProblems(report->more_problems);
  return {};
}

// {"newest":…,"removed":…}: numbers of the event log; nothing if the store cannot be read.
Result<void> AddEvents(store::Store& store, boost::json::object& status) {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> reader, store.Read());
  CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, NewestEvent(*reader));
  CAIRN_ASSIGN_OR_RETURN(const uint64_t removed, RemovedEvents(*reader));
  status["events"] = {{"newest", newest}, {"removed", removed}};
  return {};
}

class JobsLayer final : public house::Layer {
 public:
  explicit JobsLayer(std::shared_ptr<EventGaps> gaps) : gaps_(std::move(gaps)) {}

  std::string_view name() const override { return "jobs"; }

  void Declare(house::Declarations& declarations) const override {
    declarations.OwnSpace(store::Space::kJobs);
    DeclarePermissions(declarations);
    DeclareCommands(declarations);
    DeclareVerbs(declarations);
    declarations.AddSetting(AllowSetting());
    declarations.AddVerify(VerifyJobs);
    declarations.AddDump(MakeLayerDump());
  }

  void Configure(const house::Configuration& configuration) override {
    webhook_targets_ = WebhookTargetsOf(configuration);
  }

  void Register(house::Registry& registry) override {
    const house::Parts& parts = registry.parts();
    store_ = &parts.store;
    AddJobCommands(parts.instance);
    AddPushCommands(parts.instance, parts.route_store);
    AddJobRoutes({.store = parts.route_store,
                  .clock = parts.clock,
                  .random = parts.random,
                  .version = parts.version,
                  .webhook_targets = webhook_targets_,
                  .gaps = gaps_},
                 parts.routes);
    due_.Register(DueKind::kSchedule, schedules_);
    due_.ForEach(
        [&](uint8_t kind, store::TimerHandler& handler) { registry.AddTimer(kind, handler); });
    AddWebhooks(registry);
    registry.AddMetrics("cairn_jobs", [this](house::MetricsWriter& writer) {
      (void)WriteMetrics(*store_, *gaps_, writer);
    });
    registry.AddStatus([this](boost::json::object& status) { (void)AddEvents(*store_, status); });
  }

  Result<void> Start() override {
    // Its timer is there since the first start: a store that takes no writes now, because its disk
    // is full, is served all the same.
    if (const Result<void> tidying = DueTimers::StartTidying(*store_);
        !tidying.ok() && !store_->write_failure()) {
      return tidying.error();
    }
    webhooks_->Start();
    return {};
  }

  void Stop() override {
    if (webhooks_) webhooks_->Stop();
  }

 private:
  void AddWebhooks(house::Registry& registry) {
    const house::Parts& parts = registry.parts();
    WebhookDeliveryOptions options;
    options.user_agent = fmt::format("cairn/{}", parts.version);
    options.targets = webhook_targets_;
    options.origin = parts.store_id;
    options.gaps = gaps_;
    webhooks_.emplace(parts.store, parts.clock, parts.random, parts.log, std::move(options));
    registry.WrapHttp([origin = parts.store_id](std::unique_ptr<net::HttpHandler> inner) {
      return std::make_unique<WebhookLoopGuard>(origin, std::move(inner));
    });
  }

  const std::shared_ptr<EventGaps> gaps_;
  WebhookTargets webhook_targets_;
  store::Store* store_ = nullptr;
  ScheduleTicks schedules_;
  DueTimers due_;
  std::optional<WebhookDelivery> webhooks_;
};

}  // namespace

WebhookTargets WebhookTargetsOf(const house::Configuration& configuration) {
  if (const auto set = WebhookTargets::Parse(configuration.Text(kAllow))) return *set;
  return {.loopback = net::IsLoopback(configuration.resp) && net::IsLoopback(configuration.http)};
}

std::unique_ptr<house::Layer> MakeJobsLayer(std::shared_ptr<EventGaps> gaps) {
  return std::make_unique<JobsLayer>(std::move(gaps));
}

}  // namespace cairn::jobs
