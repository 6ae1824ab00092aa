#pragma once

#include <memory>

#include "house/configuration.h"
#include "house/layer.h"
#include "jobs/ledger/event.h"
#include "jobs/webhook/webhook_targets.h"

namespace cairn::jobs {

// Where webhooks may be sent: as set, or to public addresses and, while nobody but this machine can
// reach the server, to this machine.
WebhookTargets WebhookTargetsOf(const house::Configuration& configuration);

// The job queue, with its schedules and webhooks. `gaps` is shared with whoever else reads the
// event log.
std::unique_ptr<house::Layer> MakeJobsLayer(std::shared_ptr<EventGaps> gaps);

}  // namespace cairn::jobs
