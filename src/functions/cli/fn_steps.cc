#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "functions/cli/call.h"
#include "functions/cli/fn_actions.h"
#include "functions/model/errors.h"
#include "functions/model/names.h"
#include "net/http/message.h"

namespace cairn::functions::cli {
namespace {

namespace json = boost::json;
using house::ApiClient;
using house::VerbCall;

// What a table shows of a value.
constexpr size_t kShownValue = 60;

std::string OutcomeOf(const json::value& step) {
  const json::object& members = step.as_object();
  if (const json::value* const error = members.if_contains("error")) {
    return fmt::format("{}: {}", TextOf(*error, "type"), TextOf(*error, "message"));
  }
  if (const json::value* const value = members.if_contains("value")) {
    return Printable(json::serialize(*value), kShownValue);
  }
  return members.contains("wake_ms") ? "until " + TimeOf(step, "wake_ms") : "";
}

}  // namespace

Result<int> ShowSteps(const VerbCall& call) {
  const std::string cursor = call.Text("cursor").empty() ? "0" : call.Text("cursor");
  if (cursor.find_first_not_of("0123456789") != std::string::npos || cursor.size() > 4) {
    return UsageError(fmt::format("--cursor '{}': expected a number that an earlier page gave",
                                  Printable(cursor)));
  }
  CAIRN_ASSIGN_OR_RETURN(
      const std::string path,
      ActivationPath(call, fmt::format("/steps?limit={}&cursor={}", call.Number("limit"), cursor)));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(const json::value page, client.Get(path));
  if (call.json) {
    call.terminal.Print(page);
    return house::kExitOk;
  }
  for (const json::value& step : page.at("steps").as_array()) {
    call.terminal.Print(fmt::format("{:>4}  {:<6}  {:<24}  {:<8}  {}", TextOf(step, "position"),
                                    TextOf(step, "kind"), TextOf(step, "name"),
                                    TextOf(step, "state"), OutcomeOf(step)));
  }
  for (const json::value& event : page.at("events").as_array()) {
    Note(fmt::format("event {} waits to be taken: {}", TextOf(event, "number"),
                     TextOf(event, "name")));
  }
  if (!page.at("cursor").is_null())
    Note(fmt::format("more with --cursor {}", TextOf(page, "cursor")));
  return house::kExitOk;
}

Result<int> SendSignal(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const std::string path,
                         ActivationPath(call, "/events/" + net::PercentEncode(call.arguments[1])));
  std::string payload = "null";
  if (call.arguments.size() > 2) {
    CAIRN_ASSIGN_OR_RETURN(payload, ReadJson("the payload", call.arguments[2]));
  }
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(const json::value answer, client.Request("POST", path, payload));
  if (call.json) {
    call.terminal.Print(answer);
  } else {
    call.terminal.Print(fmt::format("sent, number {}", TextOf(answer, "number")));
  }
  return house::kExitOk;
}

Result<int> RestartActivation(const VerbCall& call) {
  if (call.Number("from") < 0) {
    return UsageError("say where to begin: --from and the position of a step (cairn fn steps)");
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string path, ActivationPath(call, "/restart"));
  std::string body = fmt::format(R"({{"from":{})", call.Number("from"));
  if (const std::string& typed = call.Text("event"); !typed.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const std::string event, ReadJson("--event", typed));
    body += R"(,"event":)" + event;
  }
  if (const std::string& alias = call.Text("alias"); !alias.empty()) {
    if (const Result<void> named = CheckName(NameKind::kAlias, alias); !named.ok()) {
      return UsageError(std::string(RefusalText(named.error())));
    }
    body += fmt::format(R"(,"ref":{{"alias":"{}"}})", alias);
  }
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(const json::value answer, client.Request("POST", path, body + "}"));
  if (call.json) {
    call.terminal.Print(answer);
  } else {
    call.terminal.Print(fmt::format("{}  {}, {} steps kept", TextOf(answer, "activation_id"),
                                    TextOf(answer, "status"), TextOf(answer, "kept_steps")));
  }
  return house::kExitOk;
}

}  // namespace cairn::functions::cli
