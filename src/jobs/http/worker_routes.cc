// What workers do: fetch, ack, fail, heartbeat, snooze.

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <chrono>

#include "base/json_text.h"
#include "base/time_text.h"
#include "jobs/http/route_schemas.h"
#include "jobs/http/route_support.h"
#include "jobs/model/json_members.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/handing_out.h"
#include "jobs/operations/job_json.h"

namespace cairn::jobs {
namespace {

using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr int64_t kDefaultWaitMs = 30'000;

// --- Fetch --------------------------------------------------------------------------------------

struct Fetching {
  FetchRequest request;
  int64_t wait_ms = 0;
};

// `timeout` is, as it always was, both the lease and the wait; `lease_duration` and `wait` say one
// of them alone.
Result<Fetching> FetchingOf(const RouteCall& call) {
  const boost::json::value& body = call.body;
  const int64_t timeout_ms = SecondsOf(body, "timeout").value_or(0);
  const auto otherwise = [&](int64_t ms) { return timeout_ms > 0 ? timeout_ms : ms; };
  Fetching fetching{
      .request = {.queues = StringsOf(body, "queues"),
                  .worker_id = TextOf(body, "worker_id"),
                  .hostname = TextOf(body, "hostname"),
                  .lease_ms =
                      SecondsOf(body, "lease_duration").value_or(otherwise(kDefaultLeaseMs)),
                  .count = static_cast<size_t>(
                      std::clamp<int64_t>(NumberOf(body, "count").value_or(1), 1, kMaxFetch))},
      .wait_ms = std::clamp<int64_t>(SecondsOf(body, "wait").value_or(otherwise(kDefaultWaitMs)), 0,
                                     kMaxWaitSeconds * 1'000)};
  if (fetching.request.lease_ms < kMinLeaseMs || fetching.request.lease_ms > kMaxLeaseMs) {
    return Refuse(Reason::kValidation,
                  fmt::format("a lease must be from {} to {} ms", kMinLeaseMs, kMaxLeaseMs));
  }
  return fetching;
}

// A fetch under way: shared by what makes the response and by what takes the jobs back if there is
// nobody to have it.
struct FetchRun {
  Fetching fetching;
  std::vector<Job> jobs;
};

// Waits until there is something to take.
awaitable<Result<void>> TakeOrWait(SharedParts parts, std::shared_ptr<FetchRun> run) {
  const FetchRequest& request = run->fetching.request;
  const SteadyTime deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(run->fetching.wait_ms);
  const Fetcher fetcher{parts->store, parts->principal};
  Result<std::vector<Job>> jobs = co_await TakeJobs(fetcher, request);
  if (jobs.ok() && jobs->empty() && run->fetching.wait_ms != 0) {
    jobs = co_await AwaitJobs(fetcher, request, deadline);
  }
  if (!jobs.ok()) co_return jobs.error();
  run->jobs = std::move(*jobs);
  co_return Result<void>();
}

// Puts back what nobody will work on.
awaitable<void> GiveBackRun(SharedParts parts, std::shared_ptr<FetchRun> run) {
  co_await GiveBack(*parts, run->jobs);
}

using FetchReply = HttpResponse (*)(const std::vector<Job>&);

HttpResponse OneReply(const std::vector<Job>& jobs) {
  if (jobs.empty()) return HttpResponse::Empty(204);
  std::string text;
  AppendFetched(jobs.front(), text);
  return Json(200, std::move(text));
}

HttpResponse SeveralReply(const std::vector<Job>& jobs) {
  std::string text = R"({"jobs":[)";
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0) text.push_back(',');
    AppendFetched(jobs[i], text);
  }
  return Json(200, text + "]}");
}

awaitable<HttpResponse> RunFetch(SharedParts parts, std::shared_ptr<FetchRun> run,
                                 FetchReply reply) {
  const Result<void> done = co_await TakeOrWait(parts, run);
  if (!done.ok()) co_return ErrorReply(done.error());
  co_return reply(run->jobs);
}

template <FetchReply reply>
awaitable<Result<HttpReply>> PostFetch(SharedParts parts, const RouteCall& call) {
  Result<Fetching> fetching = FetchingOf(call);
  if (!fetching.ok()) co_return HttpReply(ErrorReply(fetching.error()));
  auto run = std::make_shared<FetchRun>(FetchRun{.fetching = *std::move(fetching)});
  net::HttpLateResponse late;
  late.run = [parts, run] { return RunFetch(parts, run, reply); };
  late.unsent = [parts, run] { return GiveBackRun(parts, run); };
  co_return HttpReply(std::move(late));
}

// --- Finishing ----------------------------------------------------------------------------------

// Who finishes: by `lease_token`, or by `worker_id` and `attempt`.
Result<LeaseRef> LeaseOf(std::string id, const boost::json::value& body) {
  LeaseRef lease{.id = std::move(id),
                 .worker_id = TextOf(body, "worker_id"),
                 .attempt = NumberOf(body, "attempt")};
  const std::string token = TextOf(body, "lease_token");
  if (token.empty()) return lease;
  lease.token = ParseToken(token);
  // What is no token was never anybody's.
  if (!lease.token) {
    return Refuse(Reason::kLeaseLost, fmt::format("'{}' is not a lease token", Printable(token)));
  }
  return lease;
}

// `body` is the JSON value whose text is `text`.
Result<AckRequest> AckOf(std::string id, const boost::json::value& body, std::string_view text) {
  CAIRN_ASSIGN_OR_RETURN(LeaseRef lease, LeaseOf(std::move(id), body));
  const std::string agent_status = TextOf(body, "agent_status");
  if (!agent_status.empty() && agent_status != "done") {
    return Refuse(Reason::kAck,
                  fmt::format("{} is not a job of an agent and cannot {}", lease.id, agent_status));
  }
  return AckRequest{.lease = std::move(lease),
                    .result = std::string(RawOf(text, "result")),
                    .checkpoint = std::string(RawOf(text, "checkpoint")),
                    .exit_chain = TextOf(body, "step_status") == "exit",
                    .exit_reason = TextOf(body, "exit_reason")};
}

awaitable<Result<HttpReply>> PostAck(SharedParts parts, const RouteCall& call) {
  return Perform(std::move(parts), AckOf(call.PathValue("id"), call.body, call.request.body),
                 operations::kAck, "ok");
}

// One ack of several, and what became of it.
struct BatchedAck {
  std::string id;
  Result<void> result;
};

std::string AckedReply(const std::vector<BatchedAck>& acks) {
  int64_t acked = 0;
  std::string errors;
  for (const BatchedAck& ack : acks) {
    if (ack.result.ok()) {
      ++acked;
      continue;
    }
    errors += errors.empty() ? R"(,"errors":[{"job_id":)" : R"(,{"job_id":)";
    AppendJsonString(ack.id, errors);
    const ReasonRow* row = FindReason(ack.result.error());
    errors += fmt::format(R"(,"code":"{}","error":)", row == nullptr ? "ACK_ERROR" : row->name);
    AppendJsonString(row == nullptr ? ack.result.error().message : RefusalText(ack.result.error()),
                     errors);
    errors.push_back('}');
  }
  if (!errors.empty()) errors.push_back(']');
  return fmt::format(R"({{"acked":{}{}}})", acked, errors);
}

Error IsThereTwice(std::string_view member) {
  return Refuse(Reason::kValidation,
                fmt::format("the member '{}' is there twice", Printable(member)));
}

awaitable<Result<HttpReply>> PostAckBatch(SharedParts parts, const RouteCall& call) {
  const auto items = ItemsOf(RawOf(call.request.body, "acks"));
  const std::vector<std::string_view> texts = items.value_or(std::vector<std::string_view>());
  const boost::json::array& bodies = call.body.at("acks").as_array();
  std::vector<BatchedAck> acks;
  std::vector<AckRequest> requests;
  std::vector<size_t> places;  // of the requests among the acks
  Held held;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto repeated = FindRepeated(MembersOf(texts[i]).value_or(std::vector<RawMember>()));
    Result<AckRequest> request = repeated ? Result<AckRequest>(IsThereTwice(*repeated))
                                          : AckOf(TextOf(bodies[i], "job_id"), bodies[i], texts[i]);
    acks.push_back({TextOf(bodies[i], "job_id"), {}});
    if (!request.ok()) {
      acks.back().result = request.error();
      continue;
    }
    AddLeaseScopes(request->lease, held);
    requests.push_back(*std::move(request));
    places.push_back(i);
  }
  if (requests.empty()) co_return HttpReply(Json(200, AckedReply(acks)));
  const ChangeBody body = [&](Context& context) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<Result<void>> results, AckBatch(context, requests));
    for (size_t i = 0; i < results.size(); ++i) acks[places[i]].result = results[i];
    return {};
  };
  const Result<void> done = co_await Change(*parts, std::move(held), body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(200, AckedReply(acks)));
}

