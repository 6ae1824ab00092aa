#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "app/jobs.h"
#include "net/http/message.h"

namespace cairn::app {
namespace {

namespace json = boost::json;

constexpr std::string_view kQueues = "/api/v1/queues";

std::string TextOf(const json::value& object, std::string_view name) {
  const json::value* value = object.as_object().if_contains(name);
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? std::string(value->as_string()) : json::serialize(*value);
}

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
  terminal.Print(FormatTable(rows));
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

using Asking = Result<Question> (*)(const QueuesOptions&);

std::string PathOf(const QueuesOptions& options, std::string_view rest = "") {
  return fmt::format("{}/{}{}", kQueues, net::PercentEncode(options.arguments[0]), rest);
}

Result<Question> AskList(const QueuesOptions& /*options*/) {
  return Question{.method = "GET", .path = std::string(kQueues)};
}
Result<Question> AskAction(const QueuesOptions& options) {
  return Question{.path = PathOf(options, "/" + options.action)};
}
Result<Question> AskDrain(const QueuesOptions& options) {
  return Question{.path = PathOf(options, fmt::format("/drain?timeout={}", options.wait_seconds))};
}
Result<Question> AskConcurrency(const QueuesOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(const json::value most, Number(options.arguments[1]));
  return Question{.path = PathOf(options, "/concurrency"),
                  .body = json::serialize(json::object{{"max", most}})};
}
Result<Question> AskThrottle(const QueuesOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(const json::value rate, Number(options.arguments[1]));
  CAIRN_ASSIGN_OR_RETURN(const json::value window, Number(options.arguments[2]));
  return Question{.path = PathOf(options, "/throttle"),
                  .body = json::serialize(json::object{{"rate", rate}, {"window_ms", window}})};
}
Result<Question> AskUnthrottle(const QueuesOptions& options) {
  return Question{.method = "DELETE", .path = PathOf(options, "/throttle")};
}
Result<Question> AskDelete(const QueuesOptions& options) {
  return Question{.method = "DELETE", .path = PathOf(options)};
}

struct ActionRow {
  std::string_view name;
  std::string_view arguments;
  size_t count;
  Asking ask;
};
constexpr std::array kActions = {
    ActionRow{"list", "", 0, AskList},
    ActionRow{"pause", "QUEUE", 1, AskAction},
    ActionRow{"resume", "QUEUE", 1, AskAction},
    ActionRow{"drain", "QUEUE", 1, AskDrain},
    ActionRow{"clear", "QUEUE", 1, AskAction},
    ActionRow{"concurrency", "QUEUE MAX", 2, AskConcurrency},
    ActionRow{"throttle", "QUEUE RATE WINDOW_MS", 3, AskThrottle},
    ActionRow{"unthrottle", "QUEUE", 1, AskUnthrottle},
    ActionRow{"delete", "QUEUE", 1, AskDelete},
};

int Complain(const Terminal& terminal, std::string_view command, const Error& error) {
  terminal.Complain(fmt::format("{}: {}", command, error.message));
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitFailure;
}

}  // namespace

const std::vector<std::string>& QueuesActions() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ActionRow& row : kActions) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

std::string QueuesActionsHelp() {
  std::vector<std::string> words;
  for (const ActionRow& row : kActions) {
    words.push_back(row.arguments.empty() ? std::string(row.name)
                                          : fmt::format("{} {}", row.name, row.arguments));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

int Queues(const Config& config, const QueuesOptions& options, const Terminal& terminal) {
  const auto* row = std::ranges::find(kActions, options.action, &ActionRow::name);
  if (row == kActions.end()) {
    terminal.Complain(fmt::format("queues: unknown action '{}'{}", options.action,
                                  DidYouMean(options.action, QueuesActions())));
    return kExitUsage;
  }
  if (options.arguments.size() != row->count) {
    terminal.Complain(fmt::format("usage: cairn queues {} {}", row->name, row->arguments));
    return kExitUsage;
  }
  const Result<Question> question = row->ask(options);
  if (!question.ok()) return Complain(terminal, "queues", question.error());
  Result<ApiClient> client =
      ApiClient::Connect(config, options.server, std::chrono::seconds(30 + options.wait_seconds));
  if (!client.ok()) return Complain(terminal, "queues", client.error());
  const Result<json::value> answer =
      client->Request(question->method, question->path, question->body);
  if (!answer.ok()) return Complain(terminal, "queues", answer.error());
  if (options.json) {
    terminal.Print(*answer);
  } else if (row->ask == AskList) {
    PrintQueues(*answer, terminal);
  } else {
    terminal.Print(fmt::format("{}  {}", options.arguments[0], TextOf(*answer, "status")));
  }
  // A queue that did not run empty in time is what a script wants to know.
  return TextOf(answer->is_object() ? *answer : json::object(), "status") == "draining"
             ? kExitFailure
             : kExitOk;
}

int Workers(const Config& config, const WorkersOptions& options, const Terminal& terminal) {
  Result<ApiClient> client = ApiClient::Connect(config, options.server);
  if (!client.ok()) return Complain(terminal, "workers", client.error());
  const Result<json::value> workers = client->Get("/api/v1/workers");
  if (!workers.ok()) return Complain(terminal, "workers", workers.error());
  if (options.json) {
    terminal.Print(*workers);
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows = {
      {"worker", "host", "last heard of", "since", "queues"}};
  for (const json::value& worker : workers->as_array()) {
    rows.push_back({TextOf(worker, "id"), TextOf(worker, "hostname"),
                    TextOf(worker, "last_heartbeat"), TextOf(worker, "started_at"),
                    TextOf(worker, "queues")});
  }
  terminal.Print(FormatTable(rows));
  return kExitOk;
}

}  // namespace cairn::app
