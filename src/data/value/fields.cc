#include "data/value/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "doors/resp/arg_parser.h"

namespace cairn::data {
namespace {

constexpr size_t kHashBytes = 4;

Error Unreadable(BytesView suffix) {
  return {ErrorCode::kCorruption, fmt::format("the element {} is no member", Printable(suffix))};
}

// Visits the member of an element. Returns whether to go on; an error says why not.
bool VisitElement(BytesView suffix, BytesView value, FieldVisitor visit,
                  std::optional<Error>& error) {
  const std::optional<BytesView> member = DecodeField(suffix);
  if (!member) {
    error = Unreadable(suffix);
    return false;
  }
  const Result<bool> go_on = visit(*member, value);
  if (!go_on.ok()) error = go_on.error();
  return go_on.ok() && *go_on;
}

Result<void> Visit(Elements& elements, const SuffixRange& range, FieldVisitor visit) {
  std::optional<Error> error;
  CAIRN_RETURN_IF_ERROR(elements.Scan(range, {}, [&](BytesView suffix, BytesView value) {
    return VisitElement(suffix, value, visit, error);
  }));
  if (error) return *error;
  return {};
}

// As they stand, from a copy: the visitor may change them.
Result<void> VisitPacked(const Elements& elements, FieldVisitor visit) {
  const PackedRows rows = *elements.packed();
  std::optional<Error> error;
  rows.ForEach(
      [&](BytesView suffix, BytesView value) { return VisitElement(suffix, value, visit, error); });
  if (error) return *error;
  return {};
}

// What is held back to be sorted. A value with more than that is far beyond what Redis would keep
// in one piece, so that nobody expects an order.
constexpr size_t kMaxHeldBytes = 1024UL * 1024;

struct Held {
  int64_t rank = 0;
  Bytes member;
  Bytes value;
};

Result<bool> VisitEach(const std::vector<Held>& held, FieldVisitor visit) {
  for (const Held& each : held) {
    CAIRN_ASSIGN_OR_RETURN(const bool go_on, visit(each.member, each.value));
    if (!go_on) return false;
  }
  return true;
}

// Visits the members that `visit_all` visits by ascending rank; as they come if one has no rank, or
// if they are too large to be held back.
Result<void> VisitSorted(FunctionRef<Result<void>(FieldVisitor)> visit_all,
                         FunctionRef<std::optional<int64_t>(BytesView member)> rank_of,
                         FieldVisitor visit) {
  std::vector<Held> held;
  size_t bytes = 0;
  bool sorts = true;
  CAIRN_RETURN_IF_ERROR(visit_all([&](BytesView member, BytesView value) -> Result<bool> {
    if (!sorts) return visit(member, value);
    const std::optional<int64_t> rank = rank_of(member);
    held.push_back({rank.value_or(0), Bytes(member), Bytes(value)});
    bytes += member.size() + value.size();
    sorts = rank && bytes <= kMaxHeldBytes;
    return sorts ? true : VisitEach(held, visit);
  }));
  if (!sorts) return {};
  std::ranges::stable_sort(held, {}, &Held::rank);
  CAIRN_RETURN_IF_ERROR(VisitEach(held, visit));
  return {};
}

}  // namespace

// FNV-1a, whose weak high bits a multiplication evens out.
uint32_t FieldHash(BytesView member) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : member) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001b3;
  }
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>(hash >> 32);
}

Bytes EncodeField(BytesView member) {
  Bytes suffix;
  suffix.reserve(kHashBytes + member.size());
  AppendBig32(suffix, FieldHash(member));
  suffix += member;
  return suffix;
}

std::optional<BytesView> DecodeField(BytesView suffix) {
  if (suffix.size() < kHashBytes) return std::nullopt;
  return suffix.substr(kHashBytes);
}

Result<void> VisitFields(Collection collection, FieldVisitor visit) {
  return Fields(std::move(collection)).ForEach(visit);
}

Result<Fields> Fields::Load(doors::CommandContext& context, BytesView key, ValueType type) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection, Collection::Load(context, key, type));
  return Fields(std::move(collection));
}

Result<Fields> Fields::Replace(doors::CommandContext& context, BytesView key, ValueType type) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection, Collection::Replace(context, key, type));
  return Fields(std::move(collection));
}

Result<std::optional<Bytes>> Fields::Get(BytesView member) {
  return collection_.elements().Get(EncodeField(member));
}

Result<bool> Fields::Contains(BytesView member) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> value, Get(member));
  return value.has_value();
}

Result<bool> Fields::Put(BytesView member, BytesView value) {
  const Bytes suffix = EncodeField(member);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> old, collection_.elements().Get(suffix));
  collection_.elements().Put(suffix, value);
  if (old) return false;
  CAIRN_RETURN_IF_ERROR(NoteNew(suffix));
  return true;
}

