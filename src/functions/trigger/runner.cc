#include "functions/trigger/runner.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "doors/turn/side_task.h"
#include "functions/codeq/access.h"
#include "functions/model/names.h"
#include "functions/trigger/batches.h"
#include "functions/trigger/sources.h"
#include "functions/trigger/triggers.h"
#include "jobs/operations/store_access.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using SteadyTime = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

constexpr milliseconds kPauseAfterError(500);
// A trigger looks at its source so often even if nobody has told it of anything: a queue's rate
// limit may have opened, say.
constexpr milliseconds kLookEvery(5'000);
constexpr milliseconds kTrimEvery(10'000);
// Activations that one transaction begins.
constexpr size_t kMaxBegun = 8;

SteadyTime In(milliseconds time) { return std::chrono::steady_clock::now() + time; }

}  // namespace

struct TriggerRunner::State {
  explicit State(Parts of) : parts(std::move(of)) {}

  // One trigger that runs in this process.
  struct Served {
    TriggerId id;
    TriggerConfig trigger;
    std::atomic<bool> over{false};
    std::function<void()> wake;  // under the mutex
  };
  using Enabled = std::vector<std::pair<TriggerId, TriggerConfig>>;

  void SetKeyRules(const Enabled& enabled, uint64_t changes) const {
    std::vector<doors::KeyLog::Rule> rules;
    for (const auto& [id, trigger] : enabled) {
      if (trigger.source.type == SourceType::kKeys) rules.push_back(KeyRuleOf(trigger.source));
    }
    parts.key_log.SetRules(std::move(rules), changes);
  }

  const Parts parts;
  std::atomic<bool> stopping = false;
  store::Subscription key_changes;

  mutable std::mutex mutex;
  std::vector<std::function<void()>> wakers;  // of the coroutines that are no trigger's
  std::map<TriggerId, std::shared_ptr<Served>> served;
  TriggerFigures figures;
};

namespace {

using State = TriggerRunner::State;
using Served = State::Served;

// --- One trigger
// ----------------------------------------------------------------------------------

BatchPlan PlanFor(const State& state, const Served& served, uint64_t known_to) {
  BatchPlan plan{.id = served.id,
                 .trigger = served.trigger,
                 .seats_prefix = state.parts.seats_prefix,
                 .known_to = known_to};
  const auto most = static_cast<size_t>(served.trigger.concurrency);
  for (size_t i = 0; i < std::min(most, kMaxBegun); ++i) {
    plan.activations.push_back(NewActivationId(state.parts.random));
  }
  return plan;
}

awaitable<Result<BatchOutcome>> BeginSome(const State& state, const BatchPlan& plan) {
  BatchOutcome outcome;
  codeq::Locks locks;
  AddBatchScopes(plan, locks);
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(outcome, BeginBatches(context, plan));
    return {};
  };
  const Result<void> done = co_await codeq::Change({state.parts.routes}, std::move(locks), body);
  if (!done.ok()) co_return done.error();
  co_return outcome;
}

awaitable<void> Tell(const State& state, const TriggerId& id, const Error& error) {
  state.parts.log.Warn("a trigger cannot go on",
                       {{"trigger", ResourceName(id)}, {"error", error.message}});
  store::Scopes scopes;
  AddTriggerStateScopes(id, scopes);
  const doors::RouteStore::Task note = [&](store::Transaction& transaction) {
    return NoteTrouble(transaction, id, error.message);
  };
  const Result<void> done = co_await state.parts.routes.Write(scopes, note);
  static_cast<void>(done);  // it is in the log
}

awaitable<void> Serve(std::shared_ptr<State> state, std::shared_ptr<Served> served) {
  // Before the first look, so that no change falls between.
  doors::RouteStore::Signal signal(state->parts.routes, TriggerTopic(served->id));
  std::vector<store::Subscription> subscriptions;
  const SourcePlace place{served->trigger.source, state->parts.seats_prefix};
  for (const store::Topic& topic : TopicsOf(place)) {
    subscriptions.push_back(state->parts.store.OnWake(topic, signal.waker()));
  }
  {
    const std::scoped_lock lock(state->mutex);
    served->wake = signal.waker();
  }
  uint64_t known_to = 0;
  std::string told;
  while (!state->stopping && !served->over) {
    const BatchPlan plan = PlanFor(*state, *served, known_to);
    const Result<BatchOutcome> outcome = co_await BeginSome(*state, plan);
    if (state->stopping || served->over) break;
    if (!outcome.ok()) {
      if (told != outcome.error().message) co_await Tell(*state, served->id, outcome.error());
      told = outcome.error().message;
      co_await signal.Wait(In(kPauseAfterError));
      continue;
    }
    if (outcome->changed) break;
    known_to = outcome->known_to;
    {
      const std::scoped_lock lock(state->mutex);
      state->figures.batches += static_cast<int64_t>(outcome->batches);
      state->figures.paused += outcome->paused ? 1 : 0;
    }
    if (outcome->paused && told != outcome->paused->message) {
      told = outcome->paused->message;
      co_await Tell(*state, served->id, *outcome->paused);
    }
    if (outcome->batches > 0) told.clear();
    if (outcome->more || outcome->batches == plan.activations.size()) continue;
    milliseconds wait = kLookEvery;
    if (outcome->look_at_ms) {
      const int64_t now_ms = state->parts.clock.Now().millis();
      wait = std::clamp(milliseconds(*outcome->look_at_ms - now_ms), milliseconds(1), kLookEvery);
    }
    co_await signal.Wait(In(wait));
  }
  const std::scoped_lock lock(state->mutex);
  served->wake = nullptr;
  const auto at = state->served.find(served->id);
  if (at == state->served.end() || at->second != served) co_return;
  // It was changed, and changed back perhaps: somebody has to look.
  state->served.erase(at);
  for (const std::function<void()>& wake : state->wakers) wake();
}

// --- All of them
// ----------------------------------------------------------------------------------

awaitable<Result<State::Enabled>> ReadEnabled(const State& state) {
  State::Enabled enabled;
  const doors::RouteStore::Task read = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(enabled, ListEnabled(transaction));
    return {};
  };
  const store::Scopes none;
  const Result<void> done = co_await state.parts.routes.Peek(none, read);
  if (!done.ok()) co_return done.error();
  co_return enabled;
}

