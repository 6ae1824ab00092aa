#include "jobs/webhook/webhook_delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/json_text.h"
#include "base/time_text.h"
#include "jobs/webhook/webhook.h"
#include "jobs/webhook/webhook_loop.h"
#include "outside/backoff.h"
#include "outside/http_service.h"

namespace cairn::jobs {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

constexpr size_t kReadAhead = 256;
// A pause after the store could not be read or written.
constexpr milliseconds kStorePause{1'000};
constexpr milliseconds kNoTimeout{3'600'000};
constexpr std::string_view kLeaseKey = "whl|";

using CallId = outside::HttpService::Id;

// What became of the calls, on its way from the HTTP service's thread to ours. Outlives us for as
// long as the service may still call.
struct Inbox {
  std::mutex mutex;
  std::condition_variable changed;
  bool woken = false;
  std::vector<std::pair<uint64_t, Result<outside::HttpAnswer>>> answers;  // by call_number

  void Wake() {
    {
      const std::lock_guard lock(mutex);
      woken = true;
    }
    changed.notify_one();
  }
};

// An event on its way to one webhook.
struct Delivery {
  uint64_t number = 0;
  std::string type;
  std::string event;   // JSON
  bool again = false;  // from the list of redeliveries, not from the log
};

// A webhook as its delivery sees it.
struct Hook {
  Webhook config;
  uint64_t read_to = 0;  // events up to this one have been looked at
  std::deque<Delivery> waiting;
  int64_t tries = 0;  // of the first one waiting
  SteadyTime not_before;
  std::optional<CallId> call;  // under way
  uint64_t call_number = 0;    // our own number of it
  bool look = true;            // there may be more to read
};

uint64_t NowNs(const Clock& clock) { return static_cast<uint64_t>(clock.Now().us) * 1000; }

}  // namespace

class WebhookDelivery::Impl {
 public:
  Impl(store::Store& store, const Clock& clock, Random& random, Log log,
       WebhookDeliveryOptions options)
      : store_(store),
        clock_(clock),
        random_(random),
        log_(std::move(log)),
        options_(std::move(options)) {
    if (options_.http == nullptr) {
      // One call at a time to each webhook, and none waits for another.
      http_ = std::make_shared<outside::HttpService>(
          clock_, outside::HttpServiceOptions{.max_in_flight = kMaxWebhooks});
    } else {
      http_ = options_.http;
    }
  }
  ~Impl() { Stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Start() {
    events_ = store_.OnWake(EventsTopic(), [this] { Wake(events_grew_); });
    changes_ = store_.OnWake(WebhooksTopic(), [this] { Wake(hooks_changed_); });
    thread_ = std::thread([this] { ThreadMain(); });
  }

  void Stop() {
    if (!thread_.joinable()) return;
    events_ = {};
    changes_ = {};
    Wake(stopping_);
    thread_.join();
    for (auto& [id, hook] : hooks_) Drop(hook);
    hooks_.clear();
  }

 private:
  // On any thread.
  void Wake(std::atomic<bool>& flag) {
    flag = true;
    inbox_->Wake();
  }

  void ThreadMain() {
    while (!stopping_) {
      const std::optional<milliseconds> wait = Turn();
      const milliseconds timeout = wait.value_or(kNoTimeout);
      std::unique_lock lock(inbox_->mutex);
      inbox_->changed.wait_for(lock, timeout, [this] { return inbox_->woken; });
      inbox_->woken = false;
    }
    if (lease_token_ != 0) ReleaseLease();
  }

  // Does what can be done now. Returns after which time there is more, if time alone brings it.
  std::optional<milliseconds> Turn() {
    if (store_.shared()) {
      if (const std::optional<milliseconds> wait = AwaitLease()) return wait;
    }
    if (hooks_changed_.exchange(false) && !Reload()) return RetrySoon(hooks_changed_);
    if (events_grew_.exchange(false)) {
      for (auto& [id, hook] : hooks_) hook.look = true;
    }
    TakeAnswers();
    std::optional<SteadyTime> next;
    for (auto& [id, hook] : hooks_) {
      if (!Advance(hook)) return RetrySoon(events_grew_);
      if (!hook.call && !hook.waiting.empty()) {
        next = std::min(next.value_or(hook.not_before), hook.not_before);
      }
    }
    if (store_.shared()) next = std::min(next.value_or(renew_at_), renew_at_);
    if (!next) return std::nullopt;
    const auto left = std::chrono::ceil<milliseconds>(*next - std::chrono::steady_clock::now());
    return std::clamp(left, milliseconds(0), kNoTimeout);
  }

  milliseconds RetrySoon(std::atomic<bool>& flag) {
    flag = true;
    return kStorePause;
  }

  // --- What there is to tell --------------------------------------------------------------------

  // Takes over what was changed about webhooks. False if the store could not be read.
  bool Reload() {
    std::vector<Webhook> webhooks;
    std::map<std::string, uint64_t> cursors;
    const auto body = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(webhooks, LoadWebhooks(transaction));
      cursors.clear();
      for (const Webhook& webhook : webhooks) {
        CAIRN_ASSIGN_OR_RETURN(const WebhookState state, LoadWebhookState(transaction, webhook.id));
        cursors[webhook.id] = state.cursor;
      }
      return {};
    };
    if (!Read(body)) return false;
    std::map<std::string, Hook> hooks;
    for (Webhook& webhook : webhooks) {
      if (!webhook.enabled) continue;
      const auto found = hooks_.find(webhook.id);
      if (found != hooks_.end() && found->second.config == webhook) {
        found->second.look = true;
        hooks.insert(hooks_.extract(found));
        continue;
      }
      Hook& hook = hooks[webhook.id];
      hook.read_to = cursors[webhook.id];
      hook.config = std::move(webhook);
    }
    for (auto& [id, hook] : hooks_) Drop(hook);
    hooks_ = std::move(hooks);
    return true;
  }

