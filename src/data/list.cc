#include "data/list.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace cairn::data {
namespace {

Bytes EncodePosition(uint64_t position) {
  Bytes suffix;
  AppendBig64(suffix, position);
  return suffix;
}

}  // namespace

Result<List> List::Load(doors::CommandContext& context, BytesView key) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection, Collection::Load(context, key, ValueType::kList));
  List list(std::move(collection));
  if (!list.exists() || list.wrong_type()) return list;
  BytesReader reader(list.collection_.header());
  list.first_ = reader.Big64();
  list.size_ = list.collection_.count();
  if (!reader.AtEnd()) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("the list {} does not know its first position", Printable(key))};
  }
  return list;
}

std::optional<uint64_t> List::FindIndex(int64_t index) const {
  if (index >= 0) {
    const auto at = static_cast<uint64_t>(index);
    return at < size_ ? std::optional(at) : std::nullopt;
  }
  const uint64_t back = ~static_cast<uint64_t>(index) + 1;
  return back <= size_ ? std::optional(size_ - back) : std::nullopt;
}

Result<Bytes> List::Get(uint64_t index) {
  CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> element,
                         collection_.elements().Get(EncodePosition(first_ + index)));
  if (!element) {
    return Error{ErrorCode::kCorruption,
                 fmt::format("the list {} has no element {}",
                             Printable(collection_.entry().user_key()), index)};
  }
  return *std::move(element);
}

Result<void> List::Visit(const Slice& slice, Visitor visit) {
  if (slice.count == 0) return {};
  const uint64_t begin = first_ + slice.begin;
  const SuffixRange range{EncodePosition(begin), EncodePosition(begin + slice.count)};
  return collection_.elements().Scan(range, {.reverse = slice.reverse},
                                     [&](BytesView suffix, BytesView element) {
                                       return visit(BytesReader(suffix).Big64() - first_, element);
                                     });
}

void List::PutAt(uint64_t index, BytesView element) {
  collection_.elements().Put(EncodePosition(first_ + index), element);
}

void List::DeleteAt(uint64_t index) {
  collection_.elements().Delete(EncodePosition(first_ + index));
}

void List::Push(ListEnd end, BytesView element) {
  if (end == ListEnd::kLeft) --first_;
  ++size_;
  PutAt(end == ListEnd::kLeft ? 0 : size_ - 1, element);
}

Result<Bytes> List::Pop(ListEnd end) {
  const uint64_t index = end == ListEnd::kLeft ? 0 : size_ - 1;
  CAIRN_ASSIGN_OR_RETURN(Bytes element, Get(index));
  DeleteAt(index);
  if (end == ListEnd::kLeft) ++first_;
  --size_;
  return element;
}

void List::Set(uint64_t index, BytesView element) { PutAt(index, element); }

// Both shifts write where the scan has been, which it does not see.
Result<void> List::ShiftHeadLeft(uint64_t index) {
  return Visit({.begin = 0, .count = index}, [&](uint64_t at, BytesView element) {
    PutAt(at - 1, element);
    return true;
  });
}

Result<void> List::ShiftTailRight(uint64_t index) {
  return Visit({.begin = index, .count = size_ - index, .reverse = true},
               [&](uint64_t at, BytesView element) {
                 PutAt(at + 1, element);
                 return true;
               });
}

Result<void> List::Insert(uint64_t index, BytesView element) {
  if (index < size_ / 2) {
    CAIRN_RETURN_IF_ERROR(ShiftHeadLeft(index));
    --first_;
  } else {
    CAIRN_RETURN_IF_ERROR(ShiftTailRight(index));
  }
  ++size_;
  PutAt(index, element);
  return {};
}

void List::Trim(uint64_t begin, uint64_t count) {
  // Of a list that goes as a whole, the elements are reclaimed with the key.
  if (count != 0) {
    for (uint64_t i = 0; i < begin; ++i) DeleteAt(i);
    for (uint64_t i = begin + count; i < size_; ++i) DeleteAt(i);
  }
  first_ += begin;
  size_ = count;
}

Result<void> List::Remove(std::span<const uint64_t> indexes) {
  if (indexes.empty()) return {};
  const uint64_t removed = indexes.size();
  if (removed == size_) {
    Trim(0, 0);
    return {};
  }
  // Those that stay close up towards the longer side, over the ones that go.
  const bool left = indexes.back() < size_ - indexes.front();
  uint64_t target = left ? indexes.back() : indexes.front();
  const Slice moved = left ? Slice{.begin = 0, .count = indexes.back() + 1, .reverse = true}
                           : Slice{.begin = indexes.front(), .count = size_ - indexes.front()};
  const auto close_up = [&](uint64_t at, BytesView element) {
    if (!indexes.empty() && at == (left ? indexes.back() : indexes.front())) {
      indexes = left ? indexes.first(indexes.size() - 1) : indexes.subspan(1);
      return true;
    }
    PutAt(target, element);
    target += left ? std::numeric_limits<uint64_t>::max() : 1;
    return true;
  };
  CAIRN_RETURN_IF_ERROR(Visit(moved, close_up));
  Trim(left ? removed : 0, size_ - removed);
  return {};
}

void List::Save() {
  Bytes header;
  AppendBig64(header, first_);
  collection_.Save(size_, header);
}

}  // namespace cairn::data
