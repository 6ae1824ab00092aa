#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "house/api_client.h"
#include "house/terminal.h"
#include "jobs/cli/dump.h"
#include "jobs/cli/text.h"
#include "jobs/cli/verbs.h"
#include "net/http/message.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;
using cli::TextOf;
using house::ApiClient;
using house::Colour;
using house::Terminal;
using house::VerbAction;
using house::VerbCall;
using house::VerbOption;

constexpr std::string_view kBase = "/api/v1";

std::string JobPath(std::string_view id, std::string_view action = "") {
  return fmt::format("{}/jobs/{}{}{}", kBase, net::PercentEncode(id), action.empty() ? "" : "/",
                     action);
}

Colour ColourOf(std::string_view state) {
  if (state == "completed") return Colour::kGreen;
  if (state == "dead" || state == "cancelled") return Colour::kRed;
  if (state == "active" || state == "retrying" || state == "held") return Colour::kYellow;
  return Colour::kPlain;
}

// --- Printing ------------------------------------------------------------------------------------

void PrintStatus(const json::value& answer, const Terminal& terminal) {
  for (const json::value& one : answer.as_array()) {
    terminal.Print(fmt::format("{}  {}", TextOf(one, "job_id"), TextOf(one, "status")));
  }
}

void PrintEnqueued(const json::value& answer, const Terminal& terminal) {
  terminal.Print(fmt::format("{}  {}", TextOf(answer, "job_id"), TextOf(answer, "status")));
}

void PrintJob(const json::value& job, const Terminal& terminal) {
  const std::string state = TextOf(job, "state");
  terminal.Print(fmt::format("{}  {}  {}", terminal.Paint(Colour::kBold, TextOf(job, "id")),
                             TextOf(job, "queue"), terminal.Paint(ColourOf(state), state)));
  std::vector<std::vector<std::string>> rows;
  for (const auto& member : job.as_object()) {
    const std::string_view name(member.key());
    if (name == "id" || name == "queue" || name == "state" || name == "errors") continue;
    if (member.value().is_null()) continue;
    rows.push_back({"  " + std::string(name), TextOf(job, name)});
  }
  terminal.Print(house::FormatTable(rows));
  const json::value* errors = job.as_object().if_contains("errors");
  if (errors == nullptr) return;
  for (const json::value& error : errors->as_array()) {
    terminal.Print(fmt::format("{} attempt {}, {}: {}", terminal.Paint(Colour::kRed, "failed"),
                               TextOf(error, "attempt"), TextOf(error, "created_at"),
                               TextOf(error, "error")));
  }
}

std::string Shortened(std::string text) {
  constexpr size_t kShownBytes = 60;
  if (text.size() > kShownBytes) text.replace(kShownBytes, std::string::npos, "…");
  return text;
}

void PrintJobs(const json::value& page, const Terminal& terminal) {
  std::vector<std::vector<std::string>> rows = {
      {"job", "queue", "state", "attempt", "created", "payload"}};
  for (const json::value& job : page.at("jobs").as_array()) {
    rows.push_back({TextOf(job, "id"), TextOf(job, "queue"), TextOf(job, "state"),
                    TextOf(job, "attempt"), TextOf(job, "created_at"),
                    Shortened(TextOf(job, "payload"))});
  }
  terminal.Print(house::FormatTable(rows));
  terminal.Print(fmt::format("{} of {}", page.at("jobs").as_array().size(), TextOf(page, "total")));
  if (const std::string cursor = TextOf(page, "cursor"); !cursor.empty()) {
    terminal.Print(fmt::format("more with --cursor {}", cursor));
  }
}

void PrintFound(const json::value& answer, const Terminal& terminal) {
  std::vector<std::vector<std::string>> rows = {{"job", "queue", "state", "created", "payload"}};
  for (const json::value& job : answer.at("results").as_array()) {
    rows.push_back({TextOf(job, "id"), TextOf(job, "queue"), TextOf(job, "state"),
                    TextOf(job, "created_at"), Shortened(TextOf(job, "payload"))});
  }
  terminal.Print(house::FormatTable(rows));
}

void PrintBulk(const json::value& answer, const Terminal& terminal) {
  if (answer.as_object().contains("bulk_operation_id")) {
    terminal.Print(fmt::format("{}  {}  about {} jobs; GET {} follows it",
                               TextOf(answer, "bulk_operation_id"), TextOf(answer, "status"),
                               TextOf(answer, "estimated_total"), TextOf(answer, "progress_url")));
    return;
  }
  terminal.Print(fmt::format("{} changed, {} could not be", TextOf(answer, "affected"),
                             TextOf(answer, "errors")));
}

