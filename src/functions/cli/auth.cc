#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "functions/cli/call.h"
#include "functions/cli/folder.h"
#include "functions/cli/verbs.h"
#include "functions/model/errors.h"
#include "functions/model/names.h"
#include "house/login.h"

// cairn auth ACTION: which server this user's commands ask, and as whom.
namespace cairn::functions {
namespace {

namespace json = boost::json;
using cli::TextOf;
using cli::UsageError;
using house::ApiClient;
using house::Login;
using house::ServerAccess;
using house::VerbCall;
using house::VerbOption;

constexpr size_t kMaxTokenBytes = 4'096;
constexpr std::string_view kStatusPath = "/api/v1/auth/status";

std::string UrlText(const house::Url& url) {
  return fmt::format("{}://{}", url.tls ? "https" : "http", net::ToString(url.address));
}

// A line from the terminal that nobody sees.
std::string AskForToken() {
  termios shown = {};
  tcgetattr(STDIN_FILENO, &shown);
  termios hidden = shown;
  hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
  fmt::print(stderr, "Key or password (empty if the server asks for none): ");
  std::string token;
  std::getline(std::cin, token);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
  fmt::print(stderr, "\n");
  return token;
}

Result<std::string> TokenOf(const VerbCall& call, const ServerAccess& server) {
  std::string token = call.Text("token");
  const std::string& file = call.Text("token-file");
  if (!token.empty() && !file.empty()) return UsageError("give --token or --token-file, not both");
  if (!file.empty()) {
    CAIRN_ASSIGN_OR_RETURN(token, cli::ReadFile(file == "-" ? "/dev/stdin" : file, kMaxTokenBytes));
    while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
    if (token.empty()) return UsageError("--token-file holds nothing");
  }
  if (token.empty()) token = server.password;
  if (token.empty() && isatty(STDIN_FILENO) == 1) token = AskForToken();
  const bool broken =
      std::ranges::any_of(token, [](unsigned char c) { return c <= ' ' || c >= 127; });
  if (broken || token.size() > kMaxTokenBytes) {
    return UsageError("the token has characters that no key or password has, or is too long");
  }
  return token;
}

Result<json::value> AskStatus(const ServerAccess& server) {
  return ApiClient(server).Get(std::string(kStatusPath));
}

Result<int> LogIn(const VerbCall& call) {
  Result<ServerAccess> access = call.server;
  if (!call.Text("api-url").empty()) {
    CAIRN_ASSIGN_OR_RETURN(house::Url url, house::ParseUrl(call.Text("api-url")));
    access = ServerAccess{.url = std::move(url),
                          .ca_file = access.ok() ? access->ca_file : "",
                          .password = house::ValueOf(call.environment, house::kTokenVariable)};
  }
  if (!access.ok()) return access.error();
  ServerAccess server = *access;
  CAIRN_ASSIGN_OR_RETURN(server.password, TokenOf(call, server));
  Login login{.url = UrlText(server.url),
              .token = server.password,
              .tenant = call.Text("tenant"),
              .ns = call.Text("namespace"),
              .ca_file = server.ca_file};
  for (const auto& [kind, name] :
       {std::pair(NameKind::kTenant, login.tenant), std::pair(NameKind::kNamespace, login.ns)}) {
    if (name.empty()) continue;
    const Result<void> named = CheckName(kind, name);
    if (!named.ok()) return UsageError(std::string(RefusalText(named.error())));
  }
  const Result<json::value> status = AskStatus(server);
  if (!status.ok()) return status.error();
  CAIRN_RETURN_IF_ERROR(house::WriteLogin(call.environment, login));
  CAIRN_ASSIGN_OR_RETURN(const std::string file, house::LoginFile(call.environment));
  if (!call.Text("tikti-url").empty()) cli::Note("--tikti-url is not used");
  if (call.json) {
    call.terminal.Print(json::value(json::object{
        {"url", login.url}, {"file", file}, {"principal", TextOf(*status, "principal")}}));
  } else {
    call.terminal.Print(
        fmt::format("{}  as {}  kept in {}", login.url, TextOf(*status, "principal"), file));
  }
  return house::kExitOk;
}

// What is in force, without asking anybody. Never the token.
Result<int> ShowStatus(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const std::string file, house::LoginFile(call.environment));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Login> login, house::ReadLogin(call.environment));
  if (!call.server.ok()) return call.server.error();
  const auto or_login = [&](std::string_view variable, const std::string& kept) {
    const std::string value = house::ValueOf(call.environment, variable);
    return value.empty() ? kept : value;
  };
  const Login kept = login.value_or(Login());
  json::object shown{{"url", UrlText(call.server->url)},
                     {"token", call.server->password.empty() ? "not set" : "set"},
                     {"tenant", or_login(house::kTenantVariable, kept.tenant)},
                     {"namespace", or_login(house::kNamespaceVariable, kept.ns)},
                     {"file", login ? file : "none; `cairn auth login` makes one"}};
  if (call.json) {
    shown["file"] = login ? json::value(file) : json::value();
    shown["logged_in"] = login.has_value();
    call.terminal.Print(json::value(shown));
  } else {
    cli::PrintMembers(shown, call.terminal);
  }
  return house::kExitOk;
}

Result<int> WhoAmI(const VerbCall& call) {
  if (!call.server.ok()) return call.server.error();
  CAIRN_ASSIGN_OR_RETURN(const json::value status, AskStatus(*call.server));
  if (call.json) {
    call.terminal.Print(status);
  } else {
    call.terminal.Print(fmt::format("{}  {}  {}", UrlText(call.server->url),
                                    TextOf(status, "principal"), TextOf(status, "role")));
  }
  return house::kExitOk;
}

Result<int> LogOut(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const std::string file, house::LoginFile(call.environment));
  CAIRN_ASSIGN_OR_RETURN(const bool removed, house::RemoveLogin(call.environment));
  if (call.json) {
    call.terminal.Print(json::value(json::object{{"removed", removed}, {"file", file}}));
  } else {
    call.terminal.Print(removed ? fmt::format("{} is removed", file)
                                : std::string("there was no login"));
  }
  return house::kExitOk;
}

struct ActionRow {
  house::VerbAction action;
  Result<int> (*run)(const VerbCall& call);
};
const std::vector<ActionRow>& Actions() {
  static const std::vector<ActionRow> actions = {
      {{"login"}, LogIn}, {{"status"}, ShowStatus}, {{"whoami"}, WhoAmI}, {{"logout"}, LogOut}};
  return actions;
}

int Run(const VerbCall& call) {
  const auto row = std::ranges::find(Actions(), call.action,
                                     [](const ActionRow& one) { return one.action.name; });
  const Result<int> exit = row->run(call);
  return exit.ok() ? *exit : cli::Fail(call, "auth " + call.action, exit.error());
}

}  // namespace

house::Verb AuthVerb() {
  house::Verb verb{
      .name = "auth",
      .description = "Keep a server's address and key for the commands of this user",
      .options = cli::NameOptions(),
      .run = Run,
  };
  const std::vector<VerbOption> own = {
      {"api-url", "URL", "login: the server, as --url"},
      {"token", "KEY", "login: a key or the password; others see it while this runs"},
      {"token-file", "FILE", "login: the same in a file; - reads it from standard input"},
      {"tikti-url", "URL", "login: not used"},
  };
  verb.options.insert(verb.options.end(), own.begin(), own.end());
  for (const ActionRow& row : Actions()) verb.actions.push_back(row.action);
  return verb;
}

}  // namespace cairn::functions
