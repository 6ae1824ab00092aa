#include "admin/dump_routes.h"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>

#include "doors/on_pool.h"
#include "doors/principal.h"
#include "jobs/dump.h"
#include "jobs/job_json.h"
#include "jobs/route_support.h"

namespace cairn::admin {
namespace {

using boost::asio::awaitable;
using doors::RouteCall;
using jobs::ErrorReply;
using jobs::Json;
using jobs::Refused;
using net::HttpReply;

using SharedParts = std::shared_ptr<const AdminParts>;

// What one request may bring: it is held in memory. A larger dump comes in parts.
constexpr size_t kMaxPartBytes = 32UL * 1024 * 1024;

constexpr std::string_view kTakenSchema =
    R"({"type":"object","required":["status","lines"],"properties":{
        "status":{"type":"string","enum":["taken"]},
        "lines":{"type":"integer","description":"Lines that are there; the next part begins behind them."}}})";
constexpr std::string_view kRestoredSchema =
    R"({"type":"object","required":["status","lines","jobs","verify"],"properties":{
        "status":{"type":"string","enum":["restored"]},
        "lines":{"type":"integer"},"jobs":{"type":"integer"},
        "verify":{"type":"object","required":["sound","problems"],"additionalProperties":true,
          "description":"As GET /api/v1/admin/verify has it, after the restore.","properties":{
          "sound":{"type":"boolean"},"problems":{"type":"array","items":{"type":"string"}}}}}})";

// --- Backup --------------------------------------------------------------------------------------

Result<std::shared_ptr<jobs::Dump>> BeginDump(store::Store& store) {
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<store::Snapshot> snapshot, store.Read());
  CAIRN_RETURN_IF_ERROR(store.Durable(snapshot->commit()));
  CAIRN_ASSIGN_OR_RETURN(jobs::Dump dump, jobs::Dump::Begin(std::move(snapshot)));
  return std::make_shared<jobs::Dump>(std::move(dump));
}

// Sends the dump piece by piece; whether all of it went.
awaitable<bool> SendDump(SharedParts parts, std::shared_ptr<jobs::Dump> dump,
                         std::shared_ptr<const doors::Principal> principal, net::BodySink& sink) {
  while (principal == nullptr || !principal->ended()) {
    auto work = [dump] { return dump->Next(); };
    Result<std::string> piece = co_await doors::OnPool(parts->pool, std::move(work));
    if (!piece.ok()) {
      // For people who look why it ends here; no restore takes such a line.
      std::string last = R"({"type":"failed","error":)";
      jobs::AppendJsonString(piece.error().message, last);
      last += "}\n";
      co_await sink.Write(std::move(last));
      co_return false;
    }
    if (piece->empty()) co_return true;
    const bool sent = co_await sink.Write(*std::move(piece));
    if (!sent) co_return false;
  }
  co_return false;
}

awaitable<Result<HttpReply>> GetBackup(SharedParts parts, const RouteCall& call) {
  auto work = [parts] { return BeginDump(parts->store); };
  Result<std::shared_ptr<jobs::Dump>> dump = co_await doors::OnPool(parts->pool, std::move(work));
  if (!dump.ok()) co_return HttpReply(ErrorReply(dump.error()));
  net::HttpBodyStream stream;
  stream.headers.Set("Content-Type", "application/x-ndjson");
  stream.run = [parts, dump = *std::move(dump), principal = call.principal](net::BodySink& sink) {
    return SendDump(parts, dump, principal, sink);
  };
  co_return HttpReply(std::move(stream));
}

// --- Restore -------------------------------------------------------------------------------------

awaitable<Result<HttpReply>> PostRestore(SharedParts parts, const RouteCall& call) {
  const Result<int64_t> line =
      jobs::QueryNumber(call.request, "line", 1, 1, std::numeric_limits<int64_t>::max() / 2);
  if (!line.ok()) co_return HttpReply(ErrorReply(line.error()));
  auto work = [parts, line = *line, text = call.request.body] {
    return jobs::Restore(parts->store, line, text);
  };
  const Result<jobs::RestoreReport> report = co_await doors::OnPool(parts->pool, std::move(work));
  if (!report.ok()) co_return HttpReply(ErrorReply(report.error()));
  if (!report->finished) {
    co_return HttpReply(
        Json(202, fmt::format(R"({{"status":"taken","lines":{}}})", report->lines)));
  }
  co_return HttpReply(
      Json(200, fmt::format(R"({{"status":"restored","lines":{},"jobs":{},"verify":{}}})",
                            report->lines, report->jobs, report->verify.ToJson())));
}

}  // namespace

void AddDumpRoutes(const SharedParts& parts, doors::RouteTable& table) {
  table.Add(
      {.method = "GET",
       .path = "/api/v1/admin/backup",
       .permission = "jobs.backup",
       .summary = "All jobs, queues, batches, schedules and webhooks, secrets included, as of "
                  "one moment: lines of JSON.",
       .tag = "admin",
       .responses = {{200, "The lines; the last one is of type end.", "", "application/x-ndjson"},
                     Refused(409, "A restore is being carried out.")},
       .handler = [parts](const RouteCall& call) { return GetBackup(parts, call); }});
  table.Add({.method = "POST",
             .path = "/api/v1/admin/restore",
             .permission = "jobs.restore",
             .summary =
                 "Takes the lines of a backup, all at once or in parts, into a queue that is "
                 "empty; with the last line it is as it was.",
             .tag = "admin",
             .query = {{"line",
                        "The number of the first line in the body; 1 unless given. The body "
                        "is up to 32 MiB of whole lines.",
                        "integer"}},
             .responses = {{200, "All of it is restored.", kRestoredSchema},
                           {202, "So far; more is to come.", kTakenSchema},
                           Refused(400, "A line is wrong: nothing is restored."),
                           Refused(409, "The queue is not empty, or other lines are to come.")},
             .body_limit = kMaxPartBytes,
             .handler = [parts](const RouteCall& call) { return PostRestore(parts, call); }});
}

}  // namespace cairn::admin
