#include "functions/control/functions.h"

#include <fmt/format.h>

#include <utility>

#include "functions/control/aliases.h"
#include "functions/control/values.h"
#include "functions/control/versions.h"
#include "functions/control/warm.h"
#include "functions/model/bundle.h"
#include "functions/model/manifest.h"
#include "functions/model/names.h"

namespace cairn::functions {
namespace {

Error NoFunction(const FunctionName& name) {
  return Refuse(Code::kNotFound, fmt::format("there is no function \"{}\" in {}/{}", name.name,
                                             name.tenant, name.ns));
}

Result<void> SaveFunction(Context& context, const FunctionName& name, const Function& function) {
  return WriteString(context.transaction, FunctionKey(name), Encode(function));
}

Result<void> CheckNew(const NewFunction& function) {
  if (function.runtime != kRuntime) {
    return Refuse(Code::kValidation, fmt::format("runtime must be {}", kRuntime));
  }
  if (!IsBundlePath(function.entry)) {
    return Refuse(Code::kValidation, "entry must be the path of a file in the bundle");
  }
  if (function.handler != kHandler) {
    return Refuse(Code::kValidation, fmt::format("handler must be {}", kHandler));
  }
  return {};
}

}  // namespace

Result<void> CheckNamespace(const NamespaceName& ns) {
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kTenant, ns.tenant));
  return CheckName(NameKind::kNamespace, ns.name);
}

Result<void> CheckFunction(const Context& context, const FunctionName& function) {
  CAIRN_RETURN_IF_ERROR(CheckNamespace(function.in()));
  CAIRN_RETURN_IF_ERROR(CheckName(NameKind::kFunction, function.name));
  if (context.Allows(function)) return {};
  return Refuse(Code::kResourceMismatch,
                fmt::format("this key may not use the function {}", ResourceName(function)));
}

void AddFunctionScopes(const FunctionName& function, store::Scopes& scopes) {
  AddScope(FunctionKey(function), scopes);
  AddScope(VersionSeqKey(function), scopes);
  AddScope(FunctionIndexKey(function.in()), scopes);
}

Result<Function> LoadFunction(const Context& context, const FunctionName& name, Deleted deleted) {
  CAIRN_RETURN_IF_ERROR(CheckFunction(context, name));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(context.transaction, FunctionKey(name)));
  if (!record) return NoFunction(name);
  CAIRN_ASSIGN_OR_RETURN(Function function, DecodeFunction(*record));
  if (function.deleted_at_ms && deleted == Deleted::kHidden) return NoFunction(name);
  return function;
}

Result<Function> CreateFunction(Context& context, const NewFunction& created) {
  const FunctionName& name = created.name;
  CAIRN_RETURN_IF_ERROR(CheckFunction(context, name));
  CAIRN_RETURN_IF_ERROR(CheckNew(created));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                         ReadString(context.transaction, FunctionKey(name)));
  if (record) {
    CAIRN_ASSIGN_OR_RETURN(const Function old, DecodeFunction(*record));
    return Refuse(
        Code::kConflict,
        old.deleted_at_ms
            ? fmt::format("the function \"{}\" was deleted; purge it to use its name again",
                          name.name)
            : fmt::format("the function \"{}\" exists", name.name));
  }
  const Function function{.tenant = name.tenant,
                          .ns = name.ns,
                          .name = name.name,
                          .runtime = created.runtime,
                          .entry = created.entry,
                          .handler = created.handler,
                          .created_at_ms = context.now_ms()};
  CAIRN_RETURN_IF_ERROR(AddToIndex(context.transaction, FunctionIndexKey(name.in()), name.name));
  CAIRN_RETURN_IF_ERROR(SaveFunction(context, name, function));
  return function;
}

Result<FunctionDetail> DescribeFunction(const Context& context, const FunctionName& name,
                                        Deleted deleted) {
  FunctionDetail detail;
  CAIRN_ASSIGN_OR_RETURN(detail.function, LoadFunction(context, name, deleted));
  CAIRN_ASSIGN_OR_RETURN(detail.aliases, LoadAliases(context.transaction, name));
  CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, NewestVersion(context.transaction, name));
  if (newest != 0) {
    CAIRN_ASSIGN_OR_RETURN(detail.latest, LoadVersionMeta(context.transaction, name, newest));
  }
  return detail;
}

Result<FunctionPage> ListFunctions(const Context& context, const NamespaceName& ns,
                                   const Page& page, Deleted deleted) {
  CAIRN_RETURN_IF_ERROR(CheckNamespace(ns));
  const std::string index = FunctionIndexKey(ns);
  FunctionPage listed;
  std::string after = page.after;
  // Of the index, a page at a time: some of its functions may be hidden from the caller.
  for (;;) {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           NamesInIndex(context.transaction, index, after, page.limit + 1));
    for (const std::string& name : names) {
      const FunctionName function{ns.tenant, ns.name, name};
      if (!context.Allows(function)) continue;
      CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record,
                             ReadString(context.transaction, FunctionKey(function)));
      if (!record) continue;  // somebody has deleted the key by hand
      CAIRN_ASSIGN_OR_RETURN(Function decoded, DecodeFunction(*record));
      if (decoded.deleted_at_ms && deleted == Deleted::kHidden) continue;
      if (listed.functions.size() == page.limit) {
        listed.cursor = listed.functions.back().name;
        return listed;
      }
      listed.functions.push_back(std::move(decoded));
    }
    if (names.size() <= page.limit) return listed;
    after = names.back();
  }
}

Result<Function> DeleteFunction(Context& context, const FunctionName& name) {
  CAIRN_ASSIGN_OR_RETURN(Function function, LoadFunction(context, name, Deleted::kShown));
  if (function.deleted_at_ms) return function;
  function.deleted_at_ms = context.now_ms();
  context.transaction.Wake(WarmTopic());
  CAIRN_RETURN_IF_ERROR(SaveFunction(context, name, function));
  return function;
}

Result<void> PurgeFunction(Context& context, const FunctionName& name) {
  CAIRN_ASSIGN_OR_RETURN(const Function function, LoadFunction(context, name, Deleted::kShown));
  if (!function.deleted_at_ms) {
    return Refuse(Code::kConflict,
                  fmt::format("the function \"{}\" is in use; delete it first", name.name));
  }
  const std::string prefix = FunctionPrefix(name);
  CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> keys,
                         KeysBehind(context.transaction, prefix));
  store::Scopes scopes;
  for (const std::string& key : keys) AddScope(prefix + key, scopes);
  CAIRN_RETURN_IF_ERROR(context.Require(scopes));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Alias> aliases, LoadAliases(context.transaction, name));
  for (const Alias& alias : aliases) {
    CancelShiftTimer(context.transaction, name, alias);
    CAIRN_RETURN_IF_ERROR(NoteWarm(context, name, alias.alias, {.before = alias.min_warm}));
  }
  for (const std::string& key : keys) {
    CAIRN_RETURN_IF_ERROR(RemoveKey(context.transaction, prefix + key));
  }
  return RemoveFromIndex(context.transaction, FunctionIndexKey(name.in()), name.name);
}

Result<Function> SetEnabled(Context& context, const FunctionName& name, bool enabled) {
  CAIRN_ASSIGN_OR_RETURN(Function function, LoadFunction(context, name));
  if (function.enabled == enabled) return function;
  function.enabled = enabled;
  context.transaction.Wake(WarmTopic());
  CAIRN_RETURN_IF_ERROR(SaveFunction(context, name, function));
  return function;
}

}  // namespace cairn::functions
