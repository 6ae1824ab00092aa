#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/refusal.h"
#include "base/result.h"

// How errors are told to clients of HTTP. Each API (the routes below one path) declares it once,
// with RouteTable::SetErrorForm; its handlers return an Error and never write one themselves.
namespace cairn::doors {

// An error on its way to a client.
struct ToldError {
  // The reason's name of a refusal ("SEAT_TAKEN"); else as ErrorCodeName has it ("not_found"), or
  // "not_json" for a body that is not JSON.
  std::string_view code;
  bool is_refusal = false;
  std::string_view message;
  std::string_view request_id;
  std::string_view subject = {};  // what a refusal names: a seat
};

inline constexpr std::string_view kStandardErrorSchema = R"({
  "type": "object", "required": ["error"], "additionalProperties": false, "properties": {
    "error": {"type": "object", "required": ["code", "message", "request_id"],
              "additionalProperties": false, "properties": {
      "code": {"type": "string"}, "message": {"type": "string"}, "request_id": {"type": "string"}
    }}
  }})";

// {"error":{"code":"seat_taken","message":…,"request_id":…}}; the subject, if there is one, is one
// more member of that name.
std::string StandardErrorBody(const ToldError& error, std::string_view subject_name = "subject");

struct ErrorForm {
  std::string prefix;  // of the paths, such as "/api/v1"; the longest that fits counts
  std::function<std::string(const ToldError& error)> body = [](const ToldError& error) {
    return StandardErrorBody(error);
  };
  std::string_view schema = kStandardErrorSchema;  // JSON schema of the body
  // Takes the refusals of the API's layer apart (RefusalTable::Read). Without it every error has
  // the status and the code of its ErrorCode (doors/access/error_table.h).
  std::function<std::optional<Refusal>(const Error& error)> read_refusal = {};
};

}  // namespace cairn::doors
