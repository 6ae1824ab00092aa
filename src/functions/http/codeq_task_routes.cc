// codeQ's own HTTP API: tasks over the topics, so that its producers and workers run unchanged.
// Errors are {"error":text}, as it has them.

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "doors/http/request_values.h"
#include "doors/turn/deadline.h"
#include "functions/codeq/access.h"
#include "functions/codeq/tasks.h"
#include "functions/codeq/topics.h"
#include "functions/http/codeq_support.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/names.h"
#include "jobs/model/json_members.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"
#include "jobs/model/topics.h"
#include "jobs/operations/operations.h"

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using codeq::Locks;
using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::string_view kObject = R"({"type":"object","additionalProperties":true})";
constexpr std::string_view kTaskError =
    R"({"type":"object","required":["error"],"properties":{"error":{"type":"string"}}})";

// What the names of the platform's topics begin with.
constexpr std::string_view kPlatformTopics = "cs.";

// --- Answers -------------------------------------------------------------------------------------

std::string ErrorText(std::string_view text) {
  return fmt::format(R"({{"error":{}}})", JsonString(text));
}

std::string_view TextOf(const Error& error) {
  return jobs::FindReason(error) != nullptr ? jobs::RefusalText(error) : RefusalText(error);
}

// codeQ's statuses: 403 to a worker whose task is another's, 409 for one that is not in progress.
int StatusOf(const Error& error) {
  const jobs::ReasonRow* const reason = jobs::FindReason(error);
  if (reason == nullptr) return CodeRowOf(error).http_status;
  switch (reason->reason) {
    case jobs::Reason::kLeaseLost:
      return 403;
    case jobs::Reason::kAck:
    case jobs::Reason::kFail:
    case jobs::Reason::kHeartbeat:
    case jobs::Reason::kSnooze:
      return 409;
    default:
      return reason->http_status;
  }
}

HttpResponse TaskRefusal(const Error& error) {
  HttpResponse response = HttpResponse::Json(StatusOf(error), ErrorText(TextOf(error)));
  if (response.status == 429) response.headers.Add("Retry-After", "1");
  return response;
}

HttpReply TaskAnswer(const Result<void>& done, int status, std::string text) {
  if (!done.ok()) return TaskRefusal(done.error());
  return HttpResponse::Json(status, std::move(text));
}

// --- Requests ------------------------------------------------------------------------------------

// What workers send may have members that we do not know: clients are not all of one version.
template <typename Read>
auto ReadTaskBody(const RouteCall& call, Read read) {
  const std::string_view given = call.request.body;
  const std::string_view body = given.empty() ? "{}" : given;
  return ReadObject(body, Code::kValidation, read);
}

// A worker is who its key says. Where nobody is asked who they are, it is whoever it says.
std::string WorkerOf(const CodeqParts& parts, ObjectReader& object) {
  const auto named = object.OptionalText("workerId", {0, jobs::kMaxWorkerIdBytes});
  if (parts.principal != nullptr) return parts.principal->name();
  return named.value_or("").empty() ? "anonymous" : *named;
}

// The lease is the worker's own, or the one whose token it shows.
jobs::LeaseRef TaskLease(const CodeqParts& parts, std::string id, ObjectReader& object) {
  jobs::LeaseRef lease{.id = std::move(id), .worker_id = WorkerOf(parts, object)};
  const auto token = object.OptionalText("leaseToken", {0, 64});
  if (token && !token->empty()) lease.token = jobs::ParseToken(*token).value_or(0);
  return lease;
}

std::string TenantOf(const RouteCall& call) {
  return std::string(call.request.headers.Get("X-Codeq-Tenant").value_or(codeq::kNoTenant));
}

codeq::TaskOrigin OriginOf(const CodeqParts& parts, const RouteCall& call) {
  const Timestamp now = parts.clock.Now();
  return {.tenant = TenantOf(call),
          .message_id = NewMessageId(now, parts.random),
          .now_ms = now.millis(),
          .trace_parent = call.request.trace_parent ? call.request.trace_parent->ToString() : ""};
}

// --- Producers -----------------------------------------------------------------------------------

