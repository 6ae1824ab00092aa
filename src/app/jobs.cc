#include "app/jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <limits>

#include "app/job_dump.h"
#include "net/http/message.h"

namespace cairn::app {
namespace {

namespace json = boost::json;

constexpr std::string_view kBase = "/api/v1";

std::string JobPath(std::string_view id, std::string_view action = "") {
  return fmt::format("{}/jobs/{}{}{}", kBase, net::PercentEncode(id), action.empty() ? "" : "/",
                     action);
}

std::string TextOf(const json::value& object, std::string_view name) {
  const json::value* value = object.as_object().if_contains(name);
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? std::string(value->as_string()) : json::serialize(*value);
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
  terminal.Print(FormatTable(rows));
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
  terminal.Print(FormatTable(rows));
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
  terminal.Print(FormatTable(rows));
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
  int exit = kExitOk;
};
using Action = Result<Asked> (*)(ApiClient&, const JobsOptions&);
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
Result<std::string> EnqueueBody(const JobsOptions& options) {
  json::object request{{"queue", options.arguments[0]}};
  const auto give = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) request[name] = text;
  };
  give("priority", options.priority);
  give("unique_key", options.unique_key);
  give("delay", options.delay);
  give("scheduled_at", options.scheduled_at);
  if (options.max_retries >= 0) request["max_retries"] = options.max_retries;
  if (!options.tags.empty()) {
    CAIRN_ASSIGN_OR_RETURN(request["tags"], Tags(options.tags));
  }
  std::string body = json::serialize(request);
  if (options.arguments.size() < 2) return body;
  boost::system::error_code failure;
  const json::value payload = json::parse(options.arguments[1], failure);
  if (failure) {
    return Error{ErrorCode::kInvalid,
                 fmt::format("the payload is not JSON: {}", failure.message())};
  }
  body.pop_back();
  return body + R"(,"payload":)" + options.arguments[1] + "}";
}

Result<Asked> Enqueue(ApiClient& client, const JobsOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(std::string body, EnqueueBody(options));
  CAIRN_ASSIGN_OR_RETURN(json::value answer,
                         client.Post(std::string(kBase) + "/enqueue", std::move(body)));
  return Asked{std::move(answer)};
}

// Enqueues and waits: prints the job as it ended.
Result<Asked> EnqueueAndWait(ApiClient& client, const JobsOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(const Asked enqueued, Enqueue(client, options));
  CAIRN_ASSIGN_OR_RETURN(
      json::value job,
      client.Get(fmt::format("{}?timeout={}", JobPath(TextOf(enqueued.answer, "job_id"), "wait"),
                             options.wait_seconds)));
  const int exit = TextOf(job, "state") == "completed" ? kExitOk : kExitFailure;
  return Asked{std::move(job), exit};
}

Result<Asked> Get(ApiClient& client, const JobsOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(json::value job, client.Get(JobPath(options.arguments[0])));
  return Asked{std::move(job)};
}

// What --filter, --queue and --state say together.
Result<json::object> FilterOf(const JobsOptions& options) {
  json::object filter;
  if (!options.filter.empty()) {
    boost::system::error_code failure;
    const json::value given = json::parse(options.filter, failure);
    if (failure || !given.is_object()) {
      return Error{ErrorCode::kInvalid, "--filter is not a JSON object"};
    }
    filter = given.as_object();
  }
  if (!options.queue.empty()) filter["queue"] = options.queue;
  if (!options.states.empty()) {
    json::array states;
    std::string_view rest = options.states;
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      states.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    filter["state"] = std::move(states);
  }
  return filter;
}

Result<Asked> List(ApiClient& client, const JobsOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(json::object filter, FilterOf(options));
  filter["limit"] = options.limit;
  if (!options.cursor.empty()) filter["cursor"] = options.cursor;
  CAIRN_ASSIGN_OR_RETURN(json::value page,
                         client.Post(std::string(kBase) + "/jobs/search", json::serialize(filter)));
  return Asked{std::move(page)};
}

Result<Asked> Search(ApiClient& client, const JobsOptions& options) {
  const std::string words = fmt::format("{}", fmt::join(options.arguments, " "));
  CAIRN_ASSIGN_OR_RETURN(
      json::value found,
      client.Get(fmt::format("{}/search/fulltext?q={}&limit={}", kBase, net::PercentEncode(words),
                             std::min<int64_t>(options.limit, 500))));
  return Asked{std::move(found)};
}

// To the jobs named, or to all that fit; never to all there are by mistake.
Result<Asked> Bulk(ApiClient& client, const JobsOptions& options) {
  json::object body{{"action", options.arguments[0]}};
  CAIRN_ASSIGN_OR_RETURN(const json::object filter, FilterOf(options));
  if (options.arguments.size() > 1) {
    json::array ids(options.arguments.begin() + 1, options.arguments.end());
    body["job_ids"] = std::move(ids);
  } else if (!filter.empty()) {
    body["filter"] = filter;
  } else {
    return Error{ErrorCode::kInvalid, "name jobs, or which ones with --queue, --state or --filter"};
  }
  if (!options.to_queue.empty()) body["move_to_queue"] = options.to_queue;
  if (!options.priority.empty()) body["priority"] = options.priority;
  CAIRN_ASSIGN_OR_RETURN(json::value answer,
                         client.Post(std::string(kBase) + "/jobs/bulk", json::serialize(body)));
  const int exit =
      TextOf(answer, "errors").empty() || TextOf(answer, "errors") == "0" ? kExitOk : kExitFailure;
  return Asked{std::move(answer), exit};
}

