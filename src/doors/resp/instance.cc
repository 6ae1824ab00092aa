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
#include "doors/resp/arg_parser.h"
#include "doors/resp/command_audit.h"
#include "doors/resp/dispatcher.h"

namespace cairn::doors {
namespace {

constexpr int64_t kLongestSlowLog = 1'000'000;

// What a reply would be as the status of an HTTP response.
constexpr int kFailedStatus = 400;
constexpr int kLoginStatus = 401;
constexpr int kForbiddenStatus = 403;

}  // namespace

Instance::Instance(InstanceOptions options, store::Store& store, const Clock& clock, Random& random,
                   Log log)
    : options_(std::move(options)),
      reply_bounds_{.budget = options_.buffers.get(), .limit = options_.reply_bytes},
      loop_reply_bounds_{.budget = nullptr,
                         .limit = std::min(options_.reply_bytes, kMaxReplyBytesOnLoop)},
      store_(store),
      clock_(clock),
      random_(random),
      log_(std::move(log)),
      started_(clock.Now()),
      run_id_(HexEncode(random.NextBytes(20))),
      acl_(commands_),
      tracking_(store, pool_),
      waiters_(store, [this](std::function<void()> function) { Post(std::move(function)); }),
      turns_(store, waiters_),
      password_(options_.password),
      audit_(store, clock, log_, options_.audit),
      pool_({.name = "store", .threads = options_.pool_threads}),
      large_pool_({.name = "large", .threads = std::max<size_t>(1, options_.pool_threads / 4)}) {
  // Nothing requires one yet.
  CAIRN_CHECK(acl_.SetDefaultPassword(password_).ok());
  AddSettings();
}

Instance::~Instance() = default;

net::RespHandlerFactory Instance::HandlerFactory() {
  commands_.SetAudit(audit_);
  return [this](net::Loop& loop) { return std::make_unique<Dispatcher>(*this, loop); };
}

std::string Instance::password() const {
  const std::lock_guard lock(password_mutex_);
  return password_;
}

Result<void> Instance::set_password(std::string_view password) {
  const std::lock_guard lock(password_mutex_);
  CAIRN_RETURN_IF_ERROR(acl_.SetDefaultPassword(password));
  password_ = password;
  return {};
}

bool Instance::PasswordMatches(std::string_view password) const {
  return acl_.FindByPassword(kDefaultUser, password) != nullptr;
}

Result<void> Instance::Load() {
  if (store_.shared()) {
    relay_ = std::make_unique<Relay>(Relay::Options(), store_, pubsub_, clock_, log_,
                                     [this] { LoadChangedUsers(); });
    CAIRN_RETURN_IF_ERROR(relay_->Start());
    pubsub_.set_forward([this](std::shared_ptr<const PubSub::Message> message) {
      relay_->Send(std::move(message));
    });
  }
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<store::Snapshot> snapshot, store_.Read());
  CAIRN_RETURN_IF_ERROR(settings_.Load(*snapshot, log_));
  CAIRN_RETURN_IF_ERROR(acl_.Load(*snapshot, options_.password, log_));
  audit_.Start();
  return {};
}

void Instance::LoadChangedUsers() {
  const Result<std::unique_ptr<store::Snapshot>> snapshot = store_.Read();
  if (!snapshot.ok()) return;  // the next wake-up tries again
  const Result<bool> changed = acl_.LoadChanges(**snapshot, log_);
  if (!changed.ok() || !*changed) return;
  PostToAll([](Dispatcher& each) { each.EnforceAcl(/*caller=*/0); });
}

void Instance::Pause(Timestamp until, ClientPause::Mode mode) {
  pause_.Begin(until, mode, clock_.Now());
}

void Instance::Unpause() {
  pause_.End();
  PostToAll([](Dispatcher& dispatcher) { dispatcher.RunHeld(); });
}

void Instance::PostToAll(const std::function<void(Dispatcher&)>& function) {
  ForEachDispatcher([&](Dispatcher& dispatcher) { dispatcher.Post(function); });
}

void Instance::Unblock(uint64_t connection_id, UnblockWith with) {
  PostToAll([connection_id, with](Dispatcher& self) { self.Unblock(connection_id, with); });
}

void Instance::Post(std::function<void()> function) {
  const std::lock_guard lock(dispatchers_mutex_);
  if (dispatchers_.empty()) return;
  dispatchers_.front()->Post(
      [function = std::move(function)](Dispatcher& /*self*/) { function(); });
}

void Instance::LogAclRefusal(const AclRefusal& refusal, const Command& command, Args args,
                             std::string_view context, const Caller& caller) {
  constexpr std::string_view kReasons[] = {"command", "key", "channel"};
  const bool by_command = refusal.reason == AclReason::kCommand;
  const Timestamp now = clock_.Now();
  std::string client;
  clients_.ForEach([&](const Session& session) {
    if (session.id() == caller.connection_id) client = session.Describe(now);
  });
  acl_.log().Add({.reason = kReasons[static_cast<size_t>(refusal.reason)],
                  .context = context,
                  .object = std::string(by_command ? command.name : args[refusal.argument]),
                  .user = caller.user == nullptr ? "" : caller.user->name()},
                 std::move(client), now);
  audit_.Count(RefusedEntry(command, caller.user.get(), kForbiddenStatus));
}

void Instance::Audit(const AclUser& user, uint8_t db, const Command& command, Args args,
                     bool failed) {
  if (failed) return audit_.Count(RefusedEntry(command, &user, kFailedStatus));
  if (!AuditsInTransaction(command)) audit_.Keep(EntryOf(command, args, &user, db));
}

