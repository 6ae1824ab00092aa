#pragma once

#include <span>
#include <string>

#include "jobs/model/job.h"
#include "jobs/operations/actions.h"
#include "jobs/operations/enqueue.h"
#include "jobs/operations/queues.h"
#include "jobs/operations/registry.h"

// Jobs, queues and workers as clients see them: each appends one JSON object.
namespace cairn::jobs {

// The whole job as GET /jobs/{id} has it; payload, tags, result… are the bytes that were given.
void AppendJob(const Job& job, std::span<const JobError> errors, std::string& out);
// What a fetch gives: job_id, queue, payload, attempt, max_retries, lease_duration, lease_token,
// lease_expires_at, checkpoint, tags, agent.
void AppendFetched(const Job& job, std::string& out);
void AppendQueue(const QueueInfo& queue, std::string& out);
void AppendWorker(const Worker& worker, std::string& out);
void AppendEnqueued(const EnqueueResult& result, std::string& out);

}  // namespace cairn::jobs
