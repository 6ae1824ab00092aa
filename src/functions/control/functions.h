#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "functions/control/context.h"
#include "functions/model/records.h"
#include "store/scopes.h"

// Functions as a whole. Each function here and in the headers beside it is one step inside a
// transaction: it checks first and writes afterwards, so a refusal (errors.h) has changed nothing.
//
//   create ─→ active ⇄ disabled
//                └─ delete ─→ deleted ─ purge ─→ gone; the name is free again
//
// A deleted function keeps its versions, is not listed and cannot be used.
namespace cairn::functions {

// The scopes of everything that changes a function, without its drafts and aliases.
void AddFunctionScopes(const FunctionName& function, store::Scopes& scopes);

struct NewFunction {
  FunctionName name;
  std::string runtime = "cs-js";
  std::string entry = "function.js";
  std::string handler = "default";
};
// CS_CONFLICT if there is one of this name, deleted or not.
Result<Function> CreateFunction(Context& context, const NewFunction& function);

enum class Deleted : uint8_t { kHidden, kShown };
// CS_NOT_FOUND if there is none, or it is deleted.
Result<Function> LoadFunction(const Context& context, const FunctionName& function,
                              Deleted deleted = Deleted::kHidden);

struct FunctionDetail {
  Function function;
  std::vector<Alias> aliases;         // by name
  std::optional<VersionMeta> latest;  // nullopt: nothing is published
};
Result<FunctionDetail> DescribeFunction(const Context& context, const FunctionName& function,
                                        Deleted deleted);

struct Page {
  std::string after = {};
  size_t limit = kDefaultPage;
};
// Functions by name; those that the caller may not use are left out. `cursor` is the next page's
// `after`, empty if there is none.
struct FunctionPage {
  std::vector<Function> functions;
  std::string cursor;
};
Result<FunctionPage> ListFunctions(const Context& context, const NamespaceName& ns,
                                   const Page& page, Deleted deleted);

// Deleting what is deleted does nothing.
Result<Function> DeleteFunction(Context& context, const FunctionName& function);
// Removes a deleted function, its drafts, versions and aliases. CS_CONFLICT if it is not deleted.
Result<void> PurgeFunction(Context& context, const FunctionName& function);
Result<Function> SetEnabled(Context& context, const FunctionName& function, bool enabled);

}  // namespace cairn::functions
