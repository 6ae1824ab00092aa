#include "functions/layer.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "functions/cli/verbs.h"
#include "functions/control/aliases.h"
#include "functions/control_layer.h"
#include "functions/http/codeq_routes.h"
#include "functions/http/control_routes.h"
#include "functions/http/error_form.h"
#include "functions/http/invoke_routes.h"
#include "functions/http/schedule_routes.h"
#include "functions/invoker/invoker.h"
#include "functions/invoker/warm_children.h"
#include "functions/metrics.h"
#include "functions/model/names.h"
#include "functions/model/secrets.h"
#include "functions/pool/sandbox_pool.h"
#include "functions/resp/codeq_commands.h"
#include "functions/resp/control_commands.h"
#include "functions/resp/invoke_commands.h"
#include "functions/resp/schedule_commands.h"
#include "functions/schedule/firing.h"
#include "functions/schedule/verify.h"
#include "house/configuration.h"
#include "house/declarations.h"
#include "house/registry.h"
#include "house/units.h"
#include "outside/http_service.h"

namespace cairn::functions {
namespace {

constexpr std::string_view kRunning = "functions.running";
constexpr std::string_view kCache = "functions.cache";
constexpr std::string_view kTenantRate = "functions.tenant_rate";
constexpr std::string_view kFunctionRate = "functions.function_rate";
constexpr std::string_view kAllow = "functions.allow";
constexpr std::string_view kSecretFile = "functions.secret_file";

constexpr uint64_t kDefaultRunning = 64;
constexpr uint64_t kMaxRunning = 4'096;
constexpr uint64_t kMegabyte = 1024UL * 1024;
constexpr uint64_t kDefaultCacheBytes = 256 * kMegabyte;
constexpr uint64_t kMaxCacheBytes = 64 * 1024 * kMegabyte;
constexpr size_t kMaxSecretFileBytes = 64UL * 1024;

house::Setting AllowSetting() {
  const auto normalize = [](std::string_view text) -> std::optional<std::string> {
    const std::optional<outside::AddressPolicy> policy = outside::AddressPolicy::Parse(text);
    if (!policy) return std::nullopt;
    return policy->ToString();
  };
  house::Setting setting = house::TextSetting(
      {kAllow,
       "Where fetch of functions may go beside public addresses: public for nowhere else, "
       "or a list of loopback, private and networks."},
      "TARGETS", "public, or a list such as loopback,private,10.1.0.0/16", normalize);
  setting.initial = "public";
  setting.default_text = "public";
  return setting;
}

uint64_t NumberOf(const house::Configuration& configuration, std::string_view name) {
  return house::ParseWhole(configuration.Text(name)).value_or(0);
}

Result<SecretKeys> ReadSecretFile(const std::string& path) {
  if (path.empty()) return SecretKeys();
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, fmt::format("cannot read the file {}", path)};
  std::string text(kMaxSecretFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxSecretFileBytes) {
    return Error{ErrorCode::kTooLarge,
                 fmt::format("{} is larger than {} bytes", path, kMaxSecretFileBytes)};
  }
  Result<SecretKeys> keys = SecretKeys::Parse(text);
  if (!keys.ok()) {
    return Error{keys.error().code, fmt::format("{}: {}", path, keys.error().message)};
  }
  return keys;
}

Result<void> VerifyAll(store::Store& store, house::Verification& verification) {
  CAIRN_RETURN_IF_ERROR(VerifyFunctions(store, verification));
  return VerifySchedules(store, verification);
}

class FunctionsLayer final : public house::Layer {
 public:
  std::string_view name() const override { return "functions"; }

  void Declare(house::Declarations& declarations) const override {
    DeclareControl(declarations);
    DeclareCodeq(declarations);
    declarations.AddVerify(VerifyAll);
    declarations.AddVerb(FnVerb());
    declarations.AddVerb(ScheduleVerb());
    declarations.AddVerb(HttpVerb());
    declarations.AddVerb(AuthVerb());
    declarations.AddPermission({.name = kInvokePermission,
                                .operators = true,
                                .workers = true,
                                .unaudited = "is done all day: the activations tell it"});
    declarations.AddSetting(
        house::CountSetting({kRunning, "Functions that run at once in this process."},
                            kDefaultRunning, 1, kMaxRunning));
    declarations.AddSetting(
        house::SizeSetting({kCache, "Memory for the code of functions that were run lately."},
                           kDefaultCacheBytes, kMegabyte, kMaxCacheBytes));
    declarations.AddSetting(house::CountSetting(
        {kTenantRate, "Synchronous invocations a second of each tenant; 0: without limit."}, 0, 0,
        kMaxRateLimit));
    declarations.AddSetting(house::CountSetting(
        {kFunctionRate, "The same of each function that does not say otherwise."}, 0, 0,
        kMaxRateLimit));
    declarations.AddSetting(AllowSetting());
    declarations.AddSetting(house::PathSetting(
        {kSecretFile,
         "A file of secrets, one a line, the newest first, with which the environment "
         "of functions is encrypted. Without it a version can have none."},
        "FILE"));
  }

