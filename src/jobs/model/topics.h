#pragma once

#include <string_view>

#include "store/scopes.h"

// What can be waited for, besides new events (EventsTopic in event.h). The commit that changes
// something wakes its topic; those who waited then look for themselves.
namespace cairn::jobs {

// A worker may find a job in the queue, or the queue is gone.
store::Topic QueueTopic(std::string_view queue);
// No job of the queue is active any more.
store::Topic QueueIdleTopic(std::string_view queue);
// The job has ended or is gone.
store::Topic JobTopic(std::string_view id);

}  // namespace cairn::jobs
