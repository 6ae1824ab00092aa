#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// cairn trigger ACTION …: functions that are run with what has happened.
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

// The option that names a source, its type, and the member that has the names.
struct SourceRow {
  std::string_view option;
  std::string_view type;
  std::string_view member;
};
constexpr std::array kSourceRows = {
    SourceRow{"queue", "queue", "queues"},
    SourceRow{"jobs", "jobs", "queues"},
    SourceRow{"seats", "seats", "events"},
    SourceRow{"keys", "keys", "keys"},
};

Result<std::string> NamePath(const VerbCall& call, std::string_view rest = "") {
  const std::string& name = call.arguments[0];
  const Result<void> named = CheckName(NameKind::kTrigger, name);
  if (!named.ok()) return UsageError(std::string(RefusalText(named.error())));
  return fmt::format("/triggers/{}{}", name, rest);
}

json::array ArrayOf(const std::vector<std::string>& texts) {
  json::array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

// Adds "source" if one was named.
Result<void> AddSource(const VerbCall& call, json::object& body) {
  json::object source;
  for (const SourceRow& row : kSourceRows) {
    const std::vector<std::string>& names = call.List(row.option);
    if (names.empty()) continue;
    if (!source.empty()) return UsageError("--queue, --jobs, --seats and --keys: name one of them");
    source["type"] = row.type;
    source[row.member] = ArrayOf(names);
  }
  const std::vector<std::string>& types = call.List("type");
  const int64_t database = call.Number("database");
  if (source.empty()) {
    if (types.empty() && database < 0) return {};
    return UsageError("--type and --database belong to --jobs, --seats or --keys");
  }
  if (!types.empty()) source["types"] = ArrayOf(types);
  if (database >= 0) source["database"] = database;
  body["source"] = std::move(source);
  return {};
}

// Adds "ref" if a function was named.
Result<void> AddRef(const VerbCall& call, const NamespaceName& ns, json::object& body) {
  const std::string& typed = call.Text("function");
  if (typed.empty()) return {};
  CAIRN_ASSIGN_OR_RETURN(const cli::FunctionRef ref, cli::ParseFunctionRef(call, typed));
  if (ref.function.in() != ns) {
    return UsageError(fmt::format("{} is in another namespace than the trigger, {}/{}",
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
  body["ref"] = std::move(object);
  return {};
}

Result<json::object> BodyOf(const VerbCall& call, const NamespaceName& ns) {
  json::object body;
  CAIRN_RETURN_IF_ERROR(AddSource(call, body));
  CAIRN_RETURN_IF_ERROR(AddRef(call, ns, body));
  if (call.Number("batch") >= 1) body["batch_size"] = call.Number("batch");
  if (call.Number("window") >= 0) body["window_ms"] = call.Number("window");
  if (call.Number("concurrency") >= 1) body["concurrency"] = call.Number("concurrency");
  return body;
}

Result<Request> Create(const VerbCall& call, const NamespaceName& ns) {
  CAIRN_RETURN_IF_ERROR(NamePath(call));
  CAIRN_ASSIGN_OR_RETURN(json::object body, BodyOf(call, ns));
  if (!body.contains("source")) {
    return UsageError("say what is watched: --queue QUEUE, --jobs, --seats or --keys PATTERN");
  }
  if (!body.contains("ref")) return UsageError("say what to run: --function FUNCTION@ALIAS");
  body["name"] = call.arguments[0];
  if (call.Switch("oldest")) body["start"] = "oldest";
  if (call.Switch("disabled")) body["enabled"] = false;
  return Request{"POST", "/triggers", json::serialize(body)};
}

Result<Request> Set(const VerbCall& call, const NamespaceName& ns) {
  Request request{"PUT", ""};
  CAIRN_ASSIGN_OR_RETURN(request.rest, NamePath(call));
  CAIRN_ASSIGN_OR_RETURN(const json::object body, BodyOf(call, ns));
  if (body.empty()) return UsageError("say what to change, such as --batch 20");
  request.body = json::serialize(body);
  return request;
}

Result<Request> List(const VerbCall& call, const NamespaceName& /*ns*/) {
  std::string rest = fmt::format("/triggers?limit={}", call.Number("limit"));
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
      {{"create", "NAME", 1, 1}, Create}, {{"list"}, List},
      {{"get", "NAME", 1, 1}, Get},       {{"set", "NAME", 1, 1}, Set},
      {{"enable", "NAME", 1, 1}, Switch}, {{"disable", "NAME", 1, 1}, Switch},
      {{"delete", "NAME", 1, 1}, Delete},
  };
  return actions;
}

std::string SourceOf(const json::value& trigger) {
  const json::value& source = trigger.at("source");
  const std::string type = TextOf(source, "type");
  std::string text = type;
  const auto row = std::ranges::find(kSourceRows, type, &SourceRow::type);
  if (row == kSourceRows.end()) return text;
  for (const json::value& name : source.at(row->member).as_array()) {
    text += " " + std::string(name.as_string());
  }
  return text;
}

std::string TargetOf(const json::value& trigger) {
  const json::value& ref = trigger.at("ref");
  const std::string version = TextOf(ref, "version");
  return fmt::format("{}@{}", TextOf(ref, "function"),
                     version.empty() ? TextOf(ref, "alias") : version);
}

std::string StateOf(const json::value& trigger) {
  if (TextOf(trigger, "enabled") != "true") return "disabled";
  return TextOf(trigger, "paused").empty() ? "enabled" : "paused";
}

void PrintTriggers(const json::value& page, const house::Terminal& terminal) {
  std::vector<std::vector<std::string>> rows = {
      {"trigger", "state", "source", "function", "batches", "lag ms"}};
  for (const json::value& trigger : page.at("triggers").as_array()) {
    rows.push_back({TextOf(trigger, "name"), StateOf(trigger), SourceOf(trigger), TargetOf(trigger),
                    TextOf(trigger.at("state"), "batches"),
                    TextOf(trigger.at("position"), "lag_ms")});
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
    PrintTriggers(answer, call.terminal);
  } else {
    cli::PrintMembers(answer, call.terminal);
  }
  return house::kExitOk;
}

int Run(const VerbCall& call) {
  const Result<int> exit = Ask(call);
  return exit.ok() ? *exit : cli::Fail(call, "trigger " + call.action, exit.error());
}

// Unless given, its value is below the least one.
VerbOption NumberOption(std::string name, std::string value_name, std::string description,
                        int64_t least, int64_t most) {
  return {.name = std::move(name),
          .value_name = std::move(value_name),
          .description = std::move(description),
          .kind = VerbOption::Kind::kNumber,
          .initial = least - 1,
          .least = least,
          .most = most};
}

VerbOption ListOption(std::string name, std::string value_name, std::string description) {
  return {.name = std::move(name),
          .value_name = std::move(value_name),
          .description = std::move(description),
          .kind = VerbOption::Kind::kList};
}

VerbOption SwitchOption(std::string name, std::string description) {
  return {.name = std::move(name),
          .description = std::move(description),
          .kind = VerbOption::Kind::kSwitch};
}

}  // namespace

house::Verb TriggerVerb() {
  constexpr int64_t kLastDatabase = 15;
  house::Verb verb{
      .name = "trigger",
      .description = "Run functions with jobs of a queue, and with what has happened",
      .options = cli::NameOptions(),
      .run = Run,
  };
  const std::vector<VerbOption> own = {
      {"function", "FUNCTION@REF", "create, set: what to run, by alias or version"},
      ListOption("queue", "QUEUE", "create, set: a queue whose jobs the function consumes"),
      ListOption("jobs", "PATTERN", "create, set: events of jobs in queues that match"),
      ListOption("seats", "PATTERN", "create, set: changes of seats of events that match"),
      ListOption("keys", "PATTERN", "create, set: changes of keys that match"),
      ListOption("type", "TYPE", "create, set: only such events, as failed, sold or set"),
      NumberOption("database", "N", "create, set: the database of --seats and --keys (default: 0)",
                   0, kLastDatabase),
      NumberOption("batch", "N", "create, set: most jobs or events of a run (default: 10)", 1,
                   kMaxTriggerBatch),
      NumberOption("window", "MS", "create, set: how long fewer wait for more (default: 0)", 0,
                   kMaxTriggerWindowMs),
      NumberOption("concurrency", "N", "create, set: runs at once (default: 1)", 1,
                   kMaxTriggerConcurrency),
      SwitchOption("oldest", "create: begin with the oldest event that is kept"),
      SwitchOption("disabled", "create: it does nothing until it is enabled"),
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