// A task as it was created, or why it was not. What is wrong with one is not an error of the
// transaction: another of its batch goes on, and a dead letter stays.
Result<std::string> CreateTask(jobs::Context& context, const codeq::Outgoing& outgoing,
                               std::optional<Error>& refused) {
  CAIRN_ASSIGN_OR_RETURN(const codeq::Published published, codeq::Publish(context, outgoing));
  refused = published.refused;
  if (!refused && published.id.empty()) {
    refused = Refuse(Code::kConflict, "this result was published before");
  }
  if (refused) return std::string();
  CAIRN_ASSIGN_OR_RETURN(const jobs::Job job, jobs::Get(context.transaction, published.id));
  return codeq::TaskJson(job, job.payload);
}

struct Creation {
  Result<codeq::Outgoing> outgoing;
  std::string task = {};
  std::optional<Error> refused = {};

  const Error* error() const {
    if (!outgoing.ok()) return &outgoing.error();
    return refused ? &*refused : nullptr;
  }
};

awaitable<Result<void>> CreateAll(SharedCodeq parts, std::vector<Creation>& all) {
  Locks locks;
  for (const Creation& creation : all) {
    if (creation.outgoing.ok()) codeq::AddPublishScopes(*creation.outgoing, locks);
  }
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    for (Creation& creation : all) {
      if (!creation.outgoing.ok()) continue;
      CAIRN_ASSIGN_OR_RETURN(creation.task,
                             CreateTask(context, *creation.outgoing, creation.refused));
    }
    return {};
  };
  co_return co_await codeq::Change(*parts, std::move(locks), body);
}

Creation CreationOf(const Result<codeq::PublishRequest>& request) {
  if (!request.ok()) return {.outgoing = request.error()};
  return {.outgoing = codeq::Prepare(*request)};
}

awaitable<Result<HttpReply>> PostTask(SharedCodeq parts, const RouteCall& call) {
  const codeq::TaskOrigin origin = OriginOf(*parts, call);
  std::vector<Creation> all;
  all.push_back(CreationOf(
      ReadTaskBody(call, [&](ObjectReader& object) { return codeq::ReadTask(object, origin); })));
  if (!all.front().outgoing.ok()) co_return HttpReply(TaskRefusal(all.front().outgoing.error()));
  const Result<void> done = co_await CreateAll(parts, all);
  if (!done.ok()) co_return HttpReply(TaskRefusal(done.error()));
  if (const Error* error = all.front().error()) co_return HttpReply(TaskRefusal(*error));
  co_return HttpReply(HttpResponse::Json(202, std::move(all.front().task)));
}

// The items of {"NAME":[…]}, up to kMaxTaskBatch.
Result<std::vector<std::string_view>> ItemsIn(const RouteCall& call, std::string_view name) {
  return ReadTaskBody(call, [&](ObjectReader& object) {
    const auto items = jobs::ItemsOf(object.Raw(name));
    if (!items || items->empty() || items->size() > codeq::kMaxTaskBatch) {
      object.Fail(name, fmt::format("must be an array of 1 to {}", codeq::kMaxTaskBatch));
    }
    return items.value_or(std::vector<std::string_view>());
  });
}

