#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "functions/model/isolation.h"

namespace cairn::functions {

// One file of a bundle: its path in the bundle ("lib/a.js") and what is in it.
struct SourceFile {
  std::string path;
  std::string text;

  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

// The code of an immutable version.
struct Program {
  std::string sha256;  // names it; programs with the same name are the same
  std::vector<SourceFile> files;
  std::string entry;                // the path of the module that has the handler
  std::string handler = "default";  // the name it is exported by
  Isolation isolation = Isolation::kActivation;
  std::string compiled = {};  // what SandboxPool::Compile gave; may be empty

  friend bool operator==(const Program&, const Program&) = default;
};

// What one activation may use.
struct RunLimits {
  int64_t wall_ms = 3'000;
  int64_t cpu_ms = 3'000;
  uint64_t memory_bytes = uint64_t{128} << 20U;

  friend bool operator==(const RunLimits&, const RunLimits&) = default;
};

// kSuspended: it has nothing to do before something happens, and is run again then.
enum class RunStatus : uint8_t { kSuccess, kError, kTimeout, kSuspended };

struct RunError {
  std::string type;
  std::string message;
  std::string stack = {};

  friend bool operator==(const RunError&, const RunError&) = default;
};

}  // namespace cairn::functions
