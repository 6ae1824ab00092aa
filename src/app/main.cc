#include <exception>

#include "app/command_line.h"
#include "app/terminal.h"

int main(int argc, char** argv) {
  const cairn::app::Environment environment = cairn::app::ProcessEnvironment();
  try {
    return cairn::app::RunCommandLine({argv + 1, argv + argc}, environment);
  } catch (const std::exception& exception) {
    cairn::app::Terminal(environment).Complain(std::string("internal error: ") + exception.what());
    return cairn::app::kExitFailure;
  }
}