awaitable<Result<HttpReply>> PostTasks(SharedCodeq parts, const RouteCall& call) {
  const auto items = ItemsIn(call, "tasks");
  if (!items.ok()) co_return HttpReply(TaskRefusal(items.error()));
  std::vector<Creation> all;
  for (const std::string_view item : *items) {
    const codeq::TaskOrigin origin = OriginOf(*parts, call);
    all.push_back(CreationOf(ReadObject(item, Code::kValidation, [&](ObjectReader& object) {
      return codeq::ReadTask(object, origin);
    })));
  }
  const Result<void> done = co_await CreateAll(parts, all);
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("results");
  for (const Creation& creation : all) {
    json.BeginObject();
    if (const Error* error = creation.error()) {
      json.Text("error", TextOf(*error));
    } else {
      json.Raw("task", creation.task);
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  co_return TaskAnswer(done, 200, std::move(text));
}

// --- Claiming ------------------------------------------------------------------------------------

struct TaskClaim {
  codeq::ClaimRequest request;
  int64_t wait_ms = 0;
  bool several = false;
};

// The queues that a key names one by one: what its owner works on unless they say otherwise.
std::vector<std::string> OwnCommands(const CodeqParts& parts) {
  std::vector<std::string> commands;
  const doors::NamePatterns* const queues = jobs::StoreAccess(parts).queues();
  if (queues == nullptr) return commands;
  for (const doors::NamePatterns::Pattern& pattern : queues->patterns()) {
    if (!pattern.prefix) commands.push_back(pattern.text);
  }
  return commands;
}

Result<TaskClaim> TaskClaimOf(const CodeqParts& parts, const RouteCall& call, bool several) {
  return ReadTaskBody(call, [&](ObjectReader& object) {
    TaskClaim claim{.several = several};
    claim.request.topics =
        object.Texts("commands", codeq::kMaxTaskBatch, {1, jobs::kMaxQueueNameBytes});
    if (claim.request.topics.empty()) claim.request.topics = OwnCommands(parts);
    claim.request.lease_ms =
        object.OptionalInteger("leaseSeconds", 0, codeq::kMaxTaskLeaseSeconds).value_or(0) * 1'000;
    if (claim.request.lease_ms == 0) {
      claim.request.lease_ms = codeq::kDefaultTaskLeaseSeconds * 1'000;
    }
    claim.wait_ms =
        object.OptionalInteger("waitSeconds", 0, codeq::kMaxTaskWaitSeconds).value_or(0) * 1'000;
    if (several) {
      claim.request.count =
          static_cast<size_t>(object.OptionalInteger("count", 1, codeq::kMaxTaskClaim).value_or(1));
    }
    claim.request.worker_id = WorkerOf(parts, object);
    return claim;
  });
}

struct TaskClaimRun {
  TaskClaim claim;
  std::vector<codeq::Message> messages;
};

HttpResponse ClaimedReply(const TaskClaimRun& run) {
  if (run.messages.empty()) return HttpResponse::Empty(204);
  const auto task = [](const codeq::Message& message) {
    return codeq::TaskJson(message.job, message.text);
  };
  if (!run.claim.several) return HttpResponse::Json(200, task(run.messages.front()));
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("tasks");
  for (const codeq::Message& message : run.messages) json.Raw("", task(message));
  json.EndArray();
  json.EndObject();
  return HttpResponse::Json(200, std::move(text));
}

awaitable<HttpResponse> RunTaskClaim(SharedCodeq parts, std::shared_ptr<TaskClaimRun> run) {
  const SteadyTime deadline = doors::DeadlineIn(std::chrono::milliseconds(run->claim.wait_ms));
  const jobs::Fetcher fetcher{parts->store, parts->principal};
  Result<std::vector<codeq::Message>> messages =
      co_await codeq::TakeMessages(fetcher, run->claim.request);
  if (messages.ok() && messages->empty() && run->claim.wait_ms != 0) {
    messages = co_await codeq::AwaitMessages(fetcher, run->claim.request, deadline);
  }
  if (!messages.ok()) co_return TaskRefusal(messages.error());
  run->messages = *std::move(messages);
  co_return ClaimedReply(*run);
}

// What a worker of any command may claim: the queues that have something for it, the platform's
// topics and their dead letters apart.
awaitable<Result<std::vector<std::string>>> CommandsThatWait(SharedCodeq parts) {
  std::vector<std::string> commands;
  const jobs::LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    commands.clear();
    CAIRN_ASSIGN_OR_RETURN(std::vector<jobs::QueueInfo> queues, jobs::ListQueues(transaction));
    jobs::KeepAllowed(jobs::StoreAccess(*parts).queues(), queues);
    for (const jobs::QueueInfo& queue : queues) {
      const bool waits = queue.counts[static_cast<size_t>(jobs::State::kPending)] != 0;
      const bool ours = queue.name.starts_with(kPlatformTopics);
      if (waits && !ours && commands.size() < codeq::kMaxTaskBatch) commands.push_back(queue.name);
    }
    return {};
  };
  const jobs::Held all = jobs::Held::Everything();
  const Result<void> done = co_await jobs::Look(*parts, all, body);
  if (!done.ok()) co_return done.error();
  co_return commands;
}

awaitable<void> GiveBackTasks(SharedCodeq parts, std::shared_ptr<TaskClaimRun> run) {
  co_await codeq::GiveBack(*parts, run->messages);
}

template <bool several>
awaitable<Result<HttpReply>> PostTaskClaim(SharedCodeq parts, const RouteCall& call) {
  Result<TaskClaim> claim = TaskClaimOf(*parts, call, several);
  if (!claim.ok()) co_return HttpReply(TaskRefusal(claim.error()));
  if (claim->request.topics.empty()) {
    Result<std::vector<std::string>> commands = co_await CommandsThatWait(parts);
    if (!commands.ok()) co_return HttpReply(TaskRefusal(commands.error()));
    if (commands->empty()) co_return HttpReply(HttpResponse::Empty(204));
    claim->request.topics = *std::move(commands);
  }
  auto run = std::make_shared<TaskClaimRun>();
  run->claim = *std::move(claim);
  net::HttpLateResponse late;
  late.run = [parts, run] { return RunTaskClaim(parts, run); };
  late.unsent = [parts, run] { return GiveBackTasks(parts, run); };
  co_return HttpReply(std::move(late));
}

// --- What a worker does with its task ------------------------------------------------------------

// Runs `body` under the scopes of the lease.
awaitable<Result<void>> ChangeTask(SharedCodeq parts, const jobs::LeaseRef& lease,
                                   const jobs::ChangeBody& body) {
  jobs::Held held;
  jobs::AddLeaseScopes(lease, held);
  co_return co_await jobs::Change(*parts, std::move(held), body);
}

struct TaskHeartbeat {
  jobs::LeaseRef lease;
  int64_t extend_ms = 0;
};

awaitable<Result<HttpReply>> PostTaskHeartbeat(SharedCodeq parts, const RouteCall& call) {
  const auto request = ReadTaskBody(call, [&](ObjectReader& object) {
    TaskHeartbeat heartbeat{.lease = TaskLease(*parts, call.PathValue("id"), object)};
    heartbeat.extend_ms =
        object.OptionalInteger("extendSeconds", 0, codeq::kMaxTaskLeaseSeconds).value_or(0) * 1'000;
    if (heartbeat.extend_ms == 0) heartbeat.extend_ms = codeq::kDefaultTaskLeaseSeconds * 1'000;
    return heartbeat;
  });
  if (!request.ok()) co_return HttpReply(TaskRefusal(request.error()));
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(
        const jobs::HeartbeatResult result,
        jobs::Heartbeat(context, {.lease = request->lease, .lease_ms = request->extend_ms}));
    if (!result.cancelled) return {};
    return jobs::Refuse(jobs::Reason::kHeartbeat, "the task is not in progress");
  };
  const Result<void> done = co_await ChangeTask(parts, request->lease, body);
  co_return TaskAnswer(done, 200, R"({"ok":true})");
}

