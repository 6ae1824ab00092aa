// The routes of schedules.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "jobs/http/route_schemas.h"
#include "jobs/http/route_support.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/job_json.h"
#include "jobs/schedule/schedule.h"

namespace cairn::jobs {
namespace {

using doors::RouteCall;
using net::HttpReply;

constexpr std::string_view kNewScheduleSchema =
    R"({"type":"object","additionalProperties":true,"properties":{)"
    R"("name":{"type":"string","description":"Unique, up to 128 bytes."},)"
    R"("cron":{"type":"string","description":"Five fields, six with seconds first, or @daily and the like."},)"
    R"("timezone":{"type":"string","description":"IANA name; UTC unless given."},)"
    R"("overlap":{"type":"string","enum":["skip","queue","parallel"],)"
    R"("description":"While the job of the tick before has not ended; skip unless given."},)"
    R"("catch_up":{"type":"string","enum":["none","one","all"],)"
    R"("description":"For ticks that were missed; one unless given."},)"
    R"("catch_up_window":{"type":"string","description":"How late a missed tick may still run; 24h unless given."},)"
    R"("paused":{"type":"boolean"},)"
    R"("queue":{"type":"string","description":"Of the job, whose other options stand here, too."}}})";

#define CAIRN_JOBS_SCHEDULE                                                                     \
  R"({"type":"object","required":["id","name","queue","cron","timezone","overlap","catch_up",)" \
  R"("catch_up_window_ms","paused","job","runs","skipped","created_at"],"properties":{)"        \
  R"("id":{"type":"string"},"name":{"type":"string"},"queue":{"type":"string"},)"               \
  R"("cron":{"type":"string"},"timezone":{"type":"string"},"overlap":{"type":"string"},)"       \
  R"("catch_up":{"type":"string"},"catch_up_window_ms":{"type":"integer"},)"                    \
  R"("paused":{"type":"boolean"},"job":{"type":"object","additionalProperties":true},)"         \
  R"("runs":{"type":"integer"},"skipped":{"type":"integer"},"last_job_id":{"type":"string"},)"  \
  R"("last_error":{"type":"string","description":"Why the last tick has no job."},)"            \
  R"("created_at":{"type":"string"},"last_run":{"type":"string"},"next_run":{"type":"string"}}})"

constexpr std::string_view kScheduleSchema = CAIRN_JOBS_SCHEDULE;
constexpr std::string_view kSchedulesSchema =
    R"({"type":"array","items":)" CAIRN_JOBS_SCHEDULE R"(})";

store::Scopes AllSchedules() {
  store::Scopes scopes;
  AddScheduleScope(scopes);
  return scopes;
}

// A step over the schedules whose result is one of them.
using Step = std::function<Result<Schedule>(store::Transaction&)>;
awaitable<Result<HttpReply>> ChangeOne(SharedParts parts, int status, Step step) {
  std::string text;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const Schedule schedule, step(transaction));
    text = ScheduleJson(schedule);
    return {};
  };
  const store::Scopes scopes = AllSchedules();
  const Result<void> done = co_await parts->store.Write(scopes, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(status, std::move(text)));
}

// A list that ends early says in a header where the next page is, so that it is an array whether
// there are few or many.
awaitable<Result<HttpReply>> GetSchedules(SharedParts parts, const RouteCall& call) {
  const std::string cursor(call.request.Query("cursor").value_or(""));
  const Result<int64_t> limit = QueryNumber(call.request, "limit", kMaxSchedules, 1, kMaxSchedules);
  if (!limit.ok()) co_return HttpReply(ErrorReply(limit.error()));
  std::string text;
  std::string next;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const SchedulePage page,
                           ListSchedules(transaction, cursor, static_cast<size_t>(*limit)));
    text = "[";
    for (const Schedule& schedule : page.schedules) {
      if (text.size() > 1) text += ',';
      text += ScheduleJson(schedule);
    }
    text += "]";
    next.clear();
    if (page.more) {
      next = fmt::format(R"(</api/v1/schedules?cursor={}&limit={}>; rel="next")",
                         net::PercentEncode(page.schedules.back().id), *limit);
    }
    return {};
  };
  const store::Scopes scopes = AllSchedules();
  const Result<void> done = co_await parts->store.Read(scopes, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  net::HttpResponse response = Json(200, std::move(text));
  if (!next.empty()) response.headers.Add("Link", std::move(next));
  co_return HttpReply(std::move(response));
}

awaitable<Result<HttpReply>> GetOneSchedule(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("id");
  std::string text;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const Schedule schedule, GetSchedule(transaction, id));
    text = ScheduleJson(schedule);
    return {};
  };
  const store::Scopes scopes = AllSchedules();
  const Result<void> done = co_await parts->store.Read(scopes, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(200, std::move(text)));
}

awaitable<Result<HttpReply>> PostSchedule(SharedParts parts, const RouteCall& call) {
  return ChangeOne(std::move(parts), 201,
                   [json = call.request.body](store::Transaction& transaction) {
                     return CreateSchedule(transaction, json);
                   });
}

awaitable<Result<HttpReply>> PutSchedule(SharedParts parts, const RouteCall& call) {
  return ChangeOne(
      std::move(parts), 200,
      [id = call.PathValue("id"), json = call.request.body](store::Transaction& transaction) {
        return UpdateSchedule(transaction, id, json);
      });
}

