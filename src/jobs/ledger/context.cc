#include "jobs/ledger/context.h"

#include <fmt/format.h>

#include "jobs/model/refusal.h"

namespace cairn::jobs {

Result<void> CheckQueue(const doors::NamePatterns* queues, std::string_view queue) {
  if (doors::Allows(queues, queue)) return {};
  return Refuse(Reason::kForbidden,
                fmt::format("the key may not use the queue {}", Printable(queue, 64)));
}

Error NoSuchJob(std::string_view id) {
  return Refuse(Reason::kNotFound, fmt::format("there is no job {}", Printable(id, 64)));
}

Result<void> CheckJob(const doors::NamePatterns* queues, const Job& job) {
  return doors::Allows(queues, job.queue) ? Result<void>() : Result<void>(NoSuchJob(job.id));
}

}  // namespace cairn::jobs
