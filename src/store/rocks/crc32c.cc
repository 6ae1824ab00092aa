#include "store/rocks/crc32c.h"

#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

// RocksDB's crc32c::Extend as the linker knows it: calls to it arrive at __wrap_, and __real_ is
// the function itself. Both names are the linker's, hence reserved.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
uint32_t __real__ZN7rocksdb6crc32c6ExtendEjPKcm(uint32_t crc, const char* data, size_t size);
uint32_t __wrap__ZN7rocksdb6crc32c6ExtendEjPKcm(uint32_t crc, const char* data, size_t size) {
  return cairn::store::rocks::ExtendCrc32c(crc, data, size);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace cairn::store::rocks {
namespace {

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(uint32_t crc, const char* data,
                                                               size_t size) {
  uint64_t state = ~crc;
  for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), data += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, data, sizeof(word));
    state = _mm_crc32_u64(state, word);
  }
  auto narrow = static_cast<uint32_t>(state);
  for (; size > 0; --size, ++data) narrow = _mm_crc32_u8(narrow, static_cast<uint8_t>(*data));
  return ~narrow;
}
#endif

}  // namespace

bool HasCrc32cInstruction() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
#else
  return false;
#endif
}

uint32_t ExtendCrc32c(uint32_t crc, const char* data, size_t size) {
#if defined(__x86_64__)
  if (HasCrc32cInstruction()) return ExtendByInstruction(crc, data, size);
#endif
  return __real__ZN7rocksdb6crc32c6ExtendEjPKcm(crc, data, size);
}

}  // namespace cairn::store::rocks