awaitable<Result<HttpReply>> PostPauseSchedule(SharedParts parts, const RouteCall& call) {
  return ChangeOne(std::move(parts), 200,
                   [id = call.PathValue("id")](store::Transaction& transaction) {
                     return PauseSchedule(transaction, id);
                   });
}

awaitable<Result<HttpReply>> PostResumeSchedule(SharedParts parts, const RouteCall& call) {
  return ChangeOne(std::move(parts), 200,
                   [id = call.PathValue("id")](store::Transaction& transaction) {
                     return ResumeSchedule(transaction, id);
                   });
}

awaitable<Result<HttpReply>> DeleteOneSchedule(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("id");
  const LookBody body = [&](store::Transaction& transaction) {
    return DeleteSchedule(transaction, id);
  };
  const store::Scopes scopes = AllSchedules();
  const Result<void> done = co_await parts->store.Write(scopes, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(StatusReply(200, "deleted"));
}

// The scopes of a trigger are those of the job, which only the schedule knows.
awaitable<Result<HttpReply>> PostTrigger(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("id");
  Held held;
  const LookBody look = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const Schedule schedule, GetSchedule(transaction, id));
    held = Held();
    AddTriggerScopes(schedule, held);
    return {};
  };
  const store::Scopes all = AllSchedules();
  const Result<void> looked = co_await parts->store.Peek(all, look);
  if (!looked.ok()) co_return HttpReply(ErrorReply(looked.error()));
  while (true) {
    std::string text;
    const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
      Context context{transaction, held};
      CAIRN_ASSIGN_OR_RETURN(const EnqueueResult enqueued, TriggerSchedule(context, id));
      text.clear();
      AppendEnqueued(enqueued, text);
      return {};
    };
    store::Scopes scopes = AllSchedules();
    held.AddTo(scopes);
    const Result<void> done = co_await parts->store.Write(scopes, body);
    if (held.wants_everything && !held.everything()) {
      held = Held::Everything();
      continue;
    }
    if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
    co_return HttpReply(Json(201, std::move(text)));
  }
}

}  // namespace

void AddScheduleRoutes(const SharedParts& parts, doors::RouteTable& table) {
  const auto missing = Refused(404, "There is no such schedule.");
  const auto wrong = Refused(400, "The request is invalid, or the name is taken.");
  const auto change = [&](std::string_view method, std::string_view path, std::string_view summary,
                          RouteFunction function) {
    AddRoute(parts, table,
             {.method = method,
              .path = path,
              .permission = "schedules.manage",
              .summary = summary,
              .responses = {{200, "Done.", kScheduleSchema}, missing}},
             function);
  };
  AddRoute(
      parts, table,
      {.method = "GET",
       .path = "/api/v1/schedules",
       .permission = "jobs.read",
       .summary = "All schedules, in the order of their creation. A list that ends early has a "
                  "Link header with the next page.",
       .query = {{"cursor", "The id of the schedule before the first."},
                 {"limit", "How many at most, up to 10000.", "integer"}},
       .responses = {{200, "They are these.", kSchedulesSchema},
                     Refused(400, "The request is invalid.")}},
      GetSchedules);
  AddRoute(parts, table,
           {.method = "POST",
            .path = "/api/v1/schedules",
            .permission = "schedules.manage",
            .summary = "A job that comes again and again.",
            .request_schema = kNewScheduleSchema,
            .responses = {{201, "It is scheduled.", kScheduleSchema}, wrong}},
           PostSchedule);
  AddRoute(parts, table,
           {.method = "GET",
            .path = "/api/v1/schedules/{id}",
            .permission = "jobs.read",
            .summary = "One schedule, by its id or its name.",
            .responses = {{200, "It is this.", kScheduleSchema}, missing}},
           GetOneSchedule);
  AddRoute(parts, table,
           {.method = "PUT",
            .path = "/api/v1/schedules/{id}",
            .permission = "schedules.manage",
            .summary = "Changes what is given; the rest stays.",
            .request_schema = kNewScheduleSchema,
            .responses = {{200, "Done.", kScheduleSchema}, wrong, missing}},
           PutSchedule);
  AddRoute(parts, table,
           {.method = "DELETE",
            .path = "/api/v1/schedules/{id}",
            .permission = "schedules.manage",
            .summary = "Ends a schedule. Jobs that it has enqueued stay.",
            .responses = {{200, "Done.", kStatusSchema}, missing}},
           DeleteOneSchedule);
  change("POST", "/api/v1/schedules/{id}/pause", "Lets no tick happen.", PostPauseSchedule);
  change("POST", "/api/v1/schedules/{id}/resume", "Goes on with the next tick from now.",
         PostResumeSchedule);
  AddRoute(parts, table,
           {.method = "POST",
            .path = "/api/v1/schedules/{id}/trigger",
            .permission = "schedules.manage",
            .summary = "Enqueues its job now, apart from all ticks.",
            .responses = {{201, "It is enqueued.", kEnqueuedSchema}, wrong, missing}},
           PostTrigger);
}

}  // namespace cairn::jobs
