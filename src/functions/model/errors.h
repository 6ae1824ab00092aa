#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

// Why a request of the functions API was refused, in words that a program can compare. A refusal is
// an Error whose message begins with the code's name: that word is the first of a RESP error and
// the `code` of an HTTP answer.
//
//   CS_NOT_FOUND there is no function "reconcile"
//       →  404 {"error":{"code":"CS_NOT_FOUND","message":"there is no…","request_id":"req_…"}}
//       →  -CS_NOT_FOUND there is no function "reconcile"
namespace cairn::functions {

enum class Code : uint8_t {
  kMissingToken,
  kInvalidToken,
  kExpiredToken,
  kDenied,
  kRoleMissing,
  kResourceMismatch,
  kValidation,
  kManifestInvalid,
  kBundleTooLarge,
  kNameInvalid,
  kNotFound,
  kGone,
  kConflict,
  kDisabled,
  kTooLarge,
  kRateLimited,
  kConcurrencyLimited,
  kStoreUnavailable,
  kStoreWriteFailed,
  kStoreReadFailed,
  kCasFailed,
  kPublishFailed,
  kSubscribeFailed,
  kCorrelationTimeout,
  kRuntimeTimeout,
  kMemoryLimit,
  kException,
  kCapabilityDenied,
  kCadencePollFailed,
  kCadenceRespondFailed,
  kCadenceHeartbeatFailed,
  kSchedulerStateWriteFailed,
  kSecretsUnavailable,
  kInternal,
};

struct CodeRow {
  Code code;
  std::string_view name;  // "CS_NOT_FOUND"
  ErrorCode error;        // what the rest of the server takes it for
  int http_status;
  std::string_view meaning;
};

const CodeRow& CodeRowOf(Code code);
// The row of any error: that of a refusal, or the one that says the same as a general error code.
const CodeRow& CodeRowOf(const Error& error);
// Whether the error is a refusal, and one with this code: any other error is the store's.
bool IsRefusal(const Error& error);
bool IsRefusal(const Error& error, Code code);

Error Refuse(Code code, std::string_view text);
// The message without the code's name.
std::string_view RefusalText(const Error& error);

// {"error":{"code":…,"message":…,"request_id":…}}
std::string ErrorBody(const Error& error, std::string_view request_id);

}  // namespace cairn::functions
