#include "functions/codeq/names.h"

#include <fmt/format.h>

#include "doors/resp/command.h"
#include "functions/model/errors.h"
#include "functions/model/keys.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"

namespace cairn::functions::codeq {

std::string_view DeadTopicOf(std::string_view topic) {
  if (topic == kInvokeTopic) return kInvokeDeadTopic;
  if (topic == kResultsTopic) return kResultsDeadTopic;
  return {};
}

std::string_view TopicOfDead(std::string_view dead_topic) {
  if (dead_topic == kInvokeDeadTopic) return kInvokeTopic;
  if (dead_topic == kResultsDeadTopic) return kResultsTopic;
  return {};
}

// Topics of users are checked by it before anybody knows of queues (functions/model/names.h).
static_assert(kMaxTopicNameBytes == jobs::kMaxQueueNameBytes);

Result<void> CheckTopicName(std::string_view topic) {
  if (jobs::IsName(topic, jobs::kMaxQueueNameBytes)) return {};
  return Refuse(Code::kNameInvalid,
                fmt::format("a topic's name is 1 to {} bytes of text without control characters",
                            jobs::kMaxQueueNameBytes));
}

void Locks::AddKey(std::string_view key) {
  Bytes scratch;
  doors::AddKeyScope(kDatabase, key, keys, scratch);
}

store::Scopes Locks::ToScopes() const {
  store::Scopes scopes = keys;
  lanes.AddTo(scopes);
  return scopes;
}

Error InOurWords(const Error& error) {
  const jobs::ReasonRow* const reason = jobs::FindReason(error);
  if (reason == nullptr) return error;
  const std::string_view text = jobs::RefusalText(error);
  switch (reason->code) {
    case ErrorCode::kInvalid:
      return Refuse(Code::kValidation, text);
    case ErrorCode::kNotFound:
      return Refuse(Code::kNotFound, text);
    case ErrorCode::kForbidden:
      return Refuse(Code::kDenied, text);
    case ErrorCode::kTooLarge:
      return Refuse(Code::kTooLarge, text);
    case ErrorCode::kTooMany:
      return Refuse(Code::kRateLimited, text);
    default:
      return Refuse(Code::kConflict, text);
  }
}

}  // namespace cairn::functions::codeq
