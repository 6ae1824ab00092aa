#pragma once

namespace cairn::functions {

// With what a child says how it ended, where it can no longer say more.
inline constexpr int kExitProtocol = 65;
inline constexpr int kExitNoSandbox = 66;
inline constexpr int kExitOutOfMemory = 67;

}  // namespace cairn::functions
