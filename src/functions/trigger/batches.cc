#include "functions/trigger/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "functions/activation/accept.h"
#include "functions/control/values.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"
#include "functions/model/names.h"
#include "functions/trigger/sources.h"
#include "jobs/model/job.h"
#include "jobs/model/json_members.h"
#include "jobs/model/refusal.h"
#include "jobs/operations/fetch.h"
#include "jobs/operations/lease.h"
#include "jobs/operations/line.h"

namespace cairn::functions {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
// What stands in an event around its jobs or events.
constexpr size_t kEventFrameBytes = 4'096;
// A trigger that cannot go on looks again.
constexpr int64_t kLookAgainMs = kSecondMs;
// A batch whose message is gone, younger than this, is not taken for lost.
constexpr int64_t kLostAfterMs = 30 * kSecondMs;
// The cursor of an event trigger that finds nothing is written no more often.
constexpr int64_t kSaveCursorMs = 5 * kSecondMs;
// A job that may only run for so long has to be over before its lease is.
constexpr int64_t kJobGraceMs = kSecondMs;
constexpr int64_t kLeaseMs = kAsyncDeadlineMs + kTriggerLeaseGraceMs;
// Jobs of a batch have their attempts counted by this worker.
constexpr size_t kWorkerNameBytes = 100;
constexpr int kErrorStatus = 400;

TriggerType TypeOf(const TriggerSource& source) {
  return source.type == SourceType::kQueue ? TriggerType::kQueue : TriggerType::kEvent;
}

InvocationRequest RequestOf(const TriggerConfig& trigger, const std::string& activation) {
  return {.activation_id = activation,
          .request_id = "req_" + activation,
          .tenant = trigger.tenant,
          .ns = trigger.ns,
          .ref = trigger.ref,
          .trigger = {TypeOf(trigger.source), "{}"},
          .principal = {.sub = std::string(kTriggerSubject),
                        .roles = {std::string(kTriggerRole), std::string(kTriggerSubject)}}};
}

void AppendJob(const jobs::Job& job, JsonWriter& json) {
  json.BeginObject();
  json.Text("id", job.id);
  json.Text("queue", job.queue);
  json.Raw("payload", job.payload);
  if (!job.tags.empty()) json.Raw("tags", job.tags);
  json.Integer("attempt", job.attempt);
  json.Integer("max_retries", job.retry.max_retries);
  json.Text("priority", jobs::PriorityName(job.priority));
  json.Integer("enqueued_at_ms", static_cast<int64_t>(job.created_ns) / kNsPerMs);
  if (!job.checkpoint.empty()) json.Raw("checkpoint", job.checkpoint);
  json.EndObject();
}

// A refusal of the jobs layer is a result: the job is not ours any more.
Result<void> UnlessRefused(const Error& error) {
  return jobs::FindReason(error) == nullptr ? Result<void>(error) : Result<void>();
}

template <typename T>
Result<void> UnlessRefused(const Result<T>& result) {
  return result.ok() ? Result<void>() : UnlessRefused(result.error());
}

// --- Beginning
// ------------------------------------------------------------------------------------

// One transaction's batches.
class Beginning {
 public:
  Beginning(jobs::Context& context, const BatchPlan& plan, TriggerState state)
      : context_(context),
        transaction_(context.transaction),
        plan_(plan),
        trigger_(plan.trigger),
        state_(std::move(state)) {}

  Result<BatchOutcome> Run() {
    CAIRN_RETURN_IF_ERROR(DropLost());
    if (free() == 0) {
      outcome_.known_to = plan_.known_to;
      outcome_.look_at_ms = now_ms() + kLostAfterMs;
    } else if (trigger_.source.type == SourceType::kQueue) {
      CAIRN_RETURN_IF_ERROR(FromQueues());
    } else {
      CAIRN_RETURN_IF_ERROR(FromLog());
    }
    if (changed_) CAIRN_RETURN_IF_ERROR(SaveTriggerState(transaction_, plan_.id, state_));
    return std::move(outcome_);
  }

 private:
  int64_t now_ms() const { return transaction_.now().millis(); }

