#include "functions/invoker/stored_text.h"

#include <fmt/format.h>

#include "data/value/entry.h"
#include "data/value/string_value.h"
#include "functions/model/errors.h"
#include "functions/model/keys.h"

namespace cairn::functions {

using data::Entry;
using data::StringValue;

Result<std::optional<std::string>> ReadText(store::Transaction& transaction, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, kDatabase, key));
  if (!entry.exists()) return std::optional<std::string>();
  if (!entry.Is(data::ValueType::kString)) {
    return Refuse(Code::kStoreReadFailed, fmt::format("the key {} holds no string", key));
  }
  CAIRN_ASSIGN_OR_RETURN(StringValue value, StringValue::Open(std::move(entry)));
  CAIRN_ASSIGN_OR_RETURN(const BytesView text, value.ReadAll());
  return std::optional(std::string(text));
}

Result<void> WriteText(store::Transaction& transaction, std::string_view key, std::string_view text,
                       std::optional<int64_t> expire_ms) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, kDatabase, key));
  data::PutString(entry, text, expire_ms);
  return {};
}

Result<bool> RemoveText(store::Transaction& transaction, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, kDatabase, key));
  if (!entry.exists()) return false;
  entry.Remove();
  return true;
}

}  // namespace cairn::functions
