#include "data/value/elements.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cairn::data {
namespace {

// What a filter is asked for.
uint32_t HashOf(BytesView suffix) { return BytesReader(suffix).Big32(); }

}  // namespace

Elements::Elements(store::Transaction& transaction, uint8_t db, uint64_t generation)
    : transaction_(&transaction),
      generation_(generation),
      key_(EncodeElementPrefix(db, generation)) {}

Elements::Elements(store::Transaction& transaction, uint8_t db, uint64_t generation,
                   MemberFilter filter)
    : Elements(transaction, db, generation) {
  members_ = true;
  filter_ = std::move(filter);
}

Elements::Elements(store::Transaction& transaction, uint8_t db, PackedRows packed, AddedOrder order)
    : Elements(transaction, db, 0) {
  packed_ = std::move(packed);
  order_ = order;
  members_ = true;
}

store::Key Elements::KeyOf(BytesView suffix) {
  key_.resize(kElementPrefixBytes);
  key_ += suffix;
  return {store::Space::kData, key_};
}

Result<std::optional<Bytes>> Elements::Get(BytesView suffix) {
  if (packed_) return std::optional<Bytes>(packed_->Get(suffix));
  if (generation_ == 0 || !filter_.MayHave(HashOf(suffix))) return std::optional<Bytes>();
  return transaction_->Get(KeyOf(suffix));
}

Result<std::vector<std::optional<Bytes>>> Elements::GetMany(std::span<const Bytes> suffixes) {
  std::vector<std::optional<Bytes>> values(suffixes.size());
  if (packed_) {
    for (size_t i = 0; i < suffixes.size(); ++i) values[i] = packed_->Get(suffixes[i]);
    return values;
  }
  if (generation_ == 0) return values;
  const BytesView prefix = BytesView(key_).substr(0, kElementPrefixBytes);
  std::vector<Bytes> bytes;
  std::vector<store::Key> keys;
  bytes.reserve(suffixes.size());
  keys.reserve(suffixes.size());
  for (const Bytes& suffix : suffixes) {
    keys.push_back({store::Space::kData, bytes.emplace_back(Bytes(prefix) + suffix)});
  }
  return transaction_->GetMany(keys);
}

void Elements::Begin() {
  if (generation_ != 0) return;
  generation_ = transaction_->NewStamp();
  key_ = EncodeElementPrefix(static_cast<uint8_t>(key_[1]), generation_);
  if (!packed_) return;
  const PackedRows rows = *std::exchange(packed_, std::nullopt);
  filter_ = MemberFilter::OfNothing();
  MemberOrder order;
  rows.ForEach([&](BytesView suffix, BytesView value) {
    PutRow(suffix, value);
    order.Append(HashOf(suffix));
    return true;
  });
  if (order_ == AddedOrder::kKept) WriteOrder(order);
}

Result<std::optional<MemberOrder>> Elements::ReadOrder() {
  if (generation_ == 0 || !members_) return std::optional<MemberOrder>();
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> bytes, transaction_->Get(KeyOf({})));
  if (!bytes) return std::optional<MemberOrder>();
  std::optional<MemberOrder> order = MemberOrder::Decode(*bytes);
  if (!order) return Error{ErrorCode::kCorruption, "the order of members cannot be read"};
  return order;
}

void Elements::WriteOrder(const std::optional<MemberOrder>& order) {
  if (order) {
    transaction_->Put(KeyOf({}), order->bytes());
  } else {
    transaction_->Delete(KeyOf({}));
  }
}

void Elements::PutRow(BytesView suffix, BytesView value) {
  filter_.Add(HashOf(suffix));
  transaction_->Put(KeyOf(suffix), value);
}

void Elements::Put(BytesView suffix, BytesView value) {
  if (packed_ && packed_->Put(suffix, value)) return;
  Begin();
  PutRow(suffix, value);
}

void Elements::Delete(BytesView suffix) {
  if (packed_) return packed_->Erase(suffix);
  if (generation_ == 0) return;
  transaction_->Delete(KeyOf(suffix));
}

Result<void> Elements::DeletePrefix(BytesView prefix) {
  std::vector<Bytes> rows;
  CAIRN_RETURN_IF_ERROR(Scan(SuffixRange::Prefix(prefix), {}, [&](BytesView suffix, BytesView) {
    rows.emplace_back(suffix);
    return true;
  }));
  for (const Bytes& row : rows) Delete(row);
  return {};
}

Result<void> Elements::Scan(const SuffixRange& range, const store::ScanOptions& options,
                            ElementVisitor visit) {
  if (packed_) {
    ScanPacked(range, options, visit);
    return {};
  }
  if (generation_ == 0) return {};
  const Bytes prefix = key_.substr(0, kElementPrefixBytes);
  // The row of an empty suffix is the members' order.
  const Bytes begin = members_ && range.begin.empty() ? Bytes(1, '\0') : range.begin;
  store::Range rows{store::Space::kData, prefix + begin,
                    range.end ? prefix + *range.end : PrefixSuccessor(prefix)};
  return transaction_->Scan(rows, options, [&](BytesView key, BytesView value) {
    return visit(key.substr(kElementPrefixBytes), value);
  });
}

void Elements::ScanPacked(const SuffixRange& range, const store::ScanOptions& options,
                          ElementVisitor visit) const {
  const PackedRows copy = *packed_;  // the visitor may change them
  std::vector<std::pair<BytesView, BytesView>> rows;
  copy.ForEach([&](BytesView suffix, BytesView value) {
    if (suffix >= range.begin && !(range.end && suffix >= *range.end)) {
      rows.emplace_back(suffix, value);
    }
    return true;
  });
  std::ranges::sort(rows);
  if (options.reverse) std::ranges::reverse(rows);
  if (rows.size() > options.limit) rows.resize(options.limit);
  for (const auto& [suffix, value] : rows) {
    if (!visit(suffix, value)) return;
  }
}

Result<void> Elements::CopyTo(Elements& target, FunctionRef<Result<void>(size_t)> gather) {
  // Gathered here, written to the transaction, and committed from there.
  constexpr size_t kCopiesHeld = 3;
  // Written behind the scan: the group's own writes are part of what a scan looks at.
  std::vector<std::pair<Bytes, Bytes>> rows;
  Result<void> room;
  CAIRN_RETURN_IF_ERROR(Scan(SuffixRange::All(), {}, [&](BytesView suffix, BytesView value) {
    room = gather(kCopiesHeld * (suffix.size() + value.size()));
    if (room.ok()) rows.emplace_back(suffix, value);
    return room.ok();
  }));
  if (!room.ok()) return room;
  for (const auto& [suffix, value] : rows) target.Put(suffix, value);
  return {};
}

}  // namespace cairn::data
