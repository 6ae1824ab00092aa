#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/scopes.h"
#include "store/transaction.h"

// Records of functions as keys of the data types in database 0: strings, and sorted sets of names.
// Whoever changes a key holds its scope, as commands that name the key do.
namespace cairn::functions {

void AddScope(std::string_view key, store::Scopes& scopes);

// nullopt: there is no such key, or its time is up. A key of another type than a string is
// CS_KVROCKS_READ_FAILED: somebody has written over the record.
Result<std::optional<Bytes>> ReadString(store::Transaction& transaction, std::string_view key);
// Replaces whatever the key has. Without `expire_ms` (since 1970) it stays for ever.
Result<void> WriteString(store::Transaction& transaction, std::string_view key, BytesView value,
                         std::optional<int64_t> expire_ms = {});
// Returns whether the key was there.
Result<bool> RemoveKey(store::Transaction& transaction, std::string_view key);
// The keys that begin with `prefix` and exist, in order, without it.
Result<std::vector<std::string>> KeysBehind(store::Transaction& transaction,
                                            std::string_view prefix);

// An index: a sorted set of names whose scores are all 0. Adding a name twice, and removing one
// that is not there, do nothing.
Result<void> AddToIndex(store::Transaction& transaction, std::string_view key,
                        std::string_view name);
Result<void> RemoveFromIndex(store::Transaction& transaction, std::string_view key,
                             std::string_view name);
// At most `limit` names behind `after`, in order.
Result<std::vector<std::string>> NamesInIndex(store::Transaction& transaction, std::string_view key,
                                              std::string_view after, size_t limit);

// A set of names, as any Redis set is.
Result<size_t> CountInSet(store::Transaction& transaction, std::string_view key);
Result<bool> IsInSet(store::Transaction& transaction, std::string_view key, std::string_view name);
Result<void> AddToSet(store::Transaction& transaction, std::string_view key, std::string_view name);
Result<void> RemoveFromSet(store::Transaction& transaction, std::string_view key,
                           std::string_view name);
// All of them, in order.
Result<std::vector<std::string>> NamesInSet(store::Transaction& transaction, std::string_view key);

}  // namespace cairn::functions
