#include "doors/resp/instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "doors/access/limits.h"
#include "doors/resp/acl_checks.h"
#include "doors/resp/arg_parser.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/dispatcher.h"

namespace cairn::doors {
namespace {

constexpr int64_t kLongestSlowLog = 1'000'000;

}  // namespace

Instance::Instance(InstanceOptions options, store::Store& store, const Clock& clock, Random& random,
                   Log log)
    : options_(std::move(options)),
      reply_bounds_{.anywhere = {.budget = options_.buffers.get(), .limit = options_.reply_bytes},
                    .on_loop = {.budget = nullptr,
                                .limit = std::min(options_.reply_bytes, kMaxReplyBytesOnLoop)}},
      store_(store),
      clock_(clock),
      random_(random),
      log_(std::move(log)),
      run_{.started = clock.Now(), .id = HexEncode(random.NextBytes(20))},
      acl_(commands_),
      dispatchers_(commands_),
      traffic_{.tracking = Tracking(store, pools_.store),
               .waiters = Waiters(store,
                                  [this](std::function<void()> function) {
                                    dispatchers_.Post(std::move(function));
                                  }),
               .turns = Turns(store, traffic_.waiters)},
      password_(options_.password),
      observed_{.audit = AuditLog(store, clock, log_, options_.audit)},
      pools_{.store = ThreadPool({.name = "store", .threads = options_.pool_threads}),
             .large = ThreadPool(
                 {.name = "large", .threads = std::max<size_t>(1, options_.pool_threads / 4)})} {
  // Nothing requires one yet.
  CAIRN_CHECK(acl_.SetDefaultPassword(password_).ok());
  AddSettings();
}

Instance::~Instance() = default;

net::RespHandlerFactory Instance::HandlerFactory() {
  commands_.SetAudit(observed_.audit);
  return [this](net::Loop& loop) { return std::make_unique<Dispatcher>(*this, loop); };
}

Result<void> Instance::Load() {
  if (store_.shared()) {
    relay_ = std::make_unique<Relay>(Relay::Options(), store_, traffic_.pubsub, clock_, log_,
                                     [this] { LoadChangedUsers(); });
    CAIRN_RETURN_IF_ERROR(relay_->Start());
    traffic_.pubsub.set_forward([this](std::shared_ptr<const PubSub::Message> message) {
      relay_->Send(std::move(message));
    });
  }
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> snapshot, store_.Read());
  CAIRN_RETURN_IF_ERROR(settings_.Load(*snapshot, log_));
  CAIRN_RETURN_IF_ERROR(acl_.Load(*snapshot, options_.password, log_));
  observed_.audit.Start();
  return {};
}

void Instance::LoadChangedUsers() {
  const Result<std::unique_ptr<store::Snapshot>> snapshot = store_.Read();
  if (!snapshot.ok()) return;  // the next wake-up tries again
  const Result<bool> changed = acl_.LoadChanges(**snapshot, log_);
  if (!changed.ok() || !*changed) return;
  dispatchers_.PostToAll([](Dispatcher& each) { EnforceAcl(each, /*caller=*/0); });
}

void Pools::Stop() {
  store.Stop();
  large.Stop();
}

void Instance::AddPasswordSetting() {
  settings_.Add({.name = "requirepass",
                 .get =
                     [this] {
                       const std::lock_guard lock(password_mutex_);
                       return password_;
                     },
                 .set = [this](std::string_view value) -> Result<void> {
                   // Fails where clients must need one, and it is empty (Acl::RequireSecrets).
                   const std::lock_guard lock(password_mutex_);
                   CAIRN_RETURN_IF_ERROR(acl_.SetDefaultPassword(value));
                   password_ = value;
                   return {};
                 },
                 .kept = false});
}

void Instance::AddSettings() {
  AddPasswordSetting();
  settings_.Add({.name = "slowlog-log-slower-than",
                 .get = [this] { return fmt::to_string(observed_.slow_log.threshold_us()); },
                 .set = [this](std::string_view value) -> Result<void> {
                   CAIRN_ASSIGN_OR_RETURN(
                       const int64_t us,
                       ParseSettingNumber(value, -1, std::numeric_limits<int64_t>::max()));
                   observed_.slow_log.set_threshold_us(us);
                   return {};
                 }});
  const auto busy_threshold = [this] { return fmt::to_string(traffic_.busy.threshold_ms()); };
  settings_.Add({.name = "busy-reply-threshold",
                 .get = busy_threshold,
                 .set = [this](std::string_view value) -> Result<void> {
                   constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 1'000'000;
                   CAIRN_ASSIGN_OR_RETURN(const int64_t ms, ParseSettingNumber(value, 0, kMost));
                   traffic_.busy.set_threshold_ms(ms);
                   return {};
                 }});
  settings_.Add(
      {.name = "lua-time-limit", .get = busy_threshold, .former_name_of = "busy-reply-threshold"});
  settings_.Add({.name = "latency-monitor-threshold",
                 .get = [this] { return fmt::to_string(observed_.latency_events.threshold_ms()); },
                 .set = [this](std::string_view value) -> Result<void> {
                   CAIRN_ASSIGN_OR_RETURN(
                       const int64_t ms,
                       ParseSettingNumber(value, 0, std::numeric_limits<int64_t>::max() / 1000));
                   observed_.latency_events.set_threshold_ms(ms);
                   return {};
                 }});
  settings_.Add({.name = "tracking-table-max-keys",
                 .get = [this] { return fmt::to_string(traffic_.tracking.max_keys()); },
                 .set = [this](std::string_view value) -> Result<void> {
                   CAIRN_ASSIGN_OR_RETURN(
                       const int64_t count,
                       ParseSettingNumber(value, 0, std::numeric_limits<int64_t>::max()));
                   traffic_.tracking.set_max_keys(static_cast<size_t>(count));
                   return {};
                 }});
  settings_.Add({.name = "slowlog-max-len",
                 .get = [this] { return fmt::to_string(observed_.slow_log.max_length()); },
                 .set = [this](std::string_view value) -> Result<void> {
                   CAIRN_ASSIGN_OR_RETURN(const int64_t length,
                                          ParseSettingNumber(value, 0, kLongestSlowLog));
                   observed_.slow_log.set_max_length(static_cast<size_t>(length));
                   return {};
                 }});
}

}  // namespace cairn::doors
