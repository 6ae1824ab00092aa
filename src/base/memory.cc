#include "base/memory.h"

#include <malloc.h>

#include <cstddef>

// Of jemalloc, where the program is linked with it.
extern "C" __attribute__((weak)) int mallctl(const char* name, void* old_value, size_t* old_size,
                                             void* new_value, size_t new_size);

namespace cairn {

void ReleaseFreeMemory() {
  if (mallctl == nullptr) {
    malloc_trim(0);
    return;
  }
  // 4096 stands for all arenas.
  mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
  mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);
}

std::optional<uint64_t> AllocatedBytes() {
  if (mallctl == nullptr) return std::nullopt;
  mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
  uint64_t epoch = 1;  // statistics are gathered when this is written
  size_t size = sizeof(epoch);
  mallctl("epoch", &epoch, &size, &epoch, size);
  size_t allocated = 0;
  size = sizeof(allocated);
  if (mallctl("stats.allocated", &allocated, &size, nullptr, 0) != 0) return std::nullopt;
  return allocated;
}

}  // namespace cairn