  // Batches that can be begun.
  size_t free() const {
    const auto most = static_cast<size_t>(trigger_.concurrency);
    const size_t room = most - std::min(most, state_.inflight.size());
    return std::min(room, plan_.activations.size() - outcome_.batches);
  }
  const std::string& next_activation() const { return plan_.activations[outcome_.batches]; }

  void LookAt(int64_t at_ms) {
    outcome_.look_at_ms = std::min(outcome_.look_at_ms.value_or(at_ms), at_ms);
  }

  // Batches whose messages are gone, although nobody has written their ends: somebody has deleted
  // them. Their jobs go back.
  Result<void> DropLost() {
    for (size_t i = 0; i < state_.inflight.size();) {
      const TriggerState::Inflight& one = state_.inflight[i];
      bool lost = now_ms() - one.since_ms >= kLostAfterMs;
      if (lost) {
        CAIRN_ASSIGN_OR_RETURN(const std::optional<jobs::Job> message,
                               jobs::LoadJob(transaction_, one.message));
        lost = !message || jobs::IsFinished(message->state);
      }
      if (!lost) {
        ++i;
        continue;
      }
      CAIRN_RETURN_IF_ERROR(PutBack(one.activation_id));
      state_.inflight.erase(state_.inflight.begin() + static_cast<ptrdiff_t>(i));
      changed_ = true;
    }
    return {};
  }

  Result<void> PutBack(const std::string& activation) {
    const std::string key = TriggerBatchKey(plan_.id.ns, plan_.id.name, activation);
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record, ReadString(transaction_, key));
    if (!record) return {};
    CAIRN_ASSIGN_OR_RETURN(const TriggerBatch batch, DecodeTriggerBatch(*record));
    for (const TriggerBatch::Lease& lease : batch.jobs) {
      CAIRN_RETURN_IF_ERROR(UnlessRefused(
          jobs::Snooze(context_, {.id = lease.id, .token = lease.token}, /*delay_ms=*/0)));
    }
    CAIRN_RETURN_IF_ERROR(RemoveKey(transaction_, key));
    return {};
  }

  // Whether the next activation can be run; if not, says why and when to look again.
  Result<bool> MayRun() {
    const Result<Resolved> may = CheckRequest(transaction_, RequestOf(trigger_, next_activation()));
    if (may.ok()) return true;
    if (!IsAboutRequest(may.error())) return may.error();
    outcome_.paused = may.error();
    LookAt(now_ms() + kLookAgainMs);
    return false;
  }
  static bool IsAboutRequest(const Error& error) {
    return error.message.starts_with(CodeRowOf(error).name) && error.code != ErrorCode::kWouldBlock;
  }

  struct Batch {
    std::string event;
    TriggerCause cause;
    int64_t deadline_ms = 0;
    int64_t count = 0;
  };
  Result<void> Accept(Batch batch) {
    InvocationRequest request = RequestOf(trigger_, next_activation());
    request.trigger.source = Encode(batch.cause);
    request.deadline_ms = batch.deadline_ms;
    request.event = std::move(batch.event);
    RequestOptions options{.message_id = "msg_" + request.activation_id, .now_ms = now_ms()};
    CAIRN_ASSIGN_OR_RETURN(const QueuedRequest queued, PrepareRequest(request, std::move(options)));
    CAIRN_ASSIGN_OR_RETURN(AcceptedRequest accepted, AcceptRequest(context_, queued));
    state_.inflight.push_back({.activation_id = request.activation_id,
                               .message = std::move(accepted.message),
                               .since_ms = now_ms()});
    ++state_.batches;
    state_.delivered += batch.count;
    state_.last_activation_id = request.activation_id;
    state_.last_batch_ms = now_ms();
    changed_ = true;
    ++outcome_.batches;
    return {};
  }

  // --- A queue's jobs

  Result<void> FromQueues() {
    for (const std::string& queue : trigger_.source.names) {
      bool more = true;
      while (more && free() > 0) {
        CAIRN_ASSIGN_OR_RETURN(more, FromQueue(queue));
      }
      if (outcome_.paused) return {};
    }
    return {};
  }

