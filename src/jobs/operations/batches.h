#pragma once

#include <string_view>

#include "base/result.h"
#include "doors/access/name_patterns.h"
#include "jobs/ledger/context.h"
#include "jobs/model/batch.h"
#include "jobs/model/ids.h"
#include "store/transaction.h"

// Batches that jobs join (operations.h has the rules for all operations). A batch that is closed
// from the start comes with its jobs (EnqueueBatch).
namespace cairn::jobs {

// A batch belongs to its callback queue. One without a callback queue is refused unless the caller
// may use every queue.
Result<void> CheckBatch(const doors::NamePatterns* queues, const BatchOptions& options);
// Refuses a stored batch as if it did not exist.
Result<void> CheckBatch(const doors::NamePatterns* queues, const Batch& batch);

// An open batch: jobs join by EnqueueRequest::batch_id until it is sealed.
void AddBatchScopes(const BatchOptions& options, Held& held);
Result<Batch> OpenBatch(Context& context, const BatchOptions& options);
// Scopes: AddJobScopes with the batch's id.
Result<Batch> SealBatch(Context& context, std::string_view id);
// Refuses a batch that does not exist.
Result<Batch> GetBatch(store::Reader& reader, std::string_view id);

}  // namespace cairn::jobs