// Ends those that are other ones by now, and begins those that do not run.
void Adjust(const std::shared_ptr<State>& state, const State::Enabled& enabled) {
  std::vector<std::shared_ptr<Served>> fresh;
  {
    const std::scoped_lock lock(state->mutex);
    std::map<TriggerId, std::shared_ptr<Served>> kept;
    for (const auto& [id, trigger] : enabled) {
      const auto running = state->served.find(id);
      if (running != state->served.end() && running->second->trigger == trigger) {
        kept.insert(*running);
        continue;
      }
      auto served = std::make_shared<Served>();
      served->id = id;
      served->trigger = trigger;
      fresh.push_back(served);
      kept.emplace(id, std::move(served));
    }
    for (const auto& [id, served] : state->served) {
      const auto still = kept.find(id);
      if (still != kept.end() && still->second == served) continue;
      served->over = true;
      if (served->wake) served->wake();
    }
    state->served = std::move(kept);
  }
  const size_t loops = state->parts.loops.size();
  for (std::shared_ptr<Served>& served : fresh) {
    // The same loop for a trigger each time, and about as many on each.
    const size_t at = std::hash<std::string>()(ResourceName(served->id)) % loops;
    net::Loop* const loop = &state->parts.loops.at(at);
    loop->Post([state, loop, served = std::move(served)] {
      boost::asio::co_spawn(loop->io(), Serve(state, served), boost::asio::detached);
    });
  }
}

awaitable<void> Supervise(std::shared_ptr<State> state) {
  // Before the first look, so that no change falls between.
  doors::RouteStore::Signal changed(state->parts.routes, TriggersTopic());
  {
    const std::scoped_lock lock(state->mutex);
    state->wakers.push_back(changed.waker());
  }
  while (!state->stopping) {
    const uint64_t changes = state->parts.key_log.changes();
    const Result<State::Enabled> enabled = co_await ReadEnabled(*state);
    if (state->stopping) break;
    if (enabled.ok()) {
      state->SetKeyRules(*enabled, changes);
      Adjust(state, *enabled);
      co_await changed.Wait();
    } else {
      state->parts.log.Warn("cannot read the triggers", {{"error", enabled.error().message}});
      co_await changed.Wait(In(kPauseAfterError));
    }
  }
  Adjust(state, {});
}

// The log of keys loses what all triggers have read, and what is too old.
awaitable<void> TrimKeys(std::shared_ptr<State> state) {
  doors::RouteStore::Signal signal(state->parts.routes, doors::KeyEventsTopic());
  {
    const std::scoped_lock lock(state->mutex);
    state->wakers.push_back(signal.waker());
  }
  doors::SideTask pause(state->parts.routes.turn().loop());
  while (!state->stopping) {
    // Without triggers of keys nothing is written, and nothing wakes this.
    co_await signal.Wait();
    bool more = true;
    while (more && !state->stopping) {
      const doors::RouteStore::Task trim = [&](store::Transaction& transaction) -> Result<void> {
        CAIRN_ASSIGN_OR_RETURN(more, TrimReadKeys(transaction));
        return {};
      };
      store::Scopes scopes;
      doors::AddKeyLogScope(scopes);
      const Result<void> done = co_await state->parts.routes.Write(scopes, trim);
      if (done.ok()) continue;
      state->parts.log.Warn("cannot trim the log of keys", {{"error", done.error().message}});
      break;
    }
    if (!state->stopping) co_await pause.Sleep(In(kTrimEvery));
  }
}

}  // namespace

TriggerRunner::TriggerRunner(Parts parts) : state_(std::make_shared<State>(std::move(parts))) {}

TriggerRunner::~TriggerRunner() { Stop(); }

Result<void> TriggerRunner::Start() {
  State::Enabled enabled;
  const store::Scopes none;
  const auto read = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(enabled, ListEnabled(transaction));
    return {};
  };
  state_->key_changes = state_->parts.store.OnWake(
      KeyTriggersTopic(), [log = &state_->parts.key_log] { log->NoteChange(); });
  const uint64_t changes = state_->parts.key_log.changes();
  const Result<store::Commit> done = state_->parts.store.RunRead(none, read);
  if (!done.ok()) return done.error();
  state_->SetKeyRules(enabled, changes);
  net::Loop* const loop = &state_->parts.loops.at(0);
  loop->Post([state = state_, loop] {
    boost::asio::co_spawn(loop->io(), Supervise(state), boost::asio::detached);
    boost::asio::co_spawn(loop->io(), TrimKeys(state), boost::asio::detached);
  });
  return {};
}

void TriggerRunner::Stop() {
  state_->key_changes = {};
  state_->stopping = true;
  const std::scoped_lock lock(state_->mutex);
  for (const std::function<void()>& wake : state_->wakers) wake();
  state_->wakers.clear();
  for (const auto& [id, served] : state_->served) {
    if (served->wake) served->wake();
  }
}

TriggerFigures TriggerRunner::figures() const {
  const std::scoped_lock lock(state_->mutex);
  TriggerFigures figures = state_->figures;
  figures.running = state_->served.size();
  return figures;
}

}  // namespace cairn::functions
