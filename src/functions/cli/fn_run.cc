#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "functions/cli/call.h"
#include "functions/cli/fn_actions.h"
#include "functions/cli/local_folder.h"
#include "functions/cli/outcome.h"
#include "functions/cli/target.h"

// cairn fn test DIR: one run, here, without a server.
namespace cairn::functions::cli {

Result<int> TestFolder(const house::VerbCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const Target target, TargetOf(call, call.arguments));
  CAIRN_ASSIGN_OR_RETURN(const LocalOptions options, LocalOptionsOf(call));
  LocalRuntime::Invocation invocation;
  if (!call.Text("event").empty()) {
    CAIRN_ASSIGN_OR_RETURN(invocation.event, ReadJson("--event", call.Text("event")));
  }
  if (!call.json) {
    invocation.logged = [](std::string_view level, std::string_view text) {
      Note(fmt::format("[{}] {}", level, text));
    };
  }
  LocalRuntime runtime(options);
  CAIRN_ASSIGN_OR_RETURN(const LocalFunction function, LoadFolder(call, target, runtime));
  const LocalOutcome outcome = runtime.RunToEnd(function, std::move(invocation));
  const std::string text = OutcomeText(outcome);
  if (call.json) {
    call.terminal.Print(std::string_view(text));
  } else {
    for (const LocalMessage& message : outcome.messages) {
      Note(fmt::format("{} to {}: {}", message.call, message.name, message.payload));
    }
    PrintOutcome(boost::json::parse(text), "", call.terminal);
  }
  return outcome.end.status == Status::kSuccess ? int{house::kExitOk} : kExitFunctionFailed;
}

}  // namespace cairn::functions::cli
