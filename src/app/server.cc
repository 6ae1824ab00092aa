#include "app/server.h"

#include <fmt/format.h>
#include <generated/version.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "admin/access.h"
#include "admin/health.h"
#include "admin/key_routes.h"
#include "admin/keyring.h"
#include "admin/loop_latency.h"
#include "admin/metrics.h"
#include "admin/process_usage.h"
#include "admin/routes.h"
#include "app/config.h"
#include "app/job_metrics.h"
#include "app/open_store.h"
#include "app/redis_settings.h"
#include "app/tls.h"
#include "data/commands.h"
#include "data/entry.h"
#include "doors/connection_commands.h"
#include "doors/dispatcher.h"
#include "doors/instance.h"
#include "doors/reference_page.h"
#include "doors/route_store.h"
#include "doors/route_table.h"
#include "jobs/commands.h"
#include "jobs/due.h"
#include "jobs/routes.h"
#include "jobs/schedule.h"
#include "jobs/webhook_delivery.h"
#include "jobs/webhook_loop.h"
#include "net/http/server.h"
#include "net/loop.h"
#include "net/resp/server.h"
#include "seats/commands.h"
#include "seats/feed.h"
#include "seats/operations.h"
#include "seats/routes.h"
#include "store/copy.h"
#include "store/timers.h"
#include "view/bulk.h"
#include "view/routes.h"
#include "view/view.h"

namespace cairn::app {
namespace {

net::RespServerOptions RespOptions(const Config& config,
                                   std::shared_ptr<net::BufferBudget> buffers) {
  net::RespServerOptions options;
  options.auth_timeout = config.auth_timeout;
  // A request that takes all memory there is for requests would only end its own connection.
  options.limits.query_buffer_bytes =
      std::min(options.limits.query_buffer_bytes, buffers->limit() / 2);
  options.budget = std::move(buffers);
  options.max_clients = config.max_clients;
  options.idle_timeout = config.idle_timeout;
  options.limits.bulk_bytes = static_cast<int64_t>(config.limit_bulk_bytes);
  return options;
}

doors::InstanceOptions InstanceOptions(const Config& config) {
  return {.password = config.password,
          .pool_threads = config.pool_threads,
          .version = std::string(kVersion),
          .audit = {.bytes = config.audit_bytes,
                    .kept_us = std::chrono::microseconds(config.audit_kept).count()},
          .buffers = std::make_shared<net::BufferBudget>(config.limit_buffers_bytes),
          .reply_bytes = config.limit_reply_bytes};
}

constexpr size_t kSearchThreads = 4;

}  // namespace

// The order of members is the order in which things come to life; they go in reverse.
class Server::Impl {
 public:
  Impl(const Config& config, const Clock& clock, Random& random, const Log& log,
       std::unique_ptr<store::Store> store, std::string store_id)
      : config_(config),
        log_(log),
        clock_(clock),
        random_(random),
        store_(std::move(store)),
        store_id_(std::move(store_id)),
        health_(*store_),
        instance_(InstanceOptions(config), *store_, clock, random, log),
        timers_(*store_, clock, log),
        webhooks_(*store_, clock, random, log, WebhookOptions()),
        view_(*store_, ViewFile(config), random, log, event_gaps_),
        bulk_(*store_, view_, clock, random, log),
        loops_(config.io_threads),
        route_store_(*store_, loops_, instance_.pool()),
        routes_({.title = "Cairn", .version = std::string(kVersion)}),
        resp_server_(RespOptions(config, instance_.options().buffers), loops_, WithCommands(),
                     clock, log),
        http_server_(HttpOptions(), loops_, WithRoutes(), clock, random, log) {
    instance_.Attach(resp_server_);
    instance_.busy().set_limit_ms(config.script_time_limit.count());
    const auto held_up = [this]() -> std::optional<std::string> {
      if (!instance_.busy().AnythingLate(clock_.MonotonicNs())) return std::nullopt;
      return "a script holds others up; end it with SCRIPT KILL or FUNCTION KILL";
    };
    health_.AddCheck(held_up);
    route_store_.set_refusal(held_up);
    AddRedisSettings(
        config_, resp_server_, [this] { return resp_port_.load(); }, instance_.settings());
    timers_.Register(store::kTimerKeyExpiry, expiry_);
    timers_.Register(store::kTimerReclaim, reclaim_);
    timers_.Register(seats::kTimerHold, holds_);
    timers_.Register(seats::kTimerFeed, feeds_);
    job_timers_.Register(jobs::DueKind::kSchedule, schedules_);
    job_timers_.RegisterWith(timers_);
  }

