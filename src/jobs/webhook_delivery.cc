#include "jobs/webhook_delivery.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/function_ref.h"
#include "jobs/job_json.h"
#include "jobs/route_support.h"
#include "jobs/webhook.h"
#include "jobs/webhook_loop.h"

namespace cairn::jobs {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

constexpr size_t kReadAhead = 256;
// A pause after the store could not be read or written.
constexpr milliseconds kStorePause{1'000};
constexpr milliseconds kNoTimeout{3'600'000};
constexpr std::string_view kLeaseKey = "whl|";

// libcurl's handles are all of the type void.
struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// One request under way. Its parts must stay where they are: libcurl points to them.
struct Transfer {
  std::unique_ptr<CURL, FreeEasy> easy;
  std::unique_ptr<curl_slist, FreeList> headers;
  std::string body;
  const WebhookTargets* targets = nullptr;
  std::string refusal = {};  // why the last address could not be asked
};

// Makes the socket for an address that libcurl is about to connect to, if it may.
curl_socket_t OpenSocket(void* given, curlsocktype /*purpose*/, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(given);
  const std::optional<IpAddress> asked = IpAddress::Of(address->addr);
  const std::optional<std::string> refusal =
      asked ? transfer.targets->WhyRefused(*asked) : "neither IPv4 nor IPv6";
  if (refusal) {
    transfer.refusal = *refusal;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

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
  std::unique_ptr<Transfer> transfer;
  bool look = true;  // there may be more to read
};

size_t Discard(char* /*data*/, size_t size, size_t count, void* /*user*/) { return size * count; }

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
    static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
    CAIRN_CHECK(once == CURLE_OK);
    multi_.reset(curl_multi_init());
    CAIRN_CHECK(multi_ != nullptr);
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
    curl_multi_wakeup(multi_.get());
  }

  void ThreadMain() {
    while (!stopping_) {
      const std::optional<milliseconds> wait = Turn();
      const milliseconds timeout = wait.value_or(kNoTimeout);
      curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(timeout.count()), nullptr);
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
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    FinishTransfers();
    std::optional<SteadyTime> next;
    for (auto& [id, hook] : hooks_) {
      if (!Advance(hook)) return RetrySoon(events_grew_);
      if (hook.transfer == nullptr && !hook.waiting.empty()) {
        next = std::min(next.value_or(hook.not_before), hook.not_before);
      }
    }
    // What has just begun is driven at once, and may have ended already.
    curl_multi_perform(multi_.get(), &running);
    if (FinishTransfers()) return milliseconds(0);
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
        hooks.insert(hooks_.extract(found));  // stays where it is in memory
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
    if (hook.transfer != nullptr) {
      curl_multi_remove_handle(multi_.get(), hook.transfer->easy.get());
      hook.transfer.reset();
    }
  }

  // Reads ahead if there is nothing waiting, and begins a request if there may be one. False if the
  // store could not be used.
  bool Advance(Hook& hook) {
    while (hook.waiting.empty() && hook.look) {
      if (!ReadAhead(hook)) return false;
    }
    const bool due = hook.not_before <= std::chrono::steady_clock::now();
    if (hook.transfer == nullptr && !hook.waiting.empty() && due) Begin(hook);
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
    hook.look = events.size() == kReadAhead || again.size() == kReadAhead;
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
    auto transfer = std::make_unique<Transfer>();
    transfer->body = R"({"webhook_id":)";
    AppendJsonString(hook.config.id, transfer->body);
    transfer->body +=
        fmt::format(R"(,"event":{},"sent_at":"{}"}})", delivery.event, FormatTime(NowNs(clock_)));
    AddHeader(*transfer, "Content-Type: application/json");
    if (!options_.origin.empty()) {
      AddHeader(*transfer, fmt::format("{}: {}", kWebhookOriginHeader, options_.origin));
    }
    for (const std::string_view product : {"Cairn", "Corvo"}) {
      AddHeader(*transfer, fmt::format("X-{}-Webhook-ID: {}", product, hook.config.id));
      AddHeader(*transfer, fmt::format("X-{}-Webhook-Event: {}", product, delivery.type));
      if (hook.config.secret.empty()) continue;
      AddHeader(*transfer, fmt::format("X-{}-Signature: {}", product,
                                       SignWebhook(hook.config.secret, transfer->body)));
    }
    CURL* easy = curl_easy_init();
    CAIRN_CHECK(easy != nullptr);
    transfer->easy.reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, hook.config.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    transfer->targets = &options_.targets;
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, OpenSocket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer.get());
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, options_.user_agent.c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers.get());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, transfer->body.c_str());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(transfer->body.size()));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Discard);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(options_.connect_timeout.count()));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(options_.timeout.count()));
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &hook);
    curl_multi_add_handle(multi_.get(), easy);
    hook.transfer = std::move(transfer);
  }

  static void AddHeader(Transfer& transfer, const std::string& header) {
    curl_slist* longer = curl_slist_append(transfer.headers.get(), header.c_str());
    CAIRN_CHECK(longer != nullptr);
    transfer.headers.release();  // NOLINT(bugprone-unused-return-value): it is part of `longer`
    transfer.headers.reset(longer);
  }

  // Whether any has ended.
  bool FinishTransfers() {
    bool any = false;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      any = true;
      const CURLcode result = message->data.result;
      Hook* hook = nullptr;
      long status = 0;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &hook);
      curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
      const std::string refusal = hook->transfer->refusal;
      Drop(*hook);
      Outcome outcome{.tried = true, .status_code = result == CURLE_OK ? status : 0};
      if (result != CURLE_OK) {
        outcome.error = refusal.empty() ? curl_easy_strerror(result) : refusal;
      } else if (status < 200 || status > 299) {
        outcome.error = fmt::format("the answer was {}", status);
      }
      Finish(*hook, std::move(outcome));
    }
    return any;
  }

  struct Outcome {
    bool tried = false;
    int64_t status_code = 0;
    std::string error = {};  // empty: delivered
    bool dead = false;
  };

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

  // A little less at random, so that what failed together does not come back together.
  milliseconds PauseAfter(int64_t tries) {
    milliseconds pause = options_.first_pause;
    for (int64_t i = 1; i < tries && pause < options_.longest_pause; ++i) pause *= 2;
    pause = std::min(pause, options_.longest_pause);
    const auto quarter = static_cast<uint64_t>(pause.count() / 4);
    return pause - milliseconds(random_.Below(quarter + 1));
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

  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> events_grew_{false};
  std::atomic<bool> hooks_changed_{true};
  store::Subscription events_;
  store::Subscription changes_;
  std::thread thread_;

  // Of the thread. A map's members stay where they are, which libcurl relies on.
  std::map<std::string, Hook> hooks_;
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
