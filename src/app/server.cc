#include "app/server.h"

#include <fmt/format.h>
#include <generated/version.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "admin/access.h"
#include "app/config.h"
#include "app/layers.h"
#include "app/open_store.h"
#include "app/redis_settings.h"
#include "app/tls.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/instance.h"
#include "house/assembly.h"
#include "net/http/server.h"
#include "net/resp/server.h"
#include "store/store_id.h"

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

}  // namespace

// The order of members is the order in which things come to life; they go in reverse.
class Server::Impl {
 public:
  Impl(const Config& config, const Clock& clock, Random& random, const Log& log,
       std::unique_ptr<store::Store> store, std::string store_id)
      : config_(config),
        log_(log),
        clock_(clock),
        store_(std::move(store)),
        house_(HouseOptions(std::move(store_id)), MakeLayers(), *store_, clock, random, log),
        resp_server_(RespOptions(config, instance().options().buffers), house_.loops(),
                     instance().HandlerFactory(), clock, log),
        http_server_(HttpOptions(), house_.loops(), HttpHandlers(), clock, random, log) {
    instance().Attach(resp_server_);
    instance().traffic().busy.set_limit_ms(config.script_time_limit.count());
    AddRedisSettings(
        config_, resp_server_, [this] { return resp_port_.load(); }, instance().settings());
  }

  ~Impl() { house_.Stop(); }  // connections belong to its loops

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void set_request_stop(std::function<void()> stop) {
    instance().hooks().shutdown = std::move(stop);
  }

  Result<void> Start() {
    CAIRN_ASSIGN_OR_RETURN(const std::shared_ptr<net::TlsContext> tls, LoadTls(config_));
    CAIRN_RETURN_IF_ERROR(house_.Start());
    CAIRN_ASSIGN_OR_RETURN(
        resp_, Listen("resp", resp_server_, config_.resp, RespSpeaksTls(config_) ? tls : nullptr));
    resp_port_ = resp_.port;
    CAIRN_ASSIGN_OR_RETURN(
        http_, Listen("http", http_server_, config_.http, HttpSpeaksTls(config_) ? tls : nullptr));
    return {};
  }

  void Drain(std::chrono::milliseconds limit) {
    house_.health().SetDraining();
    std::jthread http([&] { http_server_.Drain(limit); });
    resp_server_.Drain(limit);
  }

  const net::Address& resp() const { return resp_; }
  const net::Address& http() const { return http_; }

 private:
  doors::Instance& instance() { return house_.instance(); }

  template <typename Listener>
  Result<net::Address> Listen(std::string_view door, Listener& listener, net::Address address,
                              std::shared_ptr<net::TlsContext> tls) {
    const bool encrypted = tls != nullptr;
    CAIRN_ASSIGN_OR_RETURN(address.port, listener.Listen(address, std::move(tls)));
    log_.Info("listening",
              {{"door", door}, {"address", net::ToString(address)}, {"tls", encrypted}});
    return address;
  }

  house::AssemblyOptions HouseOptions(std::string store_id) {
    return {.instance = InstanceOptions(config_),
            .loops = config_.io_threads,
            .store_id = std::move(store_id),
            .revision = std::string(kRevision),
            .configuration = ConfigurationOf(config_),
            .resp_stats = [this] { return resp_server_.stats(); },
            .http_stats = [this] { return http_server_.stats(); }};
  }

  net::HttpServerOptions HttpOptions() {
    net::HttpServerOptions options;
    options.max_connections = config_.max_http_connections;
    options.budget = instance().options().buffers;
    if (config_.auth_timeout.count() != 0) options.stranger_timeout = config_.auth_timeout;
    // CONFIG SET requirepass may set a password and take it away.
    options.cors = [this]() -> const net::CorsPolicy& {
      return CorsOf(config_, instance().acl().auth_required());
    };
    options.hosts = [this]() -> const net::AllowedHosts* {
      const bool open_here = !instance().acl().auth_required() && net::IsLoopback(config_.http);
      return open_here ? &config_.allowed_hosts : nullptr;
    };
    return options;
  }

  // Each loop's handler: what layers have wrapped around the guard, the guard, the routes.
  net::HttpHandlerFactory HttpHandlers() {
    return [this](net::Loop& loop) {
      const auto on_refused = [this](const net::HttpRequest& request, admin::Presented presented) {
        doors::CountFailedLogin(request.method, request.path, request.peer,
                                instance().observed().audit);
        if (presented != admin::Presented::kWrongSecret) return;
        instance().observed().failed_logins.Note(clock_.MonotonicNs(), request.peer, log_);
      };
      return house_.WrapHttp(std::make_unique<admin::Guard>(
          admin::GuardOptions{.identify = house_.registry().identify(),
                              .default_body_limit = config_.limit_http_body_bytes,
                              .on_refused = on_refused},
          house_.routes().MakeHandler(loop)));
    };
  }

  const Config config_;
  const Log log_;
  const Clock& clock_;
  const std::unique_ptr<store::Store> store_;
  house::Assembly house_;
  net::RespServer resp_server_;
  net::HttpServer http_server_;
  std::atomic<uint16_t> resp_port_{0};  // clients may ask for it while http_ is still being bound
  net::Address resp_;
  net::Address http_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(const Config& config, const ServerHooks& hooks,
                                              const Clock& clock, Random& random, const Log& log) {
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<store::Store> store, OpenStore(config, clock, log));
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<store::Snapshot> snapshot, store->Read());
  CAIRN_RETURN_IF_ERROR(CheckCopied(*snapshot, config));
  snapshot.reset();
  CAIRN_ASSIGN_OR_RETURN(std::string store_id, store::LoadStoreId(*store, random));
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
