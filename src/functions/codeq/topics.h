#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/codeq/checked_message.h"
#include "functions/codeq/names.h"
#include "jobs/ledger/context.h"
#include "jobs/model/job.h"
#include "jobs/operations/fetch.h"
#include "jobs/operations/lease.h"

// Messages on their way through topics: published, claimed, and then acknowledged, given back or
// kept for longer. Each function is one step inside a transaction, like the operations of jobs
// (jobs/operations/operations.h), whose rules hold here too.
//
// A message is checked when it is published and again when it is claimed. One of cs.invoke or
// cs.results that does not pass becomes a dead letter (dead_letters.h) in the same transaction, and
// its publisher is told.
namespace cairn::functions::codeq {

// --- Publishing ----------------------------------------------------------------------------------

struct PublishRequest {
  std::string topic;
  std::string text;  // the envelope
  jobs::Priority priority = jobs::Priority::kNormal;
  int64_t delay_ms = 0;
  uint64_t at_ns = 0;  // not before; 0: at once
  // The same key again, for the same tenant and topic and while the message is kept, is the same
  // message.
  std::string idempotency_key = {};
  std::string trace_parent = {};
  // Of the job, where a door has something to remember or to decide (tasks.h).
  std::string tags = {};
  std::optional<int64_t> max_retries = {};
  std::optional<jobs::Backoff> backoff = {};
  std::optional<int64_t> backoff_base_ms = {};
  std::optional<int64_t> backoff_max_ms = {};
  int64_t jitter_percent = 0;
  // A message of the topic that has to end, however it does, before this one is given out. Refuses
  // one that does not exist.
  std::string after = {};
};

// A message that was looked at, before the transaction that publishes it: that may run several
// times, and its locks follow from what the message says.
struct Outgoing {
  PublishRequest request;
  CheckedMessage message = {};      // where `fault` is not set
  std::optional<Error> fault = {};  // what is wrong with it; it is going to be a dead letter
};
// Refuses what is not even kept as a dead letter: a name that is none, a message that is too large,
// one of a topic that has no dead letters, and one for a topic of dead letters.
Result<Outgoing> Prepare(PublishRequest request);

struct Published {
  std::string id = {};          // of the message in its topic; empty if it is not there any more
  std::string message_id = {};  // of its envelope
  bool existing = false;        // published before: nothing new
  // It was not published: why, in words for the publisher, and the dead letter that it has become.
  std::optional<Error> refused = {};
  std::string dead_letter = {};
};
void AddPublishScopes(const Outgoing& outgoing, Locks& locks);
Result<Published> Publish(jobs::Context& context, const Outgoing& outgoing);
// The same, but what is refused becomes no dead letter.
Result<Published> TryPublish(jobs::Context& context, const Outgoing& outgoing);

// --- Consuming -----------------------------------------------------------------------------------

struct ClaimRequest {
  std::vector<std::string> topics;  // served in this order
  size_t count = 1;
  int64_t lease_ms = kDefaultClaimLeaseMs;
  std::string worker_id = {};
  std::string hostname = {};
};
struct Message {
  jobs::Job job;     // without its payload
  std::string text;  // the envelope
};
void AddClaimScopes(const ClaimRequest& request, Locks& locks);
// The messages, which are the caller's until their leases end. Those that do not validate are dead
// letters then, and others are given instead. A job that was enqueued in a topic of users without
// an envelope gets one on its way out.
Result<std::vector<Message>> Claim(jobs::Context& context, const ClaimRequest& request);

// What a consumer does with a message while its lease lasts; it is of no use to it then.
// The scopes of all three.
void AddMessageScopes(const jobs::LeaseRef& lease, Locks& locks);
Result<void> Ack(jobs::Context& context, const jobs::LeaseRef& lease);

struct NackRequest {
  jobs::LeaseRef lease;
  std::optional<int64_t> delay_ms = {};  // instead of the message's own backoff
  std::string reason = {};
};
struct NackResult {
  bool dead = false;  // it was its last attempt; where its topic has dead letters, it is one now
  std::string dead_letter = {};
  int64_t delay_ms = 0;  // until it can be claimed again
};
Result<NackResult> Nack(jobs::Context& context, const NackRequest& request);
// Until when the lease lasts then, in nanoseconds since 1970. Refuses a message that is not the
// caller's any more. nullopt for `lease_ms`: as long as it was claimed for.
Result<uint64_t> Extend(jobs::Context& context, const jobs::LeaseRef& lease,
                        std::optional<int64_t> lease_ms);

}  // namespace cairn::functions::codeq
