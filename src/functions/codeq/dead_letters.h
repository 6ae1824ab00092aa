#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/codeq/names.h"
#include "functions/codeq/topics.h"
#include "jobs/ledger/context.h"
#include "store/transaction.h"

// Dead letters: messages of cs.invoke and cs.results that did not validate, or whose consumers have
// given up on them. Each is a job of cs.dlq.invoke or cs.dlq.results:
//
//   {"reason":"CS_VALIDATION_FAILED body.deadline_ms is missing","original":{…},
//    "received_at_ms":1730000000000}
//
// `original` is what was published, or a string if that is no JSON; "truncated":true says that it
// was cut (kMaxDeadTextBytes). They are gone after kDeadLetterMs.
namespace cairn::functions::codeq {

struct DeadLetter {
  std::string id;
  std::string reason = {};
  std::string original = {};  // JSON
  int64_t received_at_ms = 0;
  bool truncated = false;
};
std::string DeadLetterJson(const DeadLetter& letter);  // with its id
// What is stored.
std::string DeadLetterPayload(std::string_view original, std::string_view reason,
                              int64_t received_at_ms);

// Keeps a message of `topic`, which has dead letters; gives the letter's id. What the caller may do
// was checked with the message. Scopes: the lane of DeadTopicOf(topic).
Result<std::string> AddDeadLetter(jobs::Context& context, std::string_view topic,
                                  std::string_view text, const Error& reason);

// Letters of a page, oldest first.
struct DeadLetterPage {
  std::vector<DeadLetter> letters = {};
  std::string next;  // where the next page begins; empty: there is none
};
inline constexpr size_t kMaxDeadLetterPage = 500;
// Of a page the answer's size is bounded too: it ends early past kMaxMessageBytes.
// `cursor` is empty, or DeadLetterPage::next. Reads without locks.
Result<DeadLetterPage> ListDeadLetters(store::Reader& reader, const doors::NamePatterns* queues,
                                       std::string_view dead_topic, std::string_view cursor,
                                       size_t limit);
// Refuses a letter that does not exist.
Result<DeadLetter> GetDeadLetter(store::Reader& reader, const doors::NamePatterns* queues,
                                 std::string_view dead_topic, std::string_view id);

// Takes letters back to their topic, one transaction for a bounded number of them. A letter that
// still does not validate stays, and is counted.
struct RedriveRequest {
  std::string dead_topic;
  std::string id = {};  // empty: all, from `cursor` on
  std::string cursor = {};
};
struct Redriven {
  int64_t redriven = 0;
  int64_t kept = 0;
  std::optional<Error> refused = {};  // why the last that was kept is still a letter
  std::string next = {};              // call again with this; empty: done
};
// The keys that a result's correlation needs are not known before the letter is read, so redriving
// cs.dlq.results runs alone.
void AddRedriveScopes(const RedriveRequest& request, Locks& locks);
Result<Redriven> Redrive(jobs::Context& context, const RedriveRequest& request);

// Removes one letter, or a bounded number of all; `more` asks to be called again.
struct Purged {
  int64_t purged = 0;
  bool more = false;
};
void AddPurgeScopes(std::string_view dead_topic, std::string_view id, Locks& locks);
Result<Purged> Purge(jobs::Context& context, std::string_view dead_topic, std::string_view id);

}  // namespace cairn::functions::codeq
