#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace cairn::internal {

void CheckFailed(std::string_view condition, std::string_view file, int line,
                 const std::string& message) {
  // stderr, not the log: the log may be what is broken.
  fmt::print(stderr, "cairn: check failed: {} at {}:{}{}{}\n", condition, file, line,
             message.empty() ? "" : ": ", message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace cairn::internal
