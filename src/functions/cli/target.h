#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "house/verb.h"

namespace cairn::functions::cli {

// Which folder somebody means, and which function it is the code of.
//
//   typed                    folder    function
//   ──────────────────────   ───────   ────────────────────────────────────
//   (nothing)                .         --name, or what the folder is called
//   DIR                      DIR       the same
//   FUNCTION --path DIR      DIR       FUNCTION
//   FUNCTION                 .         FUNCTION, where there is no such folder but a manifest here
struct Target {
  std::string folder;
  std::optional<std::string> function = {};  // as it was typed; nullopt: what the folder is called
};
// `words` are what was typed behind the action: one at most. kInvalid if the function is named
// twice.
Result<Target> TargetOf(const house::VerbCall& call, const std::vector<std::string>& words);

}  // namespace cairn::functions::cli
