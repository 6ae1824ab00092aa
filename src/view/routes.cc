#include "view/routes.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/object.hpp>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/json_text.h"
#include "doors/http/request_values.h"
#include "doors/turn/on_pool.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/operations.h"
#include "view/limits.h"
#include "view/route_schemas.h"
#include "view/search.h"

namespace cairn::view {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;
using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;
using std::chrono::steady_clock;

constexpr std::string_view kCommitHeader = "X-Cairn-Commit";

using SharedParts = std::shared_ptr<const RouteParts>;
using Function = awaitable<Result<HttpReply>> (*)(SharedParts, const RouteCall&);

// How new the answer to a request has to be.
struct Freshness {
  bool insisted = false;  // else the view gets a moment to catch up and answers as it is
  std::optional<uint64_t> event = {};  // which it must have; nullopt: all up to the request
};

Result<Freshness> FreshnessOf(const net::HttpRequest& request) {
  const auto wanted = request.headers.Get(kCommitHeader);
  if (!wanted) return Freshness{};
  Freshness freshness{.insisted = true};
  if (*wanted == "latest") return freshness;
  const char* const end = wanted->data() + wanted->size();
  if (std::from_chars(wanted->data(), end, freshness.event.emplace()).ptr != end ||
      wanted->empty()) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("{} must be the number of an event, or latest", kCommitHeader)};
  }
  return freshness;
}

// Returns when the view is new enough for the request. Holds no thread meanwhile.
awaitable<Result<void>> Await(const RouteParts& parts, Freshness freshness) {
  if (freshness.event && parts.view.position() >= *freshness.event) co_return Result<void>();
  doors::RouteStore::Signal signal(parts.store);
  const View::Demand demand(parts.view, signal.waker());
  const auto patience = freshness.insisted ? kInsistent : kPolite;
  co_await signal.Wait(steady_clock::now() + patience);
  if (!freshness.insisted) co_return Result<void>();
  const Result<uint64_t> at = demand.Outcome();
  if (!at.ok()) co_return at.error();
  if (freshness.event && *at < *freshness.event) {
    co_return Error{ErrorCode::kInvalid, fmt::format("there is no event {} yet: the newest is {}",
                                                     *freshness.event, *at)};
  }
  co_return Result<void>();
}

// Asks the view on a thread of its own, once it is new enough.
using Question = std::function<Result<std::string>(Database&)>;
awaitable<Result<HttpReply>> Ask(SharedParts parts, const net::HttpRequest& request,
                                 Question question) {
  const Result<Freshness> freshness = FreshnessOf(request);
  if (!freshness.ok()) co_return freshness.error();
  const Result<void> fresh = co_await Await(*parts, *freshness);
  if (!fresh.ok()) co_return fresh.error();
  auto work = [parts, question = std::move(question)]() -> Result<HttpResponse> {
    const uint64_t position = parts->view.position();
    CAIRN_ASSIGN_OR_RETURN(View::Reading reading,
                           parts->view.Read(steady_clock::now() + kQueryLimit));
    CAIRN_ASSIGN_OR_RETURN(std::string text, question(reading.database()));
    HttpResponse response = HttpResponse::Json(200, std::move(text));
    response.headers.Add(std::string(kCommitHeader), fmt::to_string(position));
    return response;
  };
  Result<HttpResponse> response = co_await doors::OnPool(parts->pool, std::move(work));
  if (!response.ok()) co_return response.error();
  co_return HttpReply(std::move(*response));
}

// Whole milliseconds: what clients of every language read as a number.
int64_t MillisSince(const Clock& clock, uint64_t start_ns) {
  return static_cast<int64_t>((clock.MonotonicNs() - start_ns) / 1'000'000);
}

std::string JoinedArray(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ","));
}

Result<std::string> SearchText(Database& database, const SearchRequest& request,
                               const Clock& clock) {
  const uint64_t start_ns = clock.MonotonicNs();
  CAIRN_ASSIGN_OR_RETURN(const SearchResult result, Search(database, request));
  std::string cursor;
  if (result.next) cursor = fmt::format(R"("cursor":"{}",)", EncodeCursor(*result.next));
  return fmt::format(R"({{"jobs":{},"total":{},{}"has_more":{},"duration_ms":{}}})",
                     JoinedArray(result.jobs), result.total, cursor, result.next.has_value(),
                     MillisSince(clock, start_ns));
}

awaitable<Result<HttpReply>> SearchWith(SharedParts parts, const net::HttpRequest& http,
                                        const json::object& given) {
  Result<SearchRequest> request = ParseSearch(given);
  if (!request.ok()) co_return request.error();
  request->filter.where.And(InQueues(parts->queues()));
  Question question = [request = std::move(*request), parts](Database& database) {
    return SearchText(database, request, parts->clock);
  };
  co_return co_await Ask(parts, http, std::move(question));
}

