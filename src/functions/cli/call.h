#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "functions/model/config.h"
#include "functions/model/keys.h"
#include "house/api_client.h"
#include "house/verb.h"

// What the verbs of functions share: names, input, output.
namespace cairn::functions::cli {

// The exit codes of these verbs, beside kExitOk: those of the API's own command line, which are not
// those of terminal.h.
inline constexpr int kExitRefused = 1;         // what was typed or asked for is wrong
inline constexpr int kExitServerFailed = 2;    // no server could be asked, or it failed
inline constexpr int kExitFunctionFailed = 3;  // the function was run, and failed

// What was typed cannot be meant: the message says what is wrong with it.
inline Error UsageError(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

// --- Names ---------------------------------------------------------------------------------------

// The options --tenant and --namespace, for the row of a verb.
std::vector<house::VerbOption> NameOptions();
// Tenant and namespace: of the options, the environment or the login, whichever is first. kInvalid
// says how to name them.
Result<NamespaceName> NamespaceOf(const house::VerbCall& call);

// A function, and what is meant of it: "hello", "hello@prod", "hello@17",
// "t_abc123/demo/hello@prod".
struct FunctionRef {
  FunctionName function;
  std::string alias = {};
  std::optional<uint64_t> version = {};
};
Result<FunctionRef> ParseFunctionRef(const house::VerbCall& call, std::string_view text);
// The same where no ref may follow.
Result<FunctionName> ParseFunction(const house::VerbCall& call, std::string_view text);

// "/v1/tenants/T/namespaces/N" with `rest` behind it.
std::string NamespacePath(const NamespaceName& ns, std::string_view rest);
std::string FunctionPath(const FunctionName& function, std::string_view rest = "");

// --- Input ---------------------------------------------------------------------------------------

// JSON that was typed: itself; "@FILE" or the name of a file, which holds it; "-", which is
// standard input. kInvalid names `what`.
Result<std::string> ReadJson(std::string_view what, const std::string& typed);
// --env NAME=VALUE, of which a value beginning with @ is a file, and --env-file, lines of these.
Result<EnvMap> ReadEnv(const house::VerbCall& call);

// --- Asking --------------------------------------------------------------------------------------

// One that can be asked; the error is fit for the command line.
Result<house::ApiClient> ClientOf(const house::VerbCall& call);

// Complains, with what to do next where that is known, and returns the exit code.
int Fail(const house::VerbCall& call, std::string_view verb, const Error& error);

// --- Output --------------------------------------------------------------------------------------

// A member as a table shows it; empty if it is null or not there.
std::string TextOf(const boost::json::value& object, std::string_view member);
// "2026-11-19 05:41:36" of a member that counts milliseconds; empty if it is none.
std::string TimeOf(const boost::json::value& object, std::string_view member);
// Members, one a line.
void PrintMembers(const boost::json::value& object, const house::Terminal& terminal);
// To stderr, as it is.
void Note(std::string_view text);

}  // namespace cairn::functions::cli
