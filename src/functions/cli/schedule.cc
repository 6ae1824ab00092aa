#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "functions/cli/call.h"
#include "functions/cli/verbs.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "net/http/message.h"

// cairn schedule ACTION …: functions that are run again and again.
namespace cairn::functions {
namespace {

namespace json = boost::json;
using cli::TextOf;
using cli::UsageError;
using house::ApiClient;
using house::VerbAction;
using house::VerbCall;
using house::VerbOption;

constexpr int64_t kUsualEverySeconds = 30;

struct Request {
  std::string method;
  std::string rest;  // of the path, behind the namespace's
  std::string body = {};
};

Result<std::string> NamePath(const VerbCall& call, std::string_view rest = "") {
  const std::string& name = call.arguments[0];
  const Result<void> named = CheckName(NameKind::kSchedule, name);
  if (!named.ok()) return UsageError(std::string(RefusalText(named.error())));
  return fmt::format("/schedules/{}{}", name, rest);
}

// {"function","alias" or "version"}
Result<json::object> RefOf(const VerbCall& call, const NamespaceName& ns) {
  const std::string& typed = call.Text(call.Text("function").empty() ? "fn" : "function");
  CAIRN_ASSIGN_OR_RETURN(const cli::FunctionRef ref, cli::ParseFunctionRef(call, typed));
  if (ref.function.in() != ns) {
    return UsageError(fmt::format("{} is in another namespace than the schedule, {}/{}",
                                  ResourceName(ref.function), ns.tenant, ns.name));
  }
  json::object object{{"function", ref.function.name}};
  if (ref.version) {
    object["version"] = *ref.version;
  } else if (!ref.alias.empty()) {
    object["alias"] = ref.alias;
  } else {
    return UsageError(
        fmt::format("say which version to run: --function {}@ALIAS or {}@VERSION", typed, typed));
  }
  return object;
}

// Of --every and --cron, one at most.
Result<void> AddTimes(const VerbCall& call, json::object& body) {
  const std::string& cron = call.Text("cron");
  const bool every = call.Number("every") >= kMinEverySeconds;
  if (every && !cron.empty()) {
    return UsageError("say when, in one way: --every SECONDS or --cron 'EXPRESSION'");
  }
  if (every) body["every_seconds"] = call.Number("every");
  if (!cron.empty()) body["cron"] = cron;
  if (const std::string& zone = call.Text("zone"); !zone.empty()) {
    if (every) return UsageError("--zone is for --cron");
    body["time_zone"] = zone;
  }
  return {};
}

// What the options say, and nothing else.
Result<json::object> GivenOf(const VerbCall& call, const NamespaceName& ns) {
  json::object body;
  CAIRN_RETURN_IF_ERROR(AddTimes(call, body));
  const std::string& overlap = call.Text("overlap");
  if (!overlap.empty()) {
    if (overlap != "skip" && overlap != "queue" && overlap != "parallel") {
      return UsageError(
          fmt::format("--overlap '{}': expected skip, queue or parallel", Printable(overlap)));
    }
    body["overlap_policy"] = overlap;
  }
  if (!call.Text("function").empty() || !call.Text("fn").empty()) {
    CAIRN_ASSIGN_OR_RETURN(body["ref"], RefOf(call, ns));
  }
  return body;
}

// The body, with the payload in the words in which it was typed: numbers stay as they are.
Result<std::string> TextWithPayload(const VerbCall& call, const json::object& body) {
  std::string text = json::serialize(body);
  if (call.Text("payload").empty()) return text;
  CAIRN_ASSIGN_OR_RETURN(const std::string payload,
                         cli::ReadJson("--payload", call.Text("payload")));
  text.pop_back();
  text += fmt::format(R"({}"payload":{}}})", body.empty() ? "" : ",", payload);
  return text;
}

Result<Request> Create(const VerbCall& call, const NamespaceName& ns) {
  CAIRN_RETURN_IF_ERROR(NamePath(call));
  CAIRN_ASSIGN_OR_RETURN(json::object body, GivenOf(call, ns));
  if (!body.contains("ref")) return UsageError("say what to run: --function FUNCTION@ALIAS");
  if (!body.contains("cron") && !body.contains("every_seconds")) {
    if (body.contains("time_zone")) return UsageError("--zone is for --cron");
    body["every_seconds"] = kUsualEverySeconds;
  }
  body["name"] = call.arguments[0];
  Request request{"POST", "/schedules"};
  CAIRN_ASSIGN_OR_RETURN(request.body, TextWithPayload(call, body));
  return request;
}

Result<Request> Update(const VerbCall& call, const NamespaceName& ns) {
  Request request{"PUT", ""};
  CAIRN_ASSIGN_OR_RETURN(request.rest, NamePath(call));
  CAIRN_ASSIGN_OR_RETURN(const json::object body, GivenOf(call, ns));
  CAIRN_ASSIGN_OR_RETURN(request.body, TextWithPayload(call, body));
  if (request.body == "{}") {
    return UsageError(
        "say what changes: --every, --cron, --zone, --overlap, --function, --payload");
  }
  return request;
}

Result<Request> List(const VerbCall& call, const NamespaceName& /*ns*/) {
  std::string rest = fmt::format("/schedules?limit={}", call.Number("limit"));
  if (!call.Text("cursor").empty()) rest += "&cursor=" + net::PercentEncode(call.Text("cursor"));
  return Request{"GET", std::move(rest)};
}

Result<Request> Get(const VerbCall& call, const NamespaceName& /*ns*/) {
  Request request{"GET", ""};
  CAIRN_ASSIGN_OR_RETURN(request.rest, NamePath(call));
  return request;
}

Result<Request> Delete(const VerbCall& call, const NamespaceName& /*ns*/) {
  Request request{"DELETE", ""};
  CAIRN_ASSIGN_OR_RETURN(request.rest, NamePath(call));
  return request;
}

Result<Request> Switch(const VerbCall& call, const NamespaceName& /*ns*/) {
  Request request{"POST", ""};
  CAIRN_ASSIGN_OR_RETURN(request.rest, NamePath(call, "/" + call.action));
  return request;
}

struct ActionRow {
  VerbAction action;
  Result<Request> (*make)(const VerbCall& call, const NamespaceName& ns);
};
const std::vector<ActionRow>& Actions() {
  static const std::vector<ActionRow> actions = {
      {{"create", "NAME", 1, 1}, Create},  {{"set", "NAME", 1, 1}, Update},
      {{"update", "NAME", 1, 1}, Update},  {{"list"}, List},
      {{"get", "NAME", 1, 1}, Get},        {{"enable", "NAME", 1, 1}, Switch},
      {{"disable", "NAME", 1, 1}, Switch}, {{"delete", "NAME", 1, 1}, Delete},
  };
  return actions;
}

std::string WhenOf(const json::value& schedule) {
  const std::string cron = TextOf(schedule, "cron");
  if (cron.empty()) return fmt::format("every {} s", TextOf(schedule, "every_seconds"));
  const std::string zone = TextOf(schedule, "time_zone");
  return zone.empty() ? cron : fmt::format("{} {}", cron, zone);
}

std::string TargetOf(const json::value& schedule) {
  const json::value& ref = schedule.at("ref");
  const std::string version = TextOf(ref, "version");
  return fmt::format("{}@{}", TextOf(ref, "function"),
                     version.empty() ? TextOf(ref, "alias") : version);
}

void PrintSchedules(const json::value& page, const house::Terminal& terminal) {
  std::vector<std::vector<std::string>> rows = {{"schedule", "state", "when", "function"}};
  for (const json::value& schedule : page.at("schedules").as_array()) {
    const bool enabled = TextOf(schedule, "enabled") == "true";
    rows.push_back({TextOf(schedule, "name"), enabled ? "enabled" : "disabled", WhenOf(schedule),
                    TargetOf(schedule)});
  }
  terminal.Print(house::FormatTable(rows));
  const std::string cursor = TextOf(page, "cursor");
  if (!cursor.empty()) terminal.Print(fmt::format("more with --cursor {}", cursor));
}

Result<int> Ask(const VerbCall& call) {
  const auto row = std::ranges::find(Actions(), call.action,
                                     [](const ActionRow& one) { return one.action.name; });
  CAIRN_ASSIGN_OR_RETURN(const NamespaceName ns, cli::NamespaceOf(call));
  CAIRN_ASSIGN_OR_RETURN(const Request request, row->make(call, ns));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, cli::ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(
      const json::value answer,
      client.Request(request.method, cli::NamespacePath(ns, request.rest), request.body));
  if (call.json) {
    call.terminal.Print(answer);
  } else if (call.action == "list") {
    PrintSchedules(answer, call.terminal);
  } else {
    cli::PrintMembers(answer, call.terminal);
  }
  return house::kExitOk;
}

int Run(const VerbCall& call) {
  const Result<int> exit = Ask(call);
  return exit.ok() ? *exit : cli::Fail(call, "schedule " + call.action, exit.error());
}

}  // namespace

house::Verb ScheduleVerb() {
  house::Verb verb{
      .name = "schedule",
      .description = "Run functions at intervals or at times of the calendar",
      .options = cli::NameOptions(),
      .run = Run,
  };
  const std::vector<VerbOption> own = {
      {"function", "FUNCTION@REF", "create, set: what to run, by alias or version"},
      {"fn", "FUNCTION@REF", "create, set: the same"},
      {.name = "every",
       .value_name = "SECONDS",
       .description = "create, set: an interval (default: 30, without --cron)",
       .kind = VerbOption::Kind::kNumber,
       .initial = 0,
       .least = kMinEverySeconds,
       .most = kMaxEverySeconds},
      {"cron", "EXPRESSION", "create, set: minute, hour, day, month and day of the week"},
      {"zone", "ZONE",
       "create, set: the time zone of --cron, such as Europe/Berlin (default: UTC)"},
      {"overlap", "skip|queue|parallel",
       "create, set: when the run before has not ended (default: skip)"},
      {"payload", "JSON", "create, set: the event, as JSON or in a file; - reads it"},
      {"cursor", "CURSOR", "list: go on where a page ended"},
      {.name = "limit",
       .value_name = "N",
       .description = "list: entries of a page",
       .kind = VerbOption::Kind::kNumber,
       .initial = kDefaultPage,
       .least = 1,
       .most = kMaxPage},
  };
  verb.options.insert(verb.options.end(), own.begin(), own.end());
  for (const ActionRow& row : Actions()) verb.actions.push_back(row.action);
  return verb;
}

}  // namespace cairn::functions
