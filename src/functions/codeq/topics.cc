#include "functions/codeq/topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "functions/codeq/dead_letters.h"
#include "functions/codeq/results.h"
#include "functions/model/errors.h"
#include "jobs/model/keys.h"
#include "jobs/model/limits.h"
#include "jobs/model/topics.h"
#include "jobs/operations/actions.h"
#include "jobs/operations/enqueue.h"
#include "jobs/operations/queues.h"

namespace cairn::functions::codeq {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
// How often a claim looks for others in place of messages that it had to take out.
constexpr int kMaxClaimRounds = 32;

// The settings that a platform topic begins with, unless its queue has settings already.
std::string_view FirstSettings(std::string_view topic) {
  // Activations tell what became of a request. It is redelivered until somebody answers it, which
  // is possible for ever: past its deadline it is answered without being run.
  if (topic == kInvokeTopic) {
    return R"({"retention_ms":0,"max_retries":1000,"max_reclaims":1000})";
  }
  if (topic == kResultsTopic || !TopicOfDead(topic).empty()) {
    return R"({"retention_ms":0,"failed_retention_ms":0})";
  }
  return {};
}

Result<void> EnsureTopic(jobs::Context& context, std::string_view topic) {
  const std::string_view settings = FirstSettings(topic);
  if (settings.empty()) return {};
  const Bytes key = jobs::QueueConfigKey(topic);
  CAIRN_ASSIGN_OR_RETURN(const auto row, context.transaction.Get(jobs::InJobs(key)));
  if (row) return {};
  jobs::Context own = OwnContext(context);
  const auto configured = jobs::ConfigureQueue(own, topic, settings);
  if (!configured.ok()) return configured.error();
  return {};
}

jobs::EnqueueRequest JobOf(const PublishRequest& request, const CheckedMessage& message) {
  jobs::EnqueueRequest job{.queue = request.topic,
                           .payload = request.text,
                           .payload_limit = kMaxMessageBytes,
                           .priority = request.priority,
                           .scheduled_ns = request.at_ns,
                           .delay_ms = request.delay_ms,
                           .max_retries = request.max_retries,
                           .retry_backoff = request.backoff,
                           .retry_base_delay_ms = request.backoff_base_ms,
                           .retry_max_delay_ms = request.backoff_max_ms,
                           .retry_jitter_percent = request.jitter_percent,
                           .tags = request.tags,
                           .trace_parent = request.trace_parent};
  if (!request.idempotency_key.empty()) {
    job.idempotency_key = fmt::format("{}:{}", message.tenant, request.idempotency_key);
  }
  if (request.topic == kResultsTopic) job.expire_after_ms = kResultMessageMs;
  if (!request.after.empty()) {
    job.depends_on = {request.after};
    job.on_dependency_failure = jobs::DependencyPolicy::kIgnore;
  }
  return job;
}

// --- Consuming -----------------------------------------------------------------------------------

// A job of users that has no envelope.
std::string WrapJob(const jobs::Job& job) {
  return Wrap({.id = job.id.substr(0, kMaxMessageIdBytes),
               .ts_ms = static_cast<int64_t>(job.created_ns) / kNsPerMs,
               .tenant = std::string(kNoTenant),
               .type = "Job"},
              job.payload);
}

// The message of a job that was claimed; nullopt if it was taken out instead.
Result<std::optional<Message>> Open(jobs::Context& context, jobs::Job job) {
  const Result<CheckedMessage> checked = CheckMessage(job.queue, job.payload);
  if (checked.ok() || DeadTopicOf(job.queue).empty()) {
    const bool dead_letter = !TopicOfDead(job.queue).empty();
    std::string text = checked.ok() || dead_letter ? std::move(job.payload) : WrapJob(job);
    job.payload.clear();
    return std::optional(Message{std::move(job), std::move(text)});
  }
  CAIRN_RETURN_IF_ERROR(AddDeadLetter(context, job.queue, job.payload, checked.error()));
  jobs::Context own = OwnContext(context);
  CAIRN_RETURN_IF_ERROR(jobs::Delete(own, job.id));
  return std::optional<Message>();
}

jobs::FetchRequest FetchOf(const ClaimRequest& request) {
  return {.queues = request.topics,
          .worker_id = request.worker_id,
          .hostname = request.hostname,
          .lease_ms = request.lease_ms,
          .count = request.count};
}

}  // namespace

