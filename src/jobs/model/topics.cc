#include "jobs/model/topics.h"

#include "jobs/model/keys.h"

namespace cairn::jobs {

using store::Space;
using store::Topic;

Topic QueueTopic(std::string_view queue) { return Topic::Of(Space::kJobs, QueueNameKey(queue)); }

Topic QueueIdleTopic(std::string_view queue) {
  return Topic::Of(Space::kJobs, QueueStateKey(queue));
}

Topic JobTopic(std::string_view id) { return Topic::Of(Space::kJobs, JobKey(id)); }

}  // namespace cairn::jobs
