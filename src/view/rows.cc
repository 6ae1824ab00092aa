#include "view/rows.h"

#include <date/date.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace cairn::view {
namespace {

// Columns in the order in which they are bound. Those that a run of the job changes come last, so
// that both statements bind them alike.
constexpr std::array<std::string_view, 16> kGivenColumns = {"queue",
                                                            "payload",
                                                            "priority",
                                                            "max_retries",
                                                            "retry_backoff",
                                                            "retry_base_delay_ms",
                                                            "retry_max_delay_ms",
                                                            "unique_key",
                                                            "batch_id",
                                                            "tags",
                                                            "parent_id",
                                                            "chain_id",
                                                            "chain_step",
                                                            "chain_config",
                                                            "expire_at",
                                                            "created_at"};
constexpr std::array<std::string_view, 13> kRunColumns = {
    "state",      "attempt",      "worker_id",   "hostname",         "progress",
    "checkpoint", "result",       "hold_reason", "lease_expires_at", "scheduled_at",
    "started_at", "completed_at", "failed_at"};

std::string PutJobSql() {
  std::string names = "id";
  std::string values = "?";
  std::string updates;
  const auto add = [&](std::string_view column) {
    names += fmt::format(", {}", column);
    values += ", ?";
    updates += fmt::format("{}{} = excluded.{}", updates.empty() ? "" : ", ", column, column);
  };
  for (const std::string_view column : kGivenColumns) add(column);
  for (const std::string_view column : kRunColumns) add(column);
  return fmt::format("INSERT INTO jobs ({}) VALUES ({}) ON CONFLICT(id) DO UPDATE SET {}", names,
                     values, updates);
}

std::string PutProgressSql() {
  std::string updates;
  for (const std::string_view column : kRunColumns) {
    updates += fmt::format("{}{} = ?", updates.empty() ? "" : ", ", column);
  }
  return fmt::format("UPDATE jobs SET {} WHERE id = ?", updates);
}

// Texts that have to live until the statement has run.
struct Times {
  explicit Times(const jobs::Job& job)
      : lease_expires(TimeText(job.lease_expires_ns)),
        scheduled(TimeText(job.scheduled_ns)),
        started(TimeText(job.started_ns)),
        completed(TimeText(job.completed_ns)),
        failed(TimeText(job.failed_ns)) {}

  std::string lease_expires;
  std::string scheduled;
  std::string started;
  std::string completed;
  std::string failed;
};

void BindRun(Statement& statement, const jobs::Job& job, const Times& times) {
  const std::string_view hold_reason =
      job.state == jobs::State::kHeld ? std::string_view(job.reason) : std::string_view();
  statement.Bind(jobs::StateName(job.state))
      .Bind(job.attempt)
      .BindOptional(job.worker_id)
      .BindOptional(job.hostname)
      .BindOptional(job.progress)
      .BindOptional(job.checkpoint)
      .BindOptional(job.result)
      .BindOptional(hold_reason)
      .BindOptional(times.lease_expires)
      .BindOptional(times.scheduled)
      .BindOptional(times.started)
      .BindOptional(times.completed)
      .BindOptional(times.failed);
}

}  // namespace

