#pragma once

#include <string_view>

#include "base/result.h"
#include "jobs/operations/enqueue.h"

// A job as clients give it to us: the JSON of POST /api/v1/enqueue, of each job of JOB.ENQUEUEM and
// of a schedule's job.
namespace cairn::jobs {

// Refuses (VALIDATION_ERROR) text that is not an object, members that are unknown and values of
// another kind; a null counts as left out. Payload, tags and the like are the bytes that were
// given: whether they make sense says CheckEnqueue.
Result<EnqueueRequest> ParseEnqueue(std::string_view json);

}  // namespace cairn::jobs
