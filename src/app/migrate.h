#pragma once

#include <string>

#include "app/settings.h"
#include "house/terminal.h"

namespace cairn::app {

struct MigrateOptions {
  std::string from;  // a data directory or a postgres:// URL
  std::string to;
  bool source_in_use = false;  // the copy stays unfinished, for another run when it is not
  bool json = false;
};

// Copies everything from one store to another and compares checksums; see store/copy.h. `config`
// gives all other settings. Returns an exit code.
//
// A directory that a server is using is read from a backup that the server makes, beside it; the
// copy then stays unfinished.
int Migrate(const Config& config, const MigrateOptions& options, const house::Terminal& terminal);

}  // namespace cairn::app
