#include "functions/model/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/json_text.h"

namespace cairn::functions {
namespace {

using enum ErrorCode;

constexpr std::array kRows = {
    CodeRow{Code::kMissingToken, "CS_AUTHN_MISSING_TOKEN", kUnauthorized, 401,
            "the request has no key"},
    CodeRow{Code::kInvalidToken, "CS_AUTHN_INVALID_TOKEN", kUnauthorized, 401,
            "nobody has this key"},
    CodeRow{Code::kExpiredToken, "CS_AUTHN_EXPIRED_TOKEN", kUnauthorized, 401,
            "the key has expired"},
    CodeRow{Code::kDenied, "CS_AUTHZ_DENIED", kForbidden, 403, "the key does not allow this"},
    CodeRow{Code::kRoleMissing, "CS_AUTHZ_ROLE_MISSING", kForbidden, 403,
            "the version may be invoked by other roles only"},
    CodeRow{Code::kResourceMismatch, "CS_AUTHZ_RESOURCE_MISMATCH", kForbidden, 403,
            "the key is for other tenants, namespaces or functions"},
    CodeRow{Code::kValidation, "CS_VALIDATION_FAILED", kInvalid, 400,
            "a member is missing, unknown or out of its bounds"},
    CodeRow{Code::kManifestInvalid, "CS_VALIDATION_MANIFEST_INVALID", kInvalid, 400,
            "manifest.json is not a cs.function.script.v1"},
    CodeRow{Code::kBundleTooLarge, "CS_VALIDATION_BUNDLE_TOO_LARGE", kTooLarge, 413,
            "the bundle is larger than 16 MiB"},
    CodeRow{Code::kNameInvalid, "CS_VALIDATION_NAME_INVALID", kInvalid, 400,
            "a name does not follow its grammar"},
    CodeRow{Code::kNotFound, "CS_NOT_FOUND", kNotFound, 404, "there is nothing of this name"},
    CodeRow{Code::kGone, "CS_GONE", kNotFound, 410, "it existed but has expired"},
    CodeRow{Code::kConflict, "CS_CONFLICT", kConflict, 409,
            "its state does not allow this request"},
    CodeRow{Code::kDisabled, "CS_FUNCTION_DISABLED", kConflict, 409,
            "the function is disabled: enable it first"},
    CodeRow{Code::kTooLarge, "CS_TOO_LARGE", kTooLarge, 413, "past a limit on size or number"},
    CodeRow{Code::kRateLimited, "CS_RATE_LIMITED", kTooMany, 429,
            "more requests per second than the tenant or the function may have"},
    CodeRow{Code::kConcurrencyLimited, "CS_CONCURRENCY_LIMITED", kTooMany, 429,
            "as many activations of the function run as its max_concurrency allows"},
    CodeRow{Code::kStoreUnavailable, "CS_KVROCKS_UNAVAILABLE", kUnavailable, 503,
            "the store takes no requests now"},
    CodeRow{Code::kStoreWriteFailed, "CS_KVROCKS_WRITE_FAILED", kOutcomeUnknown, 500,
            "the write may or may not have happened"},
    CodeRow{Code::kStoreReadFailed, "CS_KVROCKS_READ_FAILED", kCorruption, 500,
            "a stored record cannot be read"},
    CodeRow{Code::kCasFailed, "CS_KVROCKS_CAS_FAILED", kConflict, 409,
            "somebody else has changed the record's status first"},
    CodeRow{Code::kPublishFailed, "CS_CODEQ_PUBLISH_FAILED", kUnavailable, 503,
            "the message was not published: the store takes none now"},
    CodeRow{Code::kSubscribeFailed, "CS_CODEQ_SUBSCRIBE_FAILED", kUnavailable, 503,
            "messages cannot be consumed now, or a message was given back too often"},
    CodeRow{Code::kCorrelationTimeout, "CS_CODEQ_CORRELATION_TIMEOUT", kUnavailable, 504,
            "no result has arrived in time; the activation may still end"},
    CodeRow{Code::kRuntimeTimeout, "CS_RUNTIME_TIMEOUT", kUnavailable, 504,
            "the function took longer than its timeout"},
    CodeRow{Code::kMemoryLimit, "CS_RUNTIME_MEMORY_LIMIT", kInternal, 500,
            "the function used more memory than it may"},
    CodeRow{Code::kException, "CS_RUNTIME_EXCEPTION", kInternal, 500,
            "the function threw, or returned a value that is not a valid result"},
    CodeRow{Code::kCapabilityDenied, "CS_RUNTIME_CAPABILITY_DENIED", kForbidden, 500,
            "the function asked for what its manifest does not allow"},
    CodeRow{Code::kCadencePollFailed, "CS_CADENCE_POLL_FAILED", kUnavailable, 500,
            "the Cadence server gave no task"},
    CodeRow{Code::kCadenceRespondFailed, "CS_CADENCE_RESPOND_FAILED", kUnavailable, 500,
            "the Cadence server did not take a result"},
    CodeRow{Code::kCadenceHeartbeatFailed, "CS_CADENCE_HEARTBEAT_FAILED", kUnavailable, 500,
            "the Cadence server did not take a heartbeat"},
    CodeRow{Code::kSchedulerStateWriteFailed, "CS_SCHEDULER_STATE_WRITE_FAILED", kUnavailable, 500,
            "a schedule's state was not written"},
    CodeRow{Code::kSecretsUnavailable, "CS_SECRETS_UNAVAILABLE", kConflict, 409,
            "the server has no key for the environment of functions"},
    CodeRow{Code::kInternal, "CS_INTERNAL", kInternal, 500, "a fault of the server"},
};

// What a general error is told as.
Code CodeOfGeneral(ErrorCode code) {
  switch (code) {
    case kInvalid:
      return Code::kValidation;
    case kNotFound:
      return Code::kNotFound;
    case kConflict:
      return Code::kConflict;
    case kTooLarge:
      return Code::kTooLarge;
    case kTooMany:
      return Code::kRateLimited;
    case kUnauthorized:
      return Code::kInvalidToken;
    case kForbidden:
      return Code::kDenied;
    case kUnavailable:
    case kIo:
      return Code::kStoreUnavailable;
    case kOutcomeUnknown:
      return Code::kStoreWriteFailed;
    case kCorruption:
      return Code::kStoreReadFailed;
    case kWouldBlock:
    case kInternal:
      break;
  }
  return Code::kInternal;
}

std::string_view FirstWord(std::string_view text) { return text.substr(0, text.find(' ')); }

// Null for an error that is no refusal.
const CodeRow* FindRow(const Error& error) {
  const auto* row = std::ranges::find(kRows, FirstWord(error.message), &CodeRow::name);
  return row == kRows.end() || row->error != error.code ? nullptr : row;
}

}  // namespace

const CodeRow& CodeRowOf(Code code) {
  const auto* row = std::ranges::find(kRows, code, &CodeRow::code);
  CAIRN_CHECK(row != kRows.end(), "code {}", static_cast<int>(code));
  return *row;
}

const CodeRow& CodeRowOf(const Error& error) {
  const CodeRow* row = FindRow(error);
  return row != nullptr ? *row : CodeRowOf(CodeOfGeneral(error.code));
}

bool IsRefusal(const Error& error) { return FindRow(error) != nullptr; }

bool IsRefusal(const Error& error, Code code) {
  const CodeRow* row = FindRow(error);
  return row != nullptr && row->code == code;
}

Error Refuse(Code code, std::string_view text) {
  const CodeRow& row = CodeRowOf(code);
  return {row.error, fmt::format("{} {}", row.name, text)};
}

std::string_view RefusalText(const Error& error) {
  const std::string_view message = error.message;
  if (FindRow(error) == nullptr) return message;
  return message.substr(std::min(FirstWord(message).size() + 1, message.size()));
}

std::string ErrorBody(const Error& error, std::string_view request_id) {
  std::string body = R"({"error":{"code":")";
  body += CodeRowOf(error).name;
  body += R"(","message":)";
  AppendJsonString(RefusalText(error), body);
  body += R"(,"request_id":)";
  AppendJsonString(request_id, body);
  body += "}}";
  return body;
}

}  // namespace cairn::functions
