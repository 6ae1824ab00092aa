#include <algorithm>
#include <string>
#include <vector>

#include "functions/cli/call.h"
#include "functions/cli/fn_actions.h"
#include "functions/cli/fn_options.h"
#include "functions/cli/verbs.h"

namespace cairn::functions {
namespace {

using house::VerbAction;
using house::VerbCall;

struct ActionRow {
  VerbAction action;
  cli::Action run;
};
const std::vector<ActionRow>& Actions() {
  static const std::vector<ActionRow> actions = {
      {{"init", "DIR", 1, 1}, cli::InitFolder},
      {{"test", "[DIR]", 0, 1}, cli::TestFolder},
      {{"dev", "[DIR]", 0, 1}, cli::DevelopFolder},
      {{"create", "FUNCTION", 1, 1}, cli::CreateFunction},
      {{"draft", "[upload] [DIR]", 0, 2}, cli::UploadDraft},
      {{"publish", "[DIR]", 0, 1}, cli::Publish},
      {{"alias", "list|get|set|weights|shift|rollback|delete FUNCTION [ALIAS …]", 2, 5},
       cli::Alias},
      {{"invoke", "FUNCTION[@ALIAS|@VERSION] [EVENT]", 1, 2}, cli::Invoke},
      {{"activation", "ID", 1, 1}, cli::ShowActivation},
      {{"logs", "ID", 1, 1}, cli::ShowLogs},
      {{"steps", "ID", 1, 1}, cli::ShowSteps},
      {{"signal", "ID NAME [JSON]", 2, 3}, cli::SendSignal},
      {{"restart", "ID", 1, 1}, cli::RestartActivation},
      {{"list"}, cli::ListFunctions},
      {{"get", "FUNCTION", 1, 1}, cli::GetFunction},
      {{"describe", "FUNCTION", 1, 1}, cli::GetFunction},
      {{"versions", "FUNCTION", 1, 1}, cli::ListVersions},
      {{"enable", "FUNCTION", 1, 1}, cli::ChangeFunction},
      {{"disable", "FUNCTION", 1, 1}, cli::ChangeFunction},
      {{"delete", "FUNCTION", 1, 1}, cli::ChangeFunction},
      {{"purge", "FUNCTION", 1, 1}, cli::ChangeFunction},
  };
  return actions;
}

int Run(const VerbCall& call) {
  const auto row = std::ranges::find(Actions(), call.action,
                                     [](const ActionRow& one) { return one.action.name; });
  const Result<int> exit = row->run(call);
  return exit.ok() ? *exit : cli::Fail(call, "fn " + call.action, exit.error());
}

}  // namespace

house::Verb FnVerb() {
  house::Verb verb{
      .name = "fn",
      .description = "Write, try, publish and invoke functions",
      .options = cli::FnOptions(),
      .run = Run,
  };
  for (const ActionRow& row : Actions()) verb.actions.push_back(row.action);
  return verb;
}

}  // namespace cairn::functions
