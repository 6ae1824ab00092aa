#include "data/collection.h"

#include <fmt/format.h>

namespace cairn::data {

Result<Collection> Collection::Load(store::Transaction& transaction, uint8_t db, BytesView key,
                                    ValueType type) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, db, key));
  Elements elements(transaction, db, entry.generation());
  Collection collection(std::move(entry), type, std::move(elements));
  if (!collection.entry_.exists()) return collection;
  collection.wrong_type_ = !collection.entry_.Is(type);
  if (collection.wrong_type_) return collection;
  BytesReader reader(collection.entry_.payload());
  collection.count_ = reader.Big64();
  collection.header_ = reader.Rest();
  collection.expire_ms_ = collection.entry_.expire_ms();
  if (!reader.ok()) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("the collection {} has no count", Printable(key))};
  }
  return collection;
}

Result<Collection> Collection::Replace(store::Transaction& transaction, uint8_t db, BytesView key,
                                       ValueType type) {
  CAIRN_ASSIGN_OR_RETURN(Entry entry, Entry::Load(transaction, db, key));
  return Collection(std::move(entry), type, Elements(transaction, db, 0));
}

void Collection::Save(uint64_t count, BytesView header, Empty empty) {
  count_ = count;
  header_ = Bytes(header);
  if (count == 0 && empty == Empty::kRemoved) {
    if (entry_.exists()) entry_.Remove();
    return;
  }
  elements_.Begin();
  Bytes payload;
  payload.reserve(8 + header_.size());
  AppendBig64(payload, count_);
  payload += header_;
  entry_.Put({.type = type_,
              .payload = payload,
              .expire_ms = expire_ms_,
              .generation = elements_.generation()});
}

void Collection::Remove() { entry_.Remove(); }

}  // namespace cairn::data