void PrintVerification(const json::value& report, const Terminal& terminal) {
  if (report.at("sound").as_bool()) {
    terminal.Print(fmt::format("{} {} jobs in {} queues agree with every index and count",
                               terminal.Paint(Colour::kGreen, "ok"), TextOf(report, "jobs"),
                               TextOf(report, "queues")));
    return;
  }
  for (const json::value& problem : report.at("problems").as_array()) {
    terminal.Print(fmt::format("{} {}", terminal.Paint(Colour::kRed, "wrong"),
                               std::string_view(problem.as_string())));
  }
  if (const std::string more = TextOf(report, "more_problems"); more != "0") {
    terminal.Print(fmt::format("and {} more", more));
  }
}

void PrintExported(const json::value& answer, const Terminal& terminal) {
  terminal.Print(fmt::format("{} bytes in {}", TextOf(answer, "bytes"), TextOf(answer, "file")));
}

void PrintImported(const json::value& answer, const Terminal& terminal) {
  terminal.Print(fmt::format("{} jobs restored", TextOf(answer, "jobs")));
  PrintVerification(answer.at("verify"), terminal);
}

// --- Actions -------------------------------------------------------------------------------------

struct Asked {
  json::value answer;
  int exit = house::kExitOk;
};
using Action = Result<Asked> (*)(ApiClient&, const VerbCall&);
using Printer = void (*)(const json::value&, const Terminal&);

Result<json::object> Tags(const std::vector<std::string>& tags) {
  json::object object;
  for (const std::string& tag : tags) {
    const size_t equals = tag.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::kInvalid, fmt::format("--tag '{}': expected NAME=VALUE", tag)};
    }
    object[tag.substr(0, equals)] = tag.substr(equals + 1);
  }
  return object;
}

// The request without its payload, which goes as it was typed.
Result<std::string> EnqueueBody(const VerbCall& call) {
  json::object request{{"queue", call.arguments[0]}};
  const auto give = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) request[name] = text;
  };
  give("priority", call.Text("priority"));
  give("unique_key", call.Text("unique-key"));
  give("delay", call.Text("delay"));
  give("scheduled_at", call.Text("scheduled-at"));
  if (call.Number("max-retries") >= 0) request["max_retries"] = call.Number("max-retries");
  if (!call.List("tag").empty()) {
    CAIRN_ASSIGN_OR_RETURN(request["tags"], Tags(call.List("tag")));
  }
  std::string body = json::serialize(request);
  if (call.arguments.size() < 2) return body;
  boost::system::error_code failure;
  const json::value payload = json::parse(call.arguments[1], failure);
  if (failure) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("the payload is not JSON: {}", failure.message())};
  }
  body.pop_back();
  return body + R"(,"payload":)" + call.arguments[1] + "}";
}

Result<Asked> Enqueue(ApiClient& client, const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(std::string body, EnqueueBody(call));
  CAIRN_ASSIGN_OR_RETURN(json::value answer,
                         client.Post(std::string(kBase) + "/enqueue", std::move(body)));
  return Asked{std::move(answer)};
}

// Enqueues and waits: prints the job as it ended.
Result<Asked> EnqueueAndWait(ApiClient& client, const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const Asked enqueued, Enqueue(client, call));
  CAIRN_ASSIGN_OR_RETURN(
      json::value job,
      client.Get(fmt::format("{}?timeout={}", JobPath(TextOf(enqueued.answer, "job_id"), "wait"),
                             call.Number("wait"))));
  const int exit = TextOf(job, "state") == "completed" ? house::kExitOk : house::kExitFailure;
  return Asked{std::move(job), exit};
}

Result<Asked> Get(ApiClient& client, const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(json::value job, client.Get(JobPath(call.arguments[0])));
  return Asked{std::move(job)};
}

// What --filter, --queue and --state say together.
Result<json::object> FilterOf(const VerbCall& call) {
  json::object filter;
  if (!call.Text("filter").empty()) {
    boost::system::error_code failure;
    const json::value given = json::parse(call.Text("filter"), failure);
    if (failure || !given.is_object()) {
      return Error{ErrorCode::kInvalid, "--filter is not a JSON object"};
    }
    filter = given.as_object();
  }
  if (!call.Text("queue").empty()) filter["queue"] = call.Text("queue");
  if (!call.Text("state").empty()) {
    json::array states;
    std::string_view rest = call.Text("state");
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      states.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    filter["state"] = std::move(states);
  }
  return filter;
}

