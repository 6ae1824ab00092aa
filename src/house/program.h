#pragma once

#include <string_view>

namespace cairn::house {

// What the process does when it is started as `cairn NAME` by the server itself: not for people, so
// no help lists it. Runs before anything else of the process is set up; returns the exit code.
struct Program {
  std::string_view name;
  int (*run)() = nullptr;
};

}  // namespace cairn::house