  // Whether there may be another batch in it.
  Result<bool> FromQueue(const std::string& queue) {
    CAIRN_ASSIGN_OR_RETURN(const jobs::LineLook line, jobs::LookAtLine(context_, queue));
    if (line.ready == 0) return false;
    const int64_t ripe_ms = static_cast<int64_t>(line.oldest_ns) / kNsPerMs + trigger_.window_ms;
    if (line.ready < trigger_.batch_size && now_ms() < ripe_ms) {
      LookAt(ripe_ms);
      return false;
    }
    CAIRN_ASSIGN_OR_RETURN(const bool may, MayRun());
    if (!may) return false;
    const std::string worker =
        fmt::format("trigger:{}", std::string_view(trigger_.name).substr(0, kWorkerNameBytes));
    CAIRN_ASSIGN_OR_RETURN(
        std::vector<jobs::Job> taken,
        codeq::InOurWords(
            jobs::Fetch(context_, {.queues = {queue},
                                   .worker_id = worker,
                                   .hostname = fmt::format("{}/{}", trigger_.tenant, trigger_.ns),
                                   .lease_ms = kLeaseMs,
                                   .count = static_cast<size_t>(trigger_.batch_size)})));
    // Throttled, say: the end of one that runs, or time, wakes the queue's topic.
    if (taken.empty()) return false;
    CAIRN_RETURN_IF_ERROR(Begin(queue, std::move(taken)));
    return true;
  }

  Result<void> Begin(const std::string& queue, std::vector<jobs::Job> taken) {
    Batch batch{.cause = {.trigger = trigger_.name, .queue = queue},
                .deadline_ms = now_ms() + kAsyncDeadlineMs};
    TriggerBatch leases;
    JsonWriter json(batch.event);
    json.BeginObject();
    json.Text("type", "queue");
    json.Text("trigger", trigger_.name);
    json.Text("queue", queue);
    json.BeginArray("jobs");
    size_t bytes = kEventFrameBytes;
    for (const jobs::Job& job : taken) {
      std::string text;
      JsonWriter of_job(text);
      AppendJob(job, of_job);
      const jobs::LeaseRef lease{.id = job.id, .token = job.lease_token};
      if (text.size() + kEventFrameBytes > kMaxEventBytes) {
        CAIRN_RETURN_IF_ERROR(FailTooLarge(lease));
        continue;
      }
      bytes += text.size() + 1;
      if (bytes > kMaxEventBytes) {
        CAIRN_RETURN_IF_ERROR(codeq::InOurWords(jobs::Snooze(context_, lease, /*delay_ms=*/0)));
        continue;
      }
      json.Raw("", text);
      batch.cause.jobs.push_back(job.id);
      leases.jobs.push_back({job.id, job.lease_token});
      const int64_t lease_ends_ms = static_cast<int64_t>(job.lease_expires_ns) / kNsPerMs;
      const int64_t grace_ms = std::min(kJobGraceMs, (lease_ends_ms - now_ms()) / 4);
      batch.deadline_ms = std::min(batch.deadline_ms, lease_ends_ms - grace_ms);
    }
    json.EndArray();
    json.EndObject();
    if (leases.jobs.empty()) return {};
    batch.deadline_ms = std::max(batch.deadline_ms, now_ms() + 1);
    batch.count = static_cast<int64_t>(leases.jobs.size());
    const std::string key = TriggerBatchKey(plan_.id.ns, plan_.id.name, next_activation());
    CAIRN_RETURN_IF_ERROR(WriteString(transaction_, key, Encode(leases), now_ms() + kDayMs));
    return Accept(std::move(batch));
  }

  // It would never fit.
  Result<void> FailTooLarge(const jobs::LeaseRef& lease) {
    const Result<jobs::FailResult> failed = codeq::InOurWords(jobs::Fail(
        context_,
        {.lease = lease,
         .error = fmt::format("the job is larger than an event may be, {} bytes", kMaxEventBytes),
         .retryable = false}));
    if (!failed.ok()) return failed.error();
    ++state_.failed;
    changed_ = true;
    return {};
  }