awaitable<Result<HttpReply>> PostTaskAbandon(SharedCodeq parts, const RouteCall& call) {
  const auto lease = ReadTaskBody(
      call, [&](ObjectReader& object) { return TaskLease(*parts, call.PathValue("id"), object); });
  if (!lease.ok()) co_return HttpReply(TaskRefusal(lease.error()));
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_RETURN_IF_ERROR(jobs::Snooze(context, *lease, /*delay_ms=*/0));
    return {};
  };
  const Result<void> done = co_await ChangeTask(parts, *lease, body);
  co_return TaskAnswer(done, 200, R"({"status":"requeued"})");
}

// What jobs has refused keeps its own words, which tell codeQ's statuses.
Result<codeq::NackResult> NackTask(jobs::Context& context, const codeq::NackRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const jobs::Job job, jobs::Get(context.transaction, request.lease.id));
  if (job.state != jobs::State::kActive) {
    return jobs::Refuse(jobs::Reason::kFail, "the task is not in progress");
  }
  const bool theirs = request.lease.token ? *request.lease.token == job.lease_token
                                          : request.lease.worker_id == job.worker_id;
  if (!theirs) return jobs::Refuse(jobs::Reason::kLeaseLost, "the task is another worker's");
  return codeq::Nack(context, request);
}

