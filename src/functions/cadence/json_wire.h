#pragma once

#include <memory>
#include <string>

#include "functions/cadence/wire.h"

namespace cairn::functions {

// The JSON API of code-flow:
//
//   POST /v1/poll-activity-task          {domain,tasklist,worker_id}
//        → {task:{task_token,domain,tasklist,workflow_id,run_id,activity_id,activity_type,attempt,
//                 input_base64} or null}
//   POST /v1/respond-activity-completed  {task_token,payload_base64}
//   POST /v1/respond-activity-failed     {task_token,reason,details_base64}
//   POST /v1/record-activity-heartbeat   {task_token,details_base64} → {cancel_requested}
//
// 404 and 410 say that a task is gone, 400 that it will never be taken.
std::unique_ptr<Wire> MakeJsonWire(std::string url);

}  // namespace cairn::functions
