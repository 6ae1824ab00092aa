#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/transaction.h"

// Strings of the data types in the database of functions, as a Redis client sees them.
namespace cairn::functions {

// nullopt: there is no such key. CS_KVROCKS_READ_FAILED if it holds something else than a string.
Result<std::optional<std::string>> ReadText(store::Transaction& transaction, std::string_view key);
// In place of what is there. `expire_ms` is a time since 1970; nullopt: it is kept.
Result<void> WriteText(store::Transaction& transaction, std::string_view key,
                       std::string_view text, std::optional<int64_t> expire_ms = {});
// Returns whether it was there.
Result<bool> RemoveText(store::Transaction& transaction, std::string_view key);

}  // namespace cairn::functions