  // --- A log's events

  Result<void> FromLog() {
    const SourcePlace place{trigger_.source, plan_.seats_prefix};
    uint64_t from = std::max(state_.cursor, plan_.known_to);
    outcome_.known_to = from;
    while (free() > 0) {
      CAIRN_ASSIGN_OR_RETURN(
          const SourcePage page,
          ReadSource(transaction_, place, from, static_cast<size_t>(trigger_.batch_size)));
      if (page.missed_to > from) {
        ++state_.gaps;
        state_.missed_to = page.missed_to;
        state_.cursor = std::max(state_.cursor, page.missed_to);
        changed_ = true;
      }
      if (page.events.empty()) {
        outcome_.known_to = page.read_to;
        outcome_.more = !page.at_end;
        SaveCursorSometimes(page.read_to);
        return {};
      }
      outcome_.known_to = std::max(from, page.events.front().number - 1);
      const bool full = page.events.size() >= static_cast<size_t>(trigger_.batch_size);
      const int64_t ripe_ms = page.events.front().at_ms + trigger_.window_ms;
      if (!full && now_ms() < ripe_ms) {
        LookAt(ripe_ms);
        return {};
      }
      CAIRN_ASSIGN_OR_RETURN(const bool may, MayRun());
      if (!may) return {};
      CAIRN_RETURN_IF_ERROR(Begin(page));
      from = state_.cursor;
      outcome_.known_to = from;
    }
    return {};
  }

  Result<void> Begin(const SourcePage& page) {
    Batch batch{.cause = {.trigger = trigger_.name, .type = trigger_.source.type},
                .deadline_ms = now_ms() + kAsyncDeadlineMs};
    JsonWriter json(batch.event);
    json.BeginObject();
    json.Text("type", SourceName(trigger_.source.type));
    json.Text("trigger", trigger_.name);
    json.BeginArray("events");
    uint64_t cursor = page.read_to;
    size_t bytes = kEventFrameBytes;
    uint64_t last = 0;
    for (const SourceEvent& event : page.events) {
      bytes += event.json.size() + 1;
      if (bytes > kMaxEventBytes && batch.count > 0) {
        cursor = last;
        break;
      }
      json.Raw("", event.json);
      ++batch.count;
      last = event.number;
    }
    json.EndArray();
    json.EndObject();
    batch.cause.events = batch.count;
    state_.cursor = cursor;
    state_.read_ms = now_ms();
    return Accept(std::move(batch));
  }

  void SaveCursorSometimes(uint64_t read_to) {
    if (read_to <= state_.cursor || now_ms() - state_.read_ms < kSaveCursorMs) return;
    state_.cursor = read_to;
    state_.read_ms = now_ms();
    changed_ = true;
  }

  jobs::Context& context_;
  store::Transaction& transaction_;
  const BatchPlan& plan_;
  const TriggerConfig& trigger_;
  TriggerState state_;
  bool changed_ = false;
  BatchOutcome outcome_;
};

// --- Ending
// ---------------------------------------------------------------------------------------

TriggerId IdOf(const Activation& activation, const TriggerCause& cause) {
  return {{activation.tenant, activation.ns}, cause.trigger};
}

BatchVerdict FailAll(size_t count, const std::string& error) {
  return {std::vector<BatchVerdict::OfJob>(count, {.failed = true, .error = error})};
}

std::string ErrorText(const Activation& activation) {
  if (!activation.error)
    return fmt::format("the activation ended: {}", StatusName(activation.status));
  return fmt::format("{}: {}", activation.error->type, activation.error->message);
}

