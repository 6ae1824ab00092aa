#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "functions/control/context.h"
#include "functions/model/records.h"
#include "store/scopes.h"
#include "store/transaction.h"

// Aliases that want children kept ready for them (Alias::min_warm). An index names them, so that a
// server finds out that there are none by reading one key:
//
//   cs:warm:index   zset   "TENANT/NAMESPACE/FUNCTION:ALIAS", all scores 0
namespace cairn::functions {

// A name in the index, and what it says: the function and its alias; nullopt for what is none.
std::string NameInWarmIndex(const FunctionName& function, std::string_view alias);
std::optional<std::pair<FunctionName, std::string>> ParseWarmName(std::string_view name);

// Woken by each change of what ListWarm tells.
store::Topic WarmTopic();

// An alias is about to have another min_warm; 0: none, also where the alias is deleted.
struct WarmChange {
  int64_t before = 0;
  int64_t after = 0;
};
Result<void> NoteWarm(Context& context, const FunctionName& function, std::string_view alias,
                      WarmChange change);

// A version that an alias points to, and how many children are to be ready for it.
struct WarmVersion {
  FunctionName function;
  VersionMeta version;
  int64_t children = 0;
};
// Of a split alias both versions. An alias whose function is disabled or deleted wants none.
Result<std::vector<WarmVersion>> ListWarm(store::Transaction& transaction);

}  // namespace cairn::functions
