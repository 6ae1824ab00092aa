#include "admin/routes.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "admin/backup.h"
#include "admin/metrics.h"
#include "doors/http/request_values.h"
#include "doors/turn/on_pool.h"

namespace cairn::admin {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;
using doors::RouteCall;
using doors::TextOf;
using net::HttpReply;
using net::HttpResponse;

constexpr std::string_view kHealthSchema =
    R"({"type":"object","required":["status"],"properties":{"status":{"type":"string","enum":["ok"]}}})";
constexpr std::string_view kReadySchema =
    R"({"type":"object","required":["status"],"properties":{"status":{"type":"string","enum":["ready"]}}})";
constexpr std::string_view kNotReadySchema =
    R"({"type":"object","required":["status","reason"],"properties":{
        "status":{"type":"string","enum":["not_ready"]},"reason":{"type":"string"}}})";
constexpr std::string_view kBackupRequestSchema =
    R"({"type":"object","required":["directory"],"properties":{
        "directory":{"type":"string","minLength":1,
          "description":"Where the backup goes: a path that does not exist, below the server's backup.directory or relative to it."},
        "data":{"type":"string",
          "description":"Refuse unless this is the data directory that the server serves."}}})";
constexpr std::string_view kBackupSchema =
    R"({"type":"object","required":["directory","bytes","duration_ms"],"properties":{
        "directory":{"type":"string"},"bytes":{"type":"integer"},"duration_ms":{"type":"integer"}}})";

constexpr std::string_view kClusterSchema =
    R"({"type":"object","required":["mode","node_id","server_version","status","started_at","uptime_seconds",
        "durability","last_commit","durable_commit"],"properties":{
        "mode":{"type":"string","enum":["single","cluster"],
          "description":"single: the embedded engine. cluster: PostgreSQL, which other servers may share."},
        "node_id":{"type":"string","description":"Of this run of this server: the run_id of INFO."},
        "server_version":{"type":"string"},
        "status":{"type":"string","enum":["ready","not_ready"]},
        "reason":{"type":"string","description":"Why it is not ready."},
        "started_at":{"type":"string"},"uptime_seconds":{"type":"integer"},
        "durability":{"type":"string","enum":["sync","interval","os"]},
        "last_commit":{"type":"integer","description":"The newest commit this server has seen."},
        "durable_commit":{"type":"integer"},
        "fires_timers":{"type":"boolean","description":"Left out in a cluster: servers take turns."},
        "nodes":{"type":"array","description":"Left out in a cluster: servers do not know of one another.",
          "items":{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}},
        "events":{"type":"object","required":["newest","removed"],
          "description":"Numbers of the event log; left out if the store cannot be read.","properties":{
          "newest":{"type":"integer"},"removed":{"type":"integer","description":"Events up to this one are gone."}}},
        "sqlite_mirror":{"type":"object","required":["async","applied","newest_event","lag","dropped"],
          "description":"This server's search view.","properties":{
          "async":{"type":"boolean"},"applied":{"type":"integer","description":"The last event in it."},
          "newest_event":{"type":"integer"},"lag":{"type":"integer",
            "description":"How far it is behind, in numbers of events, which have gaps; 0: not at all."},
          "dropped":{"type":"integer"}}}}})";

HttpReply JsonReply(int status, const json::object& body) {
  return HttpResponse::Json(status, json::serialize(body));
}

awaitable<Result<HttpReply>> Alive() { co_return JsonReply(200, {{"status", "ok"}}); }

awaitable<Result<HttpReply>> Ready(const house::Health& health) {
  if (const std::optional<std::string> reason = health.WhyNotReady()) {
    co_return JsonReply(503, {{"status", "not_ready"}, {"reason", *reason}});
  }
  co_return JsonReply(200, {{"status", "ready"}});
}

// Whether the body is declared as JSON. A page of another site can make a browser send other types
// to this server without asking, so what changes something takes no other.
bool IsJson(const net::HttpRequest& request) {
  const std::string_view type = request.headers.Get("Content-Type").value_or("");
  return type == "application/json" || type.starts_with("application/json;");
}

