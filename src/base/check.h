#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace cairn::internal {

// Prints the failed condition with its values and ends the process.
[[noreturn]] void CheckFailed(std::string_view condition, std::string_view file, int line,
                              const std::string& message);

inline std::string CheckMessage() { return {}; }
template <typename... Args>
std::string CheckMessage(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

}  // namespace cairn::internal

// Asserts what our own code guarantees, in every build type: a process that has lost an invariant
// must stop before it acknowledges anything. Never used on input that a user can choose.
//   CAIRN_CHECK(begin <= end, "range {} > {}", begin, end);
#define CAIRN_CHECK(condition, ...)                                                 \
  do {                                                                              \
    if (!(condition)) [[unlikely]] {                                                \
      ::cairn::internal::CheckFailed(#condition, __FILE__, __LINE__,                \
                                     ::cairn::internal::CheckMessage(__VA_ARGS__)); \
    }                                                                               \
  } while (false)