Result<bool> Fields::Add(BytesView member, BytesView value) {
  const Bytes suffix = EncodeField(member);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> old, collection_.elements().Get(suffix));
  if (old) return false;
  collection_.elements().Put(suffix, value);
  CAIRN_RETURN_IF_ERROR(NoteNew(suffix));
  return true;
}

Result<void> Fields::PutNew(BytesView member, BytesView value) {
  const Bytes suffix = EncodeField(member);
  collection_.elements().Put(suffix, value);
  return NoteNew(suffix);
}

bool Fields::MayHaveOrder() const {
  return collection_.type() == ValueType::kHash && collection_.elements().packed() == nullptr &&
         count_ <= MemberOrder::kMaxMembers;
}

Result<void> Fields::LoadOrder() {
  if (order_loaded_) return {};
  CAIRN_ASSIGN_OR_RETURN(order_, collection_.elements().ReadOrder());
  order_loaded_ = true;
  return {};
}

Result<void> Fields::NoteNew(BytesView suffix) {
  const bool had_order = MayHaveOrder();
  ++count_;
  if (!had_order) return {};
  CAIRN_RETURN_IF_ERROR(LoadOrder());
  if (!order_) return {};
  if (MayHaveOrder()) {
    order_->Append(BytesReader(suffix).Big32());
  } else {
    order_.reset();
    collection_.elements().WriteOrder(std::nullopt);
  }
  return {};
}

Result<void> Fields::NoteGone(BytesView suffix) {
  if (MayHaveOrder()) {
    CAIRN_RETURN_IF_ERROR(LoadOrder());
    if (order_) order_->Remove(BytesReader(suffix).Big32());
  }
  --count_;
  return {};
}

Result<int64_t> Fields::RemoveEach(doors::Args members) {
  int64_t removed = 0;
  for (const std::string_view member : members) {
    CAIRN_ASSIGN_OR_RETURN(const bool was_there, Remove(member));
    removed += was_there ? 1 : 0;
  }
  return removed;
}

Result<bool> Fields::Remove(BytesView member) {
  const Bytes suffix = EncodeField(member);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> old, collection_.elements().Get(suffix));
  if (!old) return false;
  collection_.elements().Delete(suffix);
  CAIRN_RETURN_IF_ERROR(NoteGone(suffix));
  return true;
}

Result<void> Fields::ForEach(FieldVisitor visit) {
  const auto visit_all = [this](FieldVisitor each) { return ForEachInAnyOrder(each); };
  if (collection_.type() == ValueType::kSet && count_ <= kMaxSortedIntegers) {
    const auto integer = [](BytesView member) { return doors::ParseInteger(member); };
    return VisitSorted(visit_all, integer, visit);
  }
  if (!MayHaveOrder()) return ForEachInAnyOrder(visit);
  CAIRN_RETURN_IF_ERROR(LoadOrder());
  if (!order_) return ForEachInAnyOrder(visit);
  const auto places = order_->Places();
  const auto place = [&](BytesView member) -> std::optional<int64_t> {
    const auto found = places.find(FieldHash(member));
    return found == places.end() ? std::numeric_limits<int64_t>::max()
                                 : static_cast<int64_t>(found->second);
  };
  return VisitSorted(visit_all, place, visit);
}

Result<void> Fields::ForEachInAnyOrder(FieldVisitor visit) {
  uint64_t visited = 0;
  bool stopped = false;
  const auto count_and_visit = [&](BytesView member, BytesView value) -> Result<bool> {
    ++visited;
    CAIRN_ASSIGN_OR_RETURN(const bool go_on, visit(member, value));
    stopped = !go_on;
    return go_on;
  };
  const uint64_t expected = count_;
  Elements& elements = collection_.elements();
  if (elements.packed() != nullptr) {
    CAIRN_RETURN_IF_ERROR(VisitPacked(elements, count_and_visit));
  } else {
    CAIRN_RETURN_IF_ERROR(Visit(elements, SuffixRange::All(), count_and_visit));
  }
  // A reply announces the count before its members, so the two must agree.
  if (!stopped && visited != expected) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("{} has {} members, not {}", Printable(collection_.entry().user_key()),
                             visited, expected)};
  }
  return {};
}

Result<void> Fields::ForEachFrom(uint32_t hash, FieldVisitor visit) {
  SuffixRange range;
  AppendBig32(range.begin, hash);
  return Visit(collection_.elements(), range, visit);
}

void Fields::Save() {
  if (order_ && count_ > 0) collection_.elements().WriteOrder(order_);
  collection_.Save(count_);
}

void Fields::Save(doors::CommandContext& context, doors::KeyEventClass type,
                  std::string_view event) {
  Save();
  const BytesView key = collection_.entry().user_key();
  context.Notify(type, event, key);
  if (count_ == 0) context.Notify(doors::kEventGeneric, "del", key);
}

}  // namespace cairn::data
