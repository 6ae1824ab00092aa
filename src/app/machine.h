#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace cairn::app {

// Facts about the machine and the process's limits on it, for `cairn doctor` and `cairn serve`.

// The memory this process may use, and what says so.
struct MemoryLimit {
  uint64_t bytes = 0;
  bool from_control_group = false;  // else the machine's memory
};
// Looks at the machine and at the control groups (version 2 or 1) around this process: the smallest
// limit counts. `root` stands for "/", so that a test can bring its own.
MemoryLimit FindMemoryLimit(const std::string& root = "/");

struct FileLimit {
  uint64_t soft = 0;
  uint64_t hard = 0;
};
FileLimit OpenFileLimit();
// Raises the soft limit to the hard one. Returns what holds then.
FileLimit RaiseOpenFileLimit();

// What the server needs besides one descriptor per client: the store's files, listeners, logs.
inline constexpr uint64_t kReservedFiles = 1024;

// How long it takes to make one small write durable in `directory`, which exists.
struct SyncSpeed {
  std::chrono::microseconds median{};
  std::chrono::microseconds worst{};
};
Result<SyncSpeed> MeasureSync(const std::string& directory, int writes);

// Why a file system is a poor home for data that must last ("tmpfs, which a restart of the machine
// empties"); empty when there is nothing to say.
std::string DoubtAboutFileSystem(const std::string& directory);

}  // namespace cairn::app
