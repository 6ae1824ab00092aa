#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn::doors {

// How one error code is told to clients of the two doors.
struct ErrorRow {
  ErrorCode code;
  std::string_view resp_prefix;  // the first word of a RESP error
  int http_status;
};

// The only place where codes become replies.
const ErrorRow& ErrorRowOf(ErrorCode code);

// "PREFIX message", what RespWriter::Error takes; one line.
std::string RespErrorText(const Error& error);

// {"error":{"code","message","request_id"}}
std::string HttpErrorJson(const Error& error, std::string_view request_id);

}  // namespace cairn::doors
