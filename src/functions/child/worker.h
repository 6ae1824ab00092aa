#pragma once

#include <cstdint>

#include "functions/engine/engine.h"

namespace cairn::functions {

// What a child does: takes activations from kSandboxSocket and runs them, one at a time, until the
// other side closes the socket. Called inside the sandbox; ends the process.
//
// `baseline_bytes` is the memory that the process has before it runs anything: a function's memory
// limit comes on top of it.
[[noreturn]] void RunWorker(Engine& engine, uint64_t baseline_bytes);

// Sets the signals by which the time limits interrupt the engine. Before the sandbox is entered.
void PrepareWorkerSignals();

}  // namespace cairn::functions
