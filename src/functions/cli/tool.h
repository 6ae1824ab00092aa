#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "house/terminal.h"
#include "outside/child_process.h"

namespace cairn::functions::cli {

// Programs of the machine that make a folder ready: esbuild, node.
struct ToolCall {
  std::vector<std::string> arguments;  // the program's path first
  std::string directory;
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
  size_t max_output_bytes = 64UL * 1024 * 1024;
};

struct ToolOutput {
  outside::ChildExit exit;
  std::string out;
  std::string err;  // its end is cut
};

// Runs it and waits. It gets PATH, HOME and the like of `environment`, no more. kIo if it cannot be
// started, has not ended in time, or writes too much: then it is killed.
Result<ToolOutput> RunTool(const ToolCall& call, const house::Environment& environment,
                           const Clock& clock);

// The path of a program in PATH; nullopt if it is not there.
std::optional<std::string> FindProgram(std::string_view name,
                                       const house::Environment& environment);

}  // namespace cairn::functions::cli
