#pragma once

#include <functional>
#include <string>

namespace cairn::house {

// One thing that `cairn doctor` looked at, in plain words.
struct Finding {
  enum class Level {
    kOk,
    kWarning,  // works, but someone should know
    kProblem,  // the server would not start, or would not keep its promises
  };

  Level level = Level::kOk;
  std::string check;   // what was looked at: "disk space"
  std::string text;    // what was found
  std::string advice;  // what to do about it; empty when there is nothing to do
};

// Looks at something that a layer needs of the machine. Changes nothing.
using ExamineFunction = std::function<Finding()>;

}  // namespace cairn::house
