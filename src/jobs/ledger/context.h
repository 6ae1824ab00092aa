#pragma once

#include <string_view>

#include "base/result.h"
#include "doors/resp/busy.h"
#include "doors/resp/queue_scope.h"
#include "jobs/model/ids.h"
#include "jobs/model/job.h"
#include "store/transaction.h"

// What an operation on jobs runs in: a transaction, what its caller has locked, and which queues
// the caller may use.
namespace cairn::jobs {

struct Context {
  store::Transaction& transaction;
  Held& held;
  // The queues that the caller may use; null: all. A request that names another queue, or a job of
  // another queue, is refused (FORBIDDEN). What follows from an operation, such as the next step of
  // a chain, was allowed when it was asked for.
  const doors::QueueScope* queues = nullptr;
  // Asked between pieces of what takes long whether the server stops; null: it does not.
  const doors::Busy* busy = nullptr;
};

// Refuses a queue that is not among `queues`.
Result<void> CheckQueue(const doors::QueueScope* queues, std::string_view queue);

// The refusal of a job that does not exist.
Error NoSuchJob(std::string_view id);
// Refuses a job of a queue that is not among `queues` as if it did not exist: any other refusal
// would reveal that it does.
Result<void> CheckJob(const doors::QueueScope* queues, const Job& job);

}  // namespace cairn::jobs
