#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/collection.h"
#include "doors/command.h"

// Hashes and sets: named members without an order of their own. Each member is one element
// (elements.h), of a small value in its record (packed_rows.h):
//
//   suffix    hash:4 member…
//   value     of a hash the field's value, of a set nothing
//
// The hash in front spreads members evenly over 32 bits whatever they are called. That is what lets
// a random member be found by going to a random place (random_fields.h). Two sets have the members
// they share in the same order. The record's payload is a collection's; of members in rows it has
// a filter, by their hashes.
namespace cairn::data {

// Stored, so it must stay the same for ever.
uint32_t FieldHash(BytesView member);
Bytes EncodeField(BytesView member);
// The member of a suffix: a view into it.
std::optional<BytesView> DecodeField(BytesView suffix);

// Called for each member; the views last until it returns. Returns whether to go on.
using FieldVisitor = FunctionRef<Result<bool>(BytesView member, BytesView value)>;

// A hash or a set as a transaction found it. A key that does not exist is one without members.
//
//   CAIRN_ASSIGN_OR_RETURN(Fields set, Fields::Load(context, key, ValueType::kSet));
//   if (set.wrong_type()) return context.Fail(kWrongType);
//   CAIRN_ASSIGN_OR_RETURN(const bool added, set.Add(member));
//   if (added) set.Save(context, doors::kEventSet, "sadd");
//
// Changes count only together with Save. Lives inside the transaction's body.
class Fields {
 public:
  static Result<Fields> Load(doors::CommandContext& context, BytesView key, ValueType type);
  // Without members and expiry, in place of whatever the key has, once it is saved.
  static Result<Fields> Replace(doors::CommandContext& context, BytesView key, ValueType type);

  // The key holds something else. Then nothing else may be called.
  bool wrong_type() const { return collection_.wrong_type(); }
  // Whether there is a key, of any type.
  bool exists() const { return collection_.exists(); }
  // With the changes so far.
  uint64_t count() const { return count_; }

  Result<std::optional<Bytes>> Get(BytesView member);
  Result<bool> Contains(BytesView member);
  // Adds the member, or gives it another value. Returns whether it is new.
  Result<bool> Put(BytesView member, BytesView value);
  // Adds the member unless it is there already. Returns whether it is new.
  Result<bool> Add(BytesView member, BytesView value = {});
  // Adds a member that is known not to be there.
  void PutNew(BytesView member, BytesView value = {});
  // Returns whether it was there.
  Result<bool> Remove(BytesView member);
  // Returns how many of them were there.
  Result<int64_t> RemoveEach(doors::Args members);
  // At no cost per member.
  void RemoveAll() { count_ = 0; }

  // Members that the visitor adds or removes are not seen, if they stand where it has been.
  Result<void> ForEach(FieldVisitor visit);
  // The same from the first member on whose hash is at least `hash`.
  Result<void> ForEachFrom(uint32_t hash, FieldVisitor visit);

  // Writes the record; without members there will be no key. Tells listeners that `event` happened,
  // and that the key is gone if it is.
  void Save(doors::CommandContext& context, doors::KeyEventClass type, std::string_view event);

 private:
  explicit Fields(Collection collection)
      : collection_(std::move(collection)),
        count_(collection_.wrong_type() ? 0 : collection_.count()) {}

  Collection collection_;
  uint64_t count_;
};

}  // namespace cairn::data
