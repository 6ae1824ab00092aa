#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "data/value/collection.h"
#include "data/value/member_order.h"
#include "doors/resp/command.h"

// Hashes and sets: named members. Each member is one element (elements.h), of a small value in its
// record (packed_rows.h):
//
//   suffix    hash:4 member…
//   value     of a hash the field's value, of a set nothing
//
// The hash in front spreads members evenly over 32 bits whatever they are called. That is what lets
// a random member be found by going to a random place (random_fields.h). The record's payload is a
// collection's; of members in rows it has a filter, by their hashes.
//
// Programs have come to rely on the order in which Redis shows small values, and so it is the same
// here. The fields of a hash of up to MemberOrder::kMaxMembers are in the order in which they were
// added, and so are the members of a set in its record; up to kMaxSortedIntegers members of a set
// that are all integers are sorted. All others are in the order of their hashes.
namespace cairn::data {

// As many integers as Redis keeps in an intset by default.
inline constexpr uint64_t kMaxSortedIntegers = 512;

// Stored, so it must stay the same for ever.
uint32_t FieldHash(BytesView member);
Bytes EncodeField(BytesView member);
// The member of a suffix: a view into it.
std::optional<BytesView> DecodeField(BytesView suffix);

// Called for each member; the views last until it returns. Returns whether to go on.
using FieldVisitor = FunctionRef<Result<bool>(BytesView member, BytesView value)>;

// Visits all members of a collection that is a hash or a set, in the order that clients see.
Result<void> VisitFields(Collection collection, FieldVisitor visit);

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
  Result<void> PutNew(BytesView member, BytesView value = {});
  // Returns whether it was there.
  Result<bool> Remove(BytesView member);
  // Returns how many of them were there.
  Result<int64_t> RemoveEach(doors::Args members);
  // At no cost per member.
  void RemoveAll() { count_ = 0; }

  // See Entry::Gather.
  Result<void> Gather(size_t bytes) { return collection_.Gather(bytes); }

  // In the order that clients see. The visitor changes nothing.
  Result<void> ForEach(FieldVisitor visit);
  // In an order that is cheap and the same from call to call. Members that the visitor adds or
  // removes are not seen, if they stand where it has been.
  Result<void> ForEachInAnyOrder(FieldVisitor visit);
  // By hash, from the first member on whose hash is at least `hash`.
  Result<void> ForEachFrom(uint32_t hash, FieldVisitor visit);

  // Writes the record; without members there will be no key. Tells listeners that `event` happened,
  // and that the key is gone if it is.
  void Save(doors::CommandContext& context, doors::KeyEventClass type, std::string_view event);
  // The same without telling anybody: for layers that keep sets of their own.
  void Save();

  // A hash or a set that is loaded already.
  explicit Fields(Collection collection)
      : collection_(std::move(collection)),
        count_(collection_.wrong_type() ? 0 : collection_.count()) {}

 private:
  // Whether the order in which members were added may be among their rows.
  bool MayHaveOrder() const;
  // Keep the count and the order right for a member that has come, or has gone.
  Result<void> NoteNew(BytesView suffix);
  Result<void> NoteGone(BytesView suffix);
  Result<void> LoadOrder();

  Collection collection_;
  uint64_t count_;
  // What is known of the order of members in rows, once a change had to look, and goes with Save.
  bool order_loaded_ = false;
  std::optional<MemberOrder> order_;
};

}  // namespace cairn::data