// The members that say something, of an answer that is an object.
Result<BatchVerdict> ReadVerdict(std::string_view body, const std::vector<std::string>& ids) {
  return ReadObject(body, Code::kValidation, [&](ObjectReader& object) {
    BatchVerdict verdict{std::vector<BatchVerdict::OfJob>(ids.size())};
    const auto of = [&](std::string_view id) -> BatchVerdict::OfJob* {
      const auto found = std::ranges::find(ids, id);
      return found == ids.end() ? nullptr : &verdict.jobs[static_cast<size_t>(found - ids.begin())];
    };
    for (ObjectReader& failure : object.Objects("batchItemFailures", kMaxTriggerBatch)) {
      std::optional<std::string> id = failure.OptionalText("itemIdentifier", {1, kMaxResultBytes});
      if (!id) id = failure.Text("job_id", {1, kMaxResultBytes});
      BatchVerdict::OfJob* const job = of(*id);
      if (job == nullptr) {
        object.Fail("batchItemFailures",
                    fmt::format("names {}, which is not in the batch", Printable(*id, 64)));
        break;
      }
      const std::string_view error = failure.Raw("error");
      job->failed = true;
      job->error = jobs::StringOf(error).value_or(std::string(error));
      if (job->error.empty()) job->error = "the function said that the job has failed";
    }
    if (auto results = object.OptionalObject("results")) {
      for (const std::string& id : results->Names()) {
        BatchVerdict::OfJob* const job = of(id);
        if (job == nullptr) {
          object.Fail("results",
                      fmt::format("names {}, which is not in the batch", Printable(id, 64)));
          break;
        }
        job->result = results->Raw(id);
      }
    }
    return verdict;
  });
}

}  // namespace

Result<void> CheckMayRun(store::Transaction& transaction, const TriggerConfig& trigger) {
  const Result<Resolved> may = CheckRequest(transaction, RequestOf(trigger, "shown"));
  if (!may.ok()) return may.error();
  return {};
}

void AddBatchScopes(const BatchPlan& plan, codeq::Locks& locks) {
  const TriggerId& id = plan.id;
  AddTriggerStateScopes(id, locks.keys);
  locks.lanes.AddQueue(kInvokeTopic);
  locks.lanes.AddQueue(kInvokeDeadTopic);
  if (plan.trigger.source.type != SourceType::kQueue) return;
  jobs::FetchRequest fetch{
      .queues = plan.trigger.source.names,
      .worker_id = fmt::format("trigger:{}", plan.trigger.name.substr(0, kWorkerNameBytes))};
  jobs::AddFetchScopes(fetch, locks.lanes);
  for (const std::string& activation : plan.activations) {
    locks.AddKey(TriggerBatchKey(id.ns, id.name, activation));
  }
}

Result<BatchOutcome> BeginBatches(jobs::Context& context, const BatchPlan& plan) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<TriggerConfig> trigger,
                         FindTrigger(context.transaction, plan.id));
  if (!trigger || *trigger != plan.trigger || !trigger->enabled) {
    return BatchOutcome{.changed = true};
  }
  CAIRN_ASSIGN_OR_RETURN(std::optional<TriggerState> state,
                         FindTriggerState(context.transaction, plan.id));
  Beginning beginning(context, plan, state.value_or(TriggerState()));
  return beginning.Run();
}

Result<void> NoteTrouble(store::Transaction& transaction, const TriggerId& id,
                         std::string_view text) {
  CAIRN_ASSIGN_OR_RETURN(std::optional<TriggerState> state, FindTriggerState(transaction, id));
  if (!state || state->last_error == text) return {};
  state->last_error = text;
  state->last_error_ms = transaction.now().millis();
  return SaveTriggerState(transaction, id, *state);
}

BatchVerdict JudgeBatch(const Activation& activation, const std::vector<std::string>& ids) {
  if (activation.status != Status::kSuccess || !activation.result) {
    return FailAll(ids.size(), ErrorText(activation));
  }
  const FunctionResult& result = *activation.result;
  if (result.status_code >= kErrorStatus) {
    return FailAll(ids.size(),
                   fmt::format("the function answered with statusCode {}", result.status_code));
  }
  if (activation.result_truncated) {
    return FailAll(ids.size(), fmt::format("the function's answer is longer than {} bytes, so it "
                                           "does not say which jobs have failed",
                                           kMaxResultBytes));
  }
  const std::string_view body = result.body;
  const size_t first = body.find_first_not_of(" \t\r\n");
  const bool is_object = first != std::string_view::npos && body[first] == '{' && IsJson(body);
  if (result.is_base64 || !is_object) return {std::vector<BatchVerdict::OfJob>(ids.size())};
  Result<BatchVerdict> verdict = ReadVerdict(body, ids);
  if (verdict.ok()) return *std::move(verdict);
  return FailAll(ids.size(), fmt::format("the function's answer is not understood: {}",
                                         RefusalText(verdict.error())));
}