Result<void> CheckData(const AdminParts& parts, const RouteCall& call) {
  const std::string data = TextOf(call.body, "data");
  std::error_code differs;
  if (!data.empty() && !std::filesystem::equivalent(data, parts.data, differs)) {
    return Error{ErrorCode::kConflict,
                 fmt::format("this server serves {}, not {}", parts.data, data)};
  }
  return {};
}

awaitable<Result<HttpReply>> Backup(const AdminParts& parts, const RouteCall& call) {
  if (!IsJson(call.request)) {
    co_return HttpReply(
        HttpResponse::Json(415, net::HttpErrorBody("invalid", "the body must be application/json",
                                                   call.request.request_id)));
  }
  const Result<void> acceptable = CheckData(parts, call);
  if (!acceptable.ok()) co_return acceptable.error();
  call.audit_detail = TextOf(call.body, "directory");
  auto work = [&parts, directory = TextOf(call.body, "directory")]() -> Result<BackupReport> {
    CAIRN_ASSIGN_OR_RETURN(const std::string place, PlaceOfBackup(parts.backups, directory));
    return MakeBackup(parts.store, place, parts.clock);
  };
  const Result<BackupReport> report = co_await doors::OnPool(parts.pool, std::move(work));
  if (!report.ok()) co_return report.error();
  co_return JsonReply(200, report->ToJson());
}

awaitable<Result<HttpReply>> Metrics(const AdminParts& parts) {
  auto work = [&parts]() -> Result<std::string> { return parts.metrics(); };
  const Result<std::string> text = co_await doors::OnPool(parts.pool, std::move(work));
  if (!text.ok()) co_return text.error();
  HttpResponse response = HttpResponse::Text(200, *text);
  response.headers.Set("Content-Type", std::string(kMetricsType));
  co_return HttpReply(std::move(response));
}

awaitable<Result<HttpReply>> Cluster(const AdminParts& parts) {
  auto work = [&parts]() -> Result<std::string> { return json::serialize(parts.cluster()); };
  Result<std::string> text = co_await doors::OnPool(parts.pool, std::move(work));
  if (!text.ok()) co_return text.error();
  co_return HttpReply(HttpResponse::Json(200, *std::move(text)));
}

}  // namespace

void AddRoutes(const AdminParts& given, doors::RouteTable& table) {
  const auto parts = std::make_shared<const AdminParts>(given);
  table.Add({.method = "GET",
             .path = "/healthz",
             .touches = doors::Touches::Nothing(),
             .summary = "Whether the process is alive.",
             .responses = {{200, "It is.", kHealthSchema}},
             .handler = [](const RouteCall&) { return Alive(); }});
  table.Add({.method = "GET",
             .path = "/readyz",
             .touches = doors::Touches::Nothing(),
             .summary = "Whether the server takes reads and writes.",
             .responses = {{200, "It does.", kReadySchema},
                           {503, "It does not, and why.", kNotReadySchema}},
             .handler = [parts](const RouteCall&) { return Ready(parts->health); }});
  for (const std::string_view path : {"/metrics", "/api/v1/metrics"}) {
    table.Add({.method = "GET",
               .path = path,
               .permission = "metrics.read",
               .summary = "Figures for Prometheus.",
               .responses = {{200, "In the text format.", "", "text/plain"}},
               .handler = [parts](const RouteCall&) { return Metrics(*parts); }});
  }
  table.Add({.method = "GET",
             .path = "/api/v1/cluster/status",
             .permission = "metrics.read",
             .summary = "What this server is, how far it is, and what it shares.",
             .responses = {{200, "The nodes.", kClusterSchema}},
             .handler = [parts](const RouteCall&) { return Cluster(*parts); }});
  table.Add({.method = "POST",
             .path = "/v1/admin/backup",
             .permission = "admin.backup",
             .summary = "Copies the store into a new directory on the server's machine.",
             .tag = "admin",
             .request_schema = kBackupRequestSchema,
             .responses = {{200, "The backup is complete and durable.", kBackupSchema}},
             .handler = [parts](const RouteCall& call) { return Backup(*parts, call); }});
}

}  // namespace cairn::admin
