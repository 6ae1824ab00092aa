#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobs/model/job.h"
#include "jobs/operations/operations.h"
#include "view/sqlite.h"

namespace cairn::view {

// A time as the view has it, of nanoseconds since 1970; empty for 0, "none". At most until the year
// 9999.
std::string TimeText(uint64_t ns);

// Writes jobs and queues into the tables. Every function makes the rows what they should be,
// whatever they were, so doing it again changes nothing. Lives as long as its database, at most.
class RowWriter {
 public:
  static Result<RowWriter> Prepare(Database& database);

  // All columns.
  Result<void> PutJob(const jobs::Job& job);
  // The columns that a run changes: a fraction of the indexes. All of them if there is no row.
  Result<void> PutProgress(const jobs::Job& job);
  Result<void> PutErrors(std::string_view job, const std::vector<jobs::JobError>& errors);
  Result<void> RemoveJob(std::string_view job);

  Result<void> PutQueue(std::string_view queue, const jobs::QueueConfig& config);
  Result<void> RemoveQueue(std::string_view queue);

  // How far the view has come: `event` is the last one in it.
  Result<void> PutPosition(uint64_t event);

 private:
  explicit RowWriter(Database& database) : database_(&database) {}

  Database* database_;
  Statement put_job_;
  Statement put_progress_;
  Statement remove_job_;
  Statement put_error_;
  Statement remove_errors_;
  Statement put_queue_;
  Statement remove_queue_;
  Statement put_position_;
};

}  // namespace cairn::view