awaitable<Result<HttpReply>> PostTaskNack(SharedCodeq parts, const RouteCall& call) {
  const auto request = ReadTaskBody(call, [&](ObjectReader& object) {
    codeq::NackRequest nack{.lease = TaskLease(*parts, call.PathValue("id"), object)};
    const auto seconds = object.OptionalInteger("delaySeconds", 0, jobs::kMaxDelayMs / 1'000);
    if (seconds) nack.delay_ms = std::min(*seconds * 1'000, codeq::kTaskBackoffMaxMs);
    nack.reason = object.OptionalText("reason", {0, jobs::kMaxErrorBytes}).value_or("");
    return nack;
  });
  if (!request.ok()) co_return HttpReply(TaskRefusal(request.error()));
  codeq::NackResult result;
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(result, NackTask(context, *request));
    return {};
  };
  const Result<void> done = co_await ChangeTask(parts, request->lease, body);
  co_return TaskAnswer(
      done, 200,
      fmt::format(R"({{"status":"{}","delaySeconds":{}}})", result.dead ? "dlq" : "requeued",
                  (result.delay_ms + 999) / 1'000));
}

// --- Results -------------------------------------------------------------------------------------

struct Submission {
  jobs::LeaseRef lease;
  codeq::TaskResult result;
};

Submission ReadSubmission(const CodeqParts& parts, std::string id, ObjectReader& object) {
  return {.lease = TaskLease(parts, std::move(id), object),
          .result = codeq::ReadTaskResult(object)};
}

Result<std::string> SubmitResult(jobs::Context& context, const Submission& submission) {
  CAIRN_ASSIGN_OR_RETURN(jobs::Job job, jobs::Get(context.transaction, submission.lease.id));
  if (submission.result.completed) {
    job.state = jobs::State::kCompleted;
    job.result = codeq::KeptResult(submission.result);
    CAIRN_RETURN_IF_ERROR(jobs::Ack(context, {.lease = submission.lease, .result = job.result}));
  } else {
    CAIRN_RETURN_IF_ERROR(jobs::Fail(
        context,
        {.lease = submission.lease, .error = submission.result.error, .retryable = false}));
    job.state = jobs::State::kDead;
    job.reason = submission.result.error;
  }
  // As it stands now; of a topic that keeps none, as it was submitted.
  job.completed_ns = job.failed_ns = static_cast<uint64_t>(context.transaction.now().us) * 1'000;
  return codeq::TaskResultJson(job).value_or("{}");
}

awaitable<Result<HttpReply>> PostTaskResult(SharedCodeq parts, const RouteCall& call) {
  const auto submission = ReadTaskBody(call, [&](ObjectReader& object) {
    return ReadSubmission(*parts, call.PathValue("id"), object);
  });
  if (!submission.ok()) co_return HttpReply(TaskRefusal(submission.error()));
  std::string text;
  const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(text, SubmitResult(context, *submission));
    return {};
  };
  const Result<void> done = co_await ChangeTask(parts, submission->lease, body);
  co_return TaskAnswer(done, 200, std::move(text));
}

// One of several results, each in a transaction of its own: they are of tasks that have nothing to
// do with each other.
awaitable<std::string> SubmitOne(SharedCodeq parts, std::string_view item) {
  const auto submission = ReadObject(item, Code::kValidation, [&](ObjectReader& object) {
    std::string id = object.Text("taskId", {1, 128});
    return ReadSubmission(*parts, std::move(id), object);
  });
  std::string text;
  Result<void> done;
  if (submission.ok()) {
    const jobs::ChangeBody body = [&](jobs::Context& context) -> Result<void> {
      CAIRN_ASSIGN_OR_RETURN(text, SubmitResult(context, *submission));
      return {};
    };
    done = co_await ChangeTask(parts, submission->lease, body);
  } else {
    done = submission.error();
  }
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  if (submission.ok()) json.Text("taskId", submission->lease.id);
  if (done.ok()) {
    json.Raw("result", text);
  } else {
    json.Text("error", TextOf(done.error()));
  }
  json.EndObject();
  co_return out;
}

awaitable<Result<HttpReply>> PostTaskResults(SharedCodeq parts, const RouteCall& call) {
  const auto items = ItemsIn(call, "results");
  if (!items.ok()) co_return HttpReply(TaskRefusal(items.error()));
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("results");
  for (const std::string_view item : *items) {
    const std::string one = co_await SubmitOne(parts, item);
    json.Raw("", one);
  }
  json.EndArray();
  json.EndObject();
  co_return HttpReply(HttpResponse::Json(200, std::move(text)));
}

// --- What is there -------------------------------------------------------------------------------

// The task, as the caller may see it.
awaitable<Result<jobs::Job>> FindTask(SharedCodeq parts, std::string id) {
  jobs::Held held;
  jobs::AddJobScopes(id, held);
  jobs::Job job;
  const jobs::LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(job, jobs::Get(transaction, id));
    return jobs::CheckJob(jobs::StoreAccess(*parts).queues(), job);
  };
  const Result<void> done = co_await jobs::Look(*parts, held, body);
  if (!done.ok()) co_return done.error();
  co_return job;
}

awaitable<Result<HttpReply>> GetTask(SharedCodeq parts, const RouteCall& call) {
  const Result<jobs::Job> job = co_await FindTask(parts, call.PathValue("id"));
  if (!job.ok()) co_return HttpReply(TaskRefusal(job.error()));
  co_return HttpReply(HttpResponse::Json(200, codeq::TaskJson(*job, job->payload)));
}

// Looks again whenever the task has ended, or is gone.
awaitable<HttpResponse> AwaitTaskResult(SharedCodeq parts, std::string id, int64_t wait_ms) {
  const SteadyTime deadline = doors::DeadlineIn(std::chrono::milliseconds(wait_ms));
  doors::RouteStore::Signal signal(parts->store, jobs::JobTopic(id));
  while (true) {
    const Result<jobs::Job> job = co_await FindTask(parts, id);
    if (!job.ok()) co_return TaskRefusal(job.error());
    if (const auto result = codeq::TaskResultJson(*job)) {
      co_return HttpResponse::Json(200, fmt::format(R"({{"task":{},"result":{}}})",
                                                    codeq::TaskJson(*job, job->payload), *result));
    }
    const bool woken = wait_ms != 0 && co_await signal.Wait(deadline);
    if (!woken) co_return HttpResponse::Json(404, ErrorText("the task has no result yet"));
  }
}

awaitable<Result<HttpReply>> GetTaskResult(SharedCodeq parts, const RouteCall& call) {
  const Result<int64_t> seconds =
      doors::QueryNumber(call.request, "waitSeconds", 0, 0, codeq::kMaxTaskResultWaitSeconds);
  if (!seconds.ok()) co_return HttpReply(TaskRefusal(seconds.error()));
  net::HttpLateResponse late;
  late.run = [parts, id = call.PathValue("id"), ms = *seconds * 1'000] {
    return AwaitTaskResult(parts, id, ms);
  };
  co_return HttpReply(std::move(late));
}

void WriteQueue(const jobs::QueueInfo& queue, JsonWriter& json) {
  const auto count = [&](jobs::State state) { return queue.counts[static_cast<size_t>(state)]; };
  json.BeginObject();
  json.Text("command", queue.name);
  json.Integer("ready", count(jobs::State::kPending));
  json.Integer("delayed", count(jobs::State::kScheduled) + count(jobs::State::kRetrying));
  json.Integer("inProgress", count(jobs::State::kActive));
  json.Integer("dlq", count(jobs::State::kDead));
  json.EndObject();
}

awaitable<Result<HttpReply>> GetAdminQueues(SharedCodeq parts, const RouteCall& /*call*/) {
  std::string text;
  const jobs::LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    text.clear();
    CAIRN_ASSIGN_OR_RETURN(std::vector<jobs::QueueInfo> queues, jobs::ListQueues(transaction));
    jobs::KeepAllowed(jobs::StoreAccess(*parts).queues(), queues);
    JsonWriter json(text);
    json.BeginObject();
    json.BeginArray("queues");
    for (const jobs::QueueInfo& queue : queues) WriteQueue(queue, json);
    json.EndArray();
    json.EndObject();
    return {};
  };
  const jobs::Held all = jobs::Held::Everything();
  const Result<void> done = co_await jobs::Look(*parts, all, body);
  co_return TaskAnswer(done, 200, std::move(text));
}

