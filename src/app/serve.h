#pragma once

#include <string>

#include "app/settings.h"
#include "house/terminal.h"

namespace cairn::app {

struct ServeOptions {
  // Written, whole or not at all, once everything listens, and removed after a graceful stop:
  // {"pid":1,"version":"0.1.0","data":"…","resp":"127.0.0.1:6666","resp_port":6666,
  //  "http":"127.0.0.1:8080","http_port":8080}. Empty: no file.
  std::string ready_file;
};

// `cairn serve`: serves until SIGTERM, SIGINT, SIGHUP or the command SHUTDOWN, then lets running
// requests finish and closes the store. A second signal ends the process at once, which loses
// nothing that was acknowledged. Returns an exit code.
int Serve(const Config& config, const ServeOptions& options, const house::Terminal& terminal);

}  // namespace cairn::app
