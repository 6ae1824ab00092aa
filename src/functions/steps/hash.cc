#include "functions/steps/hash.h"

#include <fmt/format.h>

#include "data/value/collection.h"
#include "data/value/entry.h"
#include "functions/model/errors.h"
#include "functions/model/keys.h"

namespace cairn::functions {

Result<data::Fields> LoadHash(store::Transaction& transaction, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(
      data::Collection collection,
      data::Collection::Load(transaction, kDatabase, key, data::ValueType::kHash));
  if (collection.wrong_type()) {
    return Refuse(Code::kStoreReadFailed,
                  fmt::format("the key {} holds what this server has not written there", key));
  }
  return data::Fields(std::move(collection));
}

Result<void> SetExpiry(store::Transaction& transaction, std::string_view key, int64_t expire_ms) {
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, kDatabase, key));
  if (entry.exists()) entry.SetExpiry(expire_ms);
  return {};
}

}  // namespace cairn::functions
