#include "jobs/operations/batches.h"

#include <fmt/format.h>

#include "base/json_text.h"
#include "jobs/ledger/ledger.h"
#include "jobs/model/refusal.h"

namespace cairn::jobs {
namespace {

Error NoBatch(std::string_view id) {
  return Refuse(Reason::kNotFound, fmt::format("there is no batch {}", Printable(id, 64)));
}

}  // namespace

Result<void> CheckBatch(const doors::NamePatterns* queues, const BatchOptions& options) {
  if (queues == nullptr) return {};
  if (!options.callback_queue.empty()) return CheckQueue(queues, options.callback_queue);
  return Refuse(Reason::kForbidden,
                "the key may use only certain queues, so the batch needs a callback_queue");
}

Result<void> CheckBatch(const doors::NamePatterns* queues, const Batch& batch) {
  const bool allowed = CheckBatch(queues, batch.options).ok();
  return allowed ? Result<void>() : Result<void>(NoBatch(batch.id));
}

void AddBatchScopes(const BatchOptions& options, Held& held) {
  held.AddQueue(options.callback_queue);
}

Result<Batch> OpenBatch(Context& context, const BatchOptions& options) {
  CAIRN_RETURN_IF_ERROR(CheckBatchOptions(options));
  CAIRN_RETURN_IF_ERROR(CheckBatch(context.queues, options));
  Ledger ledger(context);
  // Its lane is that of the queue it calls back: at its end no more is needed.
  const std::string id = ledger.NewBatch(options, LaneOfQueue(options.callback_queue));
  CAIRN_RETURN_IF_ERROR(ledger.Require(LaneOfQueue(options.callback_queue)));
  CAIRN_ASSIGN_OR_RETURN(const auto row, ledger.BatchOf(id));
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return (*row)->batch;
}

Result<Batch> SealBatch(Context& context, std::string_view id) {
  Ledger ledger(context);
  CAIRN_ASSIGN_OR_RETURN(const auto found, ledger.BatchOf(id));
  if (!found) return NoBatch(id);
  Ledger::BatchRow& row = **found;
  CAIRN_RETURN_IF_ERROR(CheckBatch(context.queues, row.batch));
  if (!std::exchange(row.batch.sealed, true)) {
    row.changed = true;
    ledger.Tell(EventType::kBatchSealed, row.batch.options.callback_queue,
                fmt::format(R"({{"batch_id":{}}})", JsonString(id)));
    CAIRN_RETURN_IF_ERROR(ledger.CompleteIfDone(row));
  }
  CAIRN_RETURN_IF_ERROR(ledger.Save());
  return row.batch;
}

Result<Batch> GetBatch(store::Reader& reader, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(auto batch, LoadBatch(reader, id));
  if (!batch) return NoBatch(id);
  return std::move(*batch);
}

}  // namespace cairn::jobs
