#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/model/limits.h"
#include "functions/model/message.h"
#include "jobs/ledger/context.h"
#include "jobs/model/ids.h"
#include "store/scopes.h"
#include "store/transaction.h"

// The topics of codeQ, which are queues of the jobs layer: a message is a job whose payload is the
// message's envelope. Whatever is done to queues (paused, throttled, shown) can be done to topics.
//
//   cs.invoke        requests to run a function     kept until they are acknowledged
//   cs.results       what came of them              ten minutes, if nobody consumes them
//   cs.dlq.invoke    requests that do not validate  seven days, or until redriven or purged
//   cs.dlq.results   results of nothing known       the same
//   any other name   a topic of its users: an envelope around any JSON object
namespace cairn::functions::codeq {

// How long a result waits for a consumer, and a dead letter for somebody to look at it.
inline constexpr int64_t kResultMessageMs = kRequestResultTtlMs;
inline constexpr int64_t kDeadLetterMs = 7 * kDayMs;
// Of a dead letter's original that is no JSON, so much is kept.
inline constexpr size_t kMaxDeadTextBytes = 64UL * 1024;

inline constexpr size_t kMaxPublishBatch = 1'000;
inline constexpr size_t kMaxClaim = 512;
inline constexpr int64_t kDefaultClaimLeaseMs = 60'000;
inline constexpr int64_t kMaxClaimWaitMs = 60'000;

// Where what does not validate goes; empty for a topic whose publishers are only told.
std::string_view DeadTopicOf(std::string_view topic);
// The topic whose dead letters these are; empty for a topic that is not one of dead letters.
std::string_view TopicOfDead(std::string_view dead_topic);
// Refuses what cannot be a topic's name.
Result<void> CheckTopicName(std::string_view topic);

// What an operation locks: lanes of queues, and keys of the data types.
struct Locks {
  jobs::Held lanes;
  store::Scopes keys;

  // One string in the database that functions use.
  void AddKey(std::string_view key);
  store::Scopes ToScopes() const;
};

// What the platform does in its own name: a publisher that may use cs.invoke need not be allowed to
// use its dead letters to have one made.
inline jobs::Context OwnContext(jobs::Context& context) {
  return {context.transaction, context.held, nullptr, context.busy};
}

// An error of the jobs layer in the words of this one (functions/model/errors.h).
Error InOurWords(const Error& error);
template <typename T>
Result<T> InOurWords(Result<T> result) {
  if (result.ok()) return result;
  return InOurWords(result.error());
}

}  // namespace cairn::functions::codeq