Result<FailRequest> FailOf(const RouteCall& call) {
  CAIRN_ASSIGN_OR_RETURN(LeaseRef lease, LeaseOf(call.PathValue("id"), call.body));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<int64_t> delay_ms, DurationOf(call.body, "delay"));
  FailRequest request{.lease = std::move(lease),
                      .error = TextOf(call.body, "error"),
                      .backtrace = TextOf(call.body, "backtrace"),
                      .delay_ms = delay_ms};
  const auto* object = call.body.if_object();
  const auto* retryable = object == nullptr ? nullptr : object->if_contains("retryable");
  if (retryable != nullptr) request.retryable = retryable->as_bool();
  return request;
}

HttpResponse FailedReply(const FailResult& result) {
  std::string text = fmt::format(R"({{"status":"{}","attempts_remaining":{})",
                                 StateName(result.state), result.attempts_remaining);
  if (result.next_attempt_ns != 0) {
    text += fmt::format(R"(,"next_attempt_at":"{}")", FormatTime(result.next_attempt_ns));
  }
  return Json(200, text + "}");
}

awaitable<Result<HttpReply>> PostFail(SharedParts parts, const RouteCall& call) {
  return Perform(std::move(parts), FailOf(call), operations::kFail, FailedReply);
}

Result<SnoozeRequest> SnoozeOf(const RouteCall& call) {
  CAIRN_ASSIGN_OR_RETURN(LeaseRef lease, LeaseOf(call.PathValue("id"), call.body));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<int64_t> delay_ms, DurationOf(call.body, "delay"));
  return SnoozeRequest{.lease = std::move(lease), .delay_ms = delay_ms.value_or(0)};
}