  // Lets go of a request that nobody wants any more.
  void Drop(Hook& hook) {
    if (hook.call) http_->Cancel(*hook.call);
    hook.call.reset();  // what is still answered is nobody's
  }

  // Reads ahead if there is nothing waiting, and begins a request if there may be one. False if the
  // store could not be used.
  bool Advance(Hook& hook) {
    while (hook.waiting.empty() && hook.look) {
      if (!ReadAhead(hook)) return false;
    }
    const bool due = hook.not_before <= std::chrono::steady_clock::now();
    if (!hook.call && !hook.waiting.empty() && due) Begin(hook);
    return true;
  }

  bool ReadAhead(Hook& hook) {
    std::vector<DeadDelivery> again;
    EventPage page;
    const auto body = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(again, LoadRedeliveries(transaction, hook.config.id, kReadAhead));
      CAIRN_ASSIGN_OR_RETURN(page, ReadEvents(transaction, hook.read_to, kReadAhead));
      return {};
    };
    if (!Read(body)) return false;
    if (page.missed_to != 0 && !NoteGap(hook, page.missed_to)) return false;
    const std::vector<Event>& events = page.events;
    hook.look = page.more || !again.empty();
    for (const DeadDelivery& dead : again) {
      hook.waiting.push_back({dead.number, TypeOf(dead.event), dead.event, /*again=*/true});
    }
    const size_t before = hook.waiting.size();
    for (const Event& event : events) {
      hook.read_to = event.number;
      const std::string_view type = EventTypeName(event.type);
      if (!hook.config.Wants(type)) continue;
      hook.waiting.push_back({event.number, std::string(type), EventJson(event)});
    }
    // What it does not want is noted too: a long silence is not read again after a restart.
    if (hook.waiting.size() == before && !events.empty()) return Note(hook, {});
    return true;
  }

  // The log no longer has the events after hook.read_to up to `missed_to`. False if that could not
  // be written down.
  bool NoteGap(Hook& hook, uint64_t missed_to) {
    const uint64_t missed_from = hook.read_to + 1;
    const bool noted = Update(hook, [&](store::Transaction&, WebhookState& state) -> Result<void> {
      ++state.gaps;
      state.missed_from = missed_from;
      state.missed_to = missed_to;
      state.last_gap_ns = NowNs(clock_);
      state.cursor = std::max(state.cursor, missed_to);
      return {};
    });
    if (!noted) return false;
    hook.read_to = missed_to;
    ++options_.gaps->webhooks;
    log_.Warn("a webhook has missed events: the log removed them before it was told",
              {{"webhook", hook.config.id}, {"from", missed_from}, {"to", missed_to}});
    return true;
  }

