// One job: looking at it, waiting for its end, changing it.

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <chrono>
#include <memory>

#include "doors/turn/deadline.h"
#include "jobs/http/route_schemas.h"
#include "jobs/http/route_support.h"
#include "jobs/ledger/verify.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"
#include "jobs/model/topics.h"
#include "jobs/operations/job_json.h"

namespace cairn::jobs {
namespace {

using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;

constexpr int64_t kDefaultWaitSeconds = 30;

// --- Looking ------------------------------------------------------------------------------------

Result<std::string> JobText(store::Reader& reader, const Job& job) {
  CAIRN_ASSIGN_OR_RETURN(const std::vector<JobError> errors, GetErrors(reader, job));
  std::string text;
  AppendJob(job, errors, text);
  return text;
}

using SharedJob = std::shared_ptr<const Job>;

struct Seen {
  SharedJob job;
  std::string text;
};

// The job; one that its queue does not keep after its end, as it was seen `before`, with that end.
Result<SharedJob> JobOrItsEnd(store::Reader& reader, std::string_view id, const SharedJob& before) {
  Result<Job> found = Get(reader, id);
  if (found.ok()) return std::make_shared<const Job>(std::move(*found));
  if (before == nullptr) return found.error();
  CAIRN_ASSIGN_OR_RETURN(const auto removal, FindRemoval(reader, id, before->created_ns));
  if (!removal) return found.error();
  Job job = *before;
  job.state = State::kCompleted;
  job.completed_ns = removal->at_ns;
  job.result = removal->result;
  return std::make_shared<const Job>(std::move(job));
}

// `before` is what was seen of it the last time; nullptr: nothing.
awaitable<Result<Seen>> See(SharedParts parts, std::string id, SharedJob before) {
  Held held;
  AddJobScopes(id, held);
  Seen seen;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(seen.job, JobOrItsEnd(transaction, id, before));
    CAIRN_RETURN_IF_ERROR(CheckJob(parts->queues(), *seen.job));
    CAIRN_ASSIGN_OR_RETURN(seen.text, JobText(transaction, *seen.job));
    return {};
  };
  const Result<void> done = co_await Look(*parts, held, body);
  if (!done.ok()) co_return done.error();
  co_return seen;
}

awaitable<Result<HttpReply>> GetJob(SharedParts parts, const RouteCall& call) {
  Result<Seen> seen = co_await See(std::move(parts), call.PathValue("id"), nullptr);
  if (!seen.ok()) co_return HttpReply(ErrorReply(seen.error()));
  co_return HttpReply(Json(200, std::move(seen->text)));
}

awaitable<Result<HttpReply>> PostBulkGet(SharedParts parts, const RouteCall& call) {
  const std::vector<std::string> ids = StringsOf(call.body, "job_ids");
  if (ids.size() > kMaxBulkGet) {
    co_return HttpReply(ErrorReply(
        Refuse(Reason::kValidation, fmt::format("job_ids: at most {} at once", kMaxBulkGet))));
  }
  Held held;
  for (const std::string& id : ids) AddJobScopes(id, held);
  std::string text;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    text = R"({"jobs":[)";
    for (const std::string& id : ids) {
      CAIRN_ASSIGN_OR_RETURN(const std::optional<Job> job, LoadJob(transaction, id));
      if (!job || !doors::Allows(parts->queues(), job->queue)) continue;
      CAIRN_ASSIGN_OR_RETURN(const std::string one, JobText(transaction, *job));
      if (text.size() + one.size() > kMaxAnswerBytes) {
        return Refuse(
            Reason::kValidation,
            fmt::format("job_ids: these jobs are more than the {} bytes of one answer; ask "
                        "for fewer at once",
                        kMaxAnswerBytes));
      }
      if (text.back() != '[') text.push_back(',');
      text += one;
    }
    text += "]}";
    return {};
  };
  const Result<void> done = co_await Look(*parts, held, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(200, std::move(text)));
}

// --- Waiting ------------------------------------------------------------------------------------

