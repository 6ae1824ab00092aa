// JOB.SUBSCRIBE: jobs pushed to a RESP3 connection, as commits make them runnable.
//
//   room in the window ─ stands in line with those who fetch ─ takes as many as there is room for
//        ↑                                                        │ durable
//        └──── the connection acks, fails or snoozes a job ──── push frames
//
// A coroutine on the connection's loop does it, while the connection goes on with its requests. The
// window bounds what a worker has in its hands: who does not answer is given no more. Jobs stay
// leased as if they had been fetched; an end of the subscription changes nothing about those that
// were pushed.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doors/resp/dispatcher.h"
#include "doors/resp/session.h"
#include "doors/turn/side_task.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/handing_out.h"
#include "jobs/resp/command_support.h"
#include "jobs/resp/commands.h"
#include "net/loop.h"

namespace cairn::jobs {
namespace {

using boost::asio::awaitable;
using std::chrono::steady_clock;

// After a failure of the store.
constexpr std::chrono::seconds kRetryAfter{1};
// A lease that should be over and is not, because the server is slow to take it back.
constexpr int64_t kLookAgainMs = 100;

// A job that the connection has not answered.
struct Pushed {
  uint64_t token = 0;
  steady_clock::time_point until;  // when its lease may be over
};

// One subscription, shared by the session and the coroutine; used on the connection's loop only.
struct Subscriber {
  Subscriber(doors::Dispatcher& of, doors::RouteStore& routes, const doors::Session& session,
             FetchRequest asked)
      : dispatcher(of),
        connection(session.id()),
        protocol(&session.protocol),
        request(std::move(asked)),
        access{.store = routes},
        task(of.loop()) {}

  size_t room() const { return request.count - std::min(request.count, pushed.size()); }
  // A connection that went back to RESP2 cannot be pushed to.
  bool over() const { return task.ended() || *protocol < 3; }

  doors::Dispatcher& dispatcher;
  const uint64_t connection;
  const doors::Shared<int>* const protocol;  // until the task has ended
  const FetchRequest request;                // its count is the window
  const StoreAccess access;
  std::unordered_map<std::string, Pushed> pushed;  // by job
  doors::SideTask task;                            // sleeps while there is no room
};
using SharedSubscriber = std::shared_ptr<Subscriber>;

// A job that ended otherwise, acknowledged elsewhere or lost with its lease, is noticed when its
// lease should be over.
awaitable<void> ForgetLapsed(SharedSubscriber self) {
  const auto now = steady_clock::now();
  std::vector<std::string> ids;
  for (const auto& [id, job] : self->pushed) {
    if (job.until <= now) ids.push_back(id);
  }
  if (ids.empty()) co_return;
  Held held;
  for (const std::string& id : ids) held.AddJob(id);
  struct Leased {
    uint64_t token;
    int64_t left_ms;
  };
  std::unordered_map<std::string, Leased> leased;
  const doors::RouteStore::Task body = [&](store::Transaction& transaction) -> Result<void> {
    leased.clear();
    for (const std::string& id : ids) {
      CAIRN_ASSIGN_OR_RETURN(const auto document, transaction.Get(InJobs(JobKey(id))));
      if (!document) continue;
      CAIRN_ASSIGN_OR_RETURN(const Job job, DecodeJob(id, *document));
      if (job.state != State::kActive) continue;
      const int64_t left_ms =
          static_cast<int64_t>(job.lease_expires_ns / 1'000'000) - transaction.now().us / 1'000;
      leased[id] = {job.lease_token, std::max(left_ms, kLookAgainMs)};
    }
    return {};
  };
  const store::Scopes scopes = held.ToScopes();
  const Result<void> read = co_await self->access.store.Peek(scopes, body);
  if (!read.ok()) co_return;
  for (const std::string& id : ids) {
    const auto found = self->pushed.find(id);
    if (found == self->pushed.end()) continue;  // answered meanwhile
    const auto lease = leased.find(id);
    if (lease == leased.end() || lease->second.token != found->second.token) {
      self->pushed.erase(found);
    } else {
      found->second.until = now + std::chrono::milliseconds(lease->second.left_ms);
    }
  }
}

awaitable<void> WaitForRoom(SharedSubscriber self) {
  auto first = steady_clock::time_point::max();
  for (const auto& [id, job] : self->pushed) first = std::min(first, job.until);
  co_await self->task.Sleep(first);
  co_await ForgetLapsed(self);
}

// As many as there is room for; waits until there is something. None: it is over.
awaitable<Result<std::vector<Job>>> TakeOrWait(SharedSubscriber self) {
  FetchRequest request = self->request;
  request.count = self->room();
  const Fetcher fetcher{.store = self->access.store};
  Result<std::vector<Job>> jobs = co_await TakeJobs(fetcher, request);
  if (!jobs.ok() || !jobs->empty()) co_return jobs;
  co_return co_await AwaitJobs(fetcher, request, steady_clock::time_point::max());
}

void PushJobs(Subscriber& self, const std::vector<Job>& jobs) {
  std::string text;
  net::RespWriter writer(text, 3);
  for (const Job& job : jobs) {
    writer.PushHeader(2);
    writer.Bulk("job");
    ReplyJob(writer, job);
    self.pushed[job.id] = {job.lease_token,
                           steady_clock::now() + std::chrono::milliseconds(job.lease_ms)};
  }
  self.dispatcher.Post(
      [id = self.connection, text = std::move(text)](doors::Dispatcher& on) { on.Push(id, text); });
}

awaitable<void> Serve(SharedSubscriber self) {
  while (!self->over()) {
    if (self->room() == 0) {
      co_await WaitForRoom(self);
      continue;
    }
    const Result<std::vector<Job>> jobs = co_await TakeOrWait(self);
    if (!jobs.ok()) {
      co_await self->task.Sleep(steady_clock::now() + kRetryAfter);
    } else if (self->over()) {
      co_await GiveBack(self->access, *jobs);  // taken for a connection that is gone
    } else if (!jobs->empty()) {
      PushJobs(*self, *jobs);
    }
  }
}

// The session's end of it.
class Subscription final : public doors::Attachment {
 public:
  explicit Subscription(SharedSubscriber subscriber) : subscriber_(std::move(subscriber)) {
    subscriber_->task.Start(Serve(subscriber_), subscriber_);
  }
  ~Subscription() override { subscriber_->task.End(); }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  // What the worker has answered makes room, whatever the reply: it is done with it.
  void Ran(const doors::Command& command, doors::Args args) override {
    const std::string_view name = command.name;
    if (name == "job.ack" || name == "job.fail" || name == "job.snooze") {
      Answered(args[1]);
    } else if (name == "job.ackm") {
      for (const std::string_view word : args.subspan(1)) Answered(word);
    }
  }

