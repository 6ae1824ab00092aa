#include "functions/cli/call.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/time_text.h"
#include "functions/cli/folder.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "house/login.h"
#include "net/http/message.h"

namespace cairn::functions::cli {
namespace {

namespace json = boost::json;
using house::VerbCall;

constexpr std::string_view kUsualNamespace = "default";
constexpr uint64_t kNsPerMs = 1'000'000;

Result<void> Check(NameKind kind, std::string_view text) {
  const Result<void> checked = CheckName(kind, text);
  if (!checked.ok()) return UsageError(std::string(RefusalText(checked.error())));
  return {};
}

std::string FirstOf(std::initializer_list<std::string> candidates) {
  for (const std::string& candidate : candidates) {
    if (!candidate.empty()) return candidate;
  }
  return "";
}

Result<std::string> ReadStandardInput(size_t most) {
  std::string text(most + 1, '\0');
  std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::cin.gcount()));
  if (text.size() > most)
    return UsageError(fmt::format("standard input has more than {} bytes", most));
  return text;
}

Result<std::pair<std::string, std::string>> ParseVariable(std::string_view what,
                                                          std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    // Not shown: it may be a secret.
    return UsageError(fmt::format("{}: expected NAME=VALUE", what));
  }
  std::string name(text.substr(0, equals));
  CAIRN_RETURN_IF_ERROR(Check(NameKind::kEnvironment, name));
  return std::pair(std::move(name), std::string(text.substr(equals + 1)));
}

}  // namespace

std::vector<house::VerbOption> NameOptions() {
  return {{"tenant", "TENANT", "Whose functions (environment: CS_TENANT)"},
          {"namespace", "NAMESPACE",
           "Where of the tenant's (environment: CS_NAMESPACE; default: default)"}};
}

Result<NamespaceName> NamespaceOf(const VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<house::Login> login,
                         house::ReadLogin(call.environment));
  const house::Login kept = login.value_or(house::Login());
  NamespaceName ns{
      .tenant = FirstOf({call.Text("tenant"),
                         house::ValueOf(call.environment, house::kTenantVariable), kept.tenant}),
      .name = FirstOf({call.Text("namespace"),
                       house::ValueOf(call.environment, house::kNamespaceVariable), kept.ns,
                       std::string(kUsualNamespace)})};
  if (ns.tenant.empty()) {
    return UsageError(
        "no tenant is named: give --tenant t_…, set CS_TENANT, or keep one with `cairn auth login "
        "--tenant t_…`");
  }
  CAIRN_RETURN_IF_ERROR(Check(NameKind::kTenant, ns.tenant));
  CAIRN_RETURN_IF_ERROR(Check(NameKind::kNamespace, ns.name));
  return ns;
}

Result<FunctionName> ParseFunction(const VerbCall& call, std::string_view text) {
  FunctionName function;
  const size_t first = text.find('/');
  if (first == std::string_view::npos) {
    CAIRN_ASSIGN_OR_RETURN(const NamespaceName ns, NamespaceOf(call));
    function = {ns.tenant, ns.name, std::string(text)};
  } else {
    const size_t second = text.find('/', first + 1);
    if (second == std::string_view::npos) {
      return UsageError(
          fmt::format("'{}' is neither FUNCTION nor TENANT/NAMESPACE/FUNCTION", Printable(text)));
    }
    function = {std::string(text.substr(0, first)),
                std::string(text.substr(first + 1, second - first - 1)),
                std::string(text.substr(second + 1))};
    CAIRN_RETURN_IF_ERROR(Check(NameKind::kTenant, function.tenant));
    CAIRN_RETURN_IF_ERROR(Check(NameKind::kNamespace, function.ns));
  }
  CAIRN_RETURN_IF_ERROR(Check(NameKind::kFunction, function.name));
  return function;
}

Result<FunctionRef> ParseFunctionRef(const VerbCall& call, std::string_view text) {
  const size_t at = text.find('@');
  FunctionRef ref;
  CAIRN_ASSIGN_OR_RETURN(ref.function, ParseFunction(call, text.substr(0, at)));
  if (at == std::string_view::npos) return ref;
  const std::string_view target = text.substr(at + 1);
  ref.version = ParseVersion(target);
  if (ref.version) return ref;
  CAIRN_RETURN_IF_ERROR(Check(NameKind::kAlias, target));
  ref.alias = target;
  return ref;
}

