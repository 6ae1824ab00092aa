#include "functions/cadence/bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "data/value/entry.h"
#include "data/value/keys.h"
#include "functions/cadence/keys.h"
#include "functions/cadence/limits.h"
#include "functions/control/aliases.h"
#include "functions/control/values.h"
#include "functions/control/versions.h"
#include "functions/model/errors.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"

namespace cairn::functions {
namespace {

Error NoBinding(const BindingName& name) {
  return Refuse(Code::kNotFound, fmt::format("there is no worker binding \"{}\" in {}/{}",
                                             name.name, name.ns.tenant, name.ns.name));
}

Result<void> CheckNames(const BindingName& name) {
  CAIRN_RETURN_IF_ERROR(CheckNamespace(name.ns));
  return CheckName(NameKind::kBinding, name.name);
}

Result<void> CheckText(std::string_view member, std::string_view text) {
  if (!text.empty() && text.size() <= kMaxBindingNameBytes) return {};
  return Refuse(Code::kValidation,
                fmt::format("{} must have 1 to {} bytes", member, kMaxBindingNameBytes));
}

Result<void> CheckRange(std::string_view member, int64_t value, int64_t most) {
  if (value >= 1 && value <= most) return {};
  return Refuse(Code::kValidation, fmt::format("{} must be an integer from 1 to {}", member, most));
}

Result<void> CheckMembers(const WorkerBinding& binding) {
  CAIRN_RETURN_IF_ERROR(CheckText("domain", binding.domain));
  CAIRN_RETURN_IF_ERROR(CheckText("tasklist", binding.tasklist));
  CAIRN_RETURN_IF_ERROR(CheckText("worker_id", binding.worker_id));
  CAIRN_RETURN_IF_ERROR(CheckRange("pollers.activity", binding.pollers, kMaxPollers));
  CAIRN_RETURN_IF_ERROR(
      CheckRange("limits.max_inflight_tasks", binding.max_inflight_tasks, kMaxInflightTasks));
  if (binding.activity_map.empty() || binding.activity_map.size() > kMaxActivities) {
    return Refuse(Code::kValidation,
                  fmt::format("activity_map must have 1 to {} activities", kMaxActivities));
  }
  std::set<std::string_view> seen;
  for (const auto& [activity, ref] : binding.activity_map) {
    if (activity.empty() || activity.size() > kMaxActivityNameBytes) {
      return Refuse(Code::kValidation, fmt::format("activity_map: an activity's name must have 1 "
                                                   "to {} bytes",
                                                   kMaxActivityNameBytes));
    }
    if (!seen.insert(activity).second) {
      return Refuse(Code::kValidation, fmt::format("activity_map names \"{}\" twice",
                                                   Printable(activity, kMaxActivityNameBytes)));
    }
  }
  return {};
}

// The functions are there and the caller's to use, and so is what the refs name.
Result<void> CheckRefs(const Context& context, const WorkerBinding& binding) {
  for (const auto& [activity, ref] : binding.activity_map) {
    const FunctionName function{binding.tenant, binding.ns, ref.function};
    CAIRN_RETURN_IF_ERROR(LoadFunction(context, function));
    if (ref.version) {
      CAIRN_RETURN_IF_ERROR(LoadVersionMeta(context.transaction, function, *ref.version));
    } else if (ref.alias.empty()) {
      return Refuse(Code::kValidation,
                    fmt::format("activity_map.{}: alias or version must be there",
                                Printable(activity, kMaxActivityNameBytes)));
    } else {
      CAIRN_RETURN_IF_ERROR(GetAlias(context, function, ref.alias));
    }
  }
  return {};
}

bool AllowsAll(const Context& context, const WorkerBinding& binding) {
  return std::ranges::all_of(binding.activity_map, [&](const auto& activity) {
    return context.Allows({binding.tenant, binding.ns, activity.second.function});
  });
}

// One that the caller may see.
Result<WorkerBinding> LoadBinding(const Context& context, const BindingName& name) {
  CAIRN_RETURN_IF_ERROR(CheckNames(name));
  CAIRN_ASSIGN_OR_RETURN(std::optional<WorkerBinding> found,
                         FindBinding(context.transaction, name));
  if (!found || !AllowsAll(context, *found)) return NoBinding(name);
  return *std::move(found);
}

Result<void> SaveBinding(store::Transaction& transaction, const BindingName& name,
                         const WorkerBinding& binding) {
  transaction.Wake(BindingsTopic());
  return WriteString(transaction, BindingKey(name.ns, name.name), Encode(binding));
}

void Apply(const BindingUpdate& update, WorkerBinding& binding) {
  if (update.domain) binding.domain = *update.domain;
  if (update.tasklist) binding.tasklist = *update.tasklist;
  if (update.worker_id) binding.worker_id = *update.worker_id;
  if (update.activity_map) binding.activity_map = *update.activity_map;
  if (update.pollers) binding.pollers = *update.pollers;
  if (update.max_inflight_tasks) binding.max_inflight_tasks = *update.max_inflight_tasks;
  if (update.enabled) binding.enabled = *update.enabled;
}

}  // namespace

std::string ResourceName(const BindingName& binding) {
  return fmt::format("{}/{}/{}", binding.ns.tenant, binding.ns.name, binding.name);
}

std::optional<BindingName> ParseBindingName(std::string_view text) {
  const size_t first = text.find('/');
  const size_t second = first == std::string_view::npos ? first : text.find('/', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return BindingName{
      {std::string(text.substr(0, first)), std::string(text.substr(first + 1, second - first - 1))},
      std::string(text.substr(second + 1))};
}

void AddBindingScopes(const BindingName& binding, store::Scopes& scopes) {
  AddScope(BindingKey(binding.ns, binding.name), scopes);
  AddScope(BindingIndexKey(binding.ns), scopes);
}

store::Topic BindingsTopic() { return store::Topic::Of(store::Space::kData, "functions cadence"); }

Result<std::optional<WorkerBinding>> FindBinding(store::Transaction& transaction,
                                                 const BindingName& name) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(transaction, BindingKey(name.ns, name.name)));
  if (!record) return std::optional<WorkerBinding>();
  CAIRN_ASSIGN_OR_RETURN(WorkerBinding binding, DecodeWorkerBinding(*record));
  return std::optional(std::move(binding));
}

