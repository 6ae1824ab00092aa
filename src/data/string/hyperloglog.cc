#include "data/string/hyperloglog.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace cairn::data {
namespace {

constexpr size_t kIndexBits = 14;
constexpr size_t kRankBits = 64 - kIndexBits;
constexpr size_t kRegisterBits = 6;
constexpr size_t kHeaderBytes = 16;
constexpr size_t kDenseBytes = kHeaderBytes + HyperLogLog::kRegisters * kRegisterBits / 8;
// Above, Redis goes over to dense (hll-sparse-max-bytes).
constexpr size_t kMaxSparseBytes = kHeaderBytes + 3000;
constexpr uint8_t kMaxSparseValue = 32;
constexpr char kDense = 0;
constexpr char kSparse = 1;
constexpr std::string_view kMagic = "HYLL";
constexpr uint64_t kStale = uint64_t{1} << 63;

// MurmurHash64A, as published by Austin Appleby, with the seed that Redis has chosen.
uint64_t HashElement(BytesView bytes) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  constexpr uint64_t kSeed = 0xadc83b19;
  uint64_t hash = kSeed ^ (bytes.size() * kMultiplier);
  while (bytes.size() >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    word *= kMultiplier;
    word ^= word >> 47;
    word *= kMultiplier;
    hash = (hash ^ word) * kMultiplier;
    bytes.remove_prefix(8);
  }
  if (!bytes.empty()) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    hash = (hash ^ word) * kMultiplier;
  }
  hash ^= hash >> 47;
  hash *= kMultiplier;
  return hash ^ hash >> 47;
}

// The two corrections of the estimator of Otmar Ertl, "New cardinality estimation algorithms for
// HyperLogLog sketches" (2017): for registers that are still 0, and for those that are full.
double Sigma(double x) {
  if (x == 1.0) return std::numeric_limits<double>::infinity();
  double y = 1;
  double z = x;
  for (double before = -1; before != z;) {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  }
  return z;
}

double Tau(double x) {
  if (x == 0.0 || x == 1.0) return 0.0;
  double y = 1;
  double z = 1 - x;
  for (double before = -1; before != z;) {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= std::pow(1 - x, 2) * y;
  }
  return z / 3;
}

Bytes Header(char encoding) {
  Bytes bytes(kMagic);
  bytes += encoding;
  bytes.append(10, '\0');
  bytes += '\x80';  // no estimate is known
  return bytes;
}

void AppendZeros(Bytes& out, size_t count) {
  const size_t length = count - 1;
  if (count <= 64) {
    out += static_cast<char>(length);
  } else {
    out += static_cast<char>(0x40 | length >> 8);
    out += static_cast<char>(length & 0xff);
  }
}

void AppendValues(Bytes& out, uint8_t value, size_t count) {
  for (; count > 0; count -= std::min<size_t>(count, 4)) {
    const size_t length = std::min<size_t>(count, 4) - 1;
    out += static_cast<char>(0x80U | static_cast<size_t>(value - 1) << 2 | length);
  }
}

Error NotHyperLogLog() {
  return {ErrorCode::kInvalid, "WRONGTYPE Key is not a valid HyperLogLog string value."};
}

}  // namespace

Result<HyperLogLog> HyperLogLog::Decode(BytesView bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) return NotHyperLogLog();
  const char encoding = bytes[kMagic.size()];
  if (encoding != kDense && encoding != kSparse) return NotHyperLogLog();
  if (encoding == kDense && bytes.size() != kDenseBytes) return NotHyperLogLog();
  HyperLogLog decoded;
  decoded.dense_ = encoding == kDense;
  uint64_t count = 0;
  for (size_t i = 0; i < 8; ++i) count |= uint64_t{static_cast<uint8_t>(bytes[8 + i])} << i * 8;
  if ((count & kStale) == 0) decoded.known_estimate_ = count;
  const BytesView registers = bytes.substr(kHeaderBytes);
  if (decoded.dense_ ? decoded.DecodeDense(registers) : decoded.DecodeSparse(registers)) {
    return decoded;
  }
  return Error{ErrorCode::kInvalid, "INVALIDOBJ Corrupted HLL object detected"};
}