void Instance::CountFailedLogin(std::string_view method, std::string_view path,
                                std::string_view peer) {
  const std::string_view host = peer.substr(0, peer.rfind(':'));
  audit_.Count({.principal = {},
                .role = {},
                .method = std::string(method),
                .path = std::string(path),
                .status = kLoginStatus,
                .query = {},
                .detail = fmt::format("from {}", host),
                .kind = fmt::format("login {}", host)});
}

void Instance::StopPools() {
  pool_.Stop();
  large_pool_.Stop();
}

void Instance::FeedMonitors(std::string line) {
  const auto shared = std::make_shared<const std::string>(std::move(line));
  const std::lock_guard lock(dispatchers_mutex_);
  for (Dispatcher* dispatcher : dispatchers_) dispatcher->ShowToMonitors(shared);
}

void Instance::CountNested(const Command& command, uint64_t ns, bool failed) {
  const std::lock_guard lock(nested_mutex_);
  if (!nested_calls_) nested_calls_.emplace(commands_.row_count());
  nested_calls_->Ran(command.index, ns, failed);
}

CallTotals Instance::Totals(const Command& command) const {
  CallTotals totals;
  ForEachDispatcher(
      [&](const Dispatcher& dispatcher) { totals += dispatcher.counters().Totals(command.index); });
  const std::lock_guard lock(nested_mutex_);
  if (nested_calls_) totals += nested_calls_->Totals(command.index);
  return totals;
}

LookupTotals Instance::Lookups() const {
  LookupTotals totals;
  ForEachDispatcher(
      [&](const Dispatcher& dispatcher) { totals += dispatcher.counters().Lookups(); });
  return totals;
}

void Instance::ResetStatistics(Dispatcher& caller) {
  errors_.Reset();
  expired_keys_ = 0;
  {
    const std::lock_guard lock(nested_mutex_);
    nested_calls_.reset();
  }
  caller.counters().Reset();
  PostToAll([&caller](Dispatcher& dispatcher) {
    if (&dispatcher != &caller) dispatcher.counters().Reset();
  });
}

void Instance::Join(Dispatcher& dispatcher) {
  const std::lock_guard lock(dispatchers_mutex_);
  dispatchers_.push_back(&dispatcher);
}

void Instance::Leave(Dispatcher& dispatcher) {
  const std::lock_guard lock(dispatchers_mutex_);
  std::erase(dispatchers_, &dispatcher);
}

void Instance::ForEachDispatcher(const std::function<void(Dispatcher&)>& visit) const {
  const std::lock_guard lock(dispatchers_mutex_);
  for (Dispatcher* dispatcher : dispatchers_) visit(*dispatcher);
}

void Instance::AddSettings() {
  settings_.Add(
      {.name = "requirepass",
       .get = [this] { return password(); },
       .set = [this](std::string_view value) -> Result<void> { return set_password(value); },
       .kept = false});
  settings_.Add({.name = "slowlog-log-slower-than",
                 .get = [this] { return fmt::to_string(slow_log_.threshold_us()); },
                 .set = [this](std::string_view value) -> Result<void> {
                   CAIRN_ASSIGN_OR_RETURN(
                       const int64_t us,
                       ParseSettingNumber(value, -1, std::numeric_limits<int64_t>::max()));
                   slow_log_.set_threshold_us(us);
                   return {};
                 }});
  const auto busy_threshold = [this] { return fmt::to_string(busy_.threshold_ms()); };
  settings_.Add({.name = "busy-reply-threshold",
                 .get = busy_threshold,
                 .set = [this](std::string_view value) -> Result<void> {
                   constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 1'000'000;
                   CAIRN_ASSIGN_OR_RETURN(const int64_t ms, ParseSettingNumber(value, 0, kMost));
                   busy_.set_threshold_ms(ms);
                   return {};
                 }});
  settings_.Add(
      {.name = "lua-time-limit", .get = busy_threshold, .former_name_of = "busy-reply-threshold"});
  settings_.Add({.name = "latency-monitor-threshold",
                 .get = [this] { return fmt::to_string(latency_events_.threshold_ms()); },
                 .set = [this](std::string_view value) -> Result<void> {
                   CAIRN_ASSIGN_OR_RETURN(
                       const int64_t ms,
                       ParseSettingNumber(value, 0, std::numeric_limits<int64_t>::max() / 1000));
                   latency_events_.set_threshold_ms(ms);
                   return {};
                 }});
  settings_.Add({.name = "tracking-table-max-keys",
                 .get = [this] { return fmt::to_string(tracking_.max_keys()); },
                 .set = [this](std::string_view value) -> Result<void> {
                   CAIRN_ASSIGN_OR_RETURN(
                       const int64_t count,
                       ParseSettingNumber(value, 0, std::numeric_limits<int64_t>::max()));
                   tracking_.set_max_keys(static_cast<size_t>(count));
                   return {};
                 }});
  settings_.Add({.name = "slowlog-max-len",
                 .get = [this] { return fmt::to_string(slow_log_.max_length()); },
                 .set = [this](std::string_view value) -> Result<void> {
                   CAIRN_ASSIGN_OR_RETURN(const int64_t length,
                                          ParseSettingNumber(value, 0, kLongestSlowLog));
                   slow_log_.set_max_length(static_cast<size_t>(length));
                   return {};
                 }});
}

}  // namespace cairn::doors