Result<WorkerBinding> CreateBinding(Context& context, const BindingName& name,
                                    WorkerBinding binding) {
  CAIRN_RETURN_IF_ERROR(CheckNames(name));
  binding.name = name.name;
  binding.tenant = name.ns.tenant;
  binding.ns = name.ns.name;
  CAIRN_RETURN_IF_ERROR(CheckMembers(binding));
  CAIRN_RETURN_IF_ERROR(CheckRefs(context, binding));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(context.transaction, BindingKey(name.ns, name.name)));
  if (record) {
    return Refuse(Code::kConflict, fmt::format("the worker binding \"{}\" exists", name.name));
  }
  const std::string index = BindingIndexKey(name.ns);
  CAIRN_ASSIGN_OR_RETURN(const size_t count, CountInSet(context.transaction, index));
  if (count >= kMaxBindings) {
    return Refuse(Code::kTooLarge,
                  fmt::format("a namespace may have {} worker bindings", kMaxBindings));
  }
  CAIRN_RETURN_IF_ERROR(AddToSet(context.transaction, index, name.name));
  CAIRN_RETURN_IF_ERROR(SaveBinding(context.transaction, name, binding));
  return binding;
}

Result<WorkerBinding> UpdateBinding(Context& context, const BindingName& name,
                                    const BindingUpdate& update) {
  CAIRN_ASSIGN_OR_RETURN(WorkerBinding binding, LoadBinding(context, name));
  Apply(update, binding);
  CAIRN_RETURN_IF_ERROR(CheckMembers(binding));
  if (update.activity_map) CAIRN_RETURN_IF_ERROR(CheckRefs(context, binding));
  CAIRN_RETURN_IF_ERROR(SaveBinding(context.transaction, name, binding));
  return binding;
}

