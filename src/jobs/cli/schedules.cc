#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "house/api_client.h"
#include "house/terminal.h"
#include "jobs/cli/text.h"
#include "jobs/cli/verbs.h"
#include "net/http/message.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;
using cli::TextOf;
using house::ApiClient;
using house::Terminal;
using house::VerbAction;
using house::VerbCall;

constexpr std::string_view kBase = "/api/v1/schedules";

std::string PathOf(const VerbCall& call, std::string_view action = "") {
  return fmt::format("{}/{}{}{}", kBase, net::PercentEncode(call.arguments[0]),
                     action.empty() ? "" : "/", action);
}

struct Question {
  std::string_view method = "GET";
  std::string path;
  std::string body = {};
};
using Asking = Result<Question> (*)(const VerbCall&);

// What flags say.
json::object FlagsOf(const VerbCall& call) {
  json::object body;
  const auto give = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) body[name] = text;
  };
  give("timezone", call.Text("timezone"));
  give("overlap", call.Text("overlap"));
  give("catch_up", call.Text("catch-up"));
  give("catch_up_window", call.Text("catch-up-window"));
  return body;
}

Result<Question> AskList(const VerbCall& /*call*/) { return Question{.path = std::string(kBase)}; }
Result<Question> AskGet(const VerbCall& call) { return Question{.path = PathOf(call)}; }
Result<Question> AskDelete(const VerbCall& call) {
  return Question{.method = "DELETE", .path = PathOf(call)};
}
Result<Question> AskAction(const VerbCall& call) {
  return Question{.method = "POST", .path = PathOf(call, call.action)};
}

// The payload goes as it was typed.
Result<Question> AskCreate(const VerbCall& call) {
  json::object given = FlagsOf(call);
  given["name"] = call.arguments[0];
  given["cron"] = call.arguments[1];
  given["queue"] = call.arguments[2];
  std::string body = json::serialize(given);
  if (call.arguments.size() > 3) {
    boost::system::error_code failure;
    const json::value payload = json::parse(call.arguments[3], failure);
    if (failure) return Error{ErrorCode::kInvalid, "the payload is not JSON"};
    body.pop_back();
    body += R"(,"payload":)" + call.arguments[3] + "}";
  }
  return Question{.method = "POST", .path = std::string(kBase), .body = std::move(body)};
}

Result<Question> AskUpdate(const VerbCall& call) {
  json::object body = FlagsOf(call);
  if (call.arguments.size() > 1) body["cron"] = call.arguments[1];
  return Question{.method = "PUT", .path = PathOf(call), .body = json::serialize(body)};
}

void PrintSchedules(const json::value& schedules, const Terminal& terminal) {
  std::vector<std::vector<std::string>> rows = {
      {"schedule", "queue", "cron", "time zone", "next run", "last run", "runs"}};
  for (const json::value& schedule : schedules.as_array()) {
    const bool paused = TextOf(schedule, "paused") == "true";
    rows.push_back({TextOf(schedule, "name"), TextOf(schedule, "queue"), TextOf(schedule, "cron"),
                    TextOf(schedule, "timezone"),
                    paused ? std::string("paused") : TextOf(schedule, "next_run"),
                    TextOf(schedule, "last_run"), TextOf(schedule, "runs")});
  }
  terminal.Print(house::FormatTable(rows));
}

void PrintOne(const json::value& answer, const Terminal& terminal) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& member : answer.as_object()) {
    rows.push_back({std::string(member.key()), TextOf(answer, member.key())});
  }
  terminal.Print(house::FormatTable(rows));
}

struct ActionRow {
  VerbAction action;
  Asking ask;
};
const std::vector<ActionRow>& Actions() {
  static const std::vector<ActionRow> actions = {
      {{"list"}, AskList},
      {{"get", "NAME", 1, 1}, AskGet},
      {{"create", "NAME CRON QUEUE [PAYLOAD]", 3, 4}, AskCreate},
      {{"update", "NAME [CRON]", 1, 2}, AskUpdate},
      {{"pause", "NAME", 1, 1}, AskAction},
      {{"resume", "NAME", 1, 1}, AskAction},
      {{"trigger", "NAME", 1, 1}, AskAction},
      {{"delete", "NAME", 1, 1}, AskDelete},
  };
  return actions;
}

int Complain(const Terminal& terminal, const Error& error) {
  terminal.Complain("schedules: " + error.message);
  return error.code == ErrorCode::kInvalid ? house::kExitUsage : house::kExitFailure;
}

// Page after page, until there is an empty one.
Result<json::value> ListAll(ApiClient& client) {
  json::array all;
  std::string path(kBase);
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(json::value page, client.Get(path));
    if (!page.is_array() || page.get_array().empty()) return json::value(std::move(all));
    for (json::value& schedule : page.get_array()) all.push_back(std::move(schedule));
    path = fmt::format("{}?cursor={}", kBase, net::PercentEncode(TextOf(all.back(), "id")));
  }
}

int Run(const VerbCall& call) {
  const auto row = std::ranges::find(Actions(), call.action,
                                     [](const ActionRow& one) { return one.action.name; });
  const Result<Question> question = row->ask(call);
  if (!question.ok()) return Complain(call.terminal, question.error());
  if (!call.server.ok()) return Complain(call.terminal, call.server.error());
  ApiClient client(*call.server);
  const Result<json::value> answer =
      question->path == kBase && question->method == "GET"
          ? ListAll(client)
          : client.Request(question->method, question->path, question->body);
  if (!answer.ok()) return Complain(call.terminal, answer.error());
  if (call.json) {
    call.terminal.Print(*answer);
  } else if (answer->is_array()) {
    PrintSchedules(*answer, call.terminal);
  } else {
    PrintOne(*answer, call.terminal);
  }
  return house::kExitOk;
}

}  // namespace

house::Verb SchedulesVerb() {
  house::Verb verb{
      .name = "schedules",
      .description = "List, create, pause and trigger jobs that come again",
      .initial_action = "list",
      .options = {{"timezone", "ZONE", "create, update: Europe/Berlin (default: UTC)"},
                  {"overlap", "skip|queue|parallel",
                   "create, update: while the job before has not ended (default: skip)"},
                  {"catch-up", "none|one|all",
                   "create, update: for ticks that were missed (default: one)"},
                  {"catch-up-window", "24h",
                   "create, update: how late a missed tick may still run (default: 24h)"}},
      .run = Run};
  for (const ActionRow& row : Actions()) verb.actions.push_back(row.action);
  return verb;
}

}  // namespace cairn::jobs