bool TriggerEnding::Concerns(const Activation& activation) const {
  return activation.trigger.type == TriggerType::kQueue ||
         activation.trigger.type == TriggerType::kEvent;
}

void TriggerEnding::AddScopes(const Activation& activation, codeq::Locks& locks) const {
  const std::optional<TriggerCause> cause = ParseCause(activation.trigger.source);
  if (!cause) return;
  const TriggerId id = IdOf(activation, *cause);
  AddTriggerStateScopes(id, locks.keys);
  if (cause->type != SourceType::kQueue) return;
  locks.AddKey(TriggerBatchKey(id.ns, id.name, activation.activation_id));
  locks.lanes.AddQueue(cause->queue);
  for (const std::string& job : cause->jobs) locks.lanes.AddJob(job);
}

namespace {

// How many have failed.
Result<int64_t> EndJobs(jobs::Context& context, const Activation& activation, const TriggerId& id) {
  const std::string key = TriggerBatchKey(id.ns, id.name, activation.activation_id);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> record, ReadString(context.transaction, key));
  if (!record) return 0;
  CAIRN_ASSIGN_OR_RETURN(const TriggerBatch batch, DecodeTriggerBatch(*record));
  CAIRN_RETURN_IF_ERROR(RemoveKey(context.transaction, key));
  std::vector<std::string> ids;
  for (const TriggerBatch::Lease& lease : batch.jobs) ids.push_back(lease.id);
  const BatchVerdict verdict = JudgeBatch(activation, ids);
  std::vector<jobs::AckRequest> acks;
  int64_t failed = 0;
  for (size_t i = 0; i < batch.jobs.size(); ++i) {
    const BatchVerdict::OfJob& of_job = verdict.jobs[i];
    const jobs::LeaseRef lease{.id = batch.jobs[i].id, .token = batch.jobs[i].token};
    if (!of_job.failed) {
      acks.push_back({.lease = lease, .result = of_job.result});
      continue;
    }
    ++failed;
    CAIRN_RETURN_IF_ERROR(
        UnlessRefused(jobs::Fail(context, {.lease = lease, .error = of_job.error})));
  }
  if (acks.empty()) return failed;
  // One that is refused is not ours any more.
  const Result<std::vector<Result<void>>> acked = jobs::AckBatch(context, acks);
  if (!acked.ok()) return acked.error();
  return failed;
}

}  // namespace

Result<void> TriggerEnding::End(jobs::Context& context, const Activation& activation) const {
  const std::optional<TriggerCause> cause = ParseCause(activation.trigger.source);
  if (!cause) return {};
  const TriggerId id = IdOf(activation, *cause);
  int64_t failed = activation.status == Status::kSuccess ? 0 : cause->events;
  if (cause->type == SourceType::kQueue) {
    CAIRN_ASSIGN_OR_RETURN(failed, EndJobs(context, activation, id));
  }
  store::Transaction& transaction = context.transaction;
  CAIRN_ASSIGN_OR_RETURN(std::optional<TriggerState> state, FindTriggerState(transaction, id));
  if (!state) return {};
  const size_t known = std::erase_if(state->inflight, [&](const TriggerState::Inflight& one) {
    return one.activation_id == activation.activation_id;
  });
  // Of a trigger that was deleted and made again.
  if (known == 0) return {};
  state->failed += failed;
  if (activation.status != Status::kSuccess) {
    state->last_error = ErrorText(activation).substr(0, kMaxStackBytes);
    state->last_error_ms = transaction.now().millis();
  }
  transaction.Wake(TriggerTopic(id));
  return SaveTriggerState(transaction, id, *state);
}

}  // namespace cairn::functions
