#include "functions/http/error_form.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "doors/access/why_not.h"
#include "functions/model/errors.h"

namespace cairn::functions {
namespace {

// The error codes that the server has besides refusals, by their names.
constexpr std::array kGeneral = {
    ErrorCode::kNotFound,    ErrorCode::kConflict,   ErrorCode::kTooLarge,
    ErrorCode::kTooMany,     ErrorCode::kForbidden,  ErrorCode::kUnauthorized,
    ErrorCode::kUnavailable, ErrorCode::kCorruption, ErrorCode::kIo,
    ErrorCode::kWouldBlock,  ErrorCode::kInternal,   ErrorCode::kOutcomeUnknown,
};

// Of a request that was refused for its key.
std::optional<Code> CodeOfKey(std::string_view message) {
  if (message == doors::kMissingKey) return Code::kMissingToken;
  if (message == doors::kWrongKey) return Code::kInvalidToken;
  if (message == doors::kExpiredKey) return Code::kExpiredToken;
  return std::nullopt;
}

std::string Body(const doors::ToldError& told) {
  if (told.is_refusal) {
    return doors::StandardErrorBody(told);
  }
  if (const std::optional<Code> why = CodeOfKey(told.message)) {
    return ErrorBody(Refuse(*why, told.message), told.request_id);
  }
  ErrorCode code = ErrorCode::kInvalid;  // "invalid", and "not_json"
  for (const ErrorCode general : kGeneral) {
    if (ErrorCodeName(general) == told.code) code = general;
  }
  return ErrorBody(Error{code, std::string(told.message)}, told.request_id);
}

std::optional<cairn::Refusal> Read(const Error& error) {
  const std::string_view text = RefusalText(error);
  if (text.size() == error.message.size()) return std::nullopt;
  const CodeRow& row = CodeRowOf(error);
  return cairn::Refusal{
      .reason = row.name, .http_status = row.http_status, .subject = {}, .text = text};
}

}  // namespace

void SetErrorForms(doors::RouteTable& table) {
  for (const std::string_view prefix : {"/v1/tenants", "/v1/web", "/v1/codeq"}) {
    table.SetErrorForm({.prefix = std::string(prefix), .body = Body, .read_refusal = Read});
  }
}

}  // namespace cairn::functions