Result<WorkerBinding> GetBinding(const Context& context, const BindingName& name) {
  return LoadBinding(context, name);
}

Result<BindingPage> ListBindings(const Context& context, const NamespaceName& ns,
                                 const Page& page) {
  CAIRN_RETURN_IF_ERROR(CheckNamespace(ns));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                         NamesInSet(context.transaction, BindingIndexKey(ns)));
  BindingPage listed;
  for (const std::string& name : names) {
    if (name <= page.after) continue;
    CAIRN_ASSIGN_OR_RETURN(std::optional<WorkerBinding> binding,
                           FindBinding(context.transaction, {ns, name}));
    // Somebody has deleted the key by hand, or it is not for this caller.
    if (!binding || !AllowsAll(context, *binding)) continue;
    if (listed.bindings.size() == page.limit) {
      listed.cursor = listed.bindings.back().name;
      return listed;
    }
    listed.bindings.push_back(*std::move(binding));
  }
  return listed;
}

Result<void> DeleteBinding(Context& context, const BindingName& name) {
  CAIRN_RETURN_IF_ERROR(LoadBinding(context, name));
  context.transaction.Wake(BindingsTopic());
  CAIRN_RETURN_IF_ERROR(RemoveKey(context.transaction, BindingKey(name.ns, name.name)));
  return RemoveFromSet(context.transaction, BindingIndexKey(name.ns), name.name);
}

Result<std::vector<NamespaceName>> CadenceNamespaces(store::Transaction& transaction) {
  std::vector<NamespaceName> found;
  std::string from(kCadencePrefix);
  for (;;) {
    std::optional<std::string> key;
    store::Range range = data::RecordRange(kDatabase, kCadencePrefix);
    range.begin = std::max(range.begin, data::EncodeRecordKey({kDatabase, from}));
    CAIRN_RETURN_IF_ERROR(data::ScanRecords(
        transaction, range, [&](const data::RecordKey& record, const data::Record&) {
          key = std::string(record.user_key);
          return false;
        }));
    if (!key) return found;
    const std::optional<CadenceKeyParts> parts = ParseCadenceKey(*key);
    if (!parts) {
      from = *key + '\0';
      continue;
    }
    if (found.empty() || found.back() != parts->ns) found.push_back(parts->ns);
    // Behind all keys of this namespace: ';' follows ':'.
    from = fmt::format("{}{}:{};", kCadencePrefix, parts->ns.tenant, parts->ns.name);
  }
}

Result<std::vector<WorkerBinding>> EnabledBindings(store::Transaction& transaction) {
  std::vector<WorkerBinding> enabled;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<NamespaceName> namespaces,
                         CadenceNamespaces(transaction));
  for (const NamespaceName& ns : namespaces) {
    const Result<std::vector<std::string>> names = NamesInSet(transaction, BindingIndexKey(ns));
    if (!names.ok()) {
      if (IsRefusal(names.error(), Code::kStoreReadFailed)) continue;
      return names.error();
    }
    for (const std::string& name : *names) {
      Result<std::optional<WorkerBinding>> binding = FindBinding(transaction, {ns, name});
      if (!binding.ok()) {
        if (IsRefusal(binding.error(), Code::kStoreReadFailed)) continue;
        return binding.error();
      }
      if (!*binding || !(*binding)->enabled) continue;
      // A record as seed 000 has it names neither.
      (*binding)->tenant = ns.tenant;
      (*binding)->ns = ns.name;
      enabled.push_back(**std::move(binding));
    }
  }
  return enabled;
}

}  // namespace cairn::functions