std::string TimeText(uint64_t ns) {
  if (ns == 0) return "";
  constexpr uint64_t kYear10000 = 253'402'300'800;
  const uint64_t seconds = std::min(ns / 1'000'000'000, kYear10000 - 1);
  const uint64_t micros = ns / 1'000 % 1'000'000;
  const auto days = static_cast<int>(seconds / 86'400);
  const auto in_day = seconds % 86'400;
  const date::year_month_day date{date::sys_days(date::days(days))};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     in_day / 3600, in_day / 60 % 60, in_day % 60, micros);
}

Result<RowWriter> RowWriter::Prepare(Database& database) {
  RowWriter rows(database);
  CAIRN_ASSIGN_OR_RETURN(rows.put_job_, database.Prepare(PutJobSql()));
  CAIRN_ASSIGN_OR_RETURN(rows.put_progress_, database.Prepare(PutProgressSql()));
  CAIRN_ASSIGN_OR_RETURN(rows.remove_job_, database.Prepare("DELETE FROM jobs WHERE id = ?"));
  CAIRN_ASSIGN_OR_RETURN(
      rows.put_error_,
      database.Prepare("INSERT INTO job_errors (job_id, attempt, error, backtrace, created_at) "
                       "VALUES (?, ?, ?, ?, ?)"));
  CAIRN_ASSIGN_OR_RETURN(rows.remove_errors_,
                         database.Prepare("DELETE FROM job_errors WHERE job_id = ?"));
  CAIRN_ASSIGN_OR_RETURN(
      rows.put_queue_,
      database.Prepare("INSERT INTO queues (name, paused, max_concurrency, rate_limit, "
                       "rate_window_ms, created_at) VALUES (?, ?, ?, ?, ?, ?) "
                       "ON CONFLICT(name) DO UPDATE SET paused = excluded.paused, "
                       "max_concurrency = excluded.max_concurrency, rate_limit = "
                       "excluded.rate_limit, rate_window_ms = excluded.rate_window_ms, "
                       "created_at = excluded.created_at"));
  CAIRN_ASSIGN_OR_RETURN(rows.remove_queue_, database.Prepare("DELETE FROM queues WHERE name = ?"));
  CAIRN_ASSIGN_OR_RETURN(rows.put_position_,
                         database.Prepare("UPDATE view_state SET event = ? WHERE id = 1"));
  return rows;
}

Result<void> RowWriter::PutJob(const jobs::Job& job) {
  const Times times(job);
  const std::string expires = TimeText(job.expire_ns);
  const std::string created = TimeText(job.created_ns);
  put_job_.Bind(job.id)
      .Bind(job.queue)
      .Bind(job.payload)
      .Bind(static_cast<int64_t>(job.priority))
      .Bind(job.retry.max_retries)
      .Bind(jobs::BackoffName(job.retry.backoff))
      .Bind(job.retry.base_ms)
      .Bind(job.retry.max_ms)
      .BindOptional(job.unique_key)
      .BindOptional(job.batch_id)
      .BindOptional(job.tags)
      .BindOptional(job.parent_id)
      .BindOptional(job.chain_id);
  if (job.chain_id.empty()) {
    put_job_.BindNull();
  } else {
    put_job_.Bind(job.chain_step);
  }
  put_job_.BindOptional(job.chain_config).BindOptional(expires).Bind(created);
  BindRun(put_job_, job, times);
  return put_job_.Run();
}

Result<void> RowWriter::PutProgress(const jobs::Job& job) {
  const Times times(job);
  BindRun(put_progress_, job, times);
  put_progress_.Bind(job.id);
  CAIRN_RETURN_IF_ERROR(put_progress_.Run());
  if (database_->changes() == 0) return PutJob(job);
  return {};
}

Result<void> RowWriter::PutErrors(std::string_view job, const std::vector<jobs::JobError>& errors) {
  CAIRN_RETURN_IF_ERROR(remove_errors_.Bind(job).Run());
  for (const jobs::JobError& error : errors) {
    const std::string created = TimeText(error.created_ns);
    CAIRN_RETURN_IF_ERROR(put_error_.Bind(job)
                              .Bind(error.attempt)
                              .Bind(error.error)
                              .BindOptional(error.backtrace)
                              .Bind(created)
                              .Run());
  }
  return {};
}

Result<void> RowWriter::RemoveJob(std::string_view job) {
  CAIRN_RETURN_IF_ERROR(remove_errors_.Bind(job).Run());
  return remove_job_.Bind(job).Run();
}

Result<void> RowWriter::PutQueue(std::string_view queue, const jobs::QueueConfig& config) {
  const std::string created = TimeText(config.created_ns);
  const auto limit = [this](int64_t value) {
    if (value == 0) {
      put_queue_.BindNull();
    } else {
      put_queue_.Bind(value);
    }
  };
  put_queue_.Bind(queue).Bind(static_cast<int64_t>(config.paused ? 1 : 0));
  limit(config.max_concurrency);
  limit(config.rate_limit);
  limit(config.rate_window_ms);
  return put_queue_.Bind(created).Run();
}

Result<void> RowWriter::RemoveQueue(std::string_view queue) {
  return remove_queue_.Bind(queue).Run();
}

Result<void> RowWriter::PutPosition(uint64_t event) {
  return put_position_.Bind(static_cast<int64_t>(event)).Run();
}

}  // namespace cairn::view