Result<Asked> List(ApiClient& client, const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(json::object filter, FilterOf(call));
  filter["limit"] = call.Number("limit");
  if (!call.Text("cursor").empty()) filter["cursor"] = call.Text("cursor");
  CAIRN_ASSIGN_OR_RETURN(json::value page,
                         client.Post(std::string(kBase) + "/jobs/search", json::serialize(filter)));
  return Asked{std::move(page)};
}

Result<Asked> Search(ApiClient& client, const VerbCall& call) {
  const std::string words = fmt::format("{}", fmt::join(call.arguments, " "));
  CAIRN_ASSIGN_OR_RETURN(
      json::value found,
      client.Get(fmt::format("{}/search/fulltext?q={}&limit={}", kBase, net::PercentEncode(words),
                             std::min<int64_t>(call.Number("limit"), 500))));
  return Asked{std::move(found)};
}

// To the jobs named, or to all that fit; never to all there are by mistake.
Result<Asked> Bulk(ApiClient& client, const VerbCall& call) {
  json::object body{{"action", call.arguments[0]}};
  CAIRN_ASSIGN_OR_RETURN(const json::object filter, FilterOf(call));
  if (call.arguments.size() > 1) {
    json::array ids(call.arguments.begin() + 1, call.arguments.end());
    body["job_ids"] = std::move(ids);
  } else if (!filter.empty()) {
    body["filter"] = filter;
  } else {
    return Error{ErrorCode::kInvalid,
                 "give job ids, or select jobs with --queue, --state or --filter"};
  }
  if (!call.Text("to").empty()) body["move_to_queue"] = call.Text("to");
  if (!call.Text("priority").empty()) body["priority"] = call.Text("priority");
  CAIRN_ASSIGN_OR_RETURN(json::value answer,
                         client.Post(std::string(kBase) + "/jobs/bulk", json::serialize(body)));
  const int exit = TextOf(answer, "errors").empty() || TextOf(answer, "errors") == "0"
                       ? house::kExitOk
                       : house::kExitFailure;
  return Asked{std::move(answer), exit};
}

// Does the same to each of the jobs; goes on after one that cannot be changed.
Result<Asked> ForEach(const std::vector<std::string>& ids,
                      const std::function<Result<json::value>(const std::string&)>& change) {
  Asked asked{json::array()};
  for (const std::string& id : ids) {
    const Result<json::value> answer = change(id);
    if (!answer.ok()) asked.exit = house::kExitFailure;
    const std::string status = answer.ok() ? TextOf(*answer, "status") : answer.error().message;
    json::object row{{"job_id", id}};
    row[answer.ok() ? "status" : "error"] = status;
    if (!answer.ok()) row["status"] = "error: " + status;
    asked.answer.as_array().push_back(std::move(row));
  }
  return asked;
}

Result<Asked> Act(ApiClient& client, const VerbCall& call) {
  std::string body;
  if (call.action == "hold" && !call.Text("reason").empty()) {
    body = json::serialize(json::object{{"reason", call.Text("reason")}});
  }
  return ForEach(call.arguments, [&](const std::string& id) {
    return client.Post(JobPath(id, call.action), body);
  });
}

Result<Asked> Delete(ApiClient& client, const VerbCall& call) {
  return ForEach(call.arguments,
                 [&](const std::string& id) { return client.Request("DELETE", JobPath(id), ""); });
}

Result<Asked> Move(ApiClient& client, const VerbCall& call) {
  const std::string body = json::serialize(json::object{{"queue", call.arguments[1]}});
  return ForEach({call.arguments[0]},
                 [&](const std::string& id) { return client.Post(JobPath(id, "move"), body); });
}

Result<Asked> Verify(ApiClient& client, const VerbCall& /*call*/) {
  CAIRN_ASSIGN_OR_RETURN(json::value report, client.Get(fmt::format("{}/admin/verify", kBase)));
  const int exit = report.at("sound").as_bool() ? house::kExitOk : house::kExitFailure;
  return Asked{std::move(report), exit};
}

Result<Asked> Export(ApiClient& client, const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, ExportJobs(client, call.arguments[0]));
  return Asked{json::object{{"file", call.arguments[0]}, {"bytes", bytes}}};
}

Result<Asked> Import(ApiClient& client, const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(json::value answer, ImportJobs(client, call.arguments[0]));
  const int exit = answer.at("verify").at("sound").as_bool() ? house::kExitOk : house::kExitFailure;
  return Asked{std::move(answer), exit};
}