// Does the same to each of the jobs; goes on after one that cannot be changed.
Result<Asked> ForEach(const std::vector<std::string>& ids,
                      const std::function<Result<json::value>(const std::string&)>& change) {
  Asked asked{json::array()};
  for (const std::string& id : ids) {
    const Result<json::value> answer = change(id);
    if (!answer.ok()) asked.exit = kExitFailure;
    const std::string status = answer.ok() ? TextOf(*answer, "status") : answer.error().message;
    json::object row{{"job_id", id}};
    row[answer.ok() ? "status" : "error"] = status;
    if (!answer.ok()) row["status"] = "error: " + status;
    asked.answer.as_array().push_back(std::move(row));
  }
  return asked;
}

Result<Asked> Act(ApiClient& client, const JobsOptions& options) {
  std::string body;
  if (options.action == "hold" && !options.reason.empty()) {
    body = json::serialize(json::object{{"reason", options.reason}});
  }
  return ForEach(options.arguments, [&](const std::string& id) {
    return client.Post(JobPath(id, options.action), body);
  });
}

Result<Asked> Delete(ApiClient& client, const JobsOptions& options) {
  return ForEach(options.arguments,
                 [&](const std::string& id) { return client.Request("DELETE", JobPath(id), ""); });
}

Result<Asked> Move(ApiClient& client, const JobsOptions& options) {
  const std::string body = json::serialize(json::object{{"queue", options.arguments[1]}});
  return ForEach({options.arguments[0]},
                 [&](const std::string& id) { return client.Post(JobPath(id, "move"), body); });
}

Result<Asked> Verify(ApiClient& client, const JobsOptions& /*options*/) {
  CAIRN_ASSIGN_OR_RETURN(json::value report, client.Get(fmt::format("{}/admin/verify", kBase)));
  const int exit = report.at("sound").as_bool() ? kExitOk : kExitFailure;
  return Asked{std::move(report), exit};
}

Result<Asked> Export(ApiClient& client, const JobsOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, ExportJobs(client, options.arguments[0]));
  return Asked{json::object{{"file", options.arguments[0]}, {"bytes", bytes}}};
}

Result<Asked> Import(ApiClient& client, const JobsOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(json::value answer, ImportJobs(client, options.arguments[0]));
  const int exit = answer.at("verify").at("sound").as_bool() ? kExitOk : kExitFailure;
  return Asked{std::move(answer), exit};
}

constexpr size_t kAny = std::numeric_limits<size_t>::max();

struct ActionRow {
  std::string_view name;
  std::string_view arguments;  // as the help names them
  size_t least;
  size_t most;
  Action run;
  Printer print;
};
constexpr std::array kActions = {
    ActionRow{"enqueue", "QUEUE [PAYLOAD]", 1, 2, Enqueue, PrintEnqueued},
    ActionRow{"get", "ID", 1, 1, Get, PrintJob},
    ActionRow{"list", "", 0, 0, List, PrintJobs},
    ActionRow{"search", "WORD…", 1, kAny, Search, PrintFound},
    ActionRow{"bulk", "ACTION [ID…]", 1, kAny, Bulk, PrintBulk},
    ActionRow{"retry", "ID…", 1, kAny, Act, PrintStatus},
    ActionRow{"cancel", "ID…", 1, kAny, Act, PrintStatus},
    ActionRow{"hold", "ID…", 1, kAny, Act, PrintStatus},
    ActionRow{"approve", "ID…", 1, kAny, Act, PrintStatus},
    ActionRow{"reject", "ID…", 1, kAny, Act, PrintStatus},
    ActionRow{"move", "ID QUEUE", 2, 2, Move, PrintStatus},
    ActionRow{"delete", "ID…", 1, kAny, Delete, PrintStatus},
    ActionRow{"verify", "", 0, 0, Verify, PrintVerification},
    ActionRow{"export", "FILE", 1, 1, Export, PrintExported},
    ActionRow{"import", "FILE", 1, 1, Import, PrintImported},
};

int Complain(const Terminal& terminal, const Error& error) {
  terminal.Complain("jobs: " + error.message);
  return kExitFailure;
}

}  // namespace

const std::vector<std::string>& JobsActions() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ActionRow& row : kActions) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

std::string JobsActionsHelp() {
  std::vector<std::string> words;
  for (const ActionRow& row : kActions) {
    words.push_back(row.arguments.empty() ? std::string(row.name)
                                          : fmt::format("{} {}", row.name, row.arguments));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

int Jobs(const Config& config, const JobsOptions& options, const Terminal& terminal) {
  const auto* row = std::ranges::find(kActions, options.action, &ActionRow::name);
  if (row == kActions.end()) {
    terminal.Complain(fmt::format("jobs: unknown action '{}'{}", options.action,
                                  DidYouMean(options.action, JobsActions())));
    return kExitUsage;
  }
  if (options.arguments.size() < row->least || options.arguments.size() > row->most) {
    terminal.Complain(fmt::format("usage: cairn jobs {} {}", row->name, row->arguments));
    return kExitUsage;
  }
  const bool waits = options.action == "enqueue" && options.wait_seconds > 0;
  // An import is answered when all of it is done.
  const auto patience = options.action == "import"
                            ? std::chrono::seconds(std::chrono::hours(1))
                            : std::chrono::seconds(30 + options.wait_seconds);
  Result<ApiClient> client = ApiClient::Connect(config, options.server, patience);
  if (!client.ok()) return Complain(terminal, client.error());
  const Result<Asked> asked = (waits ? EnqueueAndWait : row->run)(*client, options);
  if (!asked.ok()) return Complain(terminal, asked.error());
  if (options.json) {
    terminal.Print(asked->answer);
  } else {
    (waits ? PrintJob : row->print)(asked->answer, terminal);
  }
  return asked->exit;
}

}  // namespace cairn::app
