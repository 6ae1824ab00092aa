#include <exception>

#include "app/command_line.h"
#include "app/layers.h"
#include "house/declarations.h"
#include "house/terminal.h"

// What jemalloc goes by where the program is linked with it: memory that was freed goes back to the
// operating system soon, also from a thread that does nothing any more. A large request would else
// leave its size behind.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true,dirty_decay_ms:2000,muzzy_decay_ms:0";
}

int main(int argc, char** argv) {
  if (argc == 2) {
    const cairn::house::Layers layers = cairn::app::MakeLayers();
    const cairn::house::Declarations declarations(layers);
    if (const auto* const program = declarations.FindProgram(argv[1])) return program->run();
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
