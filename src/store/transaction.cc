#include "store/transaction.h"

namespace cairn::store {

Result<std::vector<std::optional<Bytes>>> Reader::GetMany(std::span<const Key> keys) {
  std::vector<std::optional<Bytes>> values;
  values.reserve(keys.size());
  for (const Key& key : keys) {
    CAIRN_ASSIGN_OR_RETURN(values.emplace_back(), Get(key));
  }
  return values;
}

}  // namespace cairn::store
