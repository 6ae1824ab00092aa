#include "data/value/member_filter.h"

#include <array>
#include <bit>
#include <utility>

namespace cairn::data {
namespace {

constexpr size_t kHashBytes = 4;
constexpr size_t kCountBytes = 2;
constexpr size_t kBitsBytes = kCountBytes + MemberFilter::kBits / 8;
constexpr uint32_t kMostBits = MemberFilter::kBits / 4 * 3;
static_assert(MemberFilter::kMaxHashes * kHashBytes < kBitsBytes, "the size tells the form");

// Where the two bits of a hash are: its first digits, and those behind them.
std::array<uint32_t, 2> BitsOf(uint32_t hash) {
  constexpr int kDigits = std::countr_zero(MemberFilter::kBits);
  static_assert(2 * kDigits <= 32);
  return {hash >> (32 - kDigits), hash >> (32 - 2 * kDigits) & (MemberFilter::kBits - 1)};
}

uint8_t MaskOf(uint32_t bit) { return static_cast<uint8_t>(1U << (bit % 8)); }
size_t ByteOf(uint32_t bit) { return kCountBytes + bit / 8; }

}  // namespace

MemberFilter MemberFilter::OfNothing() {
  MemberFilter filter;
  filter.known_ = true;
  return filter;
}

std::optional<MemberFilter> MemberFilter::Decode(BytesView bytes) {
  const bool hashes = bytes.size() <= kMaxHashes * kHashBytes && bytes.size() % kHashBytes == 0;
  if (!hashes && bytes.size() != kBitsBytes) return std::nullopt;
  MemberFilter filter;
  filter.known_ = !bytes.empty();
  filter.bytes_ = bytes;
  return filter;
}

bool MemberFilter::in_bits() const { return bytes_.size() == kBitsBytes; }

bool MemberFilter::MayHave(uint32_t hash) const {
  if (!known_) return true;
  if (in_bits()) {
    for (const uint32_t bit : BitsOf(hash)) {
      if ((static_cast<uint8_t>(bytes_[ByteOf(bit)]) & MaskOf(bit)) == 0) return false;
    }
    return true;
  }
  Bytes wanted;
  AppendBig32(wanted, hash);
  for (size_t at = 0; at < bytes_.size(); at += kHashBytes) {
    if (bytes_.compare(at, kHashBytes, wanted) == 0) return true;
  }
  return false;
}

void MemberFilter::Add(uint32_t hash) {
  if (!known_ || MayHave(hash)) return;
  if (!in_bits() && bytes_.size() < kMaxHashes * kHashBytes) return AppendBig32(bytes_, hash);
  if (!in_bits()) ChangeToBits();
  SetBits(hash);
  if (BytesReader(bytes_).Big16() > kMostBits) *this = MemberFilter();
}

void MemberFilter::ChangeToBits() {
  const Bytes hashes = std::exchange(bytes_, Bytes(kBitsBytes, '\0'));
  BytesReader reader(hashes);
  while (!reader.AtEnd()) SetBits(reader.Big32());
}

void MemberFilter::SetBits(uint32_t hash) {
  for (const uint32_t bit : BitsOf(hash)) SetBit(bit);
}

void MemberFilter::SetBit(uint32_t bit) {
  char& byte = bytes_[ByteOf(bit)];
  if ((static_cast<uint8_t>(byte) & MaskOf(bit)) != 0) return;
  byte = static_cast<char>(static_cast<uint8_t>(byte) | MaskOf(bit));
  Bytes count;
  AppendBig16(count, static_cast<uint16_t>(BytesReader(bytes_).Big16() + 1));
  bytes_.replace(0, kCountBytes, count);
}

}  // namespace cairn::data
