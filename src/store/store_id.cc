#include "store/store_id.h"

#include <optional>

#include "base/id.h"
#include "store/scopes.h"
#include "store/transaction.h"

namespace cairn::store {
namespace {

// Stores that exist have it under this name.
constexpr std::string_view kStoreIdKey = "view/store_id";

}  // namespace

Result<std::string> LoadStoreId(Store& store, Random& random) {
  const std::string fresh = Uuid::V4(random).ToString();
  const Key key{Space::kSystem, kStoreIdKey};
  Scopes scopes;
  scopes.Add(Space::kSystem, kStoreIdKey);
  std::string id;
  const auto body = [&](Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> stored, transaction.Get(key));
    id = stored.value_or(fresh);
    if (!stored) transaction.Put(key, fresh);
    return {};
  };
  // Most often it is there, and a store that takes no writes now can be asked for it.
  std::optional<Bytes> known;
  CAIRN_ASSIGN_OR_RETURN(Commit commit,
                         store.RunRead(scopes, [&](Transaction& transaction) -> Result<void> {
                           CAIRN_ASSIGN_OR_RETURN(known, transaction.Get(key));
                           return {};
                         }));
  if (known) {
    id = *known;
  } else {
    CAIRN_ASSIGN_OR_RETURN(commit, store.Run(scopes, body));
  }
  CAIRN_RETURN_IF_ERROR(store.Durable(commit));
  return id;
}

}  // namespace cairn::store
