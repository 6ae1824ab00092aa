#include "functions/control/warm.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "functions/control/aliases.h"
#include "functions/control/functions.h"
#include "functions/control/requests.h"
#include "functions/control/values.h"
#include "functions/control/versions.h"
#include "functions/model/errors.h"

namespace cairn::functions {
namespace {

// What one alias of the index wants; what cannot be read, or is gone, wants nothing.
Result<void> Add(store::Transaction& transaction, std::string_view name,
                 std::vector<WarmVersion>& found) {
  const auto parsed = ParseWarmName(name);
  if (!parsed) return {};
  const auto& [function, alias_name] = *parsed;
  const Context anybody{transaction};
  const auto passable = [](const Error& error) { return error.message.starts_with("CS_"); };
  const Result<Function> record = LoadFunction(anybody, function);
  if (!record.ok()) return passable(record.error()) ? Result<void>() : record.error();
  const Result<Alias> alias = GetAlias(anybody, function, alias_name);
  if (!alias.ok()) return passable(alias.error()) ? Result<void>() : alias.error();
  if (!record->enabled || alias->min_warm == 0) return {};
  std::vector<uint64_t> versions = {alias->target.version};
  if (alias->target.second) versions.push_back(alias->target.second->version);
  for (const uint64_t version : versions) {
    Result<VersionMeta> meta = LoadVersionMeta(transaction, function, version);
    if (!meta.ok() && !passable(meta.error())) return meta.error();
    if (meta.ok()) found.push_back({function, *std::move(meta), alias->min_warm});
  }
  return {};
}

}  // namespace

std::string NameInWarmIndex(const FunctionName& function, std::string_view alias) {
  return fmt::format("{}:{}", ResourceName(function), alias);
}

std::optional<std::pair<FunctionName, std::string>> ParseWarmName(std::string_view name) {
  const size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Result<FunctionName> function = ParseFunctionName(name.substr(0, colon));
  if (!function.ok()) return std::nullopt;
  return std::pair(*std::move(function), std::string(name.substr(colon + 1)));
}

store::Topic WarmTopic() { return store::Topic::Of(store::Space::kData, "functions warm"); }

Result<void> NoteWarm(Context& context, const FunctionName& function, std::string_view alias,
                      WarmChange change) {
  if (change.before == 0 && change.after == 0) return {};
  context.transaction.Wake(WarmTopic());
  if ((change.before == 0) == (change.after == 0)) return {};
  store::Scopes scopes;
  AddScope(kWarmIndexKey, scopes);
  CAIRN_RETURN_IF_ERROR(context.Require(scopes));
  const std::string name = NameInWarmIndex(function, alias);
  return change.after == 0 ? RemoveFromIndex(context.transaction, kWarmIndexKey, name)
                           : AddToIndex(context.transaction, kWarmIndexKey, name);
}

Result<std::vector<WarmVersion>> ListWarm(store::Transaction& transaction) {
  std::vector<WarmVersion> found;
  std::string after;
  for (;;) {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           NamesInIndex(transaction, kWarmIndexKey, after, kMaxPage));
    if (names.empty()) return found;
    for (const std::string& name : names) CAIRN_RETURN_IF_ERROR(Add(transaction, name, found));
    after = names.back();
  }
}

}  // namespace cairn::functions
