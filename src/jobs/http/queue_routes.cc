// Queues, workers, and what the server says about itself.

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <chrono>

#include "base/json_text.h"
#include "doors/turn/deadline.h"
#include "jobs/http/route_schemas.h"
#include "jobs/http/route_support.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"
#include "jobs/model/topics.h"
#include "jobs/operations/job_json.h"

namespace cairn::jobs {
namespace {

using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;

// A list of things, each appended as JSON.
template <typename Thing>
std::string ArrayOf(const std::vector<Thing>& things, void (*append)(const Thing&, std::string&)) {
  std::string text = "[";
  for (const Thing& thing : things) {
    if (text.size() > 1) text.push_back(',');
    append(thing, text);
  }
  return text + "]";
}

awaitable<Result<HttpReply>> GetQueues(SharedParts parts, const RouteCall& /*call*/) {
  std::string text;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(std::vector<QueueInfo> queues, ListQueues(transaction));
    KeepAllowed(parts->queues(), queues);
    text = ArrayOf(queues, AppendQueue);
    return {};
  };
  const store::Scopes all = store::Scopes::Exclusive();
  const Result<void> done = co_await parts->store.ReadOnPool(all, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(200, std::move(text)));
}

HttpResponse QueueReply(const QueueInfo& info) {
  std::string text;
  AppendQueue(info, text);
  return Json(200, std::move(text));
}
HttpResponse ConfigReply(const QueueConfig& config) { return Json(200, QueueConfigJson(config)); }
HttpResponse ConfigOfReply(const QueueInfo& info) { return ConfigReply(info.config); }

QueueRequest QueueOf(const RouteCall& call) { return {.queue = call.PathValue("queue")}; }

awaitable<Result<HttpReply>> GetOneQueue(SharedParts parts, const RouteCall& call) {
  return PerformRead(std::move(parts), QueueOf(call), operations::kGetQueue, QueueReply);
}

awaitable<Result<HttpReply>> GetConfig(SharedParts parts, const RouteCall& call) {
  return PerformRead(std::move(parts), QueueOf(call), operations::kGetQueue, ConfigOfReply);
}

awaitable<Result<HttpReply>> GetWorkers(SharedParts parts, const RouteCall& /*call*/) {
  std::string text;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(std::vector<Worker> workers, ListWorkers(transaction));
    KeepAllowed(parts->queues(), workers);
    text = ArrayOf(workers, AppendWorker);
    return {};
  };
  const store::Scopes all = store::Scopes::Exclusive();
  const Result<void> done = co_await parts->store.ReadOnPool(all, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(200, std::move(text)));
}

awaitable<Result<HttpReply>> GetInfo(SharedParts parts, const RouteCall& /*call*/) {
  std::string text = R"({"server_version":)";
  AppendJsonString(parts->version, text);
  co_return HttpReply(Json(200, text + R"(,"api_version":"v1"})"));
}

// --- Changing -----------------------------------------------------------------------------------

awaitable<Result<HttpReply>> PostPause(SharedParts parts, const RouteCall& call) {
  const Result<QueueRequest> request = QueueOf(call);
  return Perform(std::move(parts), request, operations::kPauseQueue, "paused");
}

awaitable<Result<HttpReply>> PostResume(SharedParts parts, const RouteCall& call) {
  const Result<QueueRequest> request = QueueOf(call);
  return Perform(std::move(parts), request, operations::kResumeQueue, "resumed");
}

awaitable<Result<HttpReply>> PostConcurrency(SharedParts parts, const RouteCall& call) {
  const Result<ConcurrencyRequest> request = ConcurrencyRequest{
      .queue = call.PathValue("queue"), .max = NumberOf(call.body, "max").value_or(0)};
  return Perform(std::move(parts), request, operations::kSetConcurrency, "updated");
}