awaitable<HttpResponse> AwaitEnd(SharedParts parts, std::string id,
                                 std::chrono::steady_clock::time_point deadline) {
  doors::RouteStore::Signal signal(parts->store, JobTopic(id));
  SharedJob before;
  while (true) {
    Result<Seen> seen = co_await See(parts, id, before);
    if (!seen.ok()) co_return ErrorReply(seen.error());
    if (IsFinished(seen->job->state)) co_return Json(200, std::move(seen->text));
    const bool woken = co_await signal.Wait(deadline);
    if (!woken) co_return Json(202, std::move(seen->text));
    before = std::move(seen->job);
  }
}

awaitable<Result<HttpReply>> GetWait(SharedParts parts, const RouteCall& call) {
  const Result<int64_t> seconds =
      QueryNumber(call.request, "timeout", kDefaultWaitSeconds, 0, kMaxWaitSeconds);
  if (!seconds.ok()) co_return HttpReply(ErrorReply(seconds.error()));
  const auto deadline = doors::DeadlineIn(std::chrono::seconds(*seconds));
  net::HttpLateResponse late;
  late.run = [parts, id = call.PathValue("id"), deadline] { return AwaitEnd(parts, id, deadline); };
  co_return HttpReply(std::move(late));
}

// --- Changing -----------------------------------------------------------------------------------

Result<JobRequest> JobOf(const RouteCall& call) {
  return JobRequest{.id = call.PathValue("id"), .reason = TextOf(call.body, "reason")};
}

awaitable<Result<HttpReply>> PostRetry(SharedParts parts, const RouteCall& call) {
  const Result<RetryRequest> request = RetryRequest{.id = call.PathValue("id")};
  return Perform(std::move(parts), request, operations::kRetry, "retried");
}

HttpResponse CancelledReply(const CancelResult& result) {
  return StatusReply(200, result.was_active ? "cancelling" : "cancelled");
}

awaitable<Result<HttpReply>> PostCancel(SharedParts parts, const RouteCall& call) {
  return Perform(std::move(parts), JobOf(call), operations::kCancel, CancelledReply);
}

awaitable<Result<HttpReply>> PostHold(SharedParts parts, const RouteCall& call) {
  return Perform(std::move(parts), JobOf(call), operations::kHold, "held");
}

awaitable<Result<HttpReply>> PostApprove(SharedParts parts, const RouteCall& call) {
  return Perform(std::move(parts), JobOf(call), operations::kApprove, "pending");
}

awaitable<Result<HttpReply>> PostReject(SharedParts parts, const RouteCall& call) {
  return Perform(std::move(parts), JobOf(call), operations::kReject, "dead");
}

awaitable<Result<HttpReply>> PostMove(SharedParts parts, const RouteCall& call) {
  const Result<MoveRequest> request =
      MoveRequest{.id = call.PathValue("id"), .queue = TextOf(call.body, "queue")};
  return Perform(std::move(parts), request, operations::kMove, "moved");
}

awaitable<Result<HttpReply>> DeleteJob(SharedParts parts, const RouteCall& call) {
  const Result<JobRequest> request = JobRequest{.id = call.PathValue("id")};
  return Perform(std::move(parts), request, operations::kDelete, "deleted");
}

HttpResponse ReplayedReply(const EnqueueResult& result) {
  std::string text;
  AppendEnqueued(result, text);
  return Json(201, std::move(text));
}

awaitable<Result<HttpReply>> PostReplay(SharedParts parts, const RouteCall& call) {
  const Result<JobRequest> request = JobRequest{.id = call.PathValue("id")};
  return Perform(std::move(parts), request, operations::kReplay, ReplayedReply);
}

awaitable<Result<HttpReply>> GetVerification(SharedParts parts, const RouteCall& /*call*/) {
  std::string text;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const VerifyReport report, Verify(transaction));
    text = report.ToJson();
    return {};
  };
  const store::Scopes all = store::Scopes::Exclusive();
  const Result<void> done = co_await parts->store.ReadOnPool(all, task);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(200, std::move(text)));
}

}  // namespace

