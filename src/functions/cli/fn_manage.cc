#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "functions/cli/call.h"
#include "functions/cli/fn_actions.h"
#include "net/http/message.h"

namespace cairn::functions::cli {
namespace {

namespace json = boost::json;
using house::ApiClient;
using house::Terminal;
using house::VerbCall;

std::string PageQuery(const VerbCall& call) {
  std::string query = fmt::format("?limit={}", call.Number("limit"));
  if (!call.Text("cursor").empty()) query += "&cursor=" + net::PercentEncode(call.Text("cursor"));
  return query;
}

void PrintCursor(const json::value& page, const Terminal& terminal) {
  const std::string cursor = TextOf(page, "cursor");
  if (!cursor.empty()) terminal.Print(fmt::format("more with --cursor {}", cursor));
}

std::string StateOf(const json::value& function) {
  if (!TextOf(function, "deleted_at_ms").empty()) return "deleted";
  return TextOf(function, "enabled") == "true" ? "enabled" : "disabled";
}

// "1", or "1 and 10% to 2"
std::string TargetOf(const json::value& alias) {
  std::string text = TextOf(alias, "version");
  const json::value* const weights = alias.as_object().if_contains("weights");
  if (weights == nullptr || !weights->is_array()) return text;
  for (const json::value& weight : weights->get_array()) {
    text += fmt::format(" and {}% to {}", TextOf(weight, "weight"), TextOf(weight, "version"));
  }
  return text;
}

}  // namespace

Result<int> CreateFunction(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const FunctionName function, ParseFunction(call, call.arguments[0]));
  json::object body{{"name", function.name}};
  if (const std::string& runtime = call.Text("runtime"); !runtime.empty()) {
    body["runtime"] = runtime;
  }
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(
      const json::value made,
      client.Post(NamespacePath(function.in(), "/functions"), json::serialize(body)));
  if (call.json) {
    call.terminal.Print(made);
  } else {
    call.terminal.Print(fmt::format("{}  created", ResourceName(function)));
  }
  return house::kExitOk;
}

Result<int> ListFunctions(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const NamespaceName ns, NamespaceOf(call));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  std::string query = PageQuery(call);
  if (call.Switch("deleted")) query += "&include_deleted=true";
  CAIRN_ASSIGN_OR_RETURN(const json::value page,
                         client.Get(NamespacePath(ns, "/functions" + query)));
  if (call.json) {
    call.terminal.Print(page);
    return house::kExitOk;
  }
  std::vector<std::vector<std::string>> rows = {{"function", "state", "created"}};
  for (const json::value& function : page.at("functions").as_array()) {
    rows.push_back(
        {TextOf(function, "name"), StateOf(function), TimeOf(function, "created_at_ms")});
  }
  call.terminal.Print(house::FormatTable(rows));
  PrintCursor(page, call.terminal);
  return house::kExitOk;
}

Result<int> GetFunction(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const FunctionName function, ParseFunction(call, call.arguments[0]));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(
      const json::value detail,
      client.Get(FunctionPath(function, call.Switch("deleted") ? "?include_deleted=true" : "")));
  if (call.json) {
    call.terminal.Print(detail);
    return house::kExitOk;
  }
  const json::value& record = detail.at("function");
  call.terminal.Print(fmt::format("{}  {}  created {}",
                                  call.terminal.Paint(house::Colour::kBold, ResourceName(function)),
                                  StateOf(record), TimeOf(record, "created_at_ms")));
  const json::value& latest = detail.at("latest_version");
  if (latest.is_null()) {
    call.terminal.Print(std::string_view("no version is published"));
  } else {
    call.terminal.Print(fmt::format("latest version {}, published {}", TextOf(latest, "version"),
                                    TimeOf(latest, "published_at_ms")));
  }
  std::vector<std::vector<std::string>> rows = {{"alias", "version", "updated"}};
  for (const json::value& alias : detail.at("aliases").as_array()) {
    rows.push_back({TextOf(alias, "alias"), TargetOf(alias), TimeOf(alias, "updated_at_ms")});
  }
  if (rows.size() > 1) call.terminal.Print(house::FormatTable(rows));
  return house::kExitOk;
}

Result<int> ListVersions(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const FunctionName function, ParseFunction(call, call.arguments[0]));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  CAIRN_ASSIGN_OR_RETURN(const json::value page,
                         client.Get(FunctionPath(function, "/versions" + PageQuery(call))));
  if (call.json) {
    call.terminal.Print(page);
    return house::kExitOk;
  }
  std::vector<std::vector<std::string>> rows = {
      {"version", "published", "timeout", "memory", "sha256"}};
  for (const json::value& version : page.at("versions").as_array()) {
    const json::value& config = version.at("config");
    rows.push_back({TextOf(version, "version"), TimeOf(version, "published_at_ms"),
                    TextOf(config, "timeout_ms") + " ms", TextOf(config, "memory_mb") + " MiB",
                    TextOf(version, "sha256").substr(0, 12)});
  }
  call.terminal.Print(house::FormatTable(rows));
  PrintCursor(page, call.terminal);
  return house::kExitOk;
}

Result<int> ChangeFunction(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const FunctionName function, ParseFunction(call, call.arguments[0]));
  CAIRN_ASSIGN_OR_RETURN(ApiClient client, ClientOf(call));
  const bool deletes = call.action == "delete";
  CAIRN_ASSIGN_OR_RETURN(
      const json::value answer,
      client.Request(deletes ? "DELETE" : "POST",
                     FunctionPath(function, deletes ? "" : "/" + call.action), ""));
  if (call.json) {
    call.terminal.Print(answer);
  } else {
    const std::string_view end = call.action.ends_with('e') ? "d" : "";
    call.terminal.Print(fmt::format("{}  {}{}", ResourceName(function), call.action, end));
  }
  return house::kExitOk;
}

}  // namespace cairn::functions::cli