awaitable<Result<HttpReply>> PostThrottle(SharedParts parts, const RouteCall& call) {
  const Result<ThrottleRequest> request =
      ThrottleRequest{.queue = call.PathValue("queue"),
                      .rate = NumberOf(call.body, "rate").value_or(0),
                      .window_ms = NumberOf(call.body, "window_ms").value_or(0)};
  return Perform(std::move(parts), request, operations::kSetThrottle, "updated");
}

awaitable<Result<HttpReply>> DeleteThrottle(SharedParts parts, const RouteCall& call) {
  const Result<QueueRequest> request = QueueOf(call);
  return Perform(std::move(parts), request, operations::kRemoveThrottle, "removed");
}

awaitable<Result<HttpReply>> PatchConfig(SharedParts parts, const RouteCall& call) {
  const Result<ConfigRequest> request =
      ConfigRequest{.queue = call.PathValue("queue"), .patch = call.request.body};
  return Perform(std::move(parts), request, operations::kConfigureQueue, ConfigReply);
}

// --- Work on many jobs --------------------------------------------------------------------------

using QueueSweep = Result<Sweep> (*)(Context&, std::string_view);

template <QueueSweep sweep>
awaitable<Result<HttpReply>> SweepQueue(SharedParts parts, std::string queue,
                                        std::string_view status) {
  int64_t removed = 0;
  Sweep step{.more = true};
  const ChangeBody body = [&](Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(step, sweep(context, queue));
    return {};
  };
  while (step.more) {
    Held held;
    held.AddQueue(queue);
    const Result<void> done = co_await ChangeOnPool(*parts, std::move(held), body);
    if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
    removed += step.removed;
  }
  co_return HttpReply(Json(200, fmt::format(R"({{"status":"{}","removed":{}}})", status, removed)));
}

awaitable<Result<HttpReply>> PostClear(SharedParts parts, const RouteCall& call) {
  return SweepQueue<ClearQueue>(std::move(parts), call.PathValue("queue"), "cleared");
}

awaitable<Result<HttpReply>> DeleteOneQueue(SharedParts parts, const RouteCall& call) {
  return SweepQueue<DeleteQueue>(std::move(parts), call.PathValue("queue"), "deleted");
}

// --- Draining -----------------------------------------------------------------------------------

awaitable<HttpResponse> AwaitIdle(SharedParts parts, std::string queue,
                                  std::chrono::steady_clock::time_point deadline) {
  doors::RouteStore::Signal signal(parts->store, QueueIdleTopic(queue));
  int64_t active = 0;
  const ChangeBody drain = [&](Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(active, DrainQueue(context, queue));
    return {};
  };
  const LookBody look = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const QueueInfo info, GetQueue(transaction, queue));
    active = info.counts[static_cast<size_t>(State::kActive)];
    return {};
  };
  Held held;
  held.AddQueue(queue);
  Result<void> done = co_await Change(*parts, held, drain);
  while (true) {
    if (!done.ok()) co_return ErrorReply(done.error());
    const bool woken = active > 0 && co_await signal.Wait(deadline);
    if (!woken) break;
    done = co_await Look(*parts, held, look);
  }
  co_return Json(200, fmt::format(R"({{"status":"{}","active":{}}})",
                                  active == 0 ? "drained" : "draining", active));
}

awaitable<Result<HttpReply>> PostDrain(SharedParts parts, const RouteCall& call) {
  const Result<int64_t> seconds = QueryNumber(call.request, "timeout", 0, 0, kMaxWaitSeconds);
  if (!seconds.ok()) co_return HttpReply(ErrorReply(seconds.error()));
  const auto deadline = doors::DeadlineIn(std::chrono::seconds(*seconds));
  net::HttpLateResponse late;
  late.run = [parts, queue = call.PathValue("queue"), deadline] {
    return AwaitIdle(parts, queue, deadline);
  };
  co_return HttpReply(std::move(late));
}

}  // namespace

