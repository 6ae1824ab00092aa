#pragma once

#include <fmt/format.h>

#include <chrono>
#include <source_location>
#include <stdexcept>
#include <string_view>
#include <thread>

// Waits of tests: each has a deadline and says what it waited for.
namespace cairn::testing {

// Long, because it only has to end a test that would otherwise hang: no test passes or fails by
// how fast a machine is.
inline constexpr std::chrono::seconds kAwaitLimit{60};

// Returns once `condition()` is true. If that does not come about, throws, which fails the test
// with the words "waited 60 s for WHAT". Not for what must *not* happen: let something follow it
// that must, and wait for that.
template <typename Condition>
void Await(std::string_view what, const Condition& condition,
           std::chrono::seconds limit = kAwaitLimit,
           const std::source_location& where = std::source_location::current()) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error(fmt::format("{}:{}: waited {} s for {}", where.file_name(),
                                           where.line(), limit.count(), what));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace cairn::testing
