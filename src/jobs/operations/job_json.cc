#include "jobs/operations/job_json.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/json_text.h"
#include "base/time_text.h"

namespace cairn::jobs {
namespace {

// Writes the members of one object.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_.push_back('{'); }
  ~ObjectWriter() { out_.push_back('}'); }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  void Text(std::string_view name, std::string_view value) {
    Name(name);
    AppendJsonString(value, out_);
  }
  void Raw(std::string_view name, std::string_view json) {
    Name(name);
    out_.append(json);
  }
  void Number(std::string_view name, int64_t value) {
    Name(name);
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void Bool(std::string_view name, bool value) { Raw(name, value ? "true" : "false"); }
  // These leave out what is not there.
  void TextIf(std::string_view name, std::string_view value) {
    if (!value.empty()) Text(name, value);
  }
  void RawIf(std::string_view name, std::string_view json) {
    if (!json.empty()) Raw(name, json);
  }
  void NumberIf(std::string_view name, int64_t value) {
    if (value != 0) Number(name, value);
  }
  void TimeIf(std::string_view name, uint64_t ns) {
    if (ns != 0) Text(name, FormatTime(ns));
  }
  void TextsIf(std::string_view name, std::span<const std::string> values) {
    if (values.empty()) return;
    Name(name);
    out_.push_back('[');
    for (const std::string& value : values) {
      if (&value != values.data()) out_.push_back(',');
      AppendJsonString(value, out_);
    }
    out_.push_back(']');
  }
  void Name(std::string_view name) {
    if (!std::exchange(first_, false)) out_.push_back(',');
    out_.push_back('"');
    out_.append(name);
    out_.append("\":");
  }

 private:
  std::string& out_;
  bool first_ = true;
};

void AppendErrors(const Job& job, std::span<const JobError> errors, std::string& out) {
  out.push_back('[');
  for (const JobError& error : errors) {
    if (&error != errors.data()) out.push_back(',');
    ObjectWriter object(out);
    object.Number("id", error.attempt);
    object.Text("job_id", job.id);
    object.Number("attempt", error.attempt);
    object.Text("error", error.error);
    object.TextIf("backtrace", error.backtrace);
    object.TimeIf("created_at", error.created_ns);
  }
  out.push_back(']');
}

}  // namespace

void AppendJob(const Job& job, std::span<const JobError> errors, std::string& out) {
  ObjectWriter object(out);
  object.Text("id", job.id);
  object.Text("queue", job.queue);
  object.Text("state", StateName(job.state));
  object.Raw("payload", job.payload);
  object.Number("priority", static_cast<int64_t>(job.priority));
  object.Number("attempt", job.attempt);
  object.Number("max_retries", job.retry.max_retries);
  object.Text("retry_backoff", BackoffName(job.retry.backoff));
  object.Number("retry_base_delay_ms", job.retry.base_ms);
  object.Number("retry_max_delay_ms", job.retry.max_ms);
  object.NumberIf("retry_jitter_percent", job.retry.jitter_percent);
  object.NumberIf("timeout_ms", job.timeout_ms);
  object.NumberIf("failures", job.failures);
  object.NumberIf("reclaims", job.reclaims);
  object.TextIf("unique_key", job.unique_key);
  object.TextIf("idempotency_key", job.idempotency_key);
  object.TextIf("concurrency_key", job.concurrency_key);
  object.TextIf("rate_key", job.rate_key);
  object.TextIf("group", job.group);
  object.TextIf("batch_id", job.batch_id);
  object.TextIf("worker_id", job.worker_id);
  object.TextIf("hostname", job.hostname);
  object.RawIf("tags", job.tags);
  object.RawIf("progress", job.progress);
  object.RawIf("checkpoint", job.checkpoint);
  object.RawIf("agent", job.agent);
  object.RawIf("result", job.result);
  if (job.state == State::kActive) object.TimeIf("lease_expires_at", job.lease_expires_ns);
  object.TimeIf("scheduled_at", job.scheduled_ns);
  object.TimeIf("expire_at", job.expire_ns);
  object.TextIf("parent_id", job.parent_id);
  object.TextIf("chain_id", job.chain_id);
  if (!job.chain_id.empty()) object.Number("chain_step", job.chain_step);
  object.RawIf("chain_config", job.chain_config);
  object.TextsIf("depends_on", job.depends_on);
  object.NumberIf("waiting_for", job.waiting_for);
  object.TextIf("traceparent", job.trace_parent);
  object.TimeIf("created_at", job.created_ns);
  object.TimeIf("started_at", job.started_ns);
  object.TimeIf("completed_at", job.completed_ns);
  object.TimeIf("failed_at", job.failed_ns);
  object.TextIf(job.state == State::kHeld ? "hold_reason" : "reason", job.reason);
  if (errors.empty()) return;
  object.Name("errors");
  AppendErrors(job, errors, out);
}

void AppendFetched(const Job& job, std::string& out) {
  ObjectWriter object(out);
  object.Text("job_id", job.id);
  object.Text("queue", job.queue);
  object.Raw("payload", job.payload);
  object.Number("attempt", job.attempt);
  object.Number("max_retries", job.retry.max_retries);
  object.Number("lease_duration", (job.lease_ms + 999) / 1000);
  object.Text("lease_token", FormatToken(job.lease_token));
  object.Text("lease_expires_at", FormatTime(job.lease_expires_ns));
  object.RawIf("checkpoint", job.checkpoint);
  object.RawIf("tags", job.tags);
  object.RawIf("agent", job.agent);
  object.TextIf("traceparent", job.trace_parent);
}

void AppendQueue(const QueueInfo& queue, std::string& out) {
  ObjectWriter object(out);
  object.Text("name", queue.name);
  object.Bool("paused", queue.config.paused);
  if (queue.config.draining) object.Bool("draining", true);
  object.NumberIf("max_concurrency", queue.config.max_concurrency);
  object.NumberIf("rate_limit", queue.config.rate_limit);
  object.NumberIf("rate_window_ms", queue.config.rate_window_ms);
  object.TimeIf("created_at", queue.created_ns);
  for (size_t state = 0; state < kStates; ++state) {
    object.Number(StateName(static_cast<State>(state)), queue.counts[state]);
  }
  object.Number("parked", queue.parked);
  object.Number("enqueued", queue.enqueued);
  object.Number("failed", queue.counts[static_cast<size_t>(State::kDead)]);
  object.TimeIf("oldest_pending_at", queue.oldest_pending_ns);
}

void AppendWorker(const Worker& worker, std::string& out) {
  ObjectWriter object(out);
  object.Text("id", worker.id);
  object.Text("hostname", worker.hostname);
  // The reference gives the queues as JSON inside a string.
  std::string queues = "[";
  for (const std::string& queue : worker.queues) {
    if (queues.size() > 1) queues.push_back(',');
    AppendJsonString(queue, queues);
  }
  queues.push_back(']');
  object.Text("queues", queues);
  object.TimeIf("last_heartbeat", worker.last_heartbeat_ns);
  object.TimeIf("started_at", worker.started_ns);
}

void AppendEnqueued(const EnqueueResult& result, std::string& out) {
  ObjectWriter object(out);
  object.Text("job_id", result.id);
  const std::string_view existing = result.debounced ? "debounced" : "duplicate";
  object.Text("status", result.existing ? existing : StateName(result.state));
  object.Bool("unique_existing", result.existing);
}

}  // namespace cairn::jobs
