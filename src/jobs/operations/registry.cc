// The workers' registry: rows w|, JSON as {"id","hostname","queues","last_heartbeat_ns",
// "started_ns"}. A due row stands for each worker at the time it would be forgotten; when that
// comes and the worker has been heard of meanwhile, it stands again later.
#include "jobs/operations/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json_text.h"
#include "jobs/ledger/due.h"
#include "jobs/model/json_members.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"

namespace cairn::jobs {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;

uint64_t NowNs(const store::Transaction& transaction) {
  return static_cast<uint64_t>(transaction.now().us) * 1000;
}

uint64_t NumberOf(std::string_view json) {
  uint64_t value = 0;
  std::from_chars(json.data(), json.data() + json.size(), value);
  return value;
}

std::string EncodeWorker(const Worker& worker) {
  std::string out = R"({"id":)";
  AppendJsonString(worker.id, out);
  out += R"(,"hostname":)";
  AppendJsonString(worker.hostname, out);
  out += R"(,"queues":[)";
  for (const std::string& queue : worker.queues) {
    if (&queue != worker.queues.data()) out.push_back(',');
    AppendJsonString(queue, out);
  }
  out += fmt::format(R"(],"last_heartbeat_ns":{},"started_ns":{}}})", worker.last_heartbeat_ns,
                     worker.started_ns);
  return out;
}

std::optional<Worker> DecodeWorker(std::string_view id, BytesView value) {
  const auto members = MembersOf(value);
  if (!members) return std::nullopt;
  Worker worker{.id = std::string(id)};
  for (const auto& [name, json] : *members) {
    if (name == "hostname") worker.hostname = StringOf(json).value_or("");
    if (name == "last_heartbeat_ns") worker.last_heartbeat_ns = NumberOf(json);
    if (name == "started_ns") worker.started_ns = NumberOf(json);
    if (name != "queues") continue;
    for (const std::string_view item : ItemsOf(json).value_or(std::vector<std::string_view>())) {
      worker.queues.push_back(StringOf(item).value_or(""));
    }
  }
  return worker;
}

Result<std::optional<Worker>> LoadWorker(store::Reader& reader, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get(InJobs(WorkerKey(id))));
  if (!row) return std::optional<Worker>();
  return DecodeWorker(id, *row);
}

void SetWorkerDue(store::Transaction& transaction, const Worker& worker) {
  SetDue(transaction, worker.last_heartbeat_ns + kWorkerForgottenMs * kNsPerMs, DueKind::kWorker,
         {}, worker.id);
}

Lane LaneOfWorker(std::string_view worker_id) { return LaneOfQueue(WorkerKey(worker_id)); }

}  // namespace

void AddWorkerScopes(std::string_view worker_id, Held& held) {
  if (!worker_id.empty()) held.AddLane(LaneOfWorker(worker_id));
}

Result<void> CheckWorker(const FetchRequest& worker) {
  const auto fits = [](std::string_view name) {
    return name.empty() || IsName(name, kMaxWorkerIdBytes);
  };
  if (fits(worker.worker_id) && fits(worker.hostname)) return {};
  return Refuse(
      Reason::kValidation,
      fmt::format("worker_id and hostname must be at most {} bytes of text without control "
                  "characters",
                  kMaxWorkerIdBytes));
}

Result<void> TouchWorker(Context& context, const FetchRequest& request) {
  if (request.worker_id.empty()) return {};
  store::Transaction& transaction = context.transaction;
  CAIRN_ASSIGN_OR_RETURN(auto worker, LoadWorker(transaction, request.worker_id));
  const uint64_t now_ns = NowNs(transaction);
  const bool is_new = !worker.has_value();
  const bool fresh = !is_new && worker->last_heartbeat_ns + kWorkerFreshMs * kNsPerMs > now_ns;
  const auto same = [](const auto& stored, const auto& given) {
    return given.empty() || stored == given;
  };
  if (fresh && same(worker->hostname, request.hostname) && same(worker->queues, request.queues)) {
    return {};
  }
  if (is_new) worker = Worker{.id = request.worker_id, .started_ns = now_ns};
  worker->last_heartbeat_ns = now_ns;
  if (!request.hostname.empty()) worker->hostname = request.hostname;
  if (!request.queues.empty()) worker->queues = request.queues;
  transaction.Put(InJobs(WorkerKey(worker->id)), EncodeWorker(*worker));
  if (is_new) SetWorkerDue(transaction, *worker);
  return {};
}

Result<void> WorkerHeartbeat(Context& context, const FetchRequest& worker) {
  CAIRN_RETURN_IF_ERROR(CheckWorker(worker));
  return TouchWorker(context, worker);
}

Result<void> ForgetWorkerIfGone(Context& context, std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const auto worker, LoadWorker(context.transaction, id));
  if (!worker) return {};
  if (worker->last_heartbeat_ns + kWorkerForgottenMs * kNsPerMs > NowNs(context.transaction)) {
    SetWorkerDue(context.transaction, *worker);
  } else {
    context.transaction.Delete(InJobs(WorkerKey(id)));
  }
  return {};
}

Result<std::vector<Worker>> ListWorkers(store::Reader& reader) {
  std::vector<Worker> workers;
  CAIRN_RETURN_IF_ERROR(reader.Scan(store::Range::Prefix(store::Space::kJobs, family::kWorker), {},
                                    [&](BytesView key, BytesView value) {
                                      const auto id = DecodeNameKey(family::kWorker, key);
                                      auto worker = id ? DecodeWorker(*id, value) : std::nullopt;
                                      if (worker) workers.push_back(std::move(*worker));
                                      return true;
                                    }));
  return workers;
}

void KeepAllowed(const doors::NamePatterns* queues, std::vector<Worker>& list) {
  if (queues == nullptr) return;
  for (Worker& worker : list) {
    std::erase_if(worker.queues, [&](const std::string& name) { return !queues->Allows(name); });
  }
  std::erase_if(list, [](const Worker& worker) { return worker.queues.empty(); });
}

}  // namespace cairn::jobs
