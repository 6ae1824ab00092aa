#pragma once

#include <string_view>

// What the routes take and give, as JSON schemas (doors/http/json_schema.h). Parts that several of
// them have are macros, because literals join at compile time.
namespace cairn::jobs {

#define CAIRN_JOBS_ENQUEUE                                                                                                      \
  R"({"type":"object","required":["queue"],"properties":{"queue":{"type":"string",)"                                            \
  R"("description":"Printable, up to 128 bytes."},"payload":{"additionalProperties":true,"nullable":true,)"                     \
  R"("description":"Any JSON, up to 256 KiB; given back byte for byte. {} unless given."},)"                                    \
  R"("priority":{"type":"string","enum":["critical","high","normal"],"nullable":true},)"                                        \
  R"("unique_key":{"type":"string","description":"Only one live job of the queue may have it.",)"                               \
  R"("nullable":true},"unique_period":{"oneOf":[{"type":"string"},{"type":"number"}],)"                                         \
  R"("nullable":true,)"                                                                                                         \
  R"("description":"How long the key is held at most; 1h unless given. A number is seconds."},)"                                \
  R"("unique_mode":{"type":"string","enum":["reject","replace","debounce"],"nullable":true},)"                                  \
  R"("idempotency_key":{"type":"string",)"                                                                                      \
  R"("description":"The same again, while its job is kept, is the same job.","nullable":true},)"                                \
  R"("scheduled_at":{"type":"string","description":"RFC 3339.","nullable":true},)"                                              \
  R"("delay":{"oneOf":[{"type":"string"},{"type":"number"}],"nullable":true,)"                                                  \
  R"("description":"Instead of scheduled_at: 5s, 10m, 1h30m, or seconds."},)"                                                   \
  R"("expire_after":{"oneOf":[{"type":"string"},{"type":"number"}],"nullable":true,)"                                           \
  R"("description":"A job that has not begun by then dies."},"max_retries":{"type":"integer",)"                                 \
  R"("description":"After the first run; 3 unless the queue says otherwise.","nullable":true},)"                                \
  R"("retry_backoff":{"type":"string","enum":["none","fixed","linear","exponential"],)"                                         \
  R"("nullable":true},"retry_base_delay":{"oneOf":[{"type":"string"},{"type":"number"}],)"                                      \
  R"("nullable":true,"description":"5s unless given."},)"                                                                       \
  R"("retry_max_delay":{"oneOf":[{"type":"string"},{"type":"number"}],"nullable":true,)"                                        \
  R"("description":"10m unless given; 0: no cap."},"retry_jitter_percent":{"type":"integer",)"                                  \
  R"("description":"Up to this much less, at random.","nullable":true},)"                                                       \
  R"("timeout":{"oneOf":[{"type":"string"},{"type":"number"}],"nullable":true,)"                                                \
  R"("description":"Of one attempt."},"tags":{"type":"object","additionalProperties":true,)"                                    \
  R"("nullable":true},"checkpoint":{"additionalProperties":true,"nullable":true},)"                                             \
  R"("agent":{"type":"object","additionalProperties":true,"nullable":true,)"                                                    \
  R"("description":"Limits of an agent; kept with the job."},"parent_id":{"type":"string",)"                                    \
  R"("nullable":true},"depends_on":{"type":"array","items":{"type":"string"},"nullable":true},)"                                \
  R"("on_dependency_failure":{"type":"string","enum":["fail","ignore","hold"],"nullable":true},)"                               \
  R"("chain":{"type":"object","required":["steps"],"properties":{"steps":{"type":"array",)"                                     \
  R"("items":{"type":"object","required":["queue"],"properties":{"queue":{"type":"string"},)"                                   \
  R"("payload":{"additionalProperties":true,"nullable":true}}}},"on_failure":{"type":"object","required":["queue"],)"           \
  R"("properties":{"queue":{"type":"string"},"payload":{"additionalProperties":true,"nullable":true}},"nullable":true},)"       \
  R"("on_exit":{"type":"object","required":["queue"],"properties":{"queue":{"type":"string"},)"                                 \
  R"("payload":{"additionalProperties":true,"nullable":true}},"nullable":true}},"nullable":true},"chain_id":{"type":"string",)" \
  R"("nullable":true},"chain_step":{"type":"integer","nullable":true},)"                                                        \
  R"("chain_config":{"type":"object","additionalProperties":true,"nullable":true},)"                                            \
  R"("batch_id":{"type":"string","description":"Of an open batch.","nullable":true},)"                                          \
  R"("concurrency_key":{"type":"string",)"                                                                                      \
  R"("description":"Jobs that share it share a limit of how many run at once.","nullable":true},)"                              \
  R"("rate_key":{"type":"string","description":"Jobs that share it share a rate.",)"                                            \
  R"("nullable":true},"group":{"type":"string","description":"Groups of one queue take turns.",)"                               \
  R"("nullable":true},"traceparent":{"type":"string",)"                                                                         \
  R"("description":"W3C trace context; the request's header unless given.","nullable":true}}})"

#define CAIRN_JOBS_JOB                                                                                                                                   \
  R"({"type":"object","required":["id","queue","state","payload","priority","attempt",)"                                                                 \
  R"("max_retries","created_at"],"properties":{"id":{"type":"string"},"queue":{"type":"string"},)"                                                       \
  R"("state":{"type":"string","enum":["pending","active","scheduled","retrying","held",)"                                                                \
  R"("completed","dead","cancelled"]},"payload":{"additionalProperties":true,"nullable":true},"priority":{"type":"integer",)"                            \
  R"("description":"0 critical, 1 high, 2 normal."},"attempt":{"type":"integer",)"                                                                       \
  R"("description":"Runs started."},"max_retries":{"type":"integer"},)"                                                                                  \
  R"("retry_backoff":{"type":"string"},"retry_base_delay_ms":{"type":"integer"},)"                                                                       \
  R"("retry_max_delay_ms":{"type":"integer"},"retry_jitter_percent":{"type":"integer"},)"                                                                \
  R"("timeout_ms":{"type":"integer"},"failures":{"type":"integer"},"reclaims":{"type":"integer",)"                                                       \
  R"("description":"Leases that lapsed."},"unique_key":{"type":"string"},)"                                                                              \
  R"("idempotency_key":{"type":"string"},"concurrency_key":{"type":"string"},)"                                                                          \
  R"("rate_key":{"type":"string"},"group":{"type":"string"},"batch_id":{"type":"string"},)"                                                              \
  R"("worker_id":{"type":"string"},"hostname":{"type":"string"},"tags":{"type":"object",)"                                                               \
  R"("additionalProperties":true},"progress":{"additionalProperties":true,"nullable":true},"checkpoint":{"additionalProperties":true,"nullable":true},)" \
  R"("agent":{"type":"object","additionalProperties":true},)"                                                                                            \
  R"("result":{"additionalProperties":true,"nullable":true},"lease_expires_at":{"type":"string"},)"                                                      \
  R"("scheduled_at":{"type":"string"},"expire_at":{"type":"string"},)"                                                                                   \
  R"("parent_id":{"type":"string"},"chain_id":{"type":"string"},"chain_step":{"type":"integer"},)"                                                       \
  R"("chain_config":{"type":"object","additionalProperties":true},"depends_on":{"type":"array",)"                                                        \
  R"("items":{"type":"string"}},"waiting_for":{"type":"integer"},)"                                                                                      \
  R"("on_dependency_failure":{"type":"string"},"traceparent":{"type":"string"},)"                                                                        \
  R"("created_at":{"type":"string"},"started_at":{"type":"string"},)"                                                                                    \
  R"("completed_at":{"type":"string"},"failed_at":{"type":"string"},)"                                                                                   \
  R"("hold_reason":{"type":"string"},"reason":{"type":"string"},"errors":{"type":"array",)"                                                              \
  R"("items":{"type":"object","required":["attempt","error","created_at"],)"                                                                             \
  R"("properties":{"id":{"type":"integer"},"job_id":{"type":"string"},)"                                                                                 \
  R"("attempt":{"type":"integer"},"error":{"type":"string"},"backtrace":{"type":"string"},)"                                                             \
  R"("created_at":{"type":"string"}}}}}})"

#define CAIRN_JOBS_FETCHED                                                                                                      \
  R"({"type":"object","required":["job_id","queue","payload","attempt","max_retries",)"                                         \
  R"("lease_duration","lease_token"],"properties":{"job_id":{"type":"string"},)"                                                \
  R"("queue":{"type":"string"},"payload":{"additionalProperties":true,"nullable":true},"attempt":{"type":"integer"},)"          \
  R"("max_retries":{"type":"integer"},"lease_duration":{"type":"integer",)"                                                     \
  R"("description":"Seconds."},"lease_token":{"type":"string",)"                                                                \
  R"("description":"Entitles to finish this run, and nothing else does."},)"                                                    \
  R"("lease_expires_at":{"type":"string"},"checkpoint":{"additionalProperties":true,"nullable":true},"tags":{"type":"object",)" \
  R"("additionalProperties":true},"agent":{"type":"object","additionalProperties":true},)"                                      \
  R"("traceparent":{"type":"string"}}})"

#define CAIRN_JOBS_QUEUE                                                                           \
  R"({"type":"object","required":["name","paused","pending","active","held","completed","dead",)"  \
  R"("scheduled","retrying"],"properties":{"name":{"type":"string"},"paused":{"type":"boolean"},)" \
  R"("draining":{"type":"boolean"},"max_concurrency":{"type":"integer"},)"                         \
  R"("rate_limit":{"type":"integer"},"rate_window_ms":{"type":"integer"},)"                        \
  R"("created_at":{"type":"string"},"pending":{"type":"integer"},"active":{"type":"integer"},)"    \
  R"("scheduled":{"type":"integer"},"retrying":{"type":"integer"},"held":{"type":"integer"},)"     \
  R"("completed":{"type":"integer"},"dead":{"type":"integer"},"cancelled":{"type":"integer"},)"    \
  R"("parked":{"type":"integer",)"                                                                 \
  R"("description":"Of the pending ones, those that wait for a limit, a turn or another job."},)"  \
  R"("enqueued":{"type":"integer","description":"Ever."},"failed":{"type":"integer"},)"            \
  R"("oldest_pending_at":{"type":"string"}}})"

#define CAIRN_JOBS_EVENT                                                                           \
  R"({"type":"object","required":["seq","type","queue","at_ns"],)"                                 \
  R"("properties":{"seq":{"type":"integer"},"type":{"type":"string"},"job_id":{"type":"string"},)" \
  R"("queue":{"type":"string"},"at_ns":{"type":"integer"},"data":{"additionalProperties":true,"nullable":true}}})"

#define CAIRN_JOBS_WEBHOOK                                                                         \
  R"({"type":"object","required":["id","url","events","enabled","retry_limit","cursor","dead"],)"  \
  R"("properties":{"id":{"type":"string"},"url":{"type":"string"},"events":{"type":"array",)"      \
  R"("items":{"type":"string"}},"enabled":{"type":"boolean"},"signed":{"type":"boolean",)"         \
  R"("description":"Whether it has a secret, which is never shown."},)"                            \
  R"("retry_limit":{"type":"integer"},"created_at":{"type":"string"},"cursor":{"type":"integer",)" \
  R"("description":"The event it has come to."},"delivered":{"type":"integer"},)"                  \
  R"("dead":{"type":"integer","description":"Events that could not be delivered and are kept."},)" \
  R"("last_status_code":{"type":"integer"},"last_error":{"type":"string"},)"                       \
  R"("last_delivery_at":{"type":"string"},"gaps":{"type":"integer",)"                              \
  R"("description":"How often the log lost events before they were told."},)"                      \
  R"("last_gap":{"type":"object","required":["missed_from","missed_to","at"],"properties":{)"      \
  R"("missed_from":{"type":"integer"},"missed_to":{"type":"integer"},"at":{"type":"string"}}}}})"

inline constexpr std::string_view kErrorSchema =
    R"({"type":"object","required":["error","code"],"properties":{"error":{"type":"string"},)"
    R"("code":{"type":"string"}}})";

inline constexpr std::string_view kStatusSchema =
    R"({"type":"object","required":["status"],"properties":{"status":{"type":"string"}}})";

inline constexpr std::string_view kEnqueueSchema = CAIRN_JOBS_ENQUEUE;

inline constexpr std::string_view kEnqueuedSchema =
    R"({"type":"object","required":["job_id","status","unique_existing"],)"
    R"("properties":{"job_id":{"type":"string"},"status":{"type":"string",)"
    R"("description":"pending, scheduled, held; duplicate or debounced if the key was taken."},)"
    R"("unique_existing":{"type":"boolean"}}})";

inline constexpr std::string_view kEnqueueBatchSchema =
    R"({"type":"object","required":["jobs"],"properties":{"jobs":{"type":"array","items":)" CAIRN_JOBS_ENQUEUE
    R"(,"minItems":1,"maxItems":10000},"batch":{"type":"object",)"
    R"("properties":{"callback_queue":{"type":"string"},"callback_payload":{"additionalProperties":true,"nullable":true}},)"
    R"("nullable":true},"idempotency_key":{"type":"string",)"
    R"("description":"One for all: the same request again gives the same jobs."}}})";

inline constexpr std::string_view kEnqueuedBatchSchema =
    R"({"type":"object","required":["job_ids"],"properties":{"job_ids":{"type":"array",)"
    R"("items":{"type":"string"}},"batch_id":{"type":"string"}}})";

inline constexpr std::string_view kOpenBatchSchema =
    R"({"type":"object","properties":{"callback_queue":{"type":"string",)"
    R"("description":"Gets a job when all have ended."},"callback_payload":{"additionalProperties":true,"nullable":true}}})";

inline constexpr std::string_view kBatchJobsSchema =
    R"({"type":"object","required":["jobs"],"properties":{"jobs":{"type":"array","items":)" CAIRN_JOBS_ENQUEUE
    R"(,"minItems":1,"maxItems":10000},"idempotency_key":{"type":"string"}}})";

inline constexpr std::string_view kBatchSchema =
    R"({"type":"object","required":["id","total","pending","succeeded","failed","sealed"],)"
    R"("properties":{"id":{"type":"string"},"total":{"type":"integer"},)"
    R"("pending":{"type":"integer"},"succeeded":{"type":"integer"},"failed":{"type":"integer"},)"
    R"("cancelled":{"type":"integer"},"sealed":{"type":"boolean"},"done":{"type":"boolean"},)"
    R"("callback_queue":{"type":"string"},"callback_payload":{"additionalProperties":true,"nullable":true},)"
    R"("callback_job":{"type":"string"},"created_ns":{"type":"integer"},)"
    R"("completed_ns":{"type":"integer"}}})";

inline constexpr std::string_view kFetchSchema =
    R"({"type":"object","required":["queues"],"properties":{"queues":{"type":"array",)"
    R"("items":{"type":"string"},"minItems":1,"maxItems":1000},"worker_id":{"type":"string"},)"
    R"("hostname":{"type":"string"},"timeout":{"type":"number",)"
    R"("description":"Seconds, of the lease and of the wait; each may be given alone."},)"
    R"("lease_duration":{"type":"number","description":"Seconds; 60 unless given."},)"
    R"("wait":{"type":"number",)"
    R"("description":"Seconds to wait for a job, up to 60; 30 unless given. 0: not at all."}}})";

inline constexpr std::string_view kFetchBatchSchema =
    R"({"type":"object","required":["queues"],"properties":{"queues":{"type":"array",)"
    R"("items":{"type":"string"},"minItems":1,"maxItems":1000},"worker_id":{"type":"string"},)"
    R"("hostname":{"type":"string"},"timeout":{"type":"number",)"
    R"("description":"Seconds, of the lease and of the wait; each may be given alone."},)"
    R"("lease_duration":{"type":"number","description":"Seconds; 60 unless given."},)"
    R"("wait":{"type":"number",)"
    R"("description":"Seconds to wait for a job, up to 60; 30 unless given. 0: not at all."},)"
    R"("count":{"type":"integer","description":"Up to 512; 1 unless given."}}})";

inline constexpr std::string_view kFetchedSchema = CAIRN_JOBS_FETCHED;

inline constexpr std::string_view kFetchedBatchSchema =
    R"({"type":"object","required":["jobs"],"properties":{"jobs":{"type":"array","items":)" CAIRN_JOBS_FETCHED
    R"(}}})";

inline constexpr std::string_view kAckSchema =
    R"({"type":"object","properties":{"result":{"additionalProperties":true,"nullable":true},"checkpoint":{"additionalProperties":true,"nullable":true},)"
    R"("usage":{"type":"object","additionalProperties":true,)"
    R"("description":"Accepted, and not used yet."},"agent_status":{"type":"string","enum":["",)"
    R"("continue","done","hold"]},"hold_reason":{"type":"string"},"step_status":{"type":"string",)"
    R"("enum":["","continue","exit"]},"exit_reason":{"type":"string"},)"
    R"("lease_token":{"type":"string"},"worker_id":{"type":"string"},"attempt":{"type":"integer"}}})";

inline constexpr std::string_view kAckBatchSchema =
    R"({"type":"object","required":["acks"],"properties":{"acks":{"type":"array",)"
    R"("items":{"type":"object","required":["job_id"],"properties":{"result":{"additionalProperties":true,"nullable":true},)"
    R"("checkpoint":{"additionalProperties":true,"nullable":true},"usage":{"type":"object","additionalProperties":true,)"
    R"("description":"Accepted, and not used yet."},"agent_status":{"type":"string","enum":["",)"
    R"("continue","done","hold"]},"hold_reason":{"type":"string"},"step_status":{"type":"string",)"
    R"("enum":["","continue","exit"]},"exit_reason":{"type":"string"},)"
    R"("lease_token":{"type":"string"},"worker_id":{"type":"string"},"attempt":{"type":"integer"},)"
    R"("job_id":{"type":"string"}}},"maxItems":512}}})";

inline constexpr std::string_view kAckedSchema =
    R"({"type":"object","required":["acked"],"properties":{"acked":{"type":"integer"},)"
    R"("errors":{"type":"array","items":{"type":"object","required":["job_id","code","error"],)"
    R"("properties":{"job_id":{"type":"string"},"code":{"type":"string"},)"
    R"("error":{"type":"string"}}}}}})";

inline constexpr std::string_view kFailSchema =
    R"({"type":"object","properties":{"error":{"type":"string"},"backtrace":{"type":"string"},)"
    R"("retryable":{"type":"boolean","description":"false: dead at once."},)"
    R"("delay":{"oneOf":[{"type":"string"},{"type":"number"}],)"
    R"("description":"Until the next attempt, instead of the job's own: 5s, 10m, or seconds."},)"
    R"("lease_token":{"type":"string"},"worker_id":{"type":"string"},"attempt":{"type":"integer"}}})";

inline constexpr std::string_view kFailedSchema =
    R"({"type":"object","required":["status","attempts_remaining"],)"
    R"("properties":{"status":{"type":"string","enum":["retrying","dead"]},)"
    R"("next_attempt_at":{"type":"string"},"attempts_remaining":{"type":"integer"}}})";

inline constexpr std::string_view kSnoozeSchema =
    R"({"type":"object","required":["delay"],"properties":{"delay":{"oneOf":[{"type":"string"},{"type":"number"}],)"
    R"("description":"5s, 10m, 1h30m, or seconds."},"lease_token":{"type":"string"},)"
    R"("worker_id":{"type":"string"},"attempt":{"type":"integer"}}})";

inline constexpr std::string_view kSnoozedSchema =
    R"({"type":"object","required":["status","scheduled_at"],)"
    R"("properties":{"status":{"type":"string"},"scheduled_at":{"type":"string"}}})";

inline constexpr std::string_view kHeartbeatSchema =
    R"({"type":"object","required":["jobs"],"properties":{"jobs":{"type":"object",)"
    R"("additionalProperties":{"type":"object","properties":{"progress":{"additionalProperties":true,"nullable":true},)"
    R"("checkpoint":{"additionalProperties":true,"nullable":true},"usage":{"type":"object","additionalProperties":true,)"
    R"("description":"Accepted, and not used yet."},"lease_token":{"type":"string"},)"
    R"("worker_id":{"type":"string"},"attempt":{"type":"integer"}}}}}})";

inline constexpr std::string_view kHeartbeatReplySchema =
    R"({"type":"object","required":["jobs"],"properties":{"jobs":{"type":"object",)"
    R"("additionalProperties":{"type":"object","required":["status"],)"
    R"("properties":{"status":{"type":"string","enum":["ok","cancel","error"]},"code":{"type":"string"},)"
    R"("lease_expires_at":{"type":"string"}}}}}})";

inline constexpr std::string_view kJobSchema = CAIRN_JOBS_JOB;

inline constexpr std::string_view kJobsSchema =
    R"({"type":"object","required":["jobs"],"properties":{"jobs":{"type":"array","items":)" CAIRN_JOBS_JOB
    R"(}}})";

inline constexpr std::string_view kJobIdsSchema =
    R"({"type":"object","required":["job_ids"],"properties":{"job_ids":{"type":"array",)"
    R"("items":{"type":"string"}}}})";

inline constexpr std::string_view kNothingSchema = R"({"type":"object","properties":{}})";

inline constexpr std::string_view kReasonSchema =
    R"({"type":"object","properties":{"reason":{"type":"string"}}})";

inline constexpr std::string_view kMoveSchema =
    R"({"type":"object","required":["queue"],"properties":{"queue":{"type":"string"}}})";

inline constexpr std::string_view kReplaySchema =
    R"({"type":"object","properties":{"from":{"type":"integer",)"
    R"("description":"Accepted for agents' jobs to come.","minimum":1}}})";

inline constexpr std::string_view kVerifySchema =
    R"({"type":"object","required":["sound","queues","jobs","problems","more_problems"],)"
    R"("properties":{"sound":{"type":"boolean"},"queues":{"type":"integer"},)"
    R"("jobs":{"type":"integer"},"events":{"type":"integer"},"problems":{"type":"array",)"
    R"("items":{"type":"string"}},"more_problems":{"type":"integer"}}})";

inline constexpr std::string_view kQueueSchema = CAIRN_JOBS_QUEUE;

inline constexpr std::string_view kQueuesSchema =
    R"({"type":"array","items":)" CAIRN_JOBS_QUEUE R"(})";

inline constexpr std::string_view kConcurrencySchema =
    R"({"type":"object","required":["max"],"properties":{"max":{"type":"integer"}}})";

inline constexpr std::string_view kThrottleSchema =
    R"({"type":"object","required":["rate","window_ms"],"properties":{"rate":{"type":"integer",)"
    R"("minimum":1},"window_ms":{"type":"integer","minimum":1}}})";

inline constexpr std::string_view kQueuePatchSchema =
    R"({"type":"object","properties":{"max_concurrency":{"type":"integer","nullable":true},)"
    R"("rate_limit":{"type":"integer","nullable":true},"rate_window_ms":{"type":"integer",)"
    R"("nullable":true},"key_concurrency":{"type":"integer","nullable":true},)"
    R"("key_rate_limit":{"type":"integer","nullable":true},"key_rate_window_ms":{"type":"integer",)"
    R"("nullable":true},"max_retries":{"type":"integer","nullable":true},)"
    R"("retry_base_delay_ms":{"type":"integer","nullable":true},)"
    R"("retry_max_delay_ms":{"type":"integer","nullable":true},"timeout_ms":{"type":"integer",)"
    R"("nullable":true},"max_reclaims":{"type":"integer","nullable":true},)"
    R"("retention_ms":{"type":"integer","nullable":true},"failed_retention_ms":{"type":"integer",)"
    R"("nullable":true},"retry_backoff":{"type":"string","enum":["none","fixed","linear",)"
    R"("exponential"],"nullable":true}}})";

inline constexpr std::string_view kQueueConfigSchema =
    R"({"type":"object","properties":{"max_concurrency":{"type":"integer"},)"
    R"("rate_limit":{"type":"integer"},"rate_window_ms":{"type":"integer"},)"
    R"("key_concurrency":{"type":"integer"},"key_rate_limit":{"type":"integer"},)"
    R"("key_rate_window_ms":{"type":"integer"},"max_retries":{"type":"integer"},)"
    R"("retry_base_delay_ms":{"type":"integer"},"retry_max_delay_ms":{"type":"integer"},)"
    R"("timeout_ms":{"type":"integer"},"max_reclaims":{"type":"integer"},)"
    R"("retention_ms":{"type":"integer"},"failed_retention_ms":{"type":"integer"},)"
    R"("retry_backoff":{"type":"string"},"paused":{"type":"boolean"},"draining":{"type":"boolean"},)"
    R"("created_ns":{"type":"integer"}}})";

inline constexpr std::string_view kDrainSchema =
    R"({"type":"object","required":["status","active"],"properties":{"status":{"type":"string",)"
    R"("enum":["drained","draining"]},"active":{"type":"integer"}}})";

inline constexpr std::string_view kSweptSchema =
    R"({"type":"object","required":["status","removed"],"properties":{"status":{"type":"string"},)"
    R"("removed":{"type":"integer"}}})";

inline constexpr std::string_view kWorkersSchema =
    R"({"type":"array","items":{"type":"object","required":["id","queues"],)"
    R"("properties":{"id":{"type":"string"},"hostname":{"type":"string"},"queues":{"type":"string",)"
    R"("description":"JSON in a string, as it always was."},"last_heartbeat":{"type":"string"},)"
    R"("started_at":{"type":"string"}}}})";

inline constexpr std::string_view kInfoSchema =
    R"({"type":"object","required":["server_version","api_version"],)"
    R"("properties":{"server_version":{"type":"string"},"api_version":{"type":"string"}}})";

inline constexpr std::string_view kEventPageSchema =
    R"({"type":"object","required":["events","next_seq","removed_seq","gap"],)"
    R"("properties":{"events":{"type":"array","items":)" CAIRN_JOBS_EVENT
    R"(},"next_seq":{"type":"integer","description":"after_seq of the next page."},)"
    R"("removed_seq":{"type":"integer","description":"Events up to this one are gone."},)"
    R"("gap":{"type":"boolean","description":"Events after after_seq are gone."}}})";

inline constexpr std::string_view kThroughputSchema =
    R"({"type":"array","items":{"type":"object","required":["minute","enqueued","completed",)"
    R"("failed"],"properties":{"minute":{"type":"string"},"enqueued":{"type":"integer"},)"
    R"("completed":{"type":"integer"},"failed":{"type":"integer"}}}})";

inline constexpr std::string_view kWebhookSchema = CAIRN_JOBS_WEBHOOK;

inline constexpr std::string_view kWebhooksSchema =
    R"({"type":"array","items":)" CAIRN_JOBS_WEBHOOK R"(})";

inline constexpr std::string_view kPutWebhookSchema =
    R"({"type":"object","required":["url"],"properties":{"id":{"type":"string",)"
    R"("description":"Changes the webhook of this id; made up unless given."},)"
    R"("url":{"type":"string","description":"http or https."},"events":{"type":"array",)"
    R"("items":{"type":"string","description":"A type, or *."},"minItems":1,"maxItems":100},)"
    R"("secret":{"type":"string",)"
    R"("description":"Signs each delivery; kept if left out when changing.","maxLength":256},)"
    R"("enabled":{"type":"boolean","description":"true unless given."},)"
    R"("retry_limit":{"type":"integer",)"
    R"("description":"How often one event is tried; 3 unless given.","minimum":1,"maximum":20}}})";

inline constexpr std::string_view kDeadDeliveriesSchema =
    R"({"type":"object","required":["dead","next_seq"],"properties":{"dead":{"type":"array",)"
    R"("items":{"type":"object","required":["seq","event","error","tries","failed_at"],)"
    R"("properties":{"seq":{"type":"integer"},"event":)" CAIRN_JOBS_EVENT
    R"(,"error":{"type":"string"},"status_code":{"type":"integer"},"tries":{"type":"integer"},)"
    R"("failed_at":{"type":"string"}}}},"next_seq":{"type":"integer",)"
    R"("description":"after_seq of the next page."}}})";

inline constexpr std::string_view kRedeliverSchema =
    R"({"type":"object","properties":{"seq":{"type":"integer","minimum":1}}})";

inline constexpr std::string_view kRedeliveredSchema =
    R"({"type":"object","required":["status","count"],"properties":{"status":{"type":"string"},)"
    R"("count":{"type":"integer"}}})";

#undef CAIRN_JOBS_ENQUEUE
#undef CAIRN_JOBS_JOB
#undef CAIRN_JOBS_FETCHED
#undef CAIRN_JOBS_QUEUE
#undef CAIRN_JOBS_EVENT
#undef CAIRN_JOBS_WEBHOOK

}  // namespace cairn::jobs
