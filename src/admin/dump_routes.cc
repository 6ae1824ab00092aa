#include "admin/dump_routes.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admin/limits.h"
#include "base/json_text.h"
#include "doors/access/principal.h"
#include "doors/turn/on_pool.h"

namespace cairn::admin {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;
using doors::RouteCall;
using net::HttpReply;
using net::HttpResponse;

constexpr int64_t kMaxLine = std::numeric_limits<int64_t>::max() / 2;

constexpr std::string_view kTakenSchema =
    R"({"type":"object","required":["status","lines"],"properties":{
        "status":{"type":"string","enum":["taken"]},
        "lines":{"type":"integer","description":"Lines that are there; the next part begins behind them."}}})";

// --- Backup --------------------------------------------------------------------------------------

// Sends the dump piece by piece; whether all of it went.
awaitable<bool> SendDump(DumpParts parts, std::shared_ptr<house::Dump> dump,
                         std::shared_ptr<const doors::Principal> principal, net::BodySink& sink) {
  while (principal == nullptr || !principal->ended()) {
    auto work = [dump] { return dump->Next(); };
    Result<std::string> piece = co_await doors::OnPool(parts.pool, std::move(work));
    if (!piece.ok()) {
      // For people who look why it ends here; no restore takes such a line.
      std::string last =
          json::serialize(json::object{{"type", "failed"}, {"error", piece.error().message}});
      last += "\n";
      co_await sink.Write(std::move(last));
      co_return false;
    }
    if (piece->empty()) co_return true;
    const bool sent = co_await sink.Write(*std::move(piece));
    if (!sent) co_return false;
  }
  co_return false;
}

awaitable<Result<HttpReply>> GetBackup(DumpParts parts, const RouteCall& call) {
  auto work = [parts] { return parts.dump.begin(parts.store); };
  Result<std::unique_ptr<house::Dump>> begun = co_await doors::OnPool(parts.pool, std::move(work));
  if (!begun.ok()) co_return HttpReply(parts.dump.error_reply(begun.error()));
  net::HttpBodyStream stream;
  stream.headers.Set("Content-Type", "application/x-ndjson");
  stream.run = [parts, dump = std::shared_ptr<house::Dump>(*std::move(begun)),
                principal = call.principal](net::BodySink& sink) {
    return SendDump(parts, dump, principal, sink);
  };
  co_return HttpReply(std::move(stream));
}

// --- Restore -------------------------------------------------------------------------------------

Result<int64_t> FirstLine(const net::HttpRequest& request) {
  const auto text = request.Query("line");
  if (!text) return 1;
  int64_t line = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), line);
  if (failure != std::errc() || end != text->data() + text->size() || line < 1 || line > kMaxLine) {
    return Error{ErrorCode::kInvalid, fmt::format("line must be from 1 to {}", kMaxLine)};
  }
  return line;
}

awaitable<Result<HttpReply>> PostRestore(DumpParts parts, const RouteCall& call) {
  const Result<int64_t> line = FirstLine(call.request);
  if (!line.ok()) co_return HttpReply(parts.dump.error_reply(line.error()));
  auto work = [parts, line = *line, text = call.request.body] {
    return parts.dump.restore(parts.store, line, text);
  };
  const Result<house::RestoreProgress> progress =
      co_await doors::OnPool(parts.pool, std::move(work));
  if (!progress.ok()) co_return HttpReply(parts.dump.error_reply(progress.error()));
  json::object answer{{"status", progress->finished ? "restored" : "taken"},
                      {"lines", progress->lines}};
  for (const auto& member : progress->summary) answer[member.key()] = member.value();
  co_return HttpReply(HttpResponse::Json(progress->finished ? 200 : 202, json::serialize(answer)));
}

}  // namespace

void AddDumpRoutes(const DumpParts& parts, doors::RouteTable& table) {
  const house::LayerDump& dump = parts.dump;
  const auto refused = [&dump](int status, std::string_view description) {
    return doors::RouteResponse{status, description, dump.error_schema};
  };
  table.Add(
      {.method = "GET",
       .path = dump.backup_path,
       .permission = dump.backup_permission,
       .summary = dump.backup_summary,
       .tag = "admin",
       .responses = {{200, "The lines; the last one is of type end.", "", "application/x-ndjson"},
                     refused(409, "A restore is being carried out.")},
       .handler = [parts](const RouteCall& call) { return GetBackup(parts, call); }});
  table.Add({.method = "POST",
             .path = dump.restore_path,
             .permission = dump.restore_permission,
             .summary = dump.restore_summary,
             .tag = "admin",
             .query = {{"line",
                        "The number of the first line in the body; 1 unless given. The body "
                        "is up to 32 MiB of whole lines.",
                        "integer"}},
             .responses = {{200, "All of it is restored.", dump.restored_schema},
                           {202, "So far; more is to come.", kTakenSchema},
                           refused(400, "A line is wrong: nothing is restored."),
                           refused(409, "The queue is not empty, or other lines are to come.")},
             .body_limit = kMaxPartBytes,
             .handler = [parts](const RouteCall& call) { return PostRestore(parts, call); }});
}

}  // namespace cairn::admin
