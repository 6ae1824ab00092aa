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
  const std::string& typed = call.Text("function");
  if (typed.empty()) return UsageError("say what to run: --function FUNCTION@ALIAS");
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

Result<Request> Create(const VerbCall& call, const NamespaceName& ns) {
  CAIRN_RETURN_IF_ERROR(NamePath(call));
  json::object body{{"name", call.arguments[0]}};
  const std::string& cron = call.Text("cron");
  const int64_t every = call.Number("every");
  if (cron.empty() == (every < kMinEverySeconds)) {
    return UsageError("say when, in one way: --every SECONDS or --cron 'EXPRESSION'");
  }
  if (cron.empty()) {
    body["every_seconds"] = every;
    if (!call.Text("zone").empty()) return UsageError("--zone is for --cron");
  } else {
    body["cron"] = cron;
    if (!call.Text("zone").empty()) body["time_zone"] = call.Text("zone");
  }
  const std::string& overlap = call.Text("overlap");
  if (!overlap.empty()) {
    if (overlap != "skip" && overlap != "queue" && overlap != "parallel") {
      return UsageError(
          fmt::format("--overlap '{}': expected skip, queue or parallel", Printable(overlap)));
    }
    body["overlap_policy"] = overlap;
  }
  CAIRN_ASSIGN_OR_RETURN(body["ref"], RefOf(call, ns));
  std::string text = json::serialize(body);
  if (!call.Text("payload").empty()) {
    CAIRN_ASSIGN_OR_RETURN(const std::string payload,
                           cli::ReadJson("--payload", call.Text("payload")));
    text.pop_back();
    text += fmt::format(R"(,"payload":{}}})", payload);
  }
  return Request{"POST", "/schedules", std::move(text)};
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
      {{"create", "NAME", 1, 1}, Create},  {{"list"}, List},
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
      {"function", "FUNCTION@REF", "create: what to run, by alias or version"},
      {.name = "every",
       .value_name = "SECONDS",
       .description = "create: an interval",
       .kind = VerbOption::Kind::kNumber,
       .initial = 0,
       .least = kMinEverySeconds,
       .most = kMaxEverySeconds},
      {"cron", "EXPRESSION", "create: minute, hour, day, month and day of the week"},
      {"zone", "ZONE", "create: the time zone of --cron, such as Europe/Berlin (default: UTC)"},
      {"overlap", "skip|queue|parallel",
       "create: when the run before has not ended (default: skip)"},
      {"payload", "JSON", "create: the event, as JSON or in a file; - reads it"},
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
