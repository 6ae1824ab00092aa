#include "app/schedules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>

#include "net/http/message.h"

namespace cairn::app {
namespace {

namespace json = boost::json;

constexpr std::string_view kBase = "/api/v1/schedules";

std::string TextOf(const json::value& object, std::string_view name) {
  const json::value* value = object.as_object().if_contains(name);
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? std::string(value->as_string()) : json::serialize(*value);
}

std::string PathOf(const SchedulesOptions& options, std::string_view action = "") {
  return fmt::format("{}/{}{}{}", kBase, net::PercentEncode(options.arguments[0]),
                     action.empty() ? "" : "/", action);
}

struct Question {
  std::string_view method = "GET";
  std::string path;
  std::string body = {};
};
using Asking = Result<Question> (*)(const SchedulesOptions&);

// What flags say.
json::object FlagsOf(const SchedulesOptions& options) {
  json::object body;
  const auto give = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) body[name] = text;
  };
  give("timezone", options.timezone);
  give("overlap", options.overlap);
  give("catch_up", options.catch_up);
  give("catch_up_window", options.catch_up_window);
  return body;
}

Result<Question> AskList(const SchedulesOptions& /*options*/) {
  return Question{.path = std::string(kBase)};
}
Result<Question> AskGet(const SchedulesOptions& options) {
  return Question{.path = PathOf(options)};
}
Result<Question> AskDelete(const SchedulesOptions& options) {
  return Question{.method = "DELETE", .path = PathOf(options)};
}
Result<Question> AskAction(const SchedulesOptions& options) {
  return Question{.method = "POST", .path = PathOf(options, options.action)};
}

// The payload goes as it was typed.
Result<Question> AskCreate(const SchedulesOptions& options) {
  json::object given = FlagsOf(options);
  given["name"] = options.arguments[0];
  given["cron"] = options.arguments[1];
  given["queue"] = options.arguments[2];
  std::string body = json::serialize(given);
  if (options.arguments.size() > 3) {
    boost::system::error_code failure;
    const json::value payload = json::parse(options.arguments[3], failure);
    if (failure) return Error{ErrorCode::kInvalid, "the payload is not JSON"};
    body.pop_back();
    body += R"(,"payload":)" + options.arguments[3] + "}";
  }
  return Question{.method = "POST", .path = std::string(kBase), .body = std::move(body)};
}

Result<Question> AskUpdate(const SchedulesOptions& options) {
  json::object body = FlagsOf(options);
  if (options.arguments.size() > 1) body["cron"] = options.arguments[1];
  return Question{.method = "PUT", .path = PathOf(options), .body = json::serialize(body)};
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
  terminal.Print(FormatTable(rows));
}

void PrintOne(const json::value& answer, const Terminal& terminal) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& member : answer.as_object()) {
    rows.push_back({std::string(member.key()), TextOf(answer, member.key())});
  }
  terminal.Print(FormatTable(rows));
}

struct ActionRow {
  std::string_view name;
  std::string_view arguments;
  size_t least;
  size_t most;
  Asking ask;
};
constexpr std::array kActions = {
    ActionRow{"list", "", 0, 0, AskList},
    ActionRow{"get", "NAME", 1, 1, AskGet},
    ActionRow{"create", "NAME CRON QUEUE [PAYLOAD]", 3, 4, AskCreate},
    ActionRow{"update", "NAME [CRON]", 1, 2, AskUpdate},
    ActionRow{"pause", "NAME", 1, 1, AskAction},
    ActionRow{"resume", "NAME", 1, 1, AskAction},
    ActionRow{"trigger", "NAME", 1, 1, AskAction},
    ActionRow{"delete", "NAME", 1, 1, AskDelete},
};

int Complain(const Terminal& terminal, const Error& error) {
  terminal.Complain("schedules: " + error.message);
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitFailure;
}

}  // namespace

const std::vector<std::string>& SchedulesActions() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const ActionRow& row : kActions) all.emplace_back(row.name);
    return all;
  }();
  return names;
}

std::string SchedulesActionsHelp() {
  std::vector<std::string> words;
  for (const ActionRow& row : kActions) {
    words.push_back(row.arguments.empty() ? std::string(row.name)
                                          : fmt::format("{} {}", row.name, row.arguments));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

int Schedules(const Config& config, const SchedulesOptions& options, const Terminal& terminal) {
  const auto* row = std::ranges::find(kActions, options.action, &ActionRow::name);
  if (row == kActions.end()) {
    terminal.Complain(fmt::format("schedules: unknown action '{}'{}", options.action,
                                  DidYouMean(options.action, SchedulesActions())));
    return kExitUsage;
  }
  if (options.arguments.size() < row->least || options.arguments.size() > row->most) {
    terminal.Complain(fmt::format("usage: cairn schedules {} {}", row->name, row->arguments));
    return kExitUsage;
  }
  const Result<Question> question = row->ask(options);
  if (!question.ok()) return Complain(terminal, question.error());
  Result<ApiClient> client = ApiClient::Connect(config, options.server);
  if (!client.ok()) return Complain(terminal, client.error());
  const Result<json::value> answer =
      client->Request(question->method, question->path, question->body);
  if (!answer.ok()) return Complain(terminal, answer.error());
  if (options.json) {
    terminal.Print(*answer);
  } else if (answer->is_array()) {
    PrintSchedules(*answer, terminal);
  } else {
    PrintOne(*answer, terminal);
  }
  return kExitOk;
}

}  // namespace cairn::app