awaitable<Result<HttpReply>> PostSearch(SharedParts parts, const RouteCall& call) {
  const json::object given = call.body.is_object() ? call.body.as_object() : json::object{};
  co_return co_await SearchWith(parts, call.request, given);
}

// The parameters of a list are members of a search.
awaitable<Result<HttpReply>> GetJobs(SharedParts parts, const RouteCall& call) {
  json::object given;
  for (const auto& [name, value] : call.request.query) {
    if (name == "state") {
      json::array states;
      for (const std::string& state : doors::SplitList(value)) states.emplace_back(state);
      given["state"] = std::move(states);
    } else if (name != "limit") {
      given[name] = value;
    }
  }
  const Result<int64_t> limit =
      doors::QueryNumber(call.request, "limit", kDefaultPage, 1, kMaxPage);
  if (!limit.ok()) co_return limit.error();
  given["limit"] = *limit;
  co_return co_await SearchWith(parts, call.request, given);
}

awaitable<Result<HttpReply>> GetFullText(SharedParts parts, const RouteCall& call) {
  std::string text;
  for (const auto& [name, value] : call.request.query) {
    if (name == "q") text = value;
  }
  const Result<int64_t> limit =
      doors::QueryNumber(call.request, "limit", kDefaultPage, 1, kMaxFullTextPage);
  if (!limit.ok()) co_return limit.error();
  Question question = [text, where = InQueues(parts->queues()),
                       limit = *limit](Database& database) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const FullTextResult found, FullText(database, text, where, limit));
    std::string out = R"({"q":)";
    AppendJsonString(text, out);
    return out + R"(,"results":)" + JoinedArray(found.jobs) +
           (found.has_more ? R"(,"has_more":true})" : "}");
  };
  co_return co_await Ask(parts, call.request, std::move(question));
}

awaitable<Result<HttpReply>> PostBulk(SharedParts parts, const RouteCall& call) {
  const uint64_t start_ns = parts->clock.MonotonicNs();
  auto work = [parts, request = call.request.body] {
    return parts->bulk.Submit(request, parts->queues());
  };
  const Result<BulkTask> task = co_await doors::OnPool(parts->pool, std::move(work));
  if (!task.ok()) co_return task.error();
  if (task->id.empty()) {
    co_return HttpReply(HttpResponse::Json(
        200, fmt::format(R"({{"affected":{},"errors":{},"duration_ms":{}}})", task->affected,
                         task->errors, MillisSince(parts->clock, start_ns))));
  }
  co_return HttpReply(HttpResponse::Json(
      202, fmt::format(R"({{"bulk_operation_id":"{0}","status":"{1}","estimated_total":{2},)"
                       R"("progress_url":"/api/v1/bulk/{0}/progress"}})",
                       task->id, BulkStatusName(task->status), task->total)));
}

awaitable<Result<std::optional<BulkTask>>> LoadTask(SharedParts parts, std::string id) {
  std::optional<BulkTask> task;
  const doors::RouteStore::Task body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(task, Bulk::Load(transaction, id));
    if (task && !Bulk::IsVisible(*task, parts->queues())) task.reset();
    if (parts->ended()) task.reset();
    return {};
  };
  store::Scopes scopes;
  Bulk::AddScope(id, scopes);
  const Result<void> done = co_await parts->store.Read(scopes, body);
  if (!done.ok()) co_return done.error();
  co_return task;
}

Error NoSuchTask() { return {ErrorCode::kNotFound, "there is no such bulk operation"}; }

awaitable<Result<HttpReply>> GetBulk(SharedParts parts, const RouteCall& call) {
  const Result<std::optional<BulkTask>> task = co_await LoadTask(parts, call.PathValue("id"));
  if (!task.ok()) co_return task.error();
  if (!*task) co_return NoSuchTask();
  co_return HttpReply(HttpResponse::Json(200, BulkJson(**task)));
}

awaitable<Result<HttpReply>> GetBulks(SharedParts parts, const RouteCall& call) {
  const Result<int64_t> limit =
      doors::QueryNumber(call.request, "limit", kDefaultPage, 1, kMaxPage);
  if (!limit.ok()) co_return limit.error();
  std::string text;
  const doors::RouteStore::Task body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<BulkTask> tasks,
                           Bulk::List(transaction, parts->queues(), static_cast<size_t>(*limit)));
    std::vector<std::string> items;
    items.reserve(tasks.size());
    for (const BulkTask& task : tasks) items.push_back(BulkJson(task));
    text = R"({"operations":)" + JoinedArray(items) + "}";
    return {};
  };
  const store::Scopes all = store::Scopes::Exclusive();
  const Result<void> done = co_await parts->store.Read(all, body);
  if (!done.ok()) co_return done.error();
  co_return HttpReply(HttpResponse::Json(200, std::move(text)));
}