HttpResponse SnoozedReply(const uint64_t& until_ns) {
  return Json(200,
              fmt::format(R"({{"status":"snoozed","scheduled_at":"{}"}})", FormatTime(until_ns)));
}

awaitable<Result<HttpReply>> PostSnooze(SharedParts parts, const RouteCall& call) {
  return Perform(std::move(parts), SnoozeOf(call), operations::kSnooze, SnoozedReply);
}

// --- Heartbeats ---------------------------------------------------------------------------------

struct Beat {
  HeartbeatRequest request;
  std::string answer;
};

// A job of the heartbeat; `answer` is there already if its token is none.
Beat BeatOf(std::string id, const boost::json::value& body, std::string_view text) {
  Beat beat;
  Result<LeaseRef> lease = LeaseOf(std::move(id), body);
  if (!lease.ok()) {
    beat.answer = R"({"status":"cancel","code":"LEASE_LOST"})";
    return beat;
  }
  beat.request = {.lease = *std::move(lease),
                  .progress = std::string(RawOf(text, "progress")),
                  .checkpoint = std::string(RawOf(text, "checkpoint"))};
  return beat;
}

// What the worker is told about one job. A job that is not its own any more, or of nobody, is to be
// dropped.
Result<std::string> AnswerTo(Context& context, const HeartbeatRequest& request) {
  const Result<HeartbeatResult> result = Heartbeat(context, request);
  if (!result.ok()) {
    const ReasonRow* row = FindReason(result.error());
    if (row == nullptr) return result.error();
    // A report that cannot be kept says nothing about the job: the worker goes on.
    const bool refused =
        row->reason == Reason::kPayloadTooLarge || row->reason == Reason::kValidation;
    return fmt::format(R"({{"status":"{}","code":"{}"}})", refused ? "error" : "cancel", row->name);
  }
  if (result->cancelled) return std::string(R"({"status":"cancel"})");
  return fmt::format(R"({{"status":"ok","lease_expires_at":"{}"}})",
                     FormatTime(result->lease_expires_ns));
}

