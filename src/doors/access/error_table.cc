#include "doors/access/error_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "net/http/message.h"

namespace cairn::doors {
namespace {

constexpr std::array kRows = {
    ErrorRow{ErrorCode::kInvalid, "ERR", 400},
    ErrorRow{ErrorCode::kNotFound, "NOTFOUND", 404},
    ErrorRow{ErrorCode::kConflict, "CONFLICT", 409},
    ErrorRow{ErrorCode::kTooLarge, "TOOLARGE", 413},
    ErrorRow{ErrorCode::kTooMany, "TOOMANY", 429},
    ErrorRow{ErrorCode::kUnauthorized, "NOAUTH", 401},
    ErrorRow{ErrorCode::kForbidden, "NOPERM", 403},
    ErrorRow{ErrorCode::kUnavailable, "UNAVAILABLE", 503},
    ErrorRow{ErrorCode::kOutcomeUnknown, "UNKNOWN", 503},
    ErrorRow{ErrorCode::kCorruption, "CORRUPT", 500},
    ErrorRow{ErrorCode::kIo, "IOERR", 503},
    // Resolved before anyone is told; here so that no code is without a row.
    ErrorRow{ErrorCode::kWouldBlock, "UNAVAILABLE", 503},
    ErrorRow{ErrorCode::kInternal, "INTERNAL", 500},
};

}  // namespace

const ErrorRow& ErrorRowOf(ErrorCode code) {
  const auto* row = std::ranges::find(kRows, code, &ErrorRow::code);
  CAIRN_CHECK(row != kRows.end(), "error code {}", static_cast<int>(code));
  return *row;
}

std::string RespErrorText(const Error& error) {
  return fmt::format("{} {}", ErrorRowOf(error.code).resp_prefix, error.message);
}

std::string HttpErrorJson(const Error& error, std::string_view request_id) {
  return net::HttpErrorBody(ErrorCodeName(error.code), error.message, request_id);
}

}  // namespace cairn::doors
