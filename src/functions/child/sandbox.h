#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"

// What keeps a function's process from everything but its socket. The parts are independent: each
// holds if the others do not.
namespace cairn::functions {

enum class SandboxPart : uint32_t {
  kSystemCalls = 1U << 0U,   // a list of those that are allowed; any other one kills
  kLimits = 1U << 1U,        // files, processes, memory, core dumps
  kNoPrivileges = 1U << 2U,  // no capabilities, and none to be gained
  kUser = 1U << 3U,          // another user than the server
  kEmptyRoot = 1U << 4U,     // a root directory that is empty
  kNetwork = 1U << 5U,       // a network of its own, with nothing in it
  kProcesses = 1U << 6U,     // sees no other processes
  kMountsAndIpc = 1U << 7U,  // mounts, host name, System V IPC of its own
};

// Without these nothing is run.
inline constexpr uint32_t kRequiredParts = static_cast<uint32_t>(SandboxPart::kSystemCalls) |
                                           static_cast<uint32_t>(SandboxPart::kLimits) |
                                           static_cast<uint32_t>(SandboxPart::kNoPrivileges);

// One line per part: for `cairn doctor`.
struct SandboxFinding {
  SandboxPart part;
  std::string_view name;
  bool in_force = false;
  std::string_view meaning;  // what a function could do if everything else failed too
};
std::vector<SandboxFinding> DescribeSandbox(uint32_t parts);

// The parts that a process of this user gets on this machine. Starts a process for a moment.
Result<uint32_t> ProbeSandbox();

// --- for the zygote ------------------------------------------------------------------------------

// Leaves the machine's network, mounts and processes behind, as far as allowed. Children made after
// this are in the new process namespace; the first of them is its init. Returns the parts.
uint32_t EnterNamespaces();

// A directory without a name, in which nothing can be made. An invalid descriptor if there is none.
FileDescriptor MakeEmptyRoot();

// --- for a child ---------------------------------------------------------------------------------

struct SandboxOptions {
  int empty_root = -1;             // from MakeEmptyRoot
  uint64_t hard_memory_bytes = 0;  // what the memory limit can be raised to, at most
};

// The descriptor that is left after EnterSandbox.
inline constexpr int kSandboxSocket = 3;

// Closes all descriptors but `socket`, which becomes kSandboxSocket, and gives everything else up.
// Returns the parts now in force, those of namespaces not included. An error, with the process in
// no state to go on, if a required part is refused.
Result<uint32_t> EnterSandbox(int socket, const SandboxOptions& options);

// The names of the system calls that the filter lets pass, and of those it answers with EPERM. All
// others end the process.
std::span<const std::string_view> AllowedSystemCalls();
std::span<const std::string_view> RefusedSystemCalls();

}  // namespace cairn::functions
