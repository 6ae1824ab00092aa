#pragma once

#include <cstdint>
#include <optional>

namespace cairn {

// Gives memory that was freed, and that the allocator keeps to use it again, back to the operating
// system. May take some milliseconds. From any thread.
void ReleaseFreeMemory();

// What the program has allocated and not freed; nullopt if its allocator cannot tell. Exact as far
// as the calling thread is concerned; what others have just freed may still be counted.
std::optional<uint64_t> AllocatedBytes();

}  // namespace cairn
