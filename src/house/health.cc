#include "house/health.h"

namespace cairn::house {

std::optional<std::string> Health::WhyNotReady() const {
  if (draining_) return "the server is stopping";
  if (const std::optional<Error> failure = store_.write_failure()) return failure->message;
  for (const Check& check : checks_) {
    if (std::optional<std::string> why = check()) return why;
  }
  return std::nullopt;
}

}  // namespace cairn::house
