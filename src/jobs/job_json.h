#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jobs/json_check.h"
#include "jobs/operations.h"

// Jobs and queues as clients see them, and the JSON that clients give us.
namespace cairn::jobs {

// "2025-11-05T10:30:15.123456789Z"; the fraction without trailing zeros.
std::string FormatTime(uint64_t ns);
// RFC 3339 with any offset; nullopt for anything else.
std::optional<uint64_t> ParseTime(std::string_view text);
// "1h30m", "5s", "250ms", "1.5h", also a day "2d": milliseconds.
std::optional<int64_t> ParseDuration(std::string_view text);

// Appends the text as a JSON string.
void AppendJsonString(std::string_view text, std::string& out);

// The whole job as GET /jobs/{id} has it; payload, tags, result… are the bytes that were given.
void AppendJob(const Job& job, std::span<const JobError> errors, std::string& out);
// What a fetch gives: job_id, queue, payload, attempt, max_retries, lease_duration, lease_token,
// lease_expires_at, checkpoint, tags, agent.
void AppendFetched(const Job& job, std::string& out);
void AppendQueue(const QueueInfo& queue, std::string& out);
void AppendWorker(const Worker& worker, std::string& out);
void AppendEnqueued(const EnqueueResult& result, std::string& out);

// An enqueue request as /api/v1/enqueue has it, with what the specification adds. Members that are
// unknown are refused.
Result<EnqueueRequest> ParseEnqueue(std::string_view json);

}  // namespace cairn::jobs