  ~Impl() {
    keyring_.Stop();
    webhooks_.Stop();
    timers_.Stop();
    bulk_.Stop();
    view_.Stop();
    loops_.Stop();
    // What still runs, a script without end, has nobody left to tell its result.
    instance_.busy().EndAll();
    // Work that began for an HTTP request hands its result to a loop, so the loops must still
    // exist.
    instance_.pool().Stop();
    search_pool_.Stop();
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void set_request_stop(std::function<void()> stop) { instance_.set_shutdown(std::move(stop)); }

  Result<void> Start() {
    CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<net::TlsContext> tls, LoadTls(config_));
    CAIRN_RETURN_IF_ERROR(instance_.Load());
    CAIRN_RETURN_IF_ERROR(keyring_.Start());
    CAIRN_RETURN_IF_ERROR(CheckExposure());
    if (std::optional<std::string> why = WhyReachable(config_)) {
      instance_.acl().RequireSecrets(*std::move(why));
    }
    // Its timer is there since the first start: a store that takes no writes now, because its disk
    // is full, is served all the same.
    if (const Result<void> tidying = jobs::DueTimers::StartTidying(*store_);
        !tidying.ok() && !store_->write_failure()) {
      return tidying.error();
    }
    loops_.Start();
    instance_.PostToAll([this](doors::Dispatcher& dispatcher) { route_store_.Join(dispatcher); });
    timers_.Start();
    webhooks_.Start();
    view_.Start();
    bulk_.Start();
    latency_ = std::make_unique<admin::LoopLatency>(loops_, clock_);
    CAIRN_ASSIGN_OR_RETURN(
        resp_, Listen("resp", resp_server_, config_.resp, RespSpeaksTls(config_) ? tls : nullptr));
    resp_port_ = resp_.port;
    CAIRN_ASSIGN_OR_RETURN(
        http_, Listen("http", http_server_, config_.http, HttpSpeaksTls(config_) ? tls : nullptr));
    return {};
  }

  void Drain(std::chrono::milliseconds limit) {
    health_.SetDraining();
    std::jthread http([&] { http_server_.Drain(limit); });
    resp_server_.Drain(limit);
  }

  const net::Address& resp() const { return resp_; }
  const net::Address& http() const { return http_; }

 private:
  template <typename Listener>
  Result<net::Address> Listen(std::string_view door, Listener& listener, net::Address address,
                              std::shared_ptr<net::TlsContext> tls) {
    const bool encrypted = tls != nullptr;
    CAIRN_ASSIGN_OR_RETURN(address.port, listener.Listen(address, std::move(tls)));
    log_.Info("listening",
              {{"door", door}, {"address", net::ToString(address)}, {"tls", encrypted}});
    return address;
  }

  // Nobody from elsewhere is let in without a secret unless that is meant.
  Result<void> CheckExposure() const {
    if (instance_.needs_password()) return {};
    if (std::optional<std::string> why = WhyExposed(config_)) {
      return Error{ErrorCode::kInvalid, *std::move(why)};
    }
    return {};
  }

  // The tables are complete before the first handler is made from them.
  net::RespHandlerFactory WithCommands() {
    doors::AddConnectionCommands(instance_);
    data::AddDataCommands(instance_);
    jobs::AddJobCommands(instance_);
    jobs::AddPushCommands(instance_, route_store_);
    seats::AddSeatCommands(instance_, config_.seats_key_prefix);
    return instance_.HandlerFactory();
  }

