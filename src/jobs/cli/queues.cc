#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
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

constexpr std::string_view kQueues = "/api/v1/queues";

std::string LimitsOf(const json::value& queue) {
  std::string limits;
  if (queue.at("paused").as_bool()) limits = "paused ";
  if (const std::string most = TextOf(queue, "max_concurrency"); !most.empty()) {
    limits += fmt::format("at most {} at once ", most);
  }
  if (const std::string rate = TextOf(queue, "rate_limit"); !rate.empty()) {
    limits += fmt::format("{} per {} ms", rate, TextOf(queue, "rate_window_ms"));
  }
  return limits;
}

void PrintQueues(const json::value& queues, const Terminal& terminal) {
  std::vector<std::vector<std::string>> rows = {{"queue", "pending", "active", "scheduled",
                                                 "retrying", "held", "completed", "dead",
                                                 "limits"}};
  for (const json::value& queue : queues.as_array()) {
    std::vector<std::string> row;
    for (const std::string_view name :
         {"name", "pending", "active", "scheduled", "retrying", "held", "completed", "dead"}) {
      row.push_back(TextOf(queue, name));
    }
    row.push_back(LimitsOf(queue));
    rows.push_back(std::move(row));
  }
  terminal.Print(house::FormatTable(rows));
}

struct Question {
  std::string_view method = "POST";
  std::string path;
  std::string body = {};
};

// A number of the command line as JSON, or why it is none.
Result<json::value> Number(const std::string& text) {
  boost::system::error_code failure;
  json::value value = json::parse(text, failure);
  if (failure || !value.is_int64() || value.as_int64() < 0) {
    return Error{ErrorCode::kInvalid, fmt::format("'{}' is not a number", text)};
  }
  return value;
}

using Asking = Result<Question> (*)(const VerbCall&);

std::string PathOf(const VerbCall& call, std::string_view rest = "") {
  return fmt::format("{}/{}{}", kQueues, net::PercentEncode(call.arguments[0]), rest);
}

Result<Question> AskList(const VerbCall& /*call*/) {
  return Question{.method = "GET", .path = std::string(kQueues)};
}
Result<Question> AskAction(const VerbCall& call) {
  return Question{.path = PathOf(call, "/" + call.action)};
}
Result<Question> AskDrain(const VerbCall& call) {
  return Question{.path = PathOf(call, fmt::format("/drain?timeout={}", call.Number("wait")))};
}
Result<Question> AskConcurrency(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const json::value most, Number(call.arguments[1]));
  return Question{.path = PathOf(call, "/concurrency"),
                  .body = json::serialize(json::object{{"max", most}})};
}
Result<Question> AskThrottle(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const json::value rate, Number(call.arguments[1]));
  CAIRN_ASSIGN_OR_RETURN(const json::value window, Number(call.arguments[2]));
  return Question{.path = PathOf(call, "/throttle"),
                  .body = json::serialize(json::object{{"rate", rate}, {"window_ms", window}})};
}
Result<Question> AskUnthrottle(const VerbCall& call) {
  return Question{.method = "DELETE", .path = PathOf(call, "/throttle")};
}
Result<Question> AskDelete(const VerbCall& call) {
  return Question{.method = "DELETE", .path = PathOf(call)};
}

struct ActionRow {
  VerbAction action;
  Asking ask;
};
const std::vector<ActionRow>& Actions() {
  static const std::vector<ActionRow> actions = {
      {{"list"}, AskList},
      {{"pause", "QUEUE", 1, 1}, AskAction},
      {{"resume", "QUEUE", 1, 1}, AskAction},
      {{"drain", "QUEUE", 1, 1}, AskDrain},
      {{"clear", "QUEUE", 1, 1}, AskAction},
      {{"concurrency", "QUEUE MAX", 2, 2}, AskConcurrency},
      {{"throttle", "QUEUE RATE WINDOW_MS", 3, 3}, AskThrottle},
      {{"unthrottle", "QUEUE", 1, 1}, AskUnthrottle},
      {{"delete", "QUEUE", 1, 1}, AskDelete},
  };
  return actions;
}

int Complain(const Terminal& terminal, std::string_view command, const Error& error) {
  terminal.Complain(fmt::format("{}: {}", command, error.message));
  return error.code == ErrorCode::kInvalid ? house::kExitUsage : house::kExitFailure;
}

int RunQueues(const VerbCall& call) {
  const auto row = std::ranges::find(Actions(), call.action,
                                     [](const ActionRow& one) { return one.action.name; });
  const Result<Question> question = row->ask(call);
  if (!question.ok()) return Complain(call.terminal, "queues", question.error());
  if (!call.server.ok()) return Complain(call.terminal, "queues", call.server.error());
  ApiClient client(*call.server, std::chrono::seconds(30 + call.Number("wait")));
  const Result<json::value> answer =
      client.Request(question->method, question->path, question->body);
  if (!answer.ok()) return Complain(call.terminal, "queues", answer.error());
  if (call.json) {
    call.terminal.Print(*answer);
  } else if (row->ask == AskList) {
    PrintQueues(*answer, call.terminal);
  } else {
    call.terminal.Print(fmt::format("{}  {}", call.arguments[0], TextOf(*answer, "status")));
  }
  // A queue that did not run empty in time is what a script wants to know.
  return TextOf(answer->is_object() ? *answer : json::object(), "status") == "draining"
             ? house::kExitFailure
             : house::kExitOk;
}

int RunWorkers(const VerbCall& call) {
  if (!call.server.ok()) return Complain(call.terminal, "workers", call.server.error());
  ApiClient client(*call.server);
  const Result<json::value> workers = client.Get("/api/v1/workers");
  if (!workers.ok()) return Complain(call.terminal, "workers", workers.error());
  if (call.json) {
    call.terminal.Print(*workers);
    return house::kExitOk;
  }
  std::vector<std::vector<std::string>> rows = {
      {"worker", "host", "last heard of", "since", "queues"}};
  for (const json::value& worker : workers->as_array()) {
    rows.push_back({TextOf(worker, "id"), TextOf(worker, "hostname"),
                    TextOf(worker, "last_heartbeat"), TextOf(worker, "started_at"),
                    TextOf(worker, "queues")});
  }
  call.terminal.Print(house::FormatTable(rows));
  return house::kExitOk;
}

}  // namespace

house::Verb QueuesVerb() {
  house::Verb verb{.name = "queues",
                   .description = "List queues, pause, drain, limit or clear them",
                   .initial_action = "list",
                   .options = {{.name = "wait",
                                .value_name = "SECONDS",
                                .description = "drain: wait so long until nothing runs",
                                .kind = house::VerbOption::Kind::kNumber,
                                .initial = 30,
                                .most = 60}},
                   .run = RunQueues};
  for (const ActionRow& row : Actions()) verb.actions.push_back(row.action);
  return verb;
}

house::Verb WorkersVerb() {
  return {.name = "workers", .description = "List the workers that fetch jobs", .run = RunWorkers};
}

}  // namespace cairn::jobs
