#include "jobs/webhook/webhook_targets.h"

#include <fmt/format.h>

namespace cairn::jobs {

std::string WebhookRefusal(std::string_view target) {
  return fmt::format("webhooks may not be sent to {}{}", target, kHowToAllow);
}

}  // namespace cairn::jobs
