#include "base/hash.h"

#include <cstring>

namespace cairn {
namespace {

constexpr uint64_t kMixA = 0x9e3779b97f4a7c15;
constexpr uint64_t kMixB = 0xd6e8feb86659fd93;

__extension__ using uint128_t = unsigned __int128;

// The 128-bit product folded onto 64 bits: every input bit reaches every output bit.
uint64_t Mix(uint64_t a, uint64_t b) {
  const uint128_t product = static_cast<uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t Load64(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// Up to 8 bytes as one number; which bytes land where does not matter, only that all do.
uint64_t LoadTail(const char* at, size_t count) {
  uint64_t word = 0;
  std::memcpy(&word, at, count);
  return word;
}

}  // namespace

uint64_t Hash64(BytesView bytes, uint64_t seed) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  uint64_t state = Mix(seed ^ kMixA, left ^ kMixB);
  while (left > 16) {
    state = Mix(Load64(at) ^ kMixA ^ state, Load64(at + 8) ^ kMixB);
    at += 16;
    left -= 16;
  }
  uint64_t a = 0;
  uint64_t b = 0;
  if (left >= 8) {
    a = Load64(at);
    b = Load64(at + left - 8);
  } else if (left > 0) {
    a = LoadTail(at, left);
  }
  return Mix(Mix(a ^ kMixA ^ state, b ^ kMixB), state ^ kMixB);
}

}  // namespace cairn
