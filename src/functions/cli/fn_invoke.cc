#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "functions/cli/call.h"
#include "functions/cli/fn_actions.h"
#include "functions/cli/log_stream.h"
#include "functions/cli/outcome.h"
#include "functions/model/errors.h"
#include "functions/model/names.h"
#include "net/http/message.h"

namespace cairn::functions::cli {
namespace {

namespace json = boost::json;
using house::ApiClient;
using house::VerbCall;

Result<std::string> EventOf(const VerbCall& call) {
  const std::string& option = call.Text("event");
  if (call.arguments.size() > 1) {
    if (!option.empty())
      return UsageError("give the event once: behind the function, or as --event");
    return ReadJson("the event", call.arguments[1]);
  }
  if (option.empty()) return std::string("{}");
  return ReadJson("--event", option);
}

// Without a ref the latest version is meant.
Result<void> FindRef(ApiClient& client, FunctionRef& ref) {
  if (!ref.alias.empty() || ref.version) return {};
  CAIRN_ASSIGN_OR_RETURN(const json::value detail, client.Get(FunctionPath(ref.function)));
  const json::value& latest = detail.at("latest_version");
  if (latest.is_null()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{} has no version; publish one with: cairn fn publish DIR --name {}",
                             ResourceName(ref.function), ref.function.name)};
  }
  ref.version = ParseVersion(TextOf(latest, "version"));
  return {};
}

// All of the log, page by page.
Result<std::string> LogOf(ApiClient& client, std::string_view tenant, std::string_view id) {
  std::string text;
  std::string cursor = "0";
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(
        const json::value page,
        client.Get(fmt::format("/v1/tenants/{}/activations/{}/logs?limit=500&cursor={}", tenant, id,
                               cursor)));
    const json::array& chunks = page.at("chunks").as_array();
    if (chunks.empty()) return text;
    for (const json::value& chunk : chunks) text += TextOf(chunk, "text");
    cursor = TextOf(page, "cursor");
  }
}

int ExitOf(const json::value& answer) {
  return TextOf(answer, "status") == "success" ? int{house::kExitOk} : kExitFunctionFailed;
}

}  // namespace

Result<int> Invoke(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(FunctionRef ref, ParseFunctionRef(call, call.arguments[0]));
  if (const std::string& alias = call.Text("alias"); !alias.empty()) {
    if (!ref.alias.empty() || ref.version) {
      return UsageError("say what to run once: FUNCTION@REF or --alias");
    }
    CAIRN_ASSIGN_OR_RETURN(ref,
                           ParseFunctionRef(call, fmt::format("{}@{}", call.arguments[0], alias)));
  }
  const std::string mode = call.Text("mode").empty() ? "sync" : call.Text("mode");
  if (mode != "sync" && mode != "async") {
    return UsageError(fmt::format("--mode '{}': expected sync or async", Printable(mode)));
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string event, EventOf(call));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  CAIRN_RETURN_IF_ERROR(FindRef(client, ref));
  const std::string target = ref.version ? fmt::format(R"({{"version":{}}})", *ref.version)
                                         : fmt::format(R"({{"alias":"{}"}})", ref.alias);
  net::HttpHeaders headers;
  if (const std::string& key = call.Text("idempotency-key"); !key.empty()) {
    headers.Add("Idempotency-Key", key);
  }
  CAIRN_ASSIGN_OR_RETURN(
      const json::value answer,
      client.Request("POST", FunctionPath(ref.function, ":invoke"),
                     fmt::format(R"({{"ref":{},"mode":"{}","event":{}}})", target, mode, event),
                     headers));
  const std::string id = TextOf(answer, "activation_id");
  if (call.Switch("logs") && mode == "sync") {
    CAIRN_ASSIGN_OR_RETURN(const std::string log, LogOf(client, ref.function.tenant, id));
    fmt::print(stderr, "{}", log);
  }
  if (call.json) {
    call.terminal.Print(answer);
  } else if (mode == "async") {
    call.terminal.Print(fmt::format("{}  {}", id, TextOf(answer, "status")));
  } else {
    PrintOutcome(answer, id, call.terminal);
  }
  return mode == "async" ? int{house::kExitOk} : ExitOf(answer);
}

Result<std::string> ActivationPath(const VerbCall& call, std::string_view rest) {
  const std::string& id = call.arguments[0];
  const Result<void> named = CheckName(NameKind::kActivation, id);
  if (!named.ok()) return UsageError(std::string(RefusalText(named.error())));
  CAIRN_ASSIGN_OR_RETURN(const NamespaceName ns, NamespaceOf(call));
  return fmt::format("/v1/tenants/{}/activations/{}{}", ns.tenant, id, rest);
}

Result<int> ShowActivation(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const std::string path, ActivationPath(call));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(const json::value activation, client.Get(path));
  if (call.json) {
    call.terminal.Print(activation);
    return house::kExitOk;
  }
  json::object shown;
  for (const auto& member : activation.as_object()) {
    if (member.key() != "error") shown[member.key()] = member.value();
  }
  PrintMembers(shown, call.terminal);
  const json::value* const error = activation.as_object().if_contains("error");
  if (error != nullptr && error->is_object()) call.terminal.Print(ErrorText(*error));
  return house::kExitOk;
}

Result<int> ShowLogs(const VerbCall& call) {
  const std::string cursor = call.Text("cursor").empty() ? "0" : call.Text("cursor");
  if (cursor.find_first_not_of("0123456789") != std::string::npos || cursor.size() > 18) {
    return UsageError(fmt::format("--cursor '{}': expected a number that an earlier page gave",
                                  Printable(cursor)));
  }
  CAIRN_ASSIGN_OR_RETURN(
      const std::string path,
      ActivationPath(call, fmt::format("/logs?limit={}&cursor={}", call.Number("limit"), cursor)));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  if (call.Switch("follow")) {
    EventReader reader([&](const EventReader::Event& event) {
      if (event.event != "log") return;
      if (call.json) {
        call.terminal.Print(json::value(json::object{{"cursor", event.id}, {"text", event.data}}));
      } else {
        fmt::print("{}{}", event.data, event.data.ends_with('\n') ? "" : "\n");
        std::fflush(stdout);
      }
    });
    const auto take = [&](std::string_view piece) -> Result<void> {
      if (reader.Append(piece)) return {};
      return Error{ErrorCode::kUnavailable, "the server's answer is no stream of events"};
    };
    CAIRN_RETURN_IF_ERROR(client.Download(path, take, {{"Accept", "text/event-stream"}}));
    return house::kExitOk;
  }
  CAIRN_ASSIGN_OR_RETURN(const json::value page, client.Get(path));
  if (call.json) {
    call.terminal.Print(page);
    return house::kExitOk;
  }
  for (const json::value& chunk : page.at("chunks").as_array()) {
    fmt::print("{}", TextOf(chunk, "text"));
  }
  std::fflush(stdout);
  if (page.at("chunks").as_array().size() == static_cast<size_t>(call.Number("limit"))) {
    Note(fmt::format("more with --cursor {}", TextOf(page, "cursor")));
  }
  return house::kExitOk;
}

}  // namespace cairn::functions::cli