  jobs::WebhookDeliveryOptions WebhookOptions() {
    jobs::WebhookDeliveryOptions options;
    options.user_agent = fmt::format("cairn/{}", kVersion);
    options.targets = WebhookTargetsOf(config_);
    options.origin = store_id_;
    options.gaps = event_gaps_;
    return options;
  }

  net::HttpServerOptions HttpOptions() {
    net::HttpServerOptions options;
    options.max_connections = config_.max_http_connections;
    options.budget = instance_.options().buffers;
    if (config_.auth_timeout.count() != 0) options.stranger_timeout = config_.auth_timeout;
    // CONFIG SET requirepass may set a password and take it away.
    options.cors = [this]() -> const net::CorsPolicy& {
      return CorsOf(config_, instance_.needs_password());
    };
    options.hosts = [this]() -> const net::AllowedHosts* {
      const bool open_here = !instance_.needs_password() && net::IsLoopback(config_.http);
      return open_here ? &config_.allowed_hosts : nullptr;
    };
    return options;
  }

  net::HttpHandlerFactory WithRoutes() {
    doors::AddReferenceRoutes(instance_.commands(), routes_);
    admin::AddRoutes({.store = *store_,
                      .health = health_,
                      .clock = clock_,
                      .pool = instance_.pool(),
                      .data = std::filesystem::absolute(config_.data).lexically_normal().string(),
                      .backups = BackupDirectory(config_),
                      .metrics = [this] { return Metrics(); },
                      .cluster = [this] { return Cluster(); }},
                     routes_);
    seats::AddSeatRoutes({.store = route_store_,
                          .pubsub = instance_.pubsub(),
                          .key_prefix = config_.seats_key_prefix},
                         routes_);
    jobs::AddJobRoutes({.store = route_store_,
                        .waiters = instance_.waiters(),
                        .clock = clock_,
                        .random = random_,
                        .version = std::string(kVersion),
                        .webhook_targets = WebhookTargetsOf(config_),
                        .gaps = event_gaps_},
                       routes_);
    view::AddViewRoutes({.view = view_, .bulk = bulk_, .store = route_store_, .pool = search_pool_},
                        routes_);
    admin::AddKeyRoutes(
        {.instance = instance_, .store = route_store_, .keyring = keyring_, .random = random_},
        routes_);
    routes_.SetAudit(admin::IsAudited, admin::MakeAuditSink(route_store_, instance_.audit()));
    return [this](net::Loop& loop) {
      const auto identify = [this](std::string_view secret) { return keyring_.Identify(secret); };
      const auto on_refused = [this](const net::HttpRequest& request) {
        instance_.CountFailedLogin(request.method, request.path, request.peer);
      };
      auto guard = std::make_unique<admin::Guard>(
          admin::GuardOptions{.identify = identify,
                              .default_body_limit = config_.limit_http_body_bytes,
                              .on_refused = on_refused,
                              .refused = [this](std::string_view peer) { NoteRefusal(peer); }},
          routes_.MakeHandler(loop));
      return std::make_unique<jobs::WebhookLoopGuard>(store_id_, std::move(guard));
    };
  }

  void NoteRefusal(std::string_view peer) {
    instance_.failed_logins().Note(clock_.MonotonicNs(), peer, log_);
  }

  admin::MetricsSnapshot Metrics() {
    admin::MetricsSnapshot snapshot{
        .version = std::string(kVersion),
        .revision = std::string(kRevision),
        .started = instance_.started(),
        .ready = !health_.WhyNotReady().has_value(),
        .writes_stopped = store_->write_failure().has_value(),
        .durability = store_->durability(),
        .store = store_->stats(),
        .memory_budget_bytes = config_.memory_bytes,
        .buffers = Buffers(),
        .failed_logins = instance_.failed_logins().count(),
        .resp = resp_server_.stats(),
        .http = http_server_.stats(),
        .loops = latency_->histograms(),
        .process = admin::CurrentUsage(),
        .audit_failures = instance_.audit().failures(),
    };
    const doors::CommandTable& commands = instance_.commands();
    for (size_t i = 0; i < commands.row_count(); ++i) {
      const doors::CallTotals totals = instance_.Totals(commands.row(i));
      snapshot.commands.push_back({.name = commands.row(i).name,
                                   .calls = totals.calls,
                                   .failed = totals.failed,
                                   .rejected = totals.rejected,
                                   .seconds = static_cast<double>(totals.ns) / 1e9});
    }
    if (Result<admin::JobMetrics> jobs = ReadJobMetrics(*store_, view_, *event_gaps_); jobs.ok()) {
      snapshot.jobs = std::move(*jobs);
    }
    return snapshot;
  }

