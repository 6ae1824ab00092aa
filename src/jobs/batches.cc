#include <fmt/format.h>

#include <charconv>

#include "jobs/job_json.h"
#include "jobs/json_members.h"
#include "jobs/ledger.h"
#include "jobs/refusal.h"

// A batch's row, b|, is the JSON that clients see of it, with times as numbers in nanoseconds.
namespace cairn::jobs {
namespace {

Error NoBatch(std::string_view id) {
  return Refuse(Reason::kNotFound, fmt::format("there is no batch {}", Printable(id, 64)));
}

void AppendMember(std::string_view name, std::string_view json, std::string& out) {
  if (out.size() > 1) out.push_back(',');
  out.append("\"").append(name).append("\":").append(json);
}
void AppendText(std::string_view name, std::string_view text, std::string& out) {
  std::string json;
  AppendJsonString(text, json);
  AppendMember(name, json, out);
}

int64_t NumberOf(std::string_view json) {
  int64_t value = 0;
  std::from_chars(json.data(), json.data() + json.size(), value);
  return value;
}

Batch ParseBatch(std::string_view id, std::span<const RawMember> members) {
  Batch batch{.id = std::string(id), .sealed = false};
  for (const auto& [name, json] : members) {
    if (name == "total") batch.total = NumberOf(json);
    if (name == "pending") batch.pending = NumberOf(json);
    if (name == "succeeded") batch.succeeded = NumberOf(json);
    if (name == "failed") batch.failed = NumberOf(json);
    if (name == "cancelled") batch.cancelled = NumberOf(json);
    if (name == "sealed") batch.sealed = json == "true";
    if (name == "done") batch.done = json == "true";
    if (name == "callback_queue") batch.options.callback_queue = StringOf(json).value_or("");
    if (name == "callback_payload") batch.options.callback_payload = json;
    if (name == "callback_job") batch.callback_job = StringOf(json).value_or("");
    if (name == "created_ns") batch.created_ns = static_cast<uint64_t>(NumberOf(json));
    if (name == "completed_ns") batch.completed_ns = static_cast<uint64_t>(NumberOf(json));
  }
  return batch;
}

}  // namespace

std::string BatchJson(const Batch& batch) {
  std::string out = "{";
  AppendText("id", batch.id, out);
  AppendMember("total", fmt::to_string(batch.total), out);
  AppendMember("pending", fmt::to_string(batch.pending), out);
  AppendMember("succeeded", fmt::to_string(batch.succeeded), out);
  AppendMember("failed", fmt::to_string(batch.failed), out);
  AppendMember("cancelled", fmt::to_string(batch.cancelled), out);
  AppendMember("sealed", batch.sealed ? "true" : "false", out);
  AppendMember("done", batch.done ? "true" : "false", out);
  if (!batch.options.callback_queue.empty()) {
    AppendText("callback_queue", batch.options.callback_queue, out);
  }
  if (!batch.options.callback_payload.empty()) {
    AppendMember("callback_payload", batch.options.callback_payload, out);
  }
  if (!batch.callback_job.empty()) AppendText("callback_job", batch.callback_job, out);
  AppendMember("created_ns", fmt::to_string(batch.created_ns), out);
  if (batch.completed_ns != 0) {
    AppendMember("completed_ns", fmt::to_string(batch.completed_ns), out);
  }
  out.push_back('}');
  return out;
}

Result<std::optional<Batch>> LoadBatch(store::Reader& reader, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get(InJobs(BatchKey(id))));
  if (!row) return std::optional<Batch>();
  const auto members = MembersOf(*row);
  if (!members) {
    return Error{ErrorCode::kCorruption, "the row of " + Printable(id) + " is no batch"};
  }
  return std::optional(ParseBatch(id, *members));
}

Result<void> CheckBatch(const doors::QueueScope* queues, const BatchOptions& options) {
  if (queues == nullptr) return {};
  if (!options.callback_queue.empty()) return CheckQueue(queues, options.callback_queue);
  return Refuse(Reason::kForbidden,
                "the key is for some queues alone, and the batch has no callback_queue");
}

Result<void> CheckBatch(const doors::QueueScope* queues, const Batch& batch) {
  const bool allowed = CheckBatch(queues, batch.options).ok();
  return allowed ? Result<void>() : Result<void>(NoBatch(batch.id));
}

Result<void> CheckBatchOptions(const BatchOptions& options) {
  if (!options.callback_queue.empty() && !IsName(options.callback_queue, kMaxQueueNameBytes)) {
    return Refuse(Reason::kValidation, "callback_queue is not the name of a queue");
  }
  if (options.callback_payload.size() > kMaxPayloadBytes) {
    return Refuse(Reason::kPayloadTooLarge,
                  fmt::format("callback_payload is above {} bytes", kMaxPayloadBytes));
  }
  if (!options.callback_payload.empty() && !IsJson(options.callback_payload)) {
    return Refuse(Reason::kValidation, "callback_payload is no JSON");
  }
  return {};
}

std::string Ledger::NewBatch(const BatchOptions& options, Lane lane) {
  Batch batch{.sealed = false, .options = options, .created_ns = now_ns()};
  batch.id =
      MakeId({.prefix = "batch_", .ns = now_ns(), .lane = lane, .serial = transaction_.NewStamp()});
  batches_.emplace(batch.id, BatchRow{.batch = batch, .changed = true});
  return batch.id;
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
    std::string data = "{";
    AppendText("batch_id", id, data);
    ledger.Tell(EventType::kBatchSealed, row.batch.options.callback_queue, data + "}");
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
