#pragma once

namespace cairn {

// Gives memory that was freed, and that the allocator keeps to use it again, back to the operating
// system. May take some milliseconds. From any thread.
void ReleaseFreeMemory();

}  // namespace cairn