// --- Publishing ----------------------------------------------------------------------------------

Result<Outgoing> Prepare(PublishRequest request) {
  CAIRN_RETURN_IF_ERROR(CheckTopicName(request.topic));
  if (!TopicOfDead(request.topic).empty()) {
    return Refuse(Code::kValidation,
                  fmt::format("{} is for dead letters: publish to {}, or redrive them",
                              request.topic, TopicOfDead(request.topic)));
  }
  if (request.text.size() > kMaxMessageBytes) {
    return Refuse(Code::kTooLarge, fmt::format("the message is {} bytes, above the limit of {}",
                                               request.text.size(), kMaxMessageBytes));
  }
  if (request.delay_ms < 0 || request.delay_ms > jobs::kMaxDelayMs) {
    return Refuse(Code::kValidation,
                  fmt::format("delay_ms must be from 0 to {}", jobs::kMaxDelayMs));
  }
  Outgoing outgoing{.request = std::move(request)};
  Result<CheckedMessage> checked = CheckMessage(outgoing.request.topic, outgoing.request.text);
  if (checked.ok()) {
    outgoing.message = *std::move(checked);
    return outgoing;
  }
  if (DeadTopicOf(outgoing.request.topic).empty()) return checked.error();
  outgoing.fault = checked.error();
  return outgoing;
}

void AddPublishScopes(const Outgoing& outgoing, Locks& locks) {
  const std::string& topic = outgoing.request.topic;
  locks.lanes.AddQueue(topic);
  if (!DeadTopicOf(topic).empty()) locks.lanes.AddQueue(DeadTopicOf(topic));
  if (!outgoing.request.after.empty()) locks.lanes.AddJob(outgoing.request.after);
  if (topic == kResultsTopic && !outgoing.fault) AddCorrelationScopes(outgoing.message, locks);
}

Result<Published> TryPublish(jobs::Context& context, const Outgoing& outgoing) {
  const PublishRequest& request = outgoing.request;
  CAIRN_RETURN_IF_ERROR(InOurWords(jobs::CheckQueue(context.queues, request.topic)));
  Published published{.message_id = outgoing.message.id, .refused = outgoing.fault};
  if (published.refused) return published;
  if (request.topic == kResultsTopic) {
    const Result<Correlation> correlation = Correlate(context.transaction, outgoing.message);
    if (!correlation.ok()) {
      if (!IsRefusal(correlation.error(), Code::kNotFound)) return correlation.error();
      published.refused = correlation.error();
      return published;
    }
    published.existing = *correlation == Correlation::kRepeated;
    if (published.existing) return published;
  }
  CAIRN_RETURN_IF_ERROR(EnsureTopic(context, request.topic));
  CAIRN_ASSIGN_OR_RETURN(const jobs::EnqueueResult job,
                         InOurWords(jobs::Enqueue(context, JobOf(request, outgoing.message))));
  published.id = job.id;
  published.existing = job.existing;
  return published;
}

Result<Published> Publish(jobs::Context& context, const Outgoing& outgoing) {
  CAIRN_ASSIGN_OR_RETURN(Published published, TryPublish(context, outgoing));
  if (!published.refused) return published;
  CAIRN_ASSIGN_OR_RETURN(
      published.dead_letter,
      AddDeadLetter(context, outgoing.request.topic, outgoing.request.text, *published.refused));
  return published;
}

// --- Dead letters are published here, because their topics begin as the others do
// -----------------

Result<std::string> AddDeadLetter(jobs::Context& context, std::string_view topic,
                                  std::string_view text, const Error& reason) {
  const std::string dead_topic(DeadTopicOf(topic));
  CAIRN_RETURN_IF_ERROR(EnsureTopic(context, dead_topic));
  jobs::Context own = OwnContext(context);
  jobs::EnqueueRequest job{
      .queue = dead_topic,
      .payload = DeadLetterPayload(text, reason.message, context.transaction.now().millis()),
      .payload_limit = 2 * kMaxMessageBytes,
      .expire_after_ms = kDeadLetterMs};
  CAIRN_ASSIGN_OR_RETURN(const jobs::EnqueueResult added, InOurWords(jobs::Enqueue(own, job)));
  return added.id;
}

