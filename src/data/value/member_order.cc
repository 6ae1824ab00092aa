#include "data/value/member_order.h"

namespace cairn::data {
namespace {

constexpr size_t kHashBytes = 4;

}  // namespace

std::optional<MemberOrder> MemberOrder::Decode(BytesView bytes) {
  if (bytes.size() % kHashBytes != 0) return std::nullopt;
  MemberOrder order;
  order.bytes_ = bytes;
  return order;
}

size_t MemberOrder::size() const { return bytes_.size() / kHashBytes; }

void MemberOrder::Append(uint32_t hash) { AppendBig32(bytes_, hash); }

void MemberOrder::Remove(uint32_t hash) {
  Bytes wanted;
  AppendBig32(wanted, hash);
  for (size_t at = 0; at < bytes_.size(); at += kHashBytes) {
    if (bytes_.compare(at, kHashBytes, wanted) != 0) continue;
    bytes_.erase(at, kHashBytes);
    return;
  }
}

std::unordered_map<uint32_t, size_t> MemberOrder::Places() const {
  std::unordered_map<uint32_t, size_t> places;
  BytesReader reader(bytes_);
  while (!reader.AtEnd()) places.emplace(reader.Big32(), places.size());
  return places;
}

}  // namespace cairn::data
