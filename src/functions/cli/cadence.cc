#include <fmt/format.h>

#include <algorithm>
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
#include "house/nearest.h"
#include "net/http/message.h"

// cairn cadence worker ACTION …: bindings between task lists of Cadence and functions.
namespace cairn::functions {
namespace {

namespace json = boost::json;
using cli::TextOf;
using cli::UsageError;
using house::ApiClient;
using house::VerbCall;
using house::VerbOption;

struct Request {
  std::string method;
  std::string rest;  // of the path, behind the namespace's
  json::object body = {};
};

// TYPE=FUNCTION@REF
Result<json::object> ActivityOf(const VerbCall& call, const NamespaceName& ns,
                                const std::string& typed, std::string& type) {
  const size_t equals = typed.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return UsageError(
        fmt::format("--activity '{}': expected TYPE=FUNCTION@ALIAS", Printable(typed)));
  }
  type = typed.substr(0, equals);
  const std::string target = typed.substr(equals + 1);
  CAIRN_ASSIGN_OR_RETURN(const cli::FunctionRef ref, cli::ParseFunctionRef(call, target));
  if (ref.function.in() != ns) {
    return UsageError(fmt::format("{} is in another namespace than the worker, {}/{}",
                                  ResourceName(ref.function), ns.tenant, ns.name));
  }
  json::object object{{"function", ref.function.name}};
  if (ref.version) {
    object["version"] = *ref.version;
  } else if (!ref.alias.empty()) {
    object["alias"] = ref.alias;
  } else {
    return UsageError(fmt::format("--activity '{}': say which version to run: {}@ALIAS",
                                  Printable(typed), target));
  }
  return object;
}

// What was typed of a binding's members.
Result<json::object> MembersOf(const VerbCall& call, const NamespaceName& ns) {
  json::object body;
  for (const auto& [option, member] :
       {std::pair{"domain", "domain"}, {"tasklist", "tasklist"}, {"worker-id", "worker_id"}}) {
    if (!call.Text(option).empty()) body[member] = call.Text(option);
  }
  json::object activities;
  for (const std::string& typed : call.List("activity")) {
    std::string type;
    CAIRN_ASSIGN_OR_RETURN(json::object activity, ActivityOf(call, ns, typed, type));
    if (activities.contains(type)) {
      return UsageError(fmt::format("--activity names '{}' twice", Printable(type)));
    }
    activities[type] = std::move(activity);
  }
  if (!activities.empty()) body["activity_map"] = std::move(activities);
  if (call.Number("pollers") > 0) {
    body["pollers"] = json::object{{"activity", call.Number("pollers")}};
  }
  if (call.Number("max-inflight") > 0) {
    body["limits"] = json::object{{"max_inflight_tasks", call.Number("max-inflight")}};
  }
  if (call.Switch("disabled")) body["enabled"] = false;
  return body;
}

struct WorkerCall {
  const VerbCall& call;
  NamespaceName ns;
  std::string word;
  std::string name;  // empty for list