// A command that nobody has used is a queue without tasks.
awaitable<Result<HttpReply>> GetAdminQueue(SharedCodeq parts, const RouteCall& call) {
  const std::string& command = call.PathValue("command");
  std::string text;
  const jobs::LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    text.clear();
    CAIRN_RETURN_IF_ERROR(jobs::CheckQueue(jobs::StoreAccess(*parts).queues(), command));
    Result<jobs::QueueInfo> queue = jobs::GetQueue(transaction, command);
    if (!queue.ok() && jobs::FindReason(queue.error()) == nullptr) return queue.error();
    JsonWriter json(text);
    WriteQueue(queue.ok() ? *queue : jobs::QueueInfo{.name = command}, json);
    return {};
  };
  jobs::Held held;
  held.AddQueue(command);
  const Result<void> done = co_await jobs::Look(*parts, held, body);
  co_return TaskAnswer(done, 200, std::move(text));
}

// --- Rows ----------------------------------------------------------------------------------------

std::vector<doors::RouteResponse> TaskResponses(int status, std::string_view what) {
  std::vector<doors::RouteResponse> responses{{status, what, kObject}};
  for (const auto& [refused, why] : std::initializer_list<std::pair<int, std::string_view>>{
           {204, "There is no task."},
           {400, "The member that is wrong."},
           {403, "The task is another worker's, or the key is for other commands."},
           {404, "There is no such task, or no result yet."},
           {409, "The task is not in progress."},
           {413, "Too large."},
           {503, "The store takes no requests now."}}) {
    responses.push_back({refused, why, refused == 204 ? std::string_view() : kTaskError});
  }
  return responses;
}

