#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/cadence/bindings.h"

// The JSON that both doors take and give of worker bindings. Objects are closed, as in
// control/requests.h.
namespace cairn::functions {

// A binding of what is given, and of the usual where nothing is.
WorkerBinding NewBindingOf(const BindingUpdate& given);

struct NewBinding {
  BindingName name;
  WorkerBinding binding;
};
// {"name","domain","tasklist","worker_id","activity_map":{ACTIVITY:{"function","alias" or
//  "version"}},"pollers":{"activity"},"limits":{"max_inflight_tasks"},"enabled"}
Result<NewBinding> ParseNewBinding(const NamespaceName& ns, std::string_view text);
// The same without "name"; all of them may be missing.
Result<BindingUpdate> ParseBindingUpdate(std::string_view text);

// {"workers":[…],"cursor":"…" or null}
std::string PageText(const BindingPage& page);

}  // namespace cairn::functions