  size_t unanswered() const { return subscriber_->pushed.size(); }

 private:
  void Answered(std::string_view job) {
    if (subscriber_->pushed.erase(std::string(job)) != 0) subscriber_->task.Wake();
  }

  const SharedSubscriber subscriber_;
};

void Fail(doors::ConnectionContext& context, std::string_view why) {
  context.Fail(Refuse(Reason::kValidation, why).message);
}

void RunSubscribe(doors::RouteStore& routes, doors::ConnectionContext& context) {
  doors::Session& session = context.session;
  Result<FetchCommand> fetch = ParseFetch(context.args);
  if (!fetch.ok()) return context.Fail(fetch.error().message);
  Result<void> valid = CheckFetch(fetch->request);
  for (const std::string& queue : fetch->request.queues) {
    if (valid.ok()) valid = CheckQueue(QueuesOf(session.user().grants()), queue);
  }
  if (!valid.ok()) return context.Fail(valid.error().message);
  if (fetch->block_ms) return Fail(context, "BLOCK is for JOB.FETCH: a subscription waits anyway");
  if (session.protocol < 3) {
    return Fail(context, "jobs are pushed over RESP3: say HELLO 3 first, or fetch with BLOCK");
  }
  if (session.attachment != nullptr) {
    return Fail(context, "the connection is subscribed: JOB.UNSUBSCRIBE first");
  }
  session.attachment = std::make_unique<Subscription>(
      std::make_shared<Subscriber>(context.dispatcher, routes, session, std::move(fetch->request)));
  context.reply.Ok();
}

void RunUnsubscribe(doors::ConnectionContext& context) {
  const auto* const subscription =
      static_cast<const Subscription*>(context.session.attachment.get());
  context.reply.Integer(subscription == nullptr ? 0
                                                : static_cast<int64_t>(subscription->unanswered()));
  context.session.attachment.reset();
}

}  // namespace

void AddPushCommands(doors::Instance& instance, doors::RouteStore& routes) {
  constexpr uint32_t kFlags = doors::kNoScript | doors::kNoMulti;
  instance.commands().Add({.name = "job.subscribe",
                           .arity = -3,
                           .flags = kFlags,
                           .scopes = doors::ScopeRule::kNothing,
                           .group = "jobs",
                           .since = "0.1.0",
                           .complexity = "O(1), and O(N) for N jobs that are pushed",
                           .summary = "Has jobs pushed to a worker that speaks RESP3.",
                           .syntax = "[COUNT count:integer] [LEASE milliseconds:integer] "
                                     "[WORKER worker] [HOSTNAME name] QUEUES queue ...",
                           .connection = [&routes](doors::ConnectionContext& context) {
                             RunSubscribe(routes, context);
                           }});
  instance.commands().Add({.name = "job.unsubscribe",
                           .arity = 1,
                           .flags = kFlags,
                           .scopes = doors::ScopeRule::kNothing,
                           .group = "jobs",
                           .since = "0.1.0",
                           .complexity = "O(1)",
                           .summary = "Ends a subscription, and counts the jobs not yet answered.",
                           .connection = RunUnsubscribe});
}

}  // namespace cairn::jobs