awaitable<Result<HttpReply>> PostCancelBulk(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("id");
  std::optional<BulkTask> task;
  const doors::RouteStore::Task body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(task, Bulk::Load(transaction, id));
    if (task && !Bulk::IsVisible(*task, parts->queues())) task.reset();
    if (task) Bulk::Cancel(transaction, *task);
    return {};
  };
  store::Scopes scopes;
  Bulk::AddScope(id, scopes);
  const Result<void> done = co_await parts->store.Write(scopes, body);
  if (!done.ok()) co_return done.error();
  if (!task) co_return NoSuchTask();
  if (task->status != BulkTask::Status::kCancelled) {
    co_return jobs::Refuse(
        jobs::Reason::kCancel,
        fmt::format("the bulk operation has ended already: {}", BulkStatusName(task->status)));
  }
  co_return HttpReply(HttpResponse::Json(200, BulkJson(*task)));
}

net::ServerEvent ProgressEvent(const BulkTask& task) {
  constexpr std::array<std::string_view, 5> kTypes = {"bulk.async.started", "bulk.async.progress",
                                                      "bulk.async.completed", "bulk.async.failed",
                                                      "bulk.async.cancelled"};
  const std::string_view type = kTypes[static_cast<size_t>(task.status)];
  const double percent = task.total == 0 ? 100
                                         : 100.0 * static_cast<double>(task.processed) /
                                               static_cast<double>(task.total);
  std::string data = fmt::format(
      R"({{"type":"{}","task_id":"{}","status":"{}","affected":{},"total":{},"processed":{},"percent":{:.1f},)",
      type, task.id, BulkStatusName(task.status), task.affected, task.total, task.processed,
      std::min(percent, 100.0));
  if (!task.error.empty()) {
    data += R"("error":)";
    AppendJsonString(task.error, data);
    data += ',';
  }
  data += fmt::format(R"("created_at_ns":{}}})", task.updated_ns);
  return net::ServerEvent(fmt::to_string(task.processed), std::string(type), std::move(data));
}

// Tells of every step until the task is over.
awaitable<void> RunProgress(SharedParts parts, std::string id, net::EventSink& sink) {
  doors::RouteStore::Signal signal(parts->store, Bulk::TopicOf(id));
  while (!sink.gone()) {
    const Result<std::optional<BulkTask>> task = co_await LoadTask(parts, id);
    if (!task.ok() || !*task) co_return;
    const net::ServerEvent event = ProgressEvent(**task);
    if (!co_await sink.Send(event)) co_return;
    if ((*task)->finished()) co_return;
    if (!co_await signal.Wait()) co_return;
  }
}

awaitable<Result<HttpReply>> GetProgress(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("id");
  const Result<std::optional<BulkTask>> task = co_await LoadTask(parts, id);
  if (!task.ok()) co_return task.error();
  if (!*task) co_return NoSuchTask();
  net::HttpEventStream stream;
  stream.run = [parts, id](net::EventSink& sink) { return RunProgress(parts, id, sink); };
  co_return HttpReply(std::move(stream));
}

awaitable<Result<HttpReply>> PostRebuild(SharedParts parts, const RouteCall& /*call*/) {
  const uint64_t start_ns = parts->clock.MonotonicNs();
  auto work = [parts] { return parts->view.Rebuild(steady_clock::now() + kRebuildLimit); };
  const Result<int64_t> rebuilt = co_await doors::OnPool(parts->pool, std::move(work));
  if (!rebuilt.ok()) co_return rebuilt.error();
  co_return HttpReply(
      HttpResponse::Json(200, fmt::format(R"({{"status":"ok","rebuilt":{},"duration_ms":{}}})",
                                          *rebuilt, MillisSince(parts->clock, start_ns))));
}

std::vector<doors::QueryParameter> ListParameters() {
  return {{"queue", "Of this queue."},
          {"state", "In one of these states: a,b"},
          {"priority", "critical, high or normal."},
          {"unique_key", "With this unique key."},
          {"batch_id", "Of this batch."},
          {"worker_id", "Last given to this worker."},
          {"parent_id", "Made by this job."},
          {"chain_id", "Of this chain."},
          {"job_id_prefix", "Whose ids begin so."},
          {"payload_contains", "With this text in the payload."},
          {"payload_jq", "Whose payload is so: .plan == \"pro\""},
          {"error_contains", "With this text in one of the errors."},
          {"created_after", "RFC 3339."},
          {"created_before", "RFC 3339."},
          {"sort", "created_at, priority, started_at, completed_at or attempt."},
          {"order", "desc, or asc."},
          {"limit", "Up to 1000; 50 unless given.", "integer"},
          {"cursor", "Of the page before."}};
}

}  // namespace

