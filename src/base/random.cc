#include "base/random.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace cairn {
namespace {

// One system call fills the buffer for 64 numbers; a thread never shares its buffer.
struct EntropyBuffer {
  std::array<uint64_t, 64> words;
  size_t used = 64;
};

}  // namespace

uint64_t Random::Below(uint64_t bound) {
  CAIRN_CHECK(bound > 0);
  // Numbers from the incomplete last block would favour small results; draw again.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t value = Next();
  while (value >= limit) {
    value = Next();
  }
  return value % bound;
}

Bytes Random::NextBytes(size_t count) {
  Bytes bytes(count, '\0');
  for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
    const uint64_t word = Next();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), count - at));
  }
  return bytes;
}

uint64_t SystemRandom::Next() {
  thread_local EntropyBuffer buffer;
  if (buffer.used == buffer.words.size()) {
    const size_t wanted = sizeof(buffer.words);
    ssize_t got = 0;
    do {
      got = getrandom(buffer.words.data(), wanted, 0);
    } while (got < 0 && errno == EINTR);
    CAIRN_CHECK(got == static_cast<ssize_t>(wanted), "getrandom: {}", std::strerror(errno));
    buffer.used = 0;
  }
  return buffer.words[buffer.used++];
}

uint64_t SeededRandom::Next() {
  const std::lock_guard lock(mutex_);
  return engine_();
}

}  // namespace cairn