awaitable<Result<HttpReply>> PostHeartbeat(SharedParts parts, const RouteCall& call) {
  const boost::json::object& bodies = call.body.at("jobs").as_object();
  std::vector<std::pair<std::string, Beat>> beats;
  Held held;
  const std::vector<RawMember> members =
      MembersOf(RawOf(call.request.body, "jobs")).value_or(std::vector<RawMember>());
  if (const auto repeated = FindRepeated(members)) {
    co_return HttpReply(ErrorReply(IsThereTwice(*repeated)));
  }
  for (const RawMember& member : members) {
    beats.emplace_back(member.name, BeatOf(member.name, bodies.at(member.name), member.json));
    AddLeaseScopes(beats.back().second.request.lease, held);
  }
  std::vector<std::string> answers;
  const ChangeBody body = [&](Context& context) -> Result<void> {
    answers.clear();
    for (const auto& [id, beat] : beats) {
      if (!beat.answer.empty()) {
        answers.push_back(beat.answer);
        continue;
      }
      CAIRN_ASSIGN_OR_RETURN(std::string answer, AnswerTo(context, beat.request));
      answers.push_back(std::move(answer));
    }
    return {};
  };
  const Result<void> done = co_await Change(*parts, std::move(held), body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  std::string text = R"({"jobs":{)";
  for (size_t i = 0; i < beats.size(); ++i) {
    if (i > 0) text.push_back(',');
    AppendJsonString(beats[i].first, text);
    text += ":" + answers[i];
  }
  co_return HttpReply(Json(200, text + "}}"));
}

}  // namespace

void AddWorkerRoutes(const SharedParts& parts, doors::RouteTable& table) {
  const auto add = [&](doors::Route route, RouteFunction function) {
    route.method = "POST";
    route.permission = "jobs.work";
    route.touches = doors::Touches::Only(kQueueKind);
    AddRoute(parts, table, std::move(route), function);
  };
  add({.path = "/api/v1/fetch",
       .summary = "Takes a job, under a lease; waits until there is one.",
       .request_schema = kFetchSchema,
       .responses = {{200, "The job.", kFetchedSchema},
                     {204, "There was none."},
                     Refused(400, "The request is invalid.")}},
      PostFetch<OneReply>);
  add({.path = "/api/v1/fetch/batch",
       .summary = "Takes up to 512 jobs; waits until there is one.",
       .request_schema = kFetchBatchSchema,
       .responses = {{200, "The jobs; none if there was none.", kFetchedBatchSchema},
                     Refused(400, "The request is invalid.")}},
      PostFetch<SeveralReply>);
  add({.path = "/api/v1/ack/{id}",
       .summary = "Completes a job.",
       .request_schema = kAckSchema,
       .optional_body = true,
       .responses = {{200, "It is completed.", kStatusSchema},
                     Refused(400, "The request is invalid, or the job is not active."),
                     Refused(404, "There is no such job."),
                     Refused(409, "The lease is not this worker's any more."),
                     Refused(413, "The result is too large.")},
       .body_limit = kMaxReportBodyBytes},
      PostAck);
  add({.path = "/api/v1/ack/batch",
       .summary = "Completes jobs, each as if alone, in one commit.",
       .request_schema = kAckBatchSchema,
       .responses = {{200, "How many, and which not.", kAckedSchema},
                     Refused(400, "The request is invalid; nothing was done.")},
       .body_limit = kMaxBatchBodyBytes},
      PostAckBatch);
  add({.path = "/api/v1/fail/{id}",
       .summary = "An attempt has failed.",
       .request_schema = kFailSchema,
       .optional_body = true,
       .responses = {{200, "What becomes of the job.", kFailedSchema},
                     Refused(400, "The request is invalid, or the job is not active."),
                     Refused(404, "There is no such job."),
                     Refused(409, "The lease is not this worker's any more.")}},
      PostFail);
  add({.path = "/api/v1/snooze/{id}",
       .summary = "Puts a job back for a while; the attempt does not count.",
       .request_schema = kSnoozeSchema,
       .responses = {{200, "It comes again then.", kSnoozedSchema},
                     Refused(400, "The request is invalid, or the job is not active."),
                     Refused(404, "There is no such job."),
                     Refused(409, "The lease is not this worker's any more.")}},
      PostSnooze);
  add({.path = "/api/v1/heartbeat",
       .summary = "Renews leases by their own length, and hears what was cancelled.",
       .request_schema = kHeartbeatSchema,
       .responses = {{200, "What to do with each job.", kHeartbeatReplySchema},
                     Refused(400, "The request is invalid.")},
       .body_limit = kMaxBatchBodyBytes},
      PostHeartbeat);
}

}  // namespace cairn::jobs