  void Configure(const house::Configuration& configuration) override {
    options_.running = NumberOf(configuration, kRunning);
    options_.cache_bytes =
        house::ParseSize(configuration.Text(kCache)).value_or(kDefaultCacheBytes);
    options_.tenant_rate = static_cast<int64_t>(NumberOf(configuration, kTenantRate));
    options_.function_rate = static_cast<int64_t>(NumberOf(configuration, kFunctionRate));
    policy_ = outside::AddressPolicy::Parse(configuration.Text(kAllow))
                  .value_or(outside::AddressPolicy{});
    secret_file_ = configuration.Text(kSecretFile);
  }

  void Register(house::Registry& registry) override {
    const house::Parts& parts = registry.parts();
    options_.node = "functions-" + NewActivationId(parts.random);
    SandboxPoolOptions pool;
    pool.max_children = options_.running;
    pool_.emplace(pool, parts.clock, parts.random, parts.log, parts.loops);
    http_.emplace(parts.clock);
    invoker_.emplace(InvokerParts{.routes = parts.route_store,
                                  .loops = parts.loops,
                                  .clock = parts.clock,
                                  .random = parts.random,
                                  .log = parts.log,
                                  .pool = *pool_,
                                  .http = *http_,
                                  .policy = policy_,
                                  .secrets = secrets_},
                     options_);
    warm_.emplace(WarmChildren::Parts{.routes = parts.route_store,
                                      .loops = parts.loops,
                                      .programs = invoker_->programs(),
                                      .pool = *pool_,
                                      .log = parts.log});
    SetErrorForms(parts.routes);
    const ControlParts control{.store = parts.route_store,
                               .pool = parts.instance.pools().store,
                               .clock = parts.clock,
                               .random = parts.random,
                               .secrets = secrets_};
    AddControlRoutes(control, parts.routes);
    AddScheduleRoutes(control, parts.routes);
    AddInvokeRoutes({parts.route_store, *invoker_, parts.random}, parts.routes);
    AddCodeqRoutes({parts.route_store, parts.clock, parts.random}, parts.routes);
    AddControlCommands(parts.instance, secrets_, parts.random);
    AddScheduleCommands(parts.instance, secrets_, parts.random);
    AddInvokeCommands(parts.instance, *invoker_, parts.random);
    AddCodeqCommands(parts.instance);
    registry.AddTimer(kTimerShift, shifts_);
    registry.AddTimer(kTimerSchedule, ticks_);
    registry.AddMetrics("cs", [this](house::MetricsWriter& writer) {
      WriteFigures(invoker_->figures(), invoker_->programs().figures(), pool_->stats(), writer);
      WriteFigures(ticks_.figures(), writer);
    });
  }

  Result<void> Start() override {
    CAIRN_ASSIGN_OR_RETURN(secrets_, ReadSecretFile(secret_file_));
    invoker_->Start();
    warm_->Start();
    return {};
  }

  Result<void> CheckStart(store::Reader* /*store*/) const override {
    const Result<SecretKeys> keys = ReadSecretFile(secret_file_);
    return keys.ok() ? Result<void>() : Result<void>(keys.error());
  }

  void Stop() override {
    if (warm_) warm_->Stop();
    if (invoker_) invoker_->Stop();
    if (pool_) pool_->Stop();
    if (http_) http_->Stop();
  }

 private:
  InvokerOptions options_;
  outside::AddressPolicy policy_;
  std::string secret_file_;
  SecretKeys secrets_;
  ShiftTimers shifts_;
  ScheduleTimers ticks_;
  std::optional<SandboxPool> pool_;
  std::optional<outside::HttpService> http_;
  std::optional<Invoker> invoker_;
  std::optional<WarmChildren> warm_;
};

}  // namespace

std::unique_ptr<house::Layer> MakeFunctionsLayer() { return std::make_unique<FunctionsLayer>(); }

}  // namespace cairn::functions
