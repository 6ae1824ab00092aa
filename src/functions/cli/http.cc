#include <fmt/format.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cctype>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/utf8.h"
#include "functions/cli/call.h"
#include "functions/cli/folder.h"
#include "functions/cli/verbs.h"
#include "functions/model/limits.h"

// cairn http invoke PATH: functions as the web sees them, through the gateway.
namespace cairn::functions {
namespace {

namespace json = boost::json;
using cli::TextOf;
using cli::UsageError;
using house::VerbCall;
using house::VerbOption;

constexpr int kFirstFailure = 400;
constexpr int kFirstServerFailure = 500;
const std::vector<std::string>& Methods() {
  static const std::vector<std::string> methods = {"GET", "POST", "PUT", "PATCH", "DELETE"};
  return methods;
}

// "/v1/web/…" as it is; else FUNCTION@REF[/PATH][?QUERY].
Result<std::string> TargetOf(const VerbCall& call) {
  const std::string& typed = call.arguments[0];
  const bool spaced = std::ranges::any_of(typed, [](unsigned char c) { return c <= ' '; });
  if (spaced) return UsageError("the path has a space or a control character; write it as %20");
  if (typed.starts_with('/')) return typed;
  const size_t at = typed.find('@');
  if (at == std::string::npos) {
    return UsageError(
        fmt::format("'{}': expected FUNCTION@REF/PATH, or a path of the server that begins "
                    "with a slash",
                    Printable(typed)));
  }
  const size_t end = std::min(typed.find_first_of("/?", at), typed.size());
  CAIRN_ASSIGN_OR_RETURN(const cli::FunctionRef ref,
                         cli::ParseFunctionRef(call, std::string_view(typed).substr(0, end)));
  std::string rest = typed.substr(end);
  if (!rest.starts_with('/')) rest.insert(rest.begin(), '/');
  return fmt::format("/v1/web/{}/{}/{}/{}{}", ref.function.tenant, ref.function.ns,
                     ref.function.name, ref.version ? fmt::to_string(*ref.version) : ref.alias,
                     rest);
}

Result<std::string> BodyOf(const VerbCall& call) {
  const std::string& typed = call.Text("data");
  if (typed == "-") return cli::ReadFile("/dev/stdin", kMaxEventBytes);
  if (typed.starts_with('@')) return cli::ReadFile(typed.substr(1), kMaxEventBytes);
  return typed;
}

Result<net::HttpHeaders> HeadersOf(const VerbCall& call, const std::string& token) {
  net::HttpHeaders headers;
  if (!token.empty()) headers.Add("Authorization", "Bearer " + token);
  if (call.action == "invoke") headers.Set("Content-Type", "application/json");
  for (const std::string& typed : call.List("header")) {
    const size_t colon = typed.find(':');
    const bool broken =
        std::ranges::any_of(typed, [](unsigned char c) { return c < ' ' && c != '\t'; });
    if (colon == std::string::npos || colon == 0 || broken) {
      return UsageError("--header: expected 'Name: value'");  // the value may be a secret
    }
    std::string_view value = std::string_view(typed).substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    headers.Set(typed.substr(0, colon), std::string(value));
  }
  return headers;
}

void Print(const VerbCall& call, const net::HttpResponse& response) {
  if (!call.json) {
    if (call.Switch("include")) {
      fmt::print("HTTP/1.1 {} {}\n", response.status, net::HttpReason(response.status));
      for (const auto& [name, value] : response.headers.fields())
        fmt::print("{}: {}\n", name, value);
      fmt::print("\n");
    }
    std::fwrite(response.body.data(), 1, response.body.size(), stdout);
    if (!response.body.empty() && !response.body.ends_with('\n')) std::fputc('\n', stdout);
    std::fflush(stdout);
    return;
  }
  json::object headers;
  for (const auto& [name, value] : response.headers.fields()) headers[name] = value;
  const bool text = IsUtf8(response.body);
  call.terminal.Print(
      json::value(json::object{{"status", response.status},
                               {"headers", std::move(headers)},
                               {"body", text ? response.body : Base64Encode(response.body)},
                               {"isBase64Encoded", !text}}));
}

// A function that ran and failed is not a failure of the server, which tells by the code.
int ExitOf(const net::HttpResponse& response) {
  if (response.status < kFirstFailure) return house::kExitOk;
  if (response.status < kFirstServerFailure) return cli::kExitRefused;
  boost::system::error_code failure;
  const json::value body = json::parse(response.body, failure);
  const bool ran = !failure && body.is_object() && body.get_object().contains("error") &&
                   body.at("error").is_object() &&
                   TextOf(body.at("error"), "code").starts_with("CS_RUNTIME_");
  return ran ? cli::kExitFunctionFailed : cli::kExitServerFailed;
}

Result<int> Ask(const VerbCall& call) {
  std::string method = call.action;
  if (method == "invoke") method = call.Text("method").empty() ? "POST" : call.Text("method");
  std::ranges::transform(method, method.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (std::ranges::find(Methods(), method) == Methods().end()) {
    return UsageError(
        fmt::format("--method '{}': expected {}", Printable(method), fmt::join(Methods(), ", ")));
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string target, TargetOf(call));
  CAIRN_ASSIGN_OR_RETURN(std::string body, BodyOf(call));
  if (!call.server.ok()) return call.server.error();
  const house::ServerAccess& server = *call.server;
  CAIRN_ASSIGN_OR_RETURN(const net::HttpHeaders headers, HeadersOf(call, server.password));
  net::HttpClient client(server.url.address, {.tls = server.url.tls,
                                              .ca_file = server.ca_file,
                                              .timeout = std::chrono::milliseconds(kMaxTimeoutMs) +
                                                         std::chrono::seconds(30)});
  CAIRN_ASSIGN_OR_RETURN(const net::HttpResponse response,
                         client.Request(method, target, std::move(body), headers));
  Print(call, response);
  return ExitOf(response);
}

int Run(const VerbCall& call) {
  const Result<int> exit = Ask(call);
  return exit.ok() ? *exit : cli::Fail(call, "http", exit.error());
}

}  // namespace

house::Verb HttpVerb() {
  house::Verb verb{
      .name = "http",
      .description = "Invoke functions through the gateway, as the web does",
      .action_name = "method",
      .actions = {{"invoke", "PATH", 1, 1}},
      .options = cli::NameOptions(),
      .run = Run,
  };
  for (const std::string& method : Methods()) verb.actions.push_back({method, "PATH", 1, 1});
  const std::vector<VerbOption> own = {
      {.name = "method",
       .value_name = "GET|POST|PUT|PATCH|DELETE",
       .description = "invoke: how (default: POST)",
       .letter = 'X'},
      {.name = "data",
       .value_name = "TEXT",
       .description = "The body; @FILE reads it from a file, - from standard input",
       .letter = 'd'},
      {.name = "header",
       .value_name = "'NAME: VALUE'",
       .description = "A header",
       .kind = VerbOption::Kind::kList,
       .letter = 'H'},
      {.name = "include",
       .value_name = {},
       .description = "Print status and headers too",
       .kind = VerbOption::Kind::kSwitch,
       .letter = 'i'},
  };
  verb.options.insert(verb.options.end(), own.begin(), own.end());
  return verb;
}

}  // namespace cairn::functions
