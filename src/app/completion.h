#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn::app {

// What can be typed after one command.
struct CompletedCommand {
  struct Option {
    std::string flag;  // "--durability"
    std::string description;
    std::vector<std::string> values;  // what may follow; empty: anything, completed as a file name
    bool takes_value = false;
  };

  std::string name;
  std::string description;
  std::vector<Option> options;
  std::vector<std::string> arguments;  // words it accepts that are not options
};

enum class Shell { kBash, kZsh, kFish };

// A script that makes the shell complete `cairn`'s commands, options and their fixed values.
std::string CompletionScript(Shell shell, const std::vector<CompletedCommand>& commands);

}  // namespace cairn::app
