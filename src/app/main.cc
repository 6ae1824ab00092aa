#include <exception>
#include <string_view>

#include "app/command_line.h"
#include "functions/child/program.h"
#include "house/terminal.h"

// What jemalloc goes by where the program is linked with it: memory that was freed goes back to the
// operating system soon, also from a thread that does nothing any more. A large request would else
// leave its size behind.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:2000,muzzy_decay_ms:0";
}

int main(int argc, char** argv) {
  // What the server starts itself to run functions in: no command, so no help lists it.
  if (argc == 2 && argv[1] == std::string_view("sandbox")) {
    return cairn::functions::RunSandboxProgram();
  }
  const cairn::app::Environment environment = cairn::app::ProcessEnvironment();
  try {
    return cairn::app::RunCommandLine({argv + 1, argv + argc}, environment);
  } catch (const std::exception& exception) {
    cairn::house::Terminal(environment)
        .Complain(std::string("internal error: ") + exception.what());
    return cairn::house::kExitFailure;
  }
}