bool HyperLogLog::DecodeDense(BytesView bytes) {
  for (size_t i = 0; i < kRegisters; ++i) {
    const size_t bit = i * kRegisterBits;
    uint32_t pair = static_cast<uint8_t>(bytes[bit / 8]);
    if (bit / 8 + 1 < bytes.size()) pair |= uint32_t{static_cast<uint8_t>(bytes[bit / 8 + 1])} << 8;
    registers_[i] = pair >> bit % 8 & ((1U << kRegisterBits) - 1);
    // No element has such a rank.
    if (registers_[i] > kRankBits + 1) return false;
  }
  return true;
}

bool HyperLogLog::DecodeSparse(BytesView bytes) {
  size_t at = 0;
  while (!bytes.empty()) {
    const auto code = static_cast<uint8_t>(bytes[0]);
    size_t used = 1;
    size_t length = (code & 0x3fU) + 1;
    uint8_t value = 0;
    if ((code & 0x80U) != 0) {
      value = static_cast<uint8_t>((code >> 2 & 0x1fU) + 1);
      length = (code & 3U) + 1;
    } else if ((code & 0x40U) != 0) {
      if (bytes.size() < 2) return false;
      used = 2;
      length = ((code & 0x3fU) << 8 | static_cast<uint8_t>(bytes[1])) + 1;
    }
    if (length > kRegisters - at) return false;
    std::fill_n(registers_.begin() + static_cast<std::ptrdiff_t>(at), length, value);
    at += length;
    bytes.remove_prefix(used);
  }
  return at == kRegisters;
}

bool HyperLogLog::Add(BytesView element) {
  const uint64_t hash = HashElement(element);
  const size_t index = hash & (kRegisters - 1);
  // The guard keeps the rank within bounds when all bits are 0.
  const uint64_t rest = hash >> kIndexBits | uint64_t{1} << kRankBits;
  const auto rank = static_cast<uint8_t>(std::countr_zero(rest) + 1);
  if (rank <= registers_[index]) return false;
  registers_[index] = rank;
  known_estimate_.reset();
  return true;
}

void HyperLogLog::Merge(const HyperLogLog& other) {
  for (size_t i = 0; i < kRegisters; ++i) {
    registers_[i] = std::max(registers_[i], other.registers_[i]);
  }
  dense_ = dense_ || other.dense_;
  known_estimate_.reset();
}

uint64_t HyperLogLog::Estimate() const {
  constexpr double kAlphaInfinity = 0.721347520444481703680;
  constexpr auto kCount = static_cast<double>(kRegisters);
  if (known_estimate_) return *known_estimate_;
  std::array<int, kRankBits + 2> histogram{};
  for (const uint8_t value : registers_) ++histogram[value];
  double z = kCount * Tau((kCount - histogram[kRankBits + 1]) / kCount);
  for (size_t rank = kRankBits; rank >= 1; --rank) {
    z += histogram[rank];
    z *= 0.5;
  }
  z += kCount * Sigma(histogram[0] / kCount);
  return static_cast<uint64_t>(std::llroundl(kAlphaInfinity * kCount * kCount / z));
}

Bytes HyperLogLog::Encode() const {
  if (!dense_) {
    if (std::optional<Bytes> sparse = EncodeSparse()) return *std::move(sparse);
  }
  return EncodeDense();
}

Bytes HyperLogLog::EncodeDense() const {
  Bytes bytes = Header(kDense);
  bytes.resize(kDenseBytes, '\0');
  for (size_t i = 0; i < kRegisters; ++i) {
    const size_t bit = i * kRegisterBits;
    const size_t at = kHeaderBytes + bit / 8;
    const uint32_t shifted = uint32_t{registers_[i]} << bit % 8;
    bytes[at] = static_cast<char>(static_cast<uint8_t>(bytes[at]) | (shifted & 0xffU));
    if (shifted > 0xff) bytes[at + 1] = static_cast<char>(shifted >> 8);
  }
  return bytes;
}

std::optional<Bytes> HyperLogLog::EncodeSparse() const {
  Bytes bytes = Header(kSparse);
  for (size_t at = 0; at < kRegisters;) {
    const uint8_t value = registers_[at];
    const auto begin = registers_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end =
        std::find_if(begin, registers_.end(), [value](uint8_t other) { return other != value; });
    const auto count = static_cast<size_t>(end - begin);
    if (value > kMaxSparseValue) return std::nullopt;
    if (value == 0) {
      AppendZeros(bytes, count);
    } else {
      AppendValues(bytes, value, count);
    }
    if (bytes.size() > kMaxSparseBytes) return std::nullopt;
    at += count;
  }
  return bytes;
}

}  // namespace cairn::data