void AddViewRoutes(const RouteParts& given, doors::RouteTable& table) {
  const auto parts = std::make_shared<const RouteParts>(given);
  const auto add = [&](doors::Route route, Function function) {
    route.tag = "jobs";
    route.handler = [parts, function](const RouteCall& call) {
      auto own = std::make_shared<RouteParts>(*parts);
      own->principal = call.principal;
      return function(std::move(own), call);
    };
    table.Add(std::move(route));
  };
  const doors::RouteResponse wrong{400, "The request is invalid."};
  const doors::RouteResponse later{503, "The view is not that far yet, or the query too slow."};
  const doors::RouteResponse missing{404, "There is no such bulk operation."};
  add({.method = "GET",
       .path = "/api/v1/jobs",
       .permission = "jobs.read",
       .touches = doors::Touches::Only(jobs::kQueueKind),
       .summary = "Jobs by what they are, newest first.",
       .query = ListParameters(),
       .responses = {{200, "One page of them.", kSearchResultSchema}, wrong, later}},
      GetJobs);
  add({.method = "POST",
       .path = "/api/v1/jobs/search",
       .permission = "jobs.read",
       .touches = doors::Touches::Only(jobs::kQueueKind),
       .summary = "Jobs that fit all members of the filter.",
       .request_schema = kSearchSchema,
       .responses = {{200, "One page of them.", kSearchResultSchema}, wrong, later}},
      PostSearch);
  add({.method = "GET",
       .path = "/api/v1/search/fulltext",
       .permission = "jobs.read",
       .touches = doors::Touches::Only(jobs::kQueueKind),
       .summary = "Jobs in whose id, queue, payload or tags all words occur, newest first.",
       .query = {{"q", "Words; one that ends in * stands for all that begin so.", "string", true},
                 {"limit", "Up to 500; 50 unless given.", "integer"}},
       .responses = {{200, "They are these.", kFullTextSchema}, wrong, later}},
      GetFullText);
  add({.method = "POST",
       .path = "/api/v1/jobs/bulk",
       .permission = "jobs.manage",
       .touches = doors::Touches::Only(jobs::kQueueKind),
       .summary = "The same done to many jobs; more than 1000 in the background.",
       .request_schema = kBulkSchema,
       .responses = {{200, "Done.", kBulkDoneSchema},
                     {202, "It has begun.", kBulkStartedSchema},
                     wrong,
                     later}},
      PostBulk);
  add({.method = "GET",
       .path = "/api/v1/bulk",
       .permission = "jobs.read",
       .touches = doors::Touches::Only(jobs::kQueueKind),
       .summary = "Bulk operations that run in the background or ended within a day, newest first.",
       .query = {{"limit", "Up to 1000; 50 unless given.", "integer"}},
       .responses = {{200, "They are these.", kBulkListSchema}, wrong}},
      GetBulks);
  add({.method = "POST",
       .path = "/api/v1/bulk/{id}/cancel",
       .permission = "jobs.manage",
       .touches = doors::Touches::Only(jobs::kQueueKind),
       .summary = "Ends a bulk operation before its next step; what it has done stays done.",
       .responses = {{200, "It is cancelled.", kBulkTaskSchema},
                     missing,
                     {400, "It has ended already."}}},
      PostCancelBulk);
  add({.method = "GET",
       .path = "/api/v1/bulk/{id}",
       .permission = "jobs.read",
       .touches = doors::Touches::Only(jobs::kQueueKind),
       .summary = "How far a bulk operation is.",
       .responses = {{200, "It is so far.", kBulkTaskSchema}, missing}},
      GetBulk);
  add({.method = "GET",
       .path = "/api/v1/bulk/{id}/progress",
       .permission = "jobs.read",
       .touches = doors::Touches::Only(jobs::kQueueKind),
       .summary = "Server-sent events: the steps of a bulk operation until its end.",
       .responses = {{200, "The stream.", "", "text/event-stream"}, missing}},
      GetProgress);
  add({.method = "POST",
       .path = "/api/v1/admin/rebuild-sqlite",
       .permission = "admin",
       .summary = "Builds the search view anew; the old one answers until it is ready.",
       .responses = {{200, "It is new.", kRebuiltSchema}, later}},
      PostRebuild);
}

}  // namespace cairn::view