struct TaskRow {
  std::string_view method;
  std::string_view path;
  std::string_view permission;
  std::string_view summary;
  int status;
  CodeqHandler handler;
};

constexpr TaskRow kTaskRows[] = {
    {"POST", "/v1/codeq/tasks", kCodeqPublish, "Creates a task (codeQ).", 202, PostTask},
    {"POST", "/v1/codeq/tasks/batch", kCodeqPublish, "Creates up to 100 tasks (codeQ).", 200,
     PostTasks},
    {"POST", "/v1/codeq/tasks/claim", kCodeqConsume, "Leases a task to a worker (codeQ).", 200,
     PostTaskClaim<false>},
    {"POST", "/v1/codeq/tasks/claim/batch", kCodeqConsume, "Leases up to 10 tasks (codeQ).", 200,
     PostTaskClaim<true>},
    {"POST", "/v1/codeq/tasks/batch/results", kCodeqConsume, "Ends up to 100 tasks (codeQ).", 200,
     PostTaskResults},
    {"POST", "/v1/codeq/tasks/{id}/heartbeat", kCodeqConsume, "Extends a lease (codeQ).", 200,
     PostTaskHeartbeat},
    {"POST", "/v1/codeq/tasks/{id}/abandon", kCodeqConsume,
     "Gives a task back at once, its attempt uncounted (codeQ).", 200, PostTaskAbandon},
    {"POST", "/v1/codeq/tasks/{id}/nack", kCodeqConsume,
     "Gives a task back, to be claimed after a while (codeQ).", 200, PostTaskNack},
    {"POST", "/v1/codeq/tasks/{id}/result", kCodeqConsume, "Ends a task (codeQ).", 200,
     PostTaskResult},
    {"GET", "/v1/codeq/tasks/{id}", kCodeqRead, "A task (codeQ).", 200, GetTask},
    {"GET", "/v1/codeq/tasks/{id}/result", kCodeqRead,
     "The result of a task, waited for if asked (codeQ).", 200, GetTaskResult},
    {"GET", "/v1/codeq/admin/queues", kCodeqRead, "How many tasks there are (codeQ).", 200,
     GetAdminQueues},
    {"GET", "/v1/codeq/admin/queues/{command}", kCodeqRead, "How many tasks a command has (codeQ).",
     200, GetAdminQueue},
};

std::string TaskErrorBody(const doors::ToldError& error) { return ErrorText(error.message); }

}  // namespace

void AddCodeqTaskRoutes(const SharedCodeq& parts, doors::RouteTable& table) {
  for (const std::string_view prefix : {"/v1/codeq/tasks", "/v1/codeq/admin"}) {
    table.SetErrorForm(
        {.prefix = std::string(prefix), .body = TaskErrorBody, .schema = kTaskError});
  }
  for (const TaskRow& row : kTaskRows) {
    const bool posts = row.method == "POST";
    doors::Route route{.method = row.method,
                       .path = row.path,
                       .permission = row.permission,
                       .summary = row.summary,
                       .request_schema = posts ? kObject : std::string_view(),
                       .optional_body = posts,
                       .checks_body_itself = posts,
                       .responses = TaskResponses(row.status, "Done."),
                       .body_limit = posts ? kMaxMessagesBodyBytes : net::kDefaultBodyLimit};
    if (row.handler == GetTaskResult) {
      route.query = {{"waitSeconds", "How long to wait: up to 60.", "integer"}};
    }
    AddCodeqRoute(parts, table, std::move(route), row.handler);
  }
}

}  // namespace cairn::functions
