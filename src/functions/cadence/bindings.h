#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "functions/control/context.h"
#include "functions/control/functions.h"
#include "functions/model/records.h"
#include "store/scopes.h"
#include "store/transaction.h"

// Worker bindings: which activities of a Cadence task list run which functions. Each function here
// is one step inside a transaction, with the rules of control/functions.h. Whoever may use all
// functions of a binding may use the binding; to others it does not exist.
//
//   create ─→ enabled ⇄ disabled          polled exactly while it is enabled (pollers.h)
//                └── delete ─→ gone
namespace cairn::functions {

struct BindingName {
  NamespaceName ns;
  std::string name;
  friend auto operator<=>(const BindingName&, const BindingName&) = default;
};
// "T/N/W", as commands name it.
std::string ResourceName(const BindingName& binding);
// nullopt unless it has these parts; the names are not checked.
std::optional<BindingName> ParseBindingName(std::string_view text);

// The scopes of everything that changes one binding.
void AddBindingScopes(const BindingName& binding, store::Scopes& scopes);
// Woken by each change of a binding.
store::Topic BindingsTopic();

// The tenant, namespace and name of `binding` are set here. CS_CONFLICT if there is one of this
// name, CS_NOT_FOUND if a function, alias or version of its activities does not exist, CS_TOO_LARGE
// if the namespace has kMaxBindings.
Result<WorkerBinding> CreateBinding(Context& context, const BindingName& name,
                                    WorkerBinding binding);
// What is given replaces what was; the rest stays.
struct BindingUpdate {
  std::optional<std::string> domain = {};
  std::optional<std::string> tasklist = {};
  std::optional<std::string> worker_id = {};
  std::optional<std::vector<std::pair<std::string, Ref>>> activity_map = {};
  std::optional<int64_t> pollers = {};
  std::optional<int64_t> max_inflight_tasks = {};
  std::optional<bool> enabled = {};
};
Result<WorkerBinding> UpdateBinding(Context& context, const BindingName& name,
                                    const BindingUpdate& update);
Result<WorkerBinding> GetBinding(const Context& context, const BindingName& name);
// By name. `cursor` is the next page's `after`, empty if there is none.
struct BindingPage {
  std::vector<WorkerBinding> bindings;
  std::string cursor;
};
Result<BindingPage> ListBindings(const Context& context, const NamespaceName& ns, const Page& page);
// Tasks that it has been given are still answered.
Result<void> DeleteBinding(Context& context, const BindingName& name);

// --- For pollers and checks ----------------------------------------------------------------------

// nullopt: there is none.
Result<std::optional<WorkerBinding>> FindBinding(store::Transaction& transaction,
                                                 const BindingName& name);

// Namespaces that have bindings or tasks, in order.
Result<std::vector<NamespaceName>> CadenceNamespaces(store::Transaction& transaction);
// The enabled bindings of all namespaces, except those that cannot be read.
Result<std::vector<WorkerBinding>> EnabledBindings(store::Transaction& transaction);

}  // namespace cairn::functions
