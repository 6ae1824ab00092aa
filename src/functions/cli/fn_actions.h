#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "house/verb.h"

// The actions of `cairn fn`. Each does what was typed and returns an exit code; an error is fit for
// the command line.
namespace cairn::functions::cli {

using Action = Result<int> (*)(const house::VerbCall& call);

// fn_manage.cc
Result<int> CreateFunction(const house::VerbCall& call);
Result<int> ListFunctions(const house::VerbCall& call);
Result<int> GetFunction(const house::VerbCall& call);
Result<int> ListVersions(const house::VerbCall& call);
Result<int> ChangeFunction(const house::VerbCall& call);  // enable, disable, delete, purge

// fn_publish.cc
Result<int> UploadDraft(const house::VerbCall& call);
Result<int> Publish(const house::VerbCall& call);

// fn_alias.cc
Result<int> Alias(const house::VerbCall& call);

// fn_invoke.cc
Result<int> Invoke(const house::VerbCall& call);
Result<int> ShowActivation(const house::VerbCall& call);
Result<int> ShowLogs(const house::VerbCall& call);
// "/v1/tenants/T/activations/ID" of the first argument, with `rest` behind it.
Result<std::string> ActivationPath(const house::VerbCall& call, std::string_view rest = "");

// fn_steps.cc
Result<int> ShowSteps(const house::VerbCall& call);
Result<int> SendSignal(const house::VerbCall& call);
Result<int> RestartActivation(const house::VerbCall& call);

// fn_init.cc
Result<int> InitFolder(const house::VerbCall& call);

// fn_run.cc, fn_dev.cc
Result<int> TestFolder(const house::VerbCall& call);
Result<int> DevelopFolder(const house::VerbCall& call);

}  // namespace cairn::functions::cli