struct ActionRow {
  VerbAction action;
  Action run;
  Printer print;
};
const std::vector<ActionRow>& Actions() {
  constexpr size_t kAny = VerbAction::kAny;
  static const std::vector<ActionRow> actions = {
      {{"enqueue", "QUEUE [PAYLOAD]", 1, 2}, Enqueue, PrintEnqueued},
      {{"get", "ID", 1, 1}, Get, PrintJob},
      {{"list"}, List, PrintJobs},
      {{"search", "WORD…", 1, kAny}, Search, PrintFound},
      {{"bulk", "ACTION [ID…]", 1, kAny}, Bulk, PrintBulk},
      {{"retry", "ID…", 1, kAny}, Act, PrintStatus},
      {{"cancel", "ID…", 1, kAny}, Act, PrintStatus},
      {{"hold", "ID…", 1, kAny}, Act, PrintStatus},
      {{"approve", "ID…", 1, kAny}, Act, PrintStatus},
      {{"reject", "ID…", 1, kAny}, Act, PrintStatus},
      {{"move", "ID QUEUE", 2, 2}, Move, PrintStatus},
      {{"delete", "ID…", 1, kAny}, Delete, PrintStatus},
      {{"verify"}, Verify, PrintVerification},
      {{"export", "FILE", 1, 1}, Export, PrintExported},
      {{"import", "FILE", 1, 1}, Import, PrintImported},
  };
  return actions;
}

int Complain(const Terminal& terminal, const Error& error) {
  terminal.Complain("jobs: " + error.message);
  return house::kExitFailure;
}

int Run(const VerbCall& call) {
  const auto row = std::ranges::find(Actions(), call.action,
                                     [](const ActionRow& one) { return one.action.name; });
  const int64_t wait_seconds = std::max<int64_t>(call.Number("wait"), 0);
  const bool waits = call.action == "enqueue" && wait_seconds > 0;
  // An import is answered when all of it is done.
  const auto patience = call.action == "import" ? std::chrono::seconds(std::chrono::hours(1))
                                                : std::chrono::seconds(30 + wait_seconds);
  if (!call.server.ok()) return Complain(call.terminal, call.server.error());
  ApiClient client(*call.server, patience);
  const Result<Asked> asked = (waits ? EnqueueAndWait : row->run)(client, call);
  if (!asked.ok()) return Complain(call.terminal, asked.error());
  if (call.json) {
    call.terminal.Print(asked->answer);
  } else {
    (waits ? PrintJob : row->print)(asked->answer, call.terminal);
  }
  return asked->exit;
}

std::vector<VerbOption> Options() {
  using Kind = VerbOption::Kind;
  return {
      {"priority", "critical|high|normal", "enqueue, bulk change_priority: the priority"},
      {"unique-key", "KEY", "enqueue: only one live job may have this key"},
      {"delay", "5s", "enqueue: not before this much later"},
      {"scheduled-at", "TIME", "enqueue: not before this time (RFC 3339)"},
      {"tag", "NAME=VALUE", "enqueue: a tag of the job; may be repeated", Kind::kList},
      {.name = "max-retries",
       .value_name = "N",
       .description = "enqueue: retries after the first run",
       .kind = Kind::kNumber,
       .initial = -1},
      {.name = "wait",
       .value_name = "SECONDS",
       .description = "enqueue: wait this many seconds at most for the job to end, then show it",
       .kind = Kind::kNumber,
       .initial = -1,
       .most = 60},
      {"reason", "TEXT", "hold: why"},
      {"queue", "QUEUE", "list, bulk: jobs of this queue"},
      {"state", "STATE,…", "list, bulk: jobs in these states"},
      {"filter", "JSON", "list, bulk: what else has to fit, as POST /api/v1/jobs/search takes it"},
      {"cursor", "CURSOR", "list: goes on behind this page"},
      {"to", "QUEUE", "bulk move: into this queue"},
      {.name = "limit",
       .value_name = "N",
       .description = "list, search: how many at most",
       .kind = Kind::kNumber,
       .initial = 50,
       .least = 1,
       .most = 1'000},
  };
}

}  // namespace

house::Verb JobsVerb() {
  house::Verb verb{.name = "jobs", .description = "Enqueue, look at, change and verify jobs"};
  for (const ActionRow& row : Actions()) verb.actions.push_back(row.action);
  verb.options = Options();
  verb.run = Run;
  return verb;
}

}  // namespace cairn::jobs
