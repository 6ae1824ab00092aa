// Adding jobs: /enqueue, /enqueue/batch, /webhooks/{name} and open batches.

#include <fmt/format.h>

#include <boost/json/value.hpp>

#include "base/json_text.h"
#include "base/utf8.h"
#include "jobs/http/route_schemas.h"
#include "jobs/http/route_support.h"
#include "jobs/model/json_check.h"
#include "jobs/model/json_members.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/enqueue_json.h"
#include "jobs/operations/job_json.h"

namespace cairn::jobs {
namespace {

using doors::RouteCall;
using net::HttpReply;

net::HttpResponse EnqueuedReply(const EnqueueResult& result) {
  std::string text;
  AppendEnqueued(result, text);
  return Json(result.existing ? 200 : 201, std::move(text));
}

// What the headers add to a request.
void TakeHeaders(const net::HttpRequest& http, EnqueueRequest& request) {
  if (request.trace_parent.empty()) request.trace_parent = TraceOf(http);
  if (request.idempotency_key.empty()) {
    request.idempotency_key = http.headers.Get("Idempotency-Key").value_or("");
  }
}

// What is no JSON at all has a code of its own.
awaitable<Result<HttpReply>> RefuseNotJson() {
  co_return HttpReply(Json(400, ErrorBody("not_json", "the body is not JSON")));
}

awaitable<Result<HttpReply>> PostEnqueue(SharedParts parts, const RouteCall& call) {
  Result<EnqueueRequest> request = ParseEnqueue(call.request.body);
  if (!request.ok() && !IsJson(call.request.body)) return RefuseNotJson();
  if (request.ok()) TakeHeaders(call.request, *request);
  return Perform(std::move(parts), std::move(request), operations::kEnqueue, EnqueuedReply);
}

// --- Several at once ----------------------------------------------------------------------------

Error Bad(std::string_view what) { return Refuse(Reason::kValidation, what); }

Result<BatchOptions> ParseBatch(std::string_view text) {
  BatchOptions options;
  const auto members = MembersOf(text);
  if (!members) return Bad("batch must be an object");
  if (const auto repeated = FindRepeated(*members)) {
    return Bad(fmt::format("batch.{} is there twice", Printable(*repeated)));
  }
  for (const RawMember& member : *members) {
    if (member.name == "callback_payload") {
      options.callback_payload = member.json;
    } else if (member.name == "callback_queue") {
      std::optional<std::string> queue = StringOf(member.json);
      if (!queue) return Bad("batch.callback_queue must be a string");
      options.callback_queue = *std::move(queue);
    } else {
      return Bad(fmt::format("batch.{} is not an option of a batch", Printable(member.name)));
    }
  }
  return options;
}

Result<std::vector<EnqueueRequest>> ParseJobs(std::string_view text) {
  const auto items = ItemsOf(text);
  if (!items || items->empty()) return Bad("jobs must be an array of at least one job");
  if (items->size() > kMaxEnqueueBatch) {
    return Bad(fmt::format("jobs: at most {} at once", kMaxEnqueueBatch));
  }
  std::vector<EnqueueRequest> jobs;
  jobs.reserve(items->size());
  for (const std::string_view item : *items) {
    Result<EnqueueRequest> job = ParseEnqueue(item);
    if (!job.ok()) {
      const ReasonRow* row = FindReason(job.error());
      return Refuse(row == nullptr ? Reason::kValidation : row->reason,
                    fmt::format("jobs[{}]: {}", jobs.size(), RefusalText(job.error())));
    }
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

// {"jobs":[…],"batch":{…},"idempotency_key":…}
Result<EnqueueBatchRequest> ParseSeveral(const net::HttpRequest& http) {
  const auto members = MembersOf(http.body);
  if (!members) return Bad("the body must be a JSON object");
  EnqueueBatchRequest request;
  std::string key(http.headers.Get("Idempotency-Key").value_or(""));
  std::string_view jobs;
  for (const RawMember& member : *members) {
    if (member.name == "jobs") {
      jobs = member.json;
    } else if (member.name == "batch") {
      if (member.json == "null") continue;
      CAIRN_ASSIGN_OR_RETURN(request.batch, ParseBatch(member.json));
    } else if (member.name == "idempotency_key") {
      std::optional<std::string> text = StringOf(member.json);
      if (!text) return Bad("idempotency_key must be a string");
      key = *std::move(text);
    } else {
      return Bad(fmt::format("{} is not known here", Printable(member.name)));
    }
  }
  CAIRN_ASSIGN_OR_RETURN(request.jobs, ParseJobs(jobs));
  for (EnqueueRequest& job : request.jobs) {
    if (job.trace_parent.empty()) job.trace_parent = TraceOf(http);
  }
  if (!key.empty()) SetIdempotencyKey(request, key);
  return request;
}

net::HttpResponse EnqueuedBatchReply(const EnqueueBatchResult& result) {
  std::string text = R"({"job_ids":[)";
  for (size_t i = 0; i < result.jobs.size(); ++i) {
    if (i > 0) text.push_back(',');
    AppendJsonString(result.jobs[i].id, text);
  }
  text += "]";
  if (!result.batch_id.empty()) {
    text += R"(,"batch_id":)";
    AppendJsonString(result.batch_id, text);
  }
  return Json(201, text + "}");
}

awaitable<Result<HttpReply>> EnqueueSeveral(SharedParts parts, const RouteCall& call,
                                            Result<EnqueueBatchRequest> request) {
  if (!request.ok() && !IsJson(call.request.body)) return RefuseNotJson();
  return Perform(std::move(parts), std::move(request), operations::kEnqueueBatch,
                 EnqueuedBatchReply);
}

awaitable<Result<HttpReply>> PostEnqueueBatch(SharedParts parts, const RouteCall& call) {
  return EnqueueSeveral(std::move(parts), call, ParseSeveral(call.request));
}

// --- What others send ---------------------------------------------------------------------------

// Valid JSON is the payload as it is, nothing is {}, any other text a JSON string.
Result<std::string> PayloadOf(std::string_view body) {
  if (body.empty()) return std::string("{}");
  if (IsJson(body)) return std::string(body);
  if (!IsUtf8(body)) return Bad("the body is neither JSON nor text in UTF-8");
  std::string text;
  AppendJsonString(body, text);
  return text;
}

// "k:v,k:v" as a JSON object.
Result<std::string> TagsOf(std::string_view list) {
  std::string tags = "{";
  for (const std::string& pair : SplitList(list)) {
    const size_t colon = pair.find(':');
    if (colon == std::string::npos || colon == 0) {
      return Refuse(Reason::kValidation, "tags must be name:value, with commas between them");
    }
    if (tags.size() > 1) tags.push_back(',');
    AppendJsonString(std::string_view(pair).substr(0, colon), tags);
    tags.push_back(':');
    AppendJsonString(std::string_view(pair).substr(colon + 1), tags);
  }
  return tags + "}";
}

// The options of the query go the way of all options: as a request in JSON.
Result<EnqueueRequest> InboundRequest(const RouteCall& call) {
  std::string text = R"({"queue":)";
  AppendJsonString(call.PathValue("name"), text);
  for (const std::string_view name : {"priority", "unique_key", "scheduled_at"}) {
    const auto value = call.request.Query(name);
    if (!value) continue;
    text += fmt::format(R"(,"{}":)", name);
    AppendJsonString(*value, text);
  }
  if (const auto retries = call.request.Query("max_retries")) {
    text += fmt::format(R"(,"max_retries":{})", *retries);
  }
  if (const auto tags = call.request.Query("tags")) {
    CAIRN_ASSIGN_OR_RETURN(const std::string object, TagsOf(*tags));
    text += R"(,"tags":)" + object;
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string payload, PayloadOf(call.request.body));
  text += R"(,"payload":)" + payload + "}";
  return ParseEnqueue(text);
}

awaitable<Result<HttpReply>> PostInbound(SharedParts parts, const RouteCall& call) {
  Result<EnqueueRequest> request = InboundRequest(call);
  if (request.ok()) TakeHeaders(call.request, *request);
  return Perform(std::move(parts), std::move(request), operations::kEnqueue, EnqueuedReply);
}

// --- Open batches -------------------------------------------------------------------------------

net::HttpResponse OpenedReply(const Batch& batch) { return Json(201, BatchJson(batch)); }
net::HttpResponse BatchReply(const Batch& batch) { return Json(200, BatchJson(batch)); }

awaitable<Result<HttpReply>> PostBatch(SharedParts parts, const RouteCall& call) {
  const Result<BatchOptions> options =
      BatchOptions{.callback_queue = TextOf(call.body, "callback_queue"),
                   .callback_payload = std::string(RawOf(call.request.body, "callback_payload"))};
  return Perform(std::move(parts), options, operations::kOpenBatch, OpenedReply);
}

awaitable<Result<HttpReply>> PostBatchJobs(SharedParts parts, const RouteCall& call) {
  Result<EnqueueBatchRequest> several = ParseSeveral(call.request);
  if (several.ok() && several->batch) several = Bad("batch: these jobs join one");
  if (several.ok()) {
    for (EnqueueRequest& job : several->jobs) job.batch_id = call.PathValue("id");
  }
  return EnqueueSeveral(std::move(parts), call, std::move(several));
}

Result<JobRequest> BatchOf(const RouteCall& call) { return JobRequest{.id = call.PathValue("id")}; }

awaitable<Result<HttpReply>> PostSeal(SharedParts parts, const RouteCall& call) {
  return Perform(std::move(parts), BatchOf(call), operations::kSealBatch, BatchReply);
}

awaitable<Result<HttpReply>> GetOneBatch(SharedParts parts, const RouteCall& call) {
  return PerformRead(std::move(parts), JobRequest{.id = call.PathValue("id")},
                     operations::kGetBatch, BatchReply);
}

}  // namespace

void AddProducerRoutes(const SharedParts& parts, doors::RouteTable& table) {
  AddRoute(parts, table,
           {.method = "POST",
            .path = "/api/v1/enqueue",
            .permission = "jobs.enqueue",
            .touches = doors::Touches::Only(kQueueKind),
            .summary = "Adds a job. A traceparent goes with it; Idempotency-Key may be a header.",
            .request_schema = kEnqueueSchema,
            .checks_body_itself = true,
            .responses = {{201, "The job is there.", kEnqueuedSchema},
                          {200, "It was there: `job_id` holds the key.", kEnqueuedSchema},
                          Refused(400, "The request is invalid."),
                          Refused(404, "It names a job or batch that does not exist."),
                          Refused(409, "It names something that is not open for it."),
                          Refused(413, "It is too large.")},
            .body_limit = kMaxEnqueueBodyBytes},
           PostEnqueue);
  AddRoute(parts, table,
           {.method = "POST",
            .path = "/api/v1/enqueue/batch",
            .permission = "jobs.enqueue",
            .touches = doors::Touches::Only(kQueueKind),
            .summary = "Adds jobs, all or none. With `batch` they are one, which calls back when "
                       "all have ended.",
            .request_schema = kEnqueueBatchSchema,
            .checks_body_itself = true,
            .responses = {{201, "They are there.", kEnqueuedBatchSchema},
                          Refused(400, "One of them is invalid; none was added."),
                          Refused(404, "One names something that does not exist."),
                          Refused(409, "One names something that is not open for it."),
                          Refused(413, "One of them is too large.")},
            .body_limit = kMaxBatchBodyBytes},
           PostEnqueueBatch);
  AddRoute(parts, table,
           {.method = "POST",
            .path = "/api/v1/webhooks/{name}",
            .permission = "jobs.enqueue",
            .touches = doors::Touches::Only(kQueueKind),
            .summary = "Adds a job to the queue of this name; the body, whatever it is, is the "
                       "payload.",
            .query = {{"priority", "critical, high or normal."},
                      {"unique_key", "Only one live job of the queue may have it."},
                      {"max_retries", "After the first run.", "integer"},
                      {"scheduled_at", "RFC 3339."},
                      {"tags", "name:value, with commas between them."}},
            .responses = {{201, "The job is there.", kEnqueuedSchema},
                          {200, "It was there: `job_id` holds the key.", kEnqueuedSchema},
                          Refused(400, "The request is invalid."),
                          Refused(413, "It is too large.")},
            .body_limit = kMaxEnqueueBodyBytes},
           PostInbound);
  AddRoute(
      parts, table,
      {.method = "POST",
       .path = "/api/v1/batches",
       .permission = "jobs.enqueue",
       .touches = doors::Touches::Only(kQueueKind),
       .summary = "Opens a batch, to which jobs are added until it is sealed.",
       .request_schema = kOpenBatchSchema,
       .optional_body = true,
       .responses = {{201, "It is open.", kBatchSchema}, Refused(400, "The request is invalid.")}},
      PostBatch);
  AddRoute(parts, table,
           {.method = "POST",
            .path = "/api/v1/batches/{id}/jobs",
            .permission = "jobs.enqueue",
            .touches = doors::Touches::Only(kQueueKind),
            .summary = "Adds jobs to an open batch, all or none.",
            .request_schema = kBatchJobsSchema,
            .checks_body_itself = true,
            .responses = {{201, "They are there.", kEnqueuedBatchSchema},
                          Refused(400, "One of them is invalid; none was added."),
                          Refused(404, "There is no such batch."),
                          Refused(409, "The batch is sealed."),
                          Refused(413, "One of them is too large.")},
            .body_limit = kMaxBatchBodyBytes},
           PostBatchJobs);
  AddRoute(parts, table,
           {.method = "POST",
            .path = "/api/v1/batches/{id}/seal",
            .permission = "jobs.enqueue",
            .touches = doors::Touches::Only(kQueueKind),
            .summary = "No more jobs: the callback comes when all have ended.",
            .responses = {{200, "It is sealed.", kBatchSchema},
                          Refused(404, "There is no such batch."),
                          Refused(409, "It cannot be sealed.")}},
           PostSeal);
  AddRoute(
      parts, table,
      {.method = "GET",
       .path = "/api/v1/batches/{id}",
       .permission = "jobs.get",
       .touches = doors::Touches::Only(kQueueKind),
       .summary = "A batch and how far it is.",
       .responses = {{200, "It is this.", kBatchSchema}, Refused(404, "There is no such batch.")}},
      GetOneBatch);
}

}  // namespace cairn::jobs