void AddOneJobRoutes(const SharedParts& parts, doors::RouteTable& table) {
  const auto read = [&](std::string_view path, std::string_view summary, std::string_view schema,
                        RouteFunction function) {
    AddRoute(parts, table,
             {.method = "GET",
              .path = path,
              .permission = "jobs.get",
              .touches = doors::Touches::Only(kQueueKind),
              .summary = summary,
              .responses = {{200, "The job.", schema}, Refused(404, "There is no such job.")}},
             function);
  };
  const auto change = [&](std::string_view method, std::string_view path, std::string_view summary,
                          std::string_view request, RouteFunction function) {
    AddRoute(
        parts, table,
        {.method = method,
         .path = path,
         .permission = "jobs.manage",
         .touches = doors::Touches::Only(kQueueKind),
         .summary = summary,
         .request_schema = request,
         .optional_body = request != kMoveSchema,
         .responses = {{200, "Done.", kStatusSchema},
                       Refused(400,
                               "The request is invalid, or the job's state does not allow it."),
                       Refused(404, "There is no such job."),
                       Refused(409, "The job's state does not allow it.")}},
        function);
  };
  read("/api/v1/jobs/{id}", "The whole job, with the errors of its attempts.", kJobSchema, GetJob);
  AddRoute(parts, table,
           {.method = "POST",
            .path = "/api/v1/jobs/bulk-get",
            .permission = "jobs.get",
            .touches = doors::Touches::Only(kQueueKind),
            .summary = "Those of up to 1000 jobs that exist.",
            .request_schema = kJobIdsSchema,
            .responses = {{200, "They are these.", kJobsSchema},
                          Refused(400, "The request is invalid.")}},
           PostBulkGet);
  AddRoute(parts, table,
           {.method = "GET",
            .path = "/api/v1/jobs/{id}/wait",
            .permission = "jobs.get",
            .touches = doors::Touches::Only(kQueueKind),
            .summary = "Waits until the job has ended.",
            .query = {{"timeout", "Seconds, 0 to 60; 30 unless given.", "integer"}},
            .responses = {{200, "It has ended.", kJobSchema},
                          {202, "It has not, yet.", kJobSchema},
                          Refused(400, "The request is invalid."),
                          Refused(404, "There is no such job.")}},
           GetWait);
  change("POST", "/api/v1/jobs/{id}/retry", "Has a job run again, from its first attempt.",
         kNothingSchema, PostRetry);
  change("POST", "/api/v1/jobs/{id}/cancel", "Ends a job; `cancelling` if a worker has it.",
         kReasonSchema, PostCancel);
  change("POST", "/api/v1/jobs/{id}/hold", "Keeps a job from running until it is approved.",
         kReasonSchema, PostHold);
  change("POST", "/api/v1/jobs/{id}/approve", "Lets a held job run.", kReasonSchema, PostApprove);
  change("POST", "/api/v1/jobs/{id}/reject", "Lets a held job die.", kReasonSchema, PostReject);
  change("POST", "/api/v1/jobs/{id}/move", "Moves a job to another queue.", kMoveSchema, PostMove);
  change("DELETE", "/api/v1/jobs/{id}", "Removes a job, whatever its state.", "", DeleteJob);
  AddRoute(parts, table,
           {.method = "POST",
            .path = "/api/v1/jobs/{id}/replay",
            .permission = "jobs.manage",
            .touches = doors::Touches::Only(kQueueKind),
            .summary = "A new job like this one, with its checkpoint.",
            .request_schema = kReplaySchema,
            .optional_body = true,
            .responses = {{201, "The new job.", kEnqueuedSchema},
                          Refused(400, "The request is invalid."),
                          Refused(404, "There is no such job."),
                          Refused(409, "The job's state does not allow it.")}},
           PostReplay);
  AddRoute(parts, table,
           {.method = "GET",
            .path = "/api/v1/admin/verify",
            .permission = "jobs.manage",
            .summary = "Whether jobs, indexes, counts, locks and timers agree. Reads everything.",
            .responses = {{200, "What was found.", kVerifySchema}}},
           GetVerification);
}

}  // namespace cairn::jobs
