#include "jobs/model/batch.h"

#include <fmt/format.h>

#include <charconv>
#include <span>

#include "base/bytes.h"
#include "base/json_text.h"
#include "jobs/model/ids.h"
#include "jobs/model/json_check.h"
#include "jobs/model/json_members.h"
#include "jobs/model/keys.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"

namespace cairn::jobs {
namespace {

void AppendMember(std::string_view name, std::string_view json, std::string& out) {
  if (out.size() > 1) out.push_back(',');
  out.append("\"").append(name).append("\":").append(json);
}
void AppendText(std::string_view name, std::string_view text, std::string& out) {
  AppendMember(name, JsonString(text), out);
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

Result<void> CheckBatchOptions(const BatchOptions& options) {
  if (!options.callback_queue.empty() && !IsName(options.callback_queue, kMaxQueueNameBytes)) {
    return Refuse(Reason::kValidation, "callback_queue is not the name of a queue");
  }
  if (options.callback_payload.size() > kMaxPayloadBytes) {
    return Refuse(Reason::kPayloadTooLarge,
                  fmt::format("callback_payload is above {} bytes", kMaxPayloadBytes));
  }
  if (!options.callback_payload.empty() && !IsJson(options.callback_payload)) {
    return Refuse(Reason::kValidation, "callback_payload is not valid JSON");
  }
  return {};
}

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
    return Error{ErrorCode::kCorruption,
                 "the row of " + Printable(id) + " cannot be decoded as a batch"};
  }
  return std::optional(ParseBatch(id, *members));
}

}  // namespace cairn::jobs
