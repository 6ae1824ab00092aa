#include "functions/cadence/pollers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "doors/turn/side_task.h"
#include "functions/activation/activations.h"
#include "functions/cadence/bindings.h"
#include "functions/cadence/limits.h"
#include "functions/cadence/tasks.h"
#include "functions/codeq/topics.h"
#include "functions/invoker/locked_change.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "outside/backoff.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// How often it looks at what others may have left, and at bindings that were written by hand.
constexpr milliseconds kLookEvery(10'000);
// An activation that ended so long ago, and was not answered, has lost its process.
constexpr int64_t kOrphanedAfterMs = 10'000;
// A frontend that says at once that there is nothing is asked again after a pause.
constexpr milliseconds kShortPoll(1'000);
constexpr milliseconds kPauseAfterShortPoll(200);
// A signal may get lost with the connection that brings it.
constexpr milliseconds kLookAtActivationEvery(30'000);
constexpr int kAcceptTries = 5;
constexpr outside::Backoff kPollBackoff{milliseconds(100), milliseconds(10'000)};
constexpr outside::Backoff kAnswerBackoff{milliseconds(100), milliseconds(30'000)};
constexpr outside::Backoff kStoreBackoff{milliseconds(100), milliseconds(10'000)};

Steady::time_point In(milliseconds time) { return Steady::now() + time; }

BindingName NameOf(const WorkerBinding& binding) {
  return {{binding.tenant, binding.ns}, binding.name};
}

}  // namespace

class Pollers::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(Parts parts)
      : parts_(std::move(parts)), loop_(parts_.loops.at(0)), watcher_(loop_) {}

  net::Loop& loop() { return loop_; }

  // --- On the loop -------------------------------------------------------------------------------

  void Start() { watcher_.Start(Watch(shared_from_this()), shared_from_this()); }

  void End() {
    ending_ = true;
    watcher_.End();
    EndPollers([](const BindingName&) { return true; });
    for (const std::shared_ptr<Served>& served : serving_) served->task.End();
  }

 private:
  // One poller of a binding.
  struct Poller {
    Poller(net::Loop& loop, std::shared_ptr<const WorkerBinding> of)
        : binding(std::move(of)), task(loop) {}

    const std::shared_ptr<const WorkerBinding> binding;
    doors::SideTask task;
    bool waits = false;  // for a place
  };
  // One task that has to be answered.
  struct Served {
    Served(net::Loop& loop, NamespaceName of, CadenceTask what)
        : ns(std::move(of)), record(std::move(what)), hash(TokenHash(record.token)), task(loop) {}

    const NamespaceName ns;
    const CadenceTask record;
    const std::string hash;
    doors::SideTask task;
    bool stored = false;  // there is a record of it

    BindingName binding() const { return {ns, record.worker}; }
    TaskListName list() const { return {ns.tenant, record.domain, record.tasklist}; }
  };
  // A task that has just arrived.
  struct Arrival {
    std::shared_ptr<const WorkerBinding> binding;
    ActivityTask task;
  };

  // --- Bindings ----------------------------------------------------------------------------------

  static awaitable<void> Watch(std::shared_ptr<State> state) {
    // Before the first look, so that no change falls between.
    doors::RouteStore::Signal changed(state->parts_.routes, BindingsTopic());
    bool first = true;
    while (!state->watcher_.ended()) {
      const bool tasks = co_await state->TakeUpTasks(first);
      first = false;
      const bool bindings = co_await state->LookAtBindings();
      if (state->watcher_.ended()) break;
      co_await changed.Wait(tasks || bindings ? In(kLookEvery) : Steady::time_point::max());
    }
  }

  // Whether there are any, or that is not known.
  awaitable<bool> LookAtBindings() {
    std::vector<WorkerBinding> wanted;
    const doors::RouteStore::Task read = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(wanted, EnabledBindings(transaction));
      return {};
    };
    const store::Scopes none;
    const Result<void> done = co_await parts_.routes.ReadOnPool(none, read);
    if (!done.ok()) {
      Warn("cannot read the worker bindings of Cadence", done.error());
      co_return true;
    }
    if (ending_) co_return false;
    if (!wanted.empty() && !parts_.frontend.configured()) {
      if (!std::exchange(told_, true)) {
        parts_.log.Warn("there are worker bindings, but no functions.cadence_address to poll");
      }
      co_return false;
    }
    Reconcile(wanted);
    co_return !wanted.empty();
  }

  void Reconcile(const std::vector<WorkerBinding>& wanted) {
    std::map<BindingName, const WorkerBinding*> by_name;
    for (const WorkerBinding& binding : wanted) by_name.emplace(NameOf(binding), &binding);
    EndPollers([&](const BindingName& name) {
      const auto found = by_name.find(name);
      return found == by_name.end() || *found->second != *pollers_.at(name).front()->binding;
    });
    for (const auto& [name, binding] : by_name) {
      if (pollers_.contains(name)) continue;
      const auto shared = std::make_shared<const WorkerBinding>(*binding);
      std::vector<std::shared_ptr<Poller>>& started = pollers_[name];
      for (int64_t i = 0; i < binding->pollers; ++i) {
        started.push_back(std::make_shared<Poller>(loop_, shared));
      }
      for (const std::shared_ptr<Poller>& poller : started) {
        poller->task.Start(Poll(shared_from_this(), poller), poller);
      }
    }
    CountPollers();
  }

  template <typename Which>
  void EndPollers(const Which& which) {
    for (auto at = pollers_.begin(); at != pollers_.end();) {
      if (!which(at->first)) {
        ++at;
        continue;
      }
      for (const std::shared_ptr<Poller>& poller : at->second) poller->task.End();
      at = pollers_.erase(at);
    }
    CountPollers();
  }

  void CountPollers() {
    int64_t count = 0;
    for (const auto& [name, pollers] : pollers_) count += static_cast<int64_t>(pollers.size());
    parts_.figures.SetPollers(count);
  }

  // --- Places ------------------------------------------------------------------------------------

  bool HasPlace(const WorkerBinding& binding) const {
    const auto taken = inflight_.find(NameOf(binding));
    return taken == inflight_.end() || taken->second < binding.max_inflight_tasks;
  }

  void TakePlace(const BindingName& name) {
    ++inflight_[name];
    parts_.figures.AddInflight(1);
  }

  void GivePlace(const BindingName& name) {
    const auto taken = inflight_.find(name);
    CAIRN_CHECK(taken != inflight_.end() && taken->second > 0);
    if (--taken->second == 0) inflight_.erase(taken);
    parts_.figures.AddInflight(-1);
    const auto found = pollers_.find(name);
    if (found == pollers_.end()) return;
    const auto waits = [](const std::shared_ptr<Poller>& poller) { return poller->waits; };
    const auto waiting = std::ranges::find_if(found->second, waits);
    if (waiting == found->second.end()) return;
    (*waiting)->waits = false;  // the next place is for the next one
    (*waiting)->task.Wake();
  }

  // Returns once the poller may poll: the binding has a place for a task, and the process for a
  // poll. False at its end.
  awaitable<bool> AwaitPlace(const std::shared_ptr<Poller>& poller) {
    while (!poller->task.ended()) {
      if (HasPlace(*poller->binding)) break;
      poller->waits = true;
      co_await poller->task.Sleep(Steady::time_point::max());
      poller->waits = false;
    }
    if (poller->task.ended()) co_return false;
    TakePlace(NameOf(*poller->binding));
    while (polls_ >= kMaxPolls && !poller->task.ended()) {
      poll_line_.push_back(poller);
      co_await poller->task.Sleep(Steady::time_point::max());
    }
    if (!poller->task.ended()) co_return true;
    GivePlace(NameOf(*poller->binding));
    WakePollLine();
    co_return false;
  }

  void WakePollLine() {
    while (!poll_line_.empty()) {
      const std::shared_ptr<Poller> next = poll_line_.front().lock();
      poll_line_.pop_front();
      if (next == nullptr || next->task.ended()) continue;
      next->task.Wake();
      return;
    }
  }

  // --- Polling -----------------------------------------------------------------------------------

  static awaitable<void> Poll(std::shared_ptr<State> state, std::shared_ptr<Poller> poller) {
    int64_t failures = 0;
    while (co_await state->AwaitPlace(poller)) {
      const milliseconds pause = co_await state->PollOnce(poller, failures);
      if (pause.count() > 0) co_await poller->task.Sleep(In(pause));
    }
  }

  // Has taken a place. Returns how long to wait before the next poll.
  awaitable<milliseconds> PollOnce(const std::shared_ptr<Poller>& poller, int64_t& failures) {
    const std::shared_ptr<const WorkerBinding> binding = poller->binding;
    const TaskListName list{binding->tenant, binding->domain, binding->tasklist};
    ++polls_;
    const Steady::time_point begin = Steady::now();
    PollRequest request{binding->domain, binding->tasklist, binding->worker_id};
    Result<std::optional<ActivityTask>> polled = co_await parts_.frontend.Poll(std::move(request));
    const bool was_short = Steady::now() - begin < kShortPoll;
    --polls_;
    WakePollLine();
    // One that is held for long and then ends in nothing is how a frontend says that there is none.
    const bool empty = !polled.ok() && polled.error().code == ErrorCode::kIo && !was_short &&
                       Steady::now() - begin >= kJsonPollTimeout;
    if (polled.ok() && *polled) {
      parts_.figures.CountPoll(list, /*ok=*/true);
      failures = 0;
      Serve({binding, **std::move(polled)});  // with the place
      co_return milliseconds(0);
    }
    GivePlace(NameOf(*binding));
    if (poller->task.ended()) co_return milliseconds(0);
    parts_.figures.CountPoll(list, polled.ok() || empty);
    if (polled.ok() || empty) {
      failures = 0;
      co_return was_short ? kPauseAfterShortPoll : milliseconds(0);
    }
    if (++failures == 1) {
      parts_.log.Warn("a poll of Cadence failed", {{"domain", binding->domain},
                                                   {"tasklist", binding->tasklist},
                                                   {"error", polled.error().message}});
    }
    co_return kPollBackoff.PauseAfter(failures, parts_.random);
  }

  // --- Tasks -------------------------------------------------------------------------------------

  // A task has arrived, and a place was taken for it.
  void Serve(Arrival arrival) {
    const WorkerBinding& binding = *arrival.binding;
    auto served =
        std::make_shared<Served>(loop_, NamespaceName{binding.tenant, binding.ns},
                                 TaskRecord(binding, arrival.task, parts_.clock.Now().millis()));
    // Given out again while it is here already: the one that is here answers it.
    if (!Begin(served)) return GivePlace(served->binding());
    served->task.Start(Run(shared_from_this(), served, std::move(arrival)), served);
  }

  // A task that is stored, and that nobody serves.
  void TakeUp(PendingTask pending) {
    auto served = std::make_shared<Served>(loop_, std::move(pending.ns), std::move(pending.task));
    if (!Begin(served)) return;
    TakePlace(served->binding());
    served->stored = true;
    served->task.Start(Finish(shared_from_this(), served), served);
  }

  bool Begin(const std::shared_ptr<Served>& served) {
    if (ending_ || !known_.insert(CadenceTaskKey(served->ns, served->hash)).second) return false;
    serving_.insert(served);
    return true;
  }

  void Done(const std::shared_ptr<Served>& served) {
    known_.erase(CadenceTaskKey(served->ns, served->hash));
    serving_.erase(served);
    GivePlace(served->binding());
  }

  // Has tasks of the store served that nobody serves. Whether there are tasks, or that is not
  // known.
  awaitable<bool> TakeUpTasks(bool first) {
    if (!parts_.frontend.configured()) co_return false;
    if (!first && !parts_.shared_store) co_return false;
    std::vector<PendingTask> pending;
    const doors::RouteStore::Task read = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(pending, ListTasks(transaction));
      return {};
    };
    const store::Scopes none;
    for (int64_t failures = 1;; ++failures) {
      const Result<void> done = co_await parts_.routes.ReadOnPool(none, read);
      if (done.ok()) break;
      Warn("cannot read the tasks of Cadence", done.error());
      if (watcher_.ended()) co_return true;
      co_await watcher_.Sleep(In(kStoreBackoff.PauseAfter(failures, parts_.random)));
    }
    const bool any = !pending.empty();
    const int64_t now_ms = parts_.clock.Now().millis();
    for (PendingTask& one : pending) {
      // Of a shared store: that of a process which is there will answer it soon.
      const bool orphan = one.ended_ms && *one.ended_ms + kOrphanedAfterMs <= now_ms;
      if (!parts_.shared_store || orphan) TakeUp(std::move(one));
    }
    co_return any;
  }

  static awaitable<void> Run(std::shared_ptr<State> state, std::shared_ptr<Served> served,
                             Arrival arrival) {
    const std::optional<TaskAnswer> refused = co_await state->Accept(*served, std::move(arrival));
    if (refused) {
      co_await state->Tell(*served, *refused);
      state->Done(served);
      co_return;
    }
    served->stored = true;
    co_await Finish(std::move(state), std::move(served));
  }

  // The commit that makes an activation of the task; or why there is none.
  awaitable<std::optional<TaskAnswer>> Accept(Served& served, Arrival arrival) {
    const int64_t now_ms = parts_.clock.Now().millis();
    const std::optional<InvocationRequest> request =
        RequestOf(*arrival.binding, arrival.task, now_ms);
    if (!request) {
      co_return FailureOf(
          kMappingNotFound,
          Refuse(Code::kNotFound,
                 fmt::format("the worker binding \"{}\" has no activity \"{}\"",
                             arrival.binding->name, Printable(arrival.task.activity_type))));
    }
    if (arrival.task.input.size() > kMaxTaskInputBytes) {
      co_return FailureOf(kPublishFailed,
                          Refuse(Code::kTooLarge, fmt::format("the input has more than {} bytes",
                                                              kMaxTaskInputBytes)));
    }
    const Result<QueuedRequest> queued = PrepareRequest(
        *request,
        {.message_id = NewMessageId(parts_.clock.Now(), parts_.random), .now_ms = now_ms});
    if (!queued.ok()) co_return FailureOf(kPublishFailed, queued.error());
    codeq::Locks locks;
    AddRequestScopes(*queued, locks);
    locks.AddKey(CadenceTaskKey(served.ns, served.hash));
    std::string_view reason;
    const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
      reason = kPublishFailed;
      const Result<Resolved> resolved = CheckRequest(context.transaction, *request);
      if (!resolved.ok()) {
        reason = ReasonOf(resolved.error(), request->ref);
        return resolved.error();
      }
      CAIRN_RETURN_IF_ERROR(AcceptRequest(context, *queued));
      return PutTask(context.transaction, served.ns, served.record);
    };
    for (int64_t tries = 1;; ++tries) {
      const Result<void> done = co_await Change(parts_.routes, locks, body);
      if (done.ok()) co_return std::nullopt;
      if (IsAboutTheRequest(done.error())) co_return FailureOf(reason, done.error());
      Warn("a task of Cadence could not be accepted", done.error());
      if (tries == kAcceptTries || served.task.ended()) {
        co_return FailureOf(kPublishFailed, done.error());
      }
      co_await served.task.Sleep(In(kStoreBackoff.PauseAfter(tries, parts_.random)));
    }
  }

  static awaitable<void> Finish(std::shared_ptr<State> state, std::shared_ptr<Served> served) {
    const std::optional<TaskAnswer> answer = co_await state->AwaitEnd(*served);
    if (answer && co_await state->Tell(*served, *answer)) co_await state->Forget(*served);
    state->Done(served);
  }

  // What the activation has come to, once that is durable. nullopt when the server stops.
  awaitable<std::optional<TaskAnswer>> AwaitEnd(Served& served) {
    const std::string& tenant = served.ns.tenant;
    const std::string& id = served.record.activation_id;
    // Before the first look, so that no change falls between.
    doors::RouteStore::Signal changed(parts_.routes, ActivationTopic(tenant, id));
    std::optional<Activation> activation;
    const doors::RouteStore::Task read = [&](store::Transaction& transaction) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(activation, LoadActivation(transaction, tenant, id));
      return {};
    };
    const store::Scopes none;
    int64_t failures = 0;
    while (!served.task.ended()) {
      const Result<void> done = co_await parts_.routes.Read(none, read);
      const bool lost = (done.ok() && !activation) ||
                        (!done.ok() && IsRefusal(done.error(), Code::kStoreReadFailed));
      if (lost) {
        co_return FailureOf("error", Refuse(Code::kNotFound, "the activation's record is gone"));
      }
      if (!done.ok()) {
        Warn("cannot read the activation of a task", done.error());
        co_await served.task.Sleep(In(kStoreBackoff.PauseAfter(++failures, parts_.random)));
        continue;
      }
      if (IsTerminal(activation->status)) co_return AnswerOf(*activation);
      co_await changed.Wait(In(kLookAtActivationEvery));
    }
    co_return std::nullopt;
  }

  // Tells Cadence how a task has ended, until it is heard. Whether nothing is left to be said.
  awaitable<bool> Tell(Served& served, const TaskAnswer& answer) {
    const CadenceTask& record = served.record;
    const auto count = [&](TaskEnd end) { parts_.figures.CountEnd(served.list(), end); };
    for (int64_t failures = 1;; ++failures) {
      const TaskRef ref{.token = record.token, .worker_id = record.worker_id};
      const Result<void> told = co_await parts_.frontend.Respond(ref, answer);
      if (told.ok()) {
        count(answer.failed ? TaskEnd::kFailed : TaskEnd::kCompleted);
        co_return true;
      }
      if (served.task.ended()) co_return false;
      const ErrorCode code = told.error().code;
      const int64_t age_ms = parts_.clock.Now().millis() - record.created_at_ms;
      if (code == ErrorCode::kNotFound || code == ErrorCode::kInvalid ||
          age_ms >= kCadenceTaskTtlMs) {
        count(TaskEnd::kGone);
        parts_.log.Warn("a task of Cadence is gone before it was answered",
                        {{"activation", record.activation_id}, {"error", told.error().message}});
        co_return true;
      }
      parts_.figures.CountRespondError();
      if (failures == 1) {
        parts_.log.Warn("Cadence did not take the answer of a task",
                        {{"activation", record.activation_id}, {"error", told.error().message}});
      }
      co_await served.task.Sleep(In(kAnswerBackoff.PauseAfter(failures, parts_.random)));
      if (served.task.ended()) co_return false;
    }
  }

  // The task is answered. A crash before this leaves a record of a task that is gone.
  awaitable<void> Forget(Served& served) {
    codeq::Locks locks;
    locks.AddKey(CadenceTaskKey(served.ns, served.hash));
    const store::Scopes scopes = locks.ToScopes();
    const doors::RouteStore::Task remove = [&](store::Transaction& transaction) {
      return RemoveTask(transaction, served.ns, served.hash);
    };
    for (int64_t failures = 1; !served.task.ended(); ++failures) {
      const Result<void> done = co_await parts_.routes.Write(scopes, remove);
      if (done.ok()) co_return;
      Warn("cannot remove a task of Cadence", done.error());
      co_await served.task.Sleep(In(kStoreBackoff.PauseAfter(failures, parts_.random)));
    }
  }

  void Warn(std::string_view what, const Error& error) {
    parts_.log.Warn(what, {{"error", error.message}});
  }

  const Parts parts_;
  net::Loop& loop_;
  doors::SideTask watcher_;
  bool ending_ = false;
  bool told_ = false;  // that there is no address

  std::map<BindingName, std::vector<std::shared_ptr<Poller>>> pollers_;
  std::map<BindingName, int64_t> inflight_;  // places that are taken
  size_t polls_ = 0;
  std::deque<std::weak_ptr<Poller>> poll_line_;  // for a poll of the process
  std::set<std::shared_ptr<Served>> serving_;
  std::set<std::string> known_;  // keys of their tasks
};

Pollers::Pollers(Parts parts) : state_(std::make_shared<State>(std::move(parts))) {}

Pollers::~Pollers() = default;

void Pollers::Start() {
  state_->loop().Post([state = state_] { state->Start(); });
}

void Pollers::Stop() {
  state_->loop().Post([state = state_] { state->End(); });
}

}  // namespace cairn::functions