std::string NamespacePath(const NamespaceName& ns, std::string_view rest) {
  return fmt::format("/v1/tenants/{}/namespaces/{}{}", ns.tenant, ns.name, rest);
}

std::string FunctionPath(const FunctionName& function, std::string_view rest) {
  return NamespacePath(function.in(), fmt::format("/functions/{}{}", function.name, rest));
}

Result<std::string> ReadJson(std::string_view what, const std::string& typed) {
  std::string text = typed;
  std::string where(what);
  std::error_code failure;
  if (typed == "-") {
    CAIRN_ASSIGN_OR_RETURN(text, ReadStandardInput(kMaxEventBytes));
    where = fmt::format("{} from standard input", what);
  } else if (typed.starts_with('@') ||
             (!IsJson(typed) && std::filesystem::is_regular_file(typed, failure))) {
    const std::string file = typed.starts_with('@') ? typed.substr(1) : typed;
    CAIRN_ASSIGN_OR_RETURN(text, ReadFile(file, kMaxEventBytes));
    where = file;
  }
  if (!IsJson(text)) {
    return UsageError(
        fmt::format("{} is not JSON: give JSON, a file that holds it, or - for standard "
                    "input",
                    where));
  }
  return text;
}

Result<EnvMap> ReadEnv(const VerbCall& call) {
  EnvMap env;
  if (const std::string& file = call.Text("env-file"); !file.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, 2 * kMaxEnvBytes));
    std::string_view rest = text;
    for (int line = 1; !rest.empty(); ++line) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view one = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (one.empty() || one.starts_with('#')) continue;
      CAIRN_ASSIGN_OR_RETURN(auto variable, ParseVariable(fmt::format("{}:{}", file, line), one));
      env.push_back(std::move(variable));
    }
  }
  for (const std::string& typed : call.List("env")) {
    CAIRN_ASSIGN_OR_RETURN(auto variable, ParseVariable("--env", typed));
    if (variable.second.starts_with('@')) {
      CAIRN_ASSIGN_OR_RETURN(variable.second, ReadFile(variable.second.substr(1), kMaxEnvBytes));
      while (variable.second.ends_with('\n')) variable.second.pop_back();
    }
    std::erase_if(env, [&](const auto& one) { return one.first == variable.first; });
    env.push_back(std::move(variable));
  }
  return env;
}

Result<house::ApiClient> ClientOf(const VerbCall& call) {
  if (!call.server.ok()) return call.server.error();
  // A synchronous invocation may last as long as a function may.
  return house::ApiClient(*call.server,
                          std::chrono::milliseconds(kMaxTimeoutMs) + std::chrono::seconds(30));
}

int Fail(const VerbCall& call, std::string_view verb, const Error& error) {
  std::string message(RefusalText(error));
  if (error.code == ErrorCode::kNotFound && message.starts_with("there is no function")) {
    message += "; `cairn fn create NAME` makes one, `cairn fn list` shows those there are";
  } else if (message.starts_with("cannot connect")) {
    message += "; start a server with `cairn serve`, or name another with --url";
  }
  call.terminal.Complain(fmt::format("{}: {}", verb, message));
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kOutcomeUnknown:
    case ErrorCode::kCorruption:
    case ErrorCode::kInternal:
      return kExitServerFailed;
    default:
      return kExitRefused;
  }
}

std::string TextOf(const json::value& object, std::string_view member) {
  const json::value* const value = object.as_object().if_contains(member);
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

std::string TimeOf(const json::value& object, std::string_view member) {
  const json::value* const value = object.as_object().if_contains(member);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return "";
  std::string text = FormatTime(static_cast<uint64_t>(value->get_int64()) * kNsPerMs);
  if (text.size() > 19) text.resize(19);
  std::ranges::replace(text, 'T', ' ');
  return text;
}

void PrintMembers(const json::value& object, const house::Terminal& terminal) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& member : object.as_object()) {
    std::string text = TextOf(object, member.key());
    if (text.empty()) continue;
    if (member.key().ends_with("_ms") && member.value().is_int64() &&
        member.key().find("_at_") != std::string_view::npos) {
      text = TimeOf(object, member.key());
    }
    rows.push_back({std::string(member.key()), std::move(text)});
  }
  terminal.Print(house::FormatTable(rows));
}

void Note(std::string_view text) { fmt::print(stderr, "{}\n", text); }

}  // namespace cairn::functions::cli
