#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "data/value/elements.h"
#include "data/value/entry.h"
#include "doors/resp/command.h"
#include "store/transaction.h"

namespace cairn::data {

// The elements of an entry that exists: in its record, or under its generation.
Result<Elements> ElementsOf(const Entry& entry);

// A key whose value consists of elements, as a transaction found it: what hashes, sets, sorted
// sets, lists and streams have in common. Its record's payload is
//
//   count:8 header…        the number of members, and what else the type wants to know at once
//   count:8 rows…          of a hash or a set without a generation: all of it (packed_rows.h)
//   count:8 filter…        of one with a generation: what it may have (member_filter.h)
//
//   CAIRN_ASSIGN_OR_RETURN(Collection hash, Collection::Load(context, key, ValueType::kHash));
//   if (hash.wrong_type()) return context.Fail(kWrongType);
//   hash.elements().Put(suffix, value);
//   hash.Save(hash.count() + 1);
//
// Changes to elements count only together with Save, which gives the key its new version; every
// change ends with one. Lives inside the transaction's body.
class Collection {
 public:
  static Result<Collection> Load(store::Transaction& transaction, uint8_t db, BytesView key,
                                 ValueType type);
  static Result<Collection> Load(doors::CommandContext& context, BytesView key, ValueType type) {
    Result<Collection> collection = Load(context.transaction, context.db(), key, type);
    if (!collection.ok()) return collection;
    collection->entry_.ServeFor(context);
    NoteLookup(context, key, collection->exists());
    return collection;
  }

  // The key holds something else. Then nothing but entry() may be used.
  bool wrong_type() const { return wrong_type_; }
  bool exists() const { return entry_.exists(); }
  // Of the collection that was asked for.
  ValueType type() const { return type_; }
  // 0 for a key that does not exist.
  uint64_t count() const { return count_; }
  // As it was loaded; empty for a key that does not exist.
  BytesView header() const { return loaded_ ? entry_.payload().substr(kCountBytes) : BytesView(); }

  // To read, and to write before Save.
  Elements& elements() { return elements_; }
  const Elements& elements() const { return elements_; }

  enum class Empty {
    kRemoved,  // a collection without members is no key
    kKept,     // streams stay
  };
  // The record with a new count and header; the expiry stays. May be called again.
  void Save(uint64_t count, BytesView header, Empty empty = Empty::kRemoved);
  // Of a type without a header.
  void Save(uint64_t count) { Save(count, {}); }
  // Of a key that exists: takes it and all its elements away.
  void Remove();
  // Takes away what the key has, of any type, and starts anew with an empty collection that has no
  // expiry: what …STORE commands do with their destination. The key is there after Save.
  static Result<Collection> Replace(doors::CommandContext& context, BytesView key, ValueType type);

  const Entry& entry() const { return entry_; }
  // See Entry::Gather.
  Result<void> Gather(size_t bytes) { return entry_.Gather(bytes); }

 private:
  static constexpr size_t kCountBytes = 8;

  Collection(Entry entry, ValueType type, Elements elements)
      : entry_(std::move(entry)), type_(type), elements_(std::move(elements)) {}

  Entry entry_;
  ValueType type_;
  Elements elements_;
  bool wrong_type_ = false;
  std::optional<int64_t> expire_ms_;
  bool loaded_ = false;  // there was a collection of this type
  uint64_t count_ = 0;
};

}  // namespace cairn::data