// --- Consuming -----------------------------------------------------------------------------------

void AddClaimScopes(const ClaimRequest& request, Locks& locks) {
  jobs::AddFetchScopes(FetchOf(request), locks.lanes);
  for (const std::string& topic : request.topics) {
    if (!DeadTopicOf(topic).empty()) locks.lanes.AddQueue(DeadTopicOf(topic));
  }
}

Result<std::vector<Message>> Claim(jobs::Context& context, const ClaimRequest& request) {
  std::vector<Message> messages;
  jobs::FetchRequest fetch = FetchOf(request);
  for (int round = 0; round < kMaxClaimRounds; ++round) {
    fetch.count = request.count - messages.size();
    CAIRN_ASSIGN_OR_RETURN(std::vector<jobs::Job> fetched, InOurWords(jobs::Fetch(context, fetch)));
    const bool all = fetched.size() < fetch.count;
    size_t taken_out = 0;
    for (jobs::Job& job : fetched) {
      CAIRN_ASSIGN_OR_RETURN(std::optional<Message> message, Open(context, std::move(job)));
      if (message)
        messages.push_back(*std::move(message));
      else
        ++taken_out;
    }
    if (all || taken_out == 0 || messages.size() >= request.count) return messages;
  }
  // There may be more behind them.
  for (const std::string& topic : request.topics) {
    context.transaction.Wake(jobs::QueueTopic(topic));
  }
  return messages;
}

void AddMessageScopes(const jobs::LeaseRef& lease, Locks& locks) {
  jobs::AddLeaseScopes(lease, locks.lanes);
}

Result<void> Ack(jobs::Context& context, const jobs::LeaseRef& lease) {
  return InOurWords(jobs::Ack(context, {.lease = lease}));
}

Result<NackResult> Nack(jobs::Context& context, const NackRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const jobs::FailResult failed,
                         InOurWords(jobs::Fail(context, {.lease = request.lease,
                                                         .error = request.reason,
                                                         .delay_ms = request.delay_ms})));
  const int64_t now_ns = context.transaction.now().us * 1'000;
  NackResult result{.dead = failed.state == jobs::State::kDead};
  if (!result.dead) {
    result.delay_ms =
        std::max<int64_t>(0, (static_cast<int64_t>(failed.next_attempt_ns) - now_ns) / kNsPerMs);
    return result;
  }
  CAIRN_ASSIGN_OR_RETURN(const jobs::Job job,
                         InOurWords(jobs::Get(context.transaction, request.lease.id)));
  if (DeadTopicOf(job.queue).empty()) return result;
  // Its consumers say no more than a name of the message, which does not tell the other lane.
  jobs::Held& held = context.held;
  if (!held.Covers(jobs::LaneOfQueue(DeadTopicOf(job.queue)))) {
    held.wants_everything = true;
    return Error{ErrorCode::kWouldBlock, "its dead letters are not locked"};
  }
  const Error why = Refuse(Code::kSubscribeFailed, fmt::format("given up after {} attempts: {}",
                                                               job.attempt, request.reason));
  CAIRN_ASSIGN_OR_RETURN(result.dead_letter, AddDeadLetter(context, job.queue, job.payload, why));
  jobs::Context own = OwnContext(context);
  CAIRN_RETURN_IF_ERROR(InOurWords(jobs::Delete(own, job.id)));
  return result;
}

Result<uint64_t> Extend(jobs::Context& context, const jobs::LeaseRef& lease,
                        std::optional<int64_t> lease_ms) {
  CAIRN_ASSIGN_OR_RETURN(
      const jobs::HeartbeatResult result,
      InOurWords(jobs::Heartbeat(context, {.lease = lease, .lease_ms = lease_ms})));
  if (result.cancelled) {
    return Refuse(Code::kConflict, fmt::format("the lease of {} has ended", lease.id));
  }
  return result.lease_expires_ns;
}

}  // namespace cairn::functions::codeq
