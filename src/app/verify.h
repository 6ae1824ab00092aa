#pragma once

#include <string>

#include "app/settings.h"
#include "house/declarations.h"
#include "house/layer.h"
#include "house/terminal.h"

namespace cairn::app {

struct VerifyOptions {
  std::string url;      // of a running server that verifies its store; empty: the store is opened
  std::string ca_file;  // for https
  bool json = false;    // print the lines of house/verify.h as they are
};

// `cairn verify`: runs the checks of all layers and tells what is wrong. A data directory that a
// server uses is refused, because a server has it for itself: that server can be asked. Returns an
// exit code: 0 if everything is sound, 1 if not or if nobody can tell.
int Verify(const Config& config, const house::Layers& layers,
           const house::Declarations& declarations, const VerifyOptions& options,
           const house::Terminal& terminal);

}  // namespace cairn::app