void AddQueueRoutes(const SharedParts& parts, doors::RouteTable& table) {
  const auto read = [&](std::string_view path, std::string_view summary, std::string_view schema,
                        RouteFunction function) {
    AddRoute(parts, table,
             {.method = "GET",
              .path = path,
              .permission = "jobs.read",
              .touches = doors::Touches::Only(kQueueKind),
              .summary = summary,
              .responses = {{200, "The queue.", schema}, Refused(404, "There is no such queue.")}},
             function);
  };
  const auto change = [&](doors::Route route, RouteFunction function) {
    route.permission = "queues.manage";
    route.touches = doors::Touches::Only(kQueueKind);
    route.responses.push_back(Refused(400, "The request is invalid."));
    route.responses.push_back(Refused(404, "There is no such queue."));
    AddRoute(parts, table, std::move(route), function);
  };
  const std::vector<doors::RouteResponse> status = {{200, "Done.", kStatusSchema}};
  const std::vector<doors::RouteResponse> swept = {{200, "Done.", kSweptSchema}};
  read("/api/v1/queues", "All queues, with their limits and counts.", kQueuesSchema, GetQueues);
  read("/api/v1/queues/{queue}", "One queue.", kQueueSchema, GetOneQueue);
  read("/api/v1/queues/{queue}/config", "What was set for a queue; the rest is as usual.",
       kQueueConfigSchema, GetConfig);
  read("/api/v1/workers", "The workers that were heard of lately.", kWorkersSchema, GetWorkers);
  AddRoute(parts, table,
           {.method = "GET",
            .path = "/api/v1/info",
            .permission = "server.info",
            .touches = doors::Touches::Nothing(),
            .summary = "The versions of server and API.",
            .responses = {{200, "The server.", kInfoSchema}}},
           GetInfo);
  change({.method = "POST",
          .path = "/api/v1/queues/{queue}/pause",
          .summary = "Gives out no more jobs; they can still be added.",
          .responses = status},
         PostPause);
  change({.method = "POST",
          .path = "/api/v1/queues/{queue}/resume",
          .summary = "Gives out jobs again.",
          .responses = status},
         PostResume);
  change({.method = "POST",
          .path = "/api/v1/queues/{queue}/drain",
          .summary = "Pauses, and waits until nothing runs any more.",
          .query = {{"timeout", "Seconds to wait, 0 to 60; 0 unless given.", "integer"}},
          .responses = {{200, "`drained` if nothing runs, else `draining`.", kDrainSchema}}},
         PostDrain);
  change({.method = "POST",
          .path = "/api/v1/queues/{queue}/clear",
          .summary = "Removes every job that waits to run, of every priority.",
          .responses = swept},
         PostClear);
  change({.method = "DELETE",
          .path = "/api/v1/queues/{queue}",
          .summary = "Removes a queue with all its jobs.",
          .responses = swept},
         DeleteOneQueue);
  change({.method = "POST",
          .path = "/api/v1/queues/{queue}/concurrency",
          .summary = "Sets how many of its jobs may run at once; 0 or less: no limit.",
          .request_schema = kConcurrencySchema,
          .responses = status},
         PostConcurrency);
  change({.method = "POST",
          .path = "/api/v1/queues/{queue}/throttle",
          .summary = "Gives out at most `rate` jobs within any `window_ms`.",
          .request_schema = kThrottleSchema,
          .responses = status},
         PostThrottle);
  change({.method = "DELETE",
          .path = "/api/v1/queues/{queue}/throttle",
          .summary = "Gives out jobs at any rate.",
          .responses = status},
         DeleteThrottle);
  change({.method = "PATCH",
          .path = "/api/v1/queues/{queue}/config",
          .summary = "Changes limits and defaults; null takes one back to its default.",
          .request_schema = kQueuePatchSchema,
          .responses = {{200, "What holds now.", kQueueConfigSchema}}},
         PatchConfig);
}

}  // namespace cairn::jobs
