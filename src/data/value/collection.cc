#include "data/value/collection.h"

#include <fmt/format.h>

namespace cairn::data {
namespace {

// Hashes and sets of an application are mostly small and read or written whole. The other types
// have elements that are taken off one by one, or a header.
bool PacksElements(ValueType type) { return type == ValueType::kHash || type == ValueType::kSet; }

// Redis shows the fields of a hash in the order in which they were added up to a size at which they
// are rows here; of sets it does so only for small ones, or not at all.
Elements::AddedOrder OrderOf(ValueType type) {
  return type == ValueType::kHash ? Elements::AddedOrder::kKept : Elements::AddedOrder::kForgotten;
}

Error Unreadable(const Entry& entry) {
  return {ErrorCode::kCorruption,
          fmt::format("the members of {} cannot be read", Printable(entry.user_key()))};
}

// Of a value that has none yet.
Elements NewElements(store::Transaction& transaction, uint8_t db, ValueType type) {
  if (PacksElements(type)) return {transaction, db, PackedRows(), OrderOf(type)};
  return {transaction, db, 0};
}

}  // namespace

Result<Elements> ElementsOf(const Entry& entry) {
  if (!PacksElements(entry.type())) {
    return Elements(entry.transaction(), entry.db(), entry.generation());
  }
  BytesReader reader(entry.payload());
  reader.Big64();
  if (entry.generation() == 0) {
    std::optional<PackedRows> packed = PackedRows::Decode(reader.Rest());
    if (!reader.ok() || !packed) return Unreadable(entry);
    return Elements(entry.transaction(), entry.db(), *std::move(packed), OrderOf(entry.type()));
  }
  std::optional<MemberFilter> filter = MemberFilter::Decode(reader.Rest());
  if (!reader.ok() || !filter) return Unreadable(entry);
  return Elements(entry.transaction(), entry.db(), entry.generation(), *std::move(filter));
}

Result<Collection> Collection::Load(store::Transaction& transaction, uint8_t db, BytesView key,
                                    ValueType type) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, db, key));
  if (!entry.Is(type)) {
    const bool wrong_type = entry.exists();
    Collection collection(std::move(entry), type, NewElements(transaction, db, type));
    collection.wrong_type_ = wrong_type;
    return collection;
  }
  CAIRN_ASSIGN_OR_RETURN(Elements elements, ElementsOf(entry));
  Collection collection(std::move(entry), type, std::move(elements));
  BytesReader reader(collection.entry_.payload());
  collection.count_ = reader.Big64();
  collection.loaded_ = true;
  collection.expire_ms_ = collection.entry_.expire_ms();
  if (!reader.ok()) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("the collection {} has no count", Printable(key))};
  }
  return collection;
}

Result<Collection> Collection::Replace(doors::CommandContext& context, BytesView key,
                                       ValueType type) {
  store::Transaction& transaction = context.transaction;
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, context.db(), key));
  entry.ServeFor(context);
  return Collection(std::move(entry), type, NewElements(transaction, context.db(), type));
}

void Collection::Save(uint64_t count, BytesView header, Empty empty) {
  count_ = count;
  if (count == 0 && empty == Empty::kRemoved) {
    if (entry_.exists()) entry_.Remove();
    return;
  }
  const PackedRows* packed = elements_.packed();
  const BytesView rest = !PacksElements(type_) ? header
                         : packed != nullptr   ? packed->bytes()
                                               : elements_.filter().bytes();
  Bytes payload;
  payload.reserve(kCountBytes + rest.size());
  AppendBig64(payload, count_);
  payload += rest;
  entry_.Put({.type = type_,
              .payload = payload,
              .expire_ms = expire_ms_,
              .generation = elements_.generation()});
}

void Collection::Remove() { entry_.Remove(); }

}  // namespace cairn::data
