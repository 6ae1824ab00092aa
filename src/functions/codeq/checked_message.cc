#include "functions/codeq/checked_message.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "functions/model/errors.h"
#include "jobs/model/json_check.h"
#include "jobs/model/json_members.h"

namespace cairn::functions::codeq {
namespace {

// A fault of the body, as one of the envelope.
Error OfBody(const Error& error) {
  if (!IsRefusal(error, Code::kValidation)) return error;
  return Refuse(Code::kValidation, fmt::format("body.{}", RefusalText(error)));
}

Result<void> CheckType(const Envelope& envelope, std::string_view topic, std::string_view type) {
  if (envelope.type == type) return {};
  return Refuse(Code::kValidation,
                fmt::format("type must be \"{}\" in messages of {}", type, topic));
}

Result<void> CheckRequest(const Envelope& envelope, CheckedMessage& message) {
  CAIRN_RETURN_IF_ERROR(CheckType(envelope, kInvokeTopic, kRequestType));
  Result<InvocationRequest> request = ParseInvocationRequest(envelope.body);
  if (!request.ok()) return OfBody(request.error());
  if (request->tenant != envelope.tenant) {
    return Refuse(Code::kValidation, "body.tenant must be the tenant of the envelope");
  }
  message.activation_id = std::move(request->activation_id);
  message.request_id = std::move(request->request_id);
  return {};
}

Result<void> CheckResult(Envelope& envelope, CheckedMessage& message) {
  CAIRN_RETURN_IF_ERROR(CheckType(envelope, kResultsTopic, kResultType));
  Result<InvocationResult> result = ParseInvocationResult(envelope.body);
  if (!result.ok()) return OfBody(result.error());
  message.activation_id = std::move(result->activation_id);
  message.request_id = std::move(result->request_id);
  message.body = std::move(envelope.body);
  return {};
}

// The last member of this name, which is the one that parsers take.
std::string_view MemberIn(std::string_view object, std::string_view name) {
  std::string_view found;
  for (const jobs::RawMember& member :
       jobs::MembersOf(object).value_or(std::vector<jobs::RawMember>())) {
    if (member.name == name) found = member.json;
  }
  return found;
}

}  // namespace

Result<CheckedMessage> CheckMessage(std::string_view topic, std::string_view text) {
  Result<Envelope> envelope = ParseEnvelope(text);
  if (!envelope.ok()) return envelope.error();
  CheckedMessage message{.id = envelope->id,
                         .tenant = envelope->tenant,
                         .type = envelope->type,
                         .ts_ms = envelope->ts_ms};
  if (topic == kInvokeTopic) CAIRN_RETURN_IF_ERROR(CheckRequest(*envelope, message));
  if (topic == kResultsTopic) CAIRN_RETURN_IF_ERROR(CheckResult(*envelope, message));
  return message;
}

bool LooksLikeEnvelope(std::string_view text) {
  return jobs::StringOf(MemberIn(text, "schema")).value_or("").starts_with("cs.envelope.");
}

std::string Wrap(Envelope envelope, std::string_view payload) {
  const bool is_object = jobs::IsJson(payload, jobs::JsonKind::kObject);
  envelope.body = is_object ? std::string(payload) : fmt::format(R"({{"payload":{}}})", payload);
  return EnvelopeText(envelope);
}

std::string_view PayloadOf(std::string_view text) { return MemberIn(text, "body"); }

}  // namespace cairn::functions::codeq
