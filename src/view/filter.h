#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "doors/access/name_patterns.h"
#include "jobs/model/job.h"
#include "view/condition.h"

namespace cairn::view {

// Which jobs somebody means: the members of a JSON object, all of which have to fit.
//
//   queue, state (one or a list), priority (0 to 2 or a name), tags {name: value}
//   payload_contains, payload_jq (payload_query.h), error_contains, has_errors
//   created_after … expire_before, attempt_min, attempt_max
//   unique_key, batch_id, worker_id, parent_id, chain_id, job_id_prefix
struct JobFilter {
  Condition where;
  // What a bulk action checks again at the job itself, which may have changed since it was found.
  std::string queue;                // empty: any
  std::vector<jobs::State> states;  // empty: any
};

// The jobs of these queues; of all, if it is null.
Condition InQueues(const doors::NamePatterns* queues);

// kInvalid for a member that is unknown or makes no sense, with its name. Members named in `others`
// are left to the caller.
Result<JobFilter> ParseFilter(const boost::json::object& json,
                              const std::vector<std::string_view>& others = {});

}  // namespace cairn::view
