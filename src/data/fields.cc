#include "data/fields.h"

#include <fmt/format.h>

namespace cairn::data {
namespace {

constexpr size_t kHashBytes = 4;

Error Unreadable(BytesView suffix) {
  return {ErrorCode::kCorruption, fmt::format("the element {} is no member", Printable(suffix))};
}

Result<void> Visit(Elements& elements, const SuffixRange& range, FieldVisitor visit) {
  std::optional<Error> error;
  const auto visit_element = [&](BytesView suffix, BytesView value) {
    const std::optional<BytesView> member = DecodeField(suffix);
    if (!member) {
      error = Unreadable(suffix);
      return false;
    }
    const Result<bool> go_on = visit(*member, value);
    if (!go_on.ok()) error = go_on.error();
    return go_on.ok() && *go_on;
  };
  CAIRN_RETURN_IF_ERROR(elements.Scan(range, {}, visit_element));
  if (error) return *error;
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

Result<Fields> Fields::Load(doors::CommandContext& context, BytesView key, ValueType type) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection, Collection::Load(context, key, type));
  return Fields(std::move(collection));
}

Result<Fields> Fields::Replace(doors::CommandContext& context, BytesView key, ValueType type) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection,
                         Collection::Replace(context.transaction, context.db(), key, type));
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
  if (!old) ++count_;
  return !old.has_value();
}

Result<bool> Fields::Add(BytesView member, BytesView value) {
  const Bytes suffix = EncodeField(member);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> old, collection_.elements().Get(suffix));
  if (old) return false;
  collection_.elements().Put(suffix, value);
  ++count_;
  return true;
}

void Fields::PutNew(BytesView member, BytesView value) {
  collection_.elements().Put(EncodeField(member), value);
  ++count_;
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
  --count_;
  return true;
}

Result<void> Fields::ForEach(FieldVisitor visit) {
  uint64_t visited = 0;
  bool stopped = false;
  const auto count_and_visit = [&](BytesView member, BytesView value) -> Result<bool> {
    ++visited;
    CAIRN_ASSIGN_OR_RETURN(const bool go_on, visit(member, value));
    stopped = !go_on;
    return go_on;
  };
  const uint64_t expected = count_;
  CAIRN_RETURN_IF_ERROR(Visit(collection_.elements(), SuffixRange::All(), count_and_visit));
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

void Fields::Save(doors::CommandContext& context, doors::KeyEventClass type,
                  std::string_view event) {
  collection_.Save(count_);
  const BytesView key = collection_.entry().user_key();
  context.Notify(type, event, key);
  if (count_ == 0) context.Notify(doors::kEventGeneric, "del", key);
}

}  // namespace cairn::data
