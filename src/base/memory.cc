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

}  // namespace cairn