  std::string Path(std::string_view rest = "") const {
    return fmt::format("/cadence/workers/{}{}", name, rest);
  }
};

Result<Request> Create(const WorkerCall& worker) {
  Request request{"POST", "/cadence/workers"};
  CAIRN_ASSIGN_OR_RETURN(request.body, MembersOf(worker.call, worker.ns));
  request.body["name"] = worker.name;
  for (const std::string_view option : {"domain", "tasklist"}) {
    if (worker.call.Text(option).empty()) {
      return UsageError(fmt::format("say which to poll: --{} NAME", option));
    }
  }
  if (!request.body.contains("activity_map")) {
    return UsageError("say what to run: --activity TYPE=FUNCTION@ALIAS");
  }
  if (!request.body.contains("worker_id")) request.body["worker_id"] = worker.name;
  return request;
}

Result<Request> Set(const WorkerCall& worker) {
  Request request{"PUT", worker.Path()};
  CAIRN_ASSIGN_OR_RETURN(request.body, MembersOf(worker.call, worker.ns));
  if (request.body.empty()) {
    return UsageError(
        "say what to change: --domain, --tasklist, --worker-id, --activity, "
        "--pollers or --max-inflight");
  }
  return request;
}

Result<Request> List(const WorkerCall& worker) {
  std::string rest = fmt::format("/cadence/workers?limit={}", worker.call.Number("limit"));
  const std::string& cursor = worker.call.Text("cursor");
  if (!cursor.empty()) rest += "&cursor=" + net::PercentEncode(cursor);
  return Request{"GET", std::move(rest)};
}

Result<Request> Get(const WorkerCall& worker) { return Request{"GET", worker.Path()}; }
Result<Request> Delete(const WorkerCall& worker) { return Request{"DELETE", worker.Path()}; }
Result<Request> Switch(const WorkerCall& worker) {
  return Request{"POST", worker.Path("/" + worker.word)};
}

struct WorkerRow {
  std::string_view word;
  size_t names;
  Result<Request> (*make)(const WorkerCall& worker);
};
constexpr WorkerRow kRows[] = {
    {"create", 1, Create}, {"get", 1, Get},        {"list", 0, List},     {"set", 1, Set},
    {"enable", 1, Switch}, {"disable", 1, Switch}, {"delete", 1, Delete},
};

Result<const WorkerRow*> RowOf(const VerbCall& call) {
  const std::string& word = call.arguments[0];
  const auto* const row = std::ranges::find(kRows, word, &WorkerRow::word);
  if (row == std::end(kRows)) {
    std::vector<std::string> words;
    for (const WorkerRow& one : kRows) words.emplace_back(one.word);
    return UsageError(fmt::format("worker: unknown action '{}'{}; there are: {}", Printable(word),
                                  house::DidYouMean(word, words), fmt::join(words, ", ")));
  }
  if (call.arguments.size() != row->names + 1) {
    return UsageError(
        fmt::format("expected: cairn cadence worker {}{}", word, row->names == 0 ? "" : " NAME"));
  }
  return row;
}

std::string ActivitiesOf(const json::value& worker) {
  std::vector<std::string> activities;
  for (const auto& [type, ref] : worker.at("activity_map").as_object()) {
    const std::string version = TextOf(ref, "version");
    activities.push_back(fmt::format("{}={}@{}", std::string_view(type), TextOf(ref, "function"),
                                     version.empty() ? TextOf(ref, "alias") : version));
  }
  return fmt::format("{}", fmt::join(activities, " "));
}

void PrintWorkers(const json::value& page, const house::Terminal& terminal) {
  std::vector<std::vector<std::string>> rows = {
      {"worker", "state", "domain", "tasklist", "activities"}};
  for (const json::value& worker : page.at("workers").as_array()) {
    const bool enabled = TextOf(worker, "enabled") == "true";
    rows.push_back({TextOf(worker, "name"), enabled ? "enabled" : "disabled",
                    TextOf(worker, "domain"), TextOf(worker, "tasklist"), ActivitiesOf(worker)});
  }
  terminal.Print(house::FormatTable(rows));
  const std::string cursor = TextOf(page, "cursor");
  if (!cursor.empty()) terminal.Print(fmt::format("more with --cursor {}", cursor));
}

Result<int> Ask(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const WorkerRow* const row, RowOf(call));
  WorkerCall worker{.call = call, .ns = {}, .word = call.arguments[0], .name = ""};
  if (row->names > 0) {
    worker.name = call.arguments[1];
    const Result<void> named = CheckName(NameKind::kBinding, worker.name);
    if (!named.ok()) return UsageError(std::string(RefusalText(named.error())));
  }
  CAIRN_ASSIGN_OR_RETURN(worker.ns, cli::NamespaceOf(call));
  CAIRN_ASSIGN_OR_RETURN(const Request request, row->make(worker));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, cli::ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(const json::value answer,
                         client.Request(request.method, cli::NamespacePath(worker.ns, request.rest),
                                        request.body.empty() ? "" : json::serialize(request.body)));
  if (call.json) {
    call.terminal.Print(answer);
  } else if (worker.word == "list") {
    PrintWorkers(answer, call.terminal);
  } else {
    cli::PrintMembers(answer, call.terminal);
  }
  return house::kExitOk;
}

int Run(const VerbCall& call) {
  const Result<int> exit = Ask(call);
  return exit.ok() ? *exit : cli::Fail(call, "cadence worker", exit.error());
}

}  // namespace

house::Verb CadenceVerb() {
  house::Verb verb{
      .name = "cadence",
      .description = "Run activities of Cadence as functions",
      .actions = {{"worker", "create|get|list|set|enable|disable|delete [NAME]", 1, 2}},
      .options = cli::NameOptions(),
      .run = Run,
  };
  const std::vector<VerbOption> own = {
      {"domain", "NAME", "create, set: the domain that is polled"},
      {"tasklist", "NAME", "create, set: the task list that is polled"},
      {"worker-id", "ID", "create, set: who Cadence shows as the worker (default: the name)"},
      {.name = "activity",
       .value_name = "TYPE=FUNCTION@REF",
       .description = "create, set: what runs the activities of a type; may be repeated",
       .kind = VerbOption::Kind::kList},
      {.name = "pollers",
       .value_name = "N",
       .description = "create, set: polls at once",
       .kind = VerbOption::Kind::kNumber,
       .initial = 0,
       .least = 1,
       .most = kMaxPollers},
      {.name = "max-inflight",
       .value_name = "N",
       .description = "create, set: tasks and polls at once",
       .kind = VerbOption::Kind::kNumber,
       .initial = 0,
       .least = 1,
       .most = kMaxInflightTasks},
      {.name = "disabled",
       .description = "create: do not poll yet",
       .kind = VerbOption::Kind::kSwitch},
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
  return verb;
}

}  // namespace cairn::functions