  admin::BufferMetrics Buffers() const {
    const net::BufferBudget& budget = *instance_.options().buffers;
    return {.used_bytes = budget.used(),
            .limit_bytes = budget.limit(),
            .disconnected = budget.disconnected(),
            .refused = budget.refused()};
  }

  admin::ClusterStatus Cluster() {
    const store::StoreStats stats = store_->stats();
    admin::ClusterStatus status{.shared = store_->shared(),
                                .node_id = instance_.run_id(),
                                .version = std::string(kVersion),
                                .started = instance_.started(),
                                .now = clock_.Now(),
                                .why_not_ready = health_.WhyNotReady(),
                                .durability = store_->durability(),
                                .last_commit = stats.last_commit,
                                .durable_commit = stats.durable_commit};
    if (const auto events = ReadEventPositions(*store_, view_); events.ok()) {
      status.events = *events;
    }
    return status;
  }

  const Config config_;
  const Log log_;
  const Clock& clock_;
  Random& random_;
  const std::unique_ptr<store::Store> store_;
  const std::string store_id_;
  admin::Health health_;
  doors::Instance instance_;
  admin::Keyring keyring_{instance_};
  data::ExpiryTimers expiry_{instance_.pubsub(), instance_.expired_keys()};
  data::ReclaimTimers reclaim_;
  seats::HoldTimers holds_{config_.seats_key_prefix, instance_.pubsub()};
  seats::FeedTimers feeds_{config_.seats_key_prefix};
  jobs::ScheduleTicks schedules_;
  jobs::DueTimers job_timers_;
  store::TimerService timers_;
  const std::shared_ptr<jobs::EventGaps> event_gaps_ = std::make_shared<jobs::EventGaps>();
  jobs::WebhookDelivery webhooks_;
  view::View view_;
  view::Bulk bulk_;
  ThreadPool search_pool_{{.name = "search", .threads = kSearchThreads, .queue_limit = 1'000}};
  net::LoopGroup loops_;
  doors::RouteStore route_store_;
  doors::RouteTable routes_;
  net::RespServer resp_server_;
  net::HttpServer http_server_;
  std::unique_ptr<admin::LoopLatency> latency_;
  std::atomic<uint16_t> resp_port_{0};  // clients may ask for it while http_ is still being bound
  net::Address resp_;
  net::Address http_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(const Config& config, const ServerHooks& hooks,
                                              const Clock& clock, Random& random, const Log& log) {
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<store::Store> store, OpenStore(config, clock, log));
  CAIRN_ASSIGN_OR_RETURN(const auto unfinished, store::UnfinishedCopyOf(*store));
  if (unfinished) {
    return Error{ErrorCode::kConflict,
                 fmt::format("{} is an unfinished copy of {}: run `cairn migrate` again, with the "
                             "source stopped",
                             StoreName(config), *unfinished)};
  }
  CAIRN_ASSIGN_OR_RETURN(std::string store_id, view::LoadStoreId(*store, random));
  auto impl =
      std::make_unique<Impl>(config, clock, random, log, std::move(store), std::move(store_id));
  impl->set_request_stop(hooks.request_stop);
  CAIRN_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

net::Address Server::resp() const { return impl_->resp(); }
net::Address Server::http() const { return impl_->http(); }
void Server::Drain(std::chrono::milliseconds limit) { impl_->Drain(limit); }

}  // namespace cairn::app