  // "completed" of an event's JSON, which this server has written.
  static std::string TypeOf(std::string_view event) {
    constexpr std::string_view kType = R"("type":")";
    const size_t begin = event.find(kType);
    if (begin == std::string_view::npos) return "";
    const std::string_view rest = event.substr(begin + kType.size());
    return std::string(rest.substr(0, rest.find('"')));
  }

  // --- Telling ----------------------------------------------------------------------------------

  void Begin(Hook& hook) {
    const Delivery& delivery = hook.waiting.front();
    outside::HttpCall call{.method = "POST",
                           .url = hook.config.url,
                           .user_agent = options_.user_agent,
                           .policy = options_.targets,
                           .plural = "webhooks",
                           .connect_timeout = options_.connect_timeout,
                           .timeout = options_.timeout,
                           .max_answer_bytes = 0,
                           .excess = outside::HttpCall::Excess::kDiscard};
    call.body = R"({"webhook_id":)";
    AppendJsonString(hook.config.id, call.body);
    call.body +=
        fmt::format(R"(,"event":{},"sent_at":"{}"}})", delivery.event, FormatTime(NowNs(clock_)));
    call.headers.emplace_back("Content-Type: application/json");
    if (!options_.origin.empty()) {
      call.headers.push_back(fmt::format("{}: {}", kWebhookOriginHeader, options_.origin));
    }
    for (const std::string_view product : {"Cairn", "Corvo"}) {
      call.headers.push_back(fmt::format("X-{}-Webhook-ID: {}", product, hook.config.id));
      call.headers.push_back(fmt::format("X-{}-Webhook-Event: {}", product, delivery.type));
      if (hook.config.secret.empty()) continue;
      call.headers.push_back(
          fmt::format("X-{}-Signature: {}", product, SignWebhook(hook.config.secret, call.body)));
    }
    Send(hook, std::move(call));
  }

  void Send(Hook& hook, outside::HttpCall call) {
    // A number of our own: the answer may come before the service's id is known.
    const uint64_t number = ++last_call_;
    auto done = [inbox = inbox_, number](Result<outside::HttpAnswer> answer) {
      {
        const std::lock_guard lock(inbox->mutex);
        inbox->answers.emplace_back(number, std::move(answer));
      }
      inbox->Wake();
    };
    const Result<CallId> sent = http_->Send(std::move(call), std::move(done));
    if (sent.ok()) {
      hook.call = *sent;
      hook.call_number = number;
      return;
    }
    if (sent.error().code == ErrorCode::kTooMany || sent.error().code == ErrorCode::kUnavailable) {
      hook.not_before = std::chrono::steady_clock::now() + kStorePause;  // nobody was asked
      return;
    }
    Finish(hook, {.tried = true, .error = sent.error().message});
    inbox_->Wake();  // the next event has its turn
  }

  void TakeAnswers() {
    std::vector<std::pair<uint64_t, Result<outside::HttpAnswer>>> answers;
    {
      const std::lock_guard lock(inbox_->mutex);
      answers.swap(inbox_->answers);
    }
    for (auto& [number, answer] : answers) {
      const auto found = std::ranges::find_if(hooks_, [&](const auto& row) {
        return row.second.call && row.second.call_number == number;
      });
      if (found == hooks_.end()) continue;  // nobody wants it any more
      found->second.call.reset();
      Finish(found->second, OutcomeOf(answer));
    }
  }

  struct Outcome {
    bool tried = false;
    int64_t status_code = 0;
    std::string error = {};  // empty: delivered
    bool dead = false;
  };

  static Outcome OutcomeOf(const Result<outside::HttpAnswer>& answer) {
    Outcome outcome{.tried = true};
    if (!answer.ok()) {
      const Error& error = answer.error();
      outcome.error = error.message;
      if (error.code == ErrorCode::kForbidden) outcome.error += kHowToAllow;
      return outcome;
    }
    outcome.status_code = answer->status;
    if (answer->status < 200 || answer->status > 299) {
      outcome.error = fmt::format("the answer was {}", answer->status);
    }
    return outcome;
  }

  void Finish(Hook& hook, Outcome outcome) {
    ++hook.tries;
    outcome.dead = !outcome.error.empty() && hook.tries >= hook.config.retry_limit;
    if (!outcome.error.empty()) {
      log_.Warn("a webhook could not be told", {{"webhook", hook.config.id},
                                                {"event", hook.waiting.front().number},
                                                {"try", hook.tries},
                                                {"reason", outcome.error}});
    }
    if (!Note(hook, outcome)) {
      // Told or not, it is not written down: it will be told again.
      hook.not_before = std::chrono::steady_clock::now() + kStorePause;
      return;
    }
    if (outcome.error.empty() || outcome.dead) {
      hook.waiting.pop_front();
      hook.tries = 0;
      hook.not_before = {};
      return;
    }
    hook.not_before = std::chrono::steady_clock::now() + PauseAfter(hook.tries);
  }

  milliseconds PauseAfter(int64_t tries) {
    return outside::Backoff{.first = options_.first_pause, .longest = options_.longest_pause}
        .PauseAfter(tries, random_);
  }

  // Writes down how far the webhook is. False if that did not work.
  bool Note(const Hook& hook, const Outcome& outcome) {
    return Update(hook, [&](store::Transaction& transaction, WebhookState& state) -> Result<void> {
      if (outcome.tried) return NoteTry(transaction, hook, outcome, state);
      state.cursor = std::max(state.cursor, hook.read_to);
      return {};
    });
  }

  // Changes the stored state of a webhook. False if that did not work.
  bool Update(const Hook& hook,
              FunctionRef<Result<void>(store::Transaction&, WebhookState&)> change) {
    const std::string& id = hook.config.id;
    store::Scopes scopes = WebhookScopes(id);
    const auto body = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_RETURN_IF_ERROR(CheckLease(transaction));
      CAIRN_ASSIGN_OR_RETURN(const auto exists, LoadWebhook(transaction, id));
      if (!exists) return {};  // deleted meanwhile
      CAIRN_ASSIGN_OR_RETURN(WebhookState state, LoadWebhookState(transaction, id));
      CAIRN_RETURN_IF_ERROR(change(transaction, state));
      PutWebhookState(transaction, id, state);
      return {};
    };
    const Result<store::Commit> done = store_.Run(scopes, body);
    if (done.ok()) return true;
    log_.Warn("a webhook's state could not be written", {{"reason", done.error().message}});
    return false;
  }

  Result<void> NoteTry(store::Transaction& transaction, const Hook& hook, const Outcome& outcome,
                       WebhookState& state) {
    const Delivery& delivery = hook.waiting.front();
    const std::string& id = hook.config.id;
    state.last_status_code = outcome.status_code;
    state.last_error = outcome.error;
    state.last_delivery_ns = NowNs(clock_);
    if (outcome.dead) {
      CAIRN_RETURN_IF_ERROR(Bury(transaction, id,
                                 {.number = delivery.number,
                                  .event = delivery.event,
                                  .error = outcome.error,
                                  .status_code = outcome.status_code,
                                  .tries = hook.tries,
                                  .failed_ns = NowNs(clock_)},
                                 state));
    } else if (!outcome.error.empty()) {
      return {};
    } else {
      ++state.delivered;
      if (delivery.again) DropRedelivery(transaction, id, delivery.number);
    }
    if (!delivery.again) state.cursor = std::max(state.cursor, delivery.number);
    return {};
  }

  // Reads what may be told: what a crash could not take back. False if that did not work.
  bool Read(store::Body body) {
    const Result<store::Commit> read = store_.RunRead(store::Scopes::Exclusive(), body);
    const Result<void> durable = read.ok() ? store_.Durable(*read) : Result<void>(read.error());
    if (durable.ok()) return true;
    log_.Warn("webhooks cannot read the event log", {{"reason", durable.error().message}});
    return false;
  }

  // --- Where processes share the store ----------------------------------------------------------

  struct Lease {
    uint64_t token = 0;
    int64_t expires_ms = 0;
  };
  static Result<Lease> ReadLease(store::Transaction& transaction) {
    CAIRN_ASSIGN_OR_RETURN(const auto row, transaction.Get(InJobs(kLeaseKey)));
    if (!row) return Lease{};
    BytesReader reader(*row);
    const uint64_t token = reader.Big64();
    return Lease{token, static_cast<int64_t>(reader.Big64())};
  }

  Result<void> CheckLease(store::Transaction& transaction) const {
    if (!store_.shared()) return {};
    CAIRN_ASSIGN_OR_RETURN(const Lease lease, ReadLease(transaction));
    if (lease.token == lease_token_) return {};
    return Error{ErrorCode::kConflict, "another server delivers webhooks now"};
  }

  // Takes or renews the lease; nullopt while it is held, else when to ask again.
  std::optional<milliseconds> AwaitLease() {
    const SteadyTime now = std::chrono::steady_clock::now();
    if (lease_token_ != 0 && now < renew_at_) return std::nullopt;
    uint64_t token = 0;
    int64_t wait_ms = 0;
    store::Scopes scopes;
    scopes.Add(store::Space::kJobs, kLeaseKey);
    const auto body = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(const Lease lease, ReadLease(transaction));
      const int64_t now_ms = transaction.now().millis();
      const bool free = lease.token == lease_token_ || lease.expires_ms <= now_ms;
      token = 0;
      wait_ms = lease.expires_ms - now_ms;
      if (!free) return {};
      token = lease.token == lease_token_ && lease_token_ != 0 ? lease_token_ : transaction.stamp();
      Bytes row;
      AppendBig64(row, token);
      AppendBig64(row, static_cast<uint64_t>(now_ms + options_.lease.count()));
      transaction.Put(InJobs(kLeaseKey), row);
      return {};
    };
    const Result<store::Commit> done = store_.Run(scopes, body);
    if (!done.ok()) return kStorePause;
    if (token != lease_token_) {
      // What was begun under the old lease is not ours to finish.
      for (auto& [id, hook] : hooks_) Drop(hook);
      hooks_.clear();
      hooks_changed_ = true;
    }
    lease_token_ = token;
    if (token == 0) return std::clamp(milliseconds(wait_ms), milliseconds(1), options_.lease);
    renew_at_ = now + options_.lease / 3;
    return std::nullopt;
  }

  // So that another server need not wait for it to lapse.
  void ReleaseLease() {
    store::Scopes scopes;
    scopes.Add(store::Space::kJobs, kLeaseKey);
    const auto body = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_RETURN_IF_ERROR(CheckLease(transaction));
      transaction.Delete(InJobs(kLeaseKey));
      return {};
    };
    const Result<store::Commit> done = store_.Run(scopes, body);
    if (!done.ok()) log_.Debug("the webhook lease was not released", {});
  }

  store::Store& store_;
  const Clock& clock_;
  Random& random_;
  const Log log_;
  const WebhookDeliveryOptions options_;

  std::shared_ptr<outside::HttpService> http_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::atomic<bool> stopping_{false};
  std::atomic<bool> events_grew_{false};
  std::atomic<bool> hooks_changed_{true};
  store::Subscription events_;
  store::Subscription changes_;
  std::thread thread_;

  // Of the thread.
  std::map<std::string, Hook> hooks_;
  uint64_t last_call_ = 0;
  uint64_t lease_token_ = 0;  // 0: not held
  SteadyTime renew_at_;
};

WebhookDelivery::WebhookDelivery(store::Store& store, const Clock& clock, Random& random, Log log,
                                 WebhookDeliveryOptions options)
    : impl_(std::make_unique<Impl>(store, clock, random, std::move(log), std::move(options))) {}
WebhookDelivery::~WebhookDelivery() = default;
void WebhookDelivery::Start() { impl_->Start(); }
void WebhookDelivery::Stop() { impl_->Stop(); }

}  // namespace cairn::jobs
