#include "functions/control/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/sorted_set/sorted_set.h"
#include "data/value/collection.h"
#include "data/value/entry.h"
#include "data/value/fields.h"
#include "data/value/keys.h"
#include "data/value/string_value.h"
#include "doors/resp/command.h"
#include "functions/model/errors.h"
#include "functions/model/keys.h"

namespace cairn::functions {
namespace {

Error OtherType(std::string_view key) {
  return Refuse(Code::kStoreReadFailed,
                fmt::format("the key {} holds what this server has not written there", key));
}

Result<data::SortedSet> LoadIndex(store::Transaction& transaction, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(data::SortedSet set, data::SortedSet::Load(transaction, kDatabase, key));
  if (set.wrong_type()) return OtherType(key);
  return set;
}

Result<data::Fields> LoadSet(store::Transaction& transaction, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(
      data::Collection collection,
      data::Collection::Load(transaction, kDatabase, key, data::ValueType::kSet));
  if (collection.wrong_type()) return OtherType(key);
  return data::Fields(std::move(collection));
}

}  // namespace

void AddScope(std::string_view key, store::Scopes& scopes) {
  Bytes scratch;
  doors::AddKeyScope(kDatabase, key, scopes, scratch);
}

Result<std::optional<Bytes>> ReadString(store::Transaction& transaction, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, kDatabase, key));
  if (!entry.exists()) return std::optional<Bytes>();
  CAIRN_ASSIGN_OR_RETURN(data::StringValue string, data::StringValue::Open(std::move(entry)));
  if (string.wrong_type()) return OtherType(key);
  CAIRN_ASSIGN_OR_RETURN(Bytes bytes, string.Read(0, string.size()));
  return std::optional(std::move(bytes));
}

Result<void> WriteString(store::Transaction& transaction, std::string_view key, BytesView value,
                         std::optional<int64_t> expire_ms) {
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, kDatabase, key));
  data::PutString(entry, value, expire_ms);
  return {};
}

Result<bool> RemoveKey(store::Transaction& transaction, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, kDatabase, key));
  const bool exists = entry.exists();
  if (exists) entry.Remove();
  return exists;
}

Result<std::vector<std::string>> KeysBehind(store::Transaction& transaction,
                                            std::string_view prefix) {
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(data::ScanRecords(transaction, data::RecordRange(kDatabase, prefix),
                                          [&](const data::RecordKey& key, const data::Record&) {
                                            names.emplace_back(key.user_key.substr(prefix.size()));
                                            return true;
                                          }));
  return names;
}

Result<void> AddToIndex(store::Transaction& transaction, std::string_view key,
                        std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(data::SortedSet set, LoadIndex(transaction, key));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<double> score, set.Put(name, 0));
  return score ? Result<void>() : set.Save();
}

Result<void> RemoveFromIndex(store::Transaction& transaction, std::string_view key,
                             std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(data::SortedSet set, LoadIndex(transaction, key));
  CAIRN_ASSIGN_OR_RETURN(const bool removed, set.Remove(name));
  return removed ? set.Save() : Result<void>();
}

Result<std::vector<std::string>> NamesInIndex(store::Transaction& transaction, std::string_view key,
                                              std::string_view after, size_t limit) {
  CAIRN_ASSIGN_OR_RETURN(data::SortedSet set, LoadIndex(transaction, key));
  data::OrderRange range{data::OrderKey(0, after), std::nullopt};
  if (!after.empty()) range.begin.push_back('\0');
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(set.Visit(range, {.limit = limit}, [&](BytesView member, double) {
    names.emplace_back(member);
    return true;
  }));
  return names;
}

Result<size_t> CountInSet(store::Transaction& transaction, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(const data::Fields set, LoadSet(transaction, key));
  return static_cast<size_t>(set.count());
}

Result<bool> IsInSet(store::Transaction& transaction, std::string_view key, std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(data::Fields set, LoadSet(transaction, key));
  return set.Contains(name);
}

Result<void> AddToSet(store::Transaction& transaction, std::string_view key,
                      std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(data::Fields set, LoadSet(transaction, key));
  CAIRN_ASSIGN_OR_RETURN(const bool added, set.Add(name));
  if (added) set.Save();
  return {};
}

Result<void> RemoveFromSet(store::Transaction& transaction, std::string_view key,
                           std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(data::Fields set, LoadSet(transaction, key));
  CAIRN_ASSIGN_OR_RETURN(const bool removed, set.Remove(name));
  if (removed) set.Save();
  return {};
}

Result<std::vector<std::string>> NamesInSet(store::Transaction& transaction, std::string_view key) {
  CAIRN_ASSIGN_OR_RETURN(data::Fields set, LoadSet(transaction, key));
  std::vector<std::string> names;
  CAIRN_RETURN_IF_ERROR(set.ForEachInAnyOrder([&](BytesView member, BytesView) -> Result<bool> {
    names.emplace_back(member);
    return true;
  }));
  std::ranges::sort(names);
  return names;
}

}  // namespace cairn::functions
