#pragma once

#include <string_view>

#include "base/result.h"
#include "doors/access/grants.h"
#include "doors/resp/busy.h"
#include "jobs/model/ids.h"
#include "jobs/model/job.h"
#include "store/transaction.h"

// What an operation on jobs runs in: a transaction, what its caller has locked, and which queues
// the caller may use.
namespace cairn::jobs {

// What grants call a queue (doors/access/grants.h).
inline constexpr std::string_view kQueueKind = "queue";

// The queues that somebody with `grants` may use; null: all.
inline const doors::NamePatterns* QueuesOf(const doors::Grants* grants) {
  return doors::NamesOf(grants, kQueueKind);
}

struct Context {
  store::Transaction& transaction;
  Held& held;
  // The queues that the caller may use; null: all. A request that names another queue, or a job of
  // another queue, is refused (FORBIDDEN). What follows from an operation, such as the next step of
  // a chain, was allowed when it was asked for.
  const doors::NamePatterns* queues = nullptr;
  // Asked between pieces of what takes long whether the server stops; null: it does not.
  const doors::Busy* busy = nullptr;
};

// Refuses a queue that is not among `queues`.
Result<void> CheckQueue(const doors::NamePatterns* queues, std::string_view queue);

// The refusal of a job that does not exist.
Error NoSuchJob(std::string_view id);
// Refuses a job of a queue that is not among `queues` as if it did not exist: any other refusal
// would reveal that it does.
Result<void> CheckJob(const doors::NamePatterns* queues, const Job& job);

}  // namespace cairn::jobs
