#pragma once

#include <string_view>

// The bodies of the routes of control_routes.cc, as JSON schemas (doors/http/json_schema.h). Parts
// that several of them have are macros, because literals join at compile time.
namespace cairn::functions {

#define CAIRN_FN_FUNCTION                                                                        \
  R"({"type":"object","required":["tenant","namespace","name","runtime","entry","handler",)"     \
  R"("created_at_ms","deleted_at_ms","enabled"],"properties":{"tenant":{"type":"string"},)"      \
  R"("namespace":{"type":"string"},"name":{"type":"string"},"runtime":{"type":"string"},)"       \
  R"("entry":{"type":"string"},"handler":{"type":"string"},"created_at_ms":{"type":"integer"},)" \
  R"("deleted_at_ms":{"type":"integer","nullable":true},"enabled":{"type":"boolean"}}})"

#define CAIRN_FN_VERSION                                                               \
  R"({"type":"object","required":["version","sha256","config","published_at_ms"],)"    \
  R"("properties":{"version":{"type":"integer"},"sha256":{"type":"string"},"config":)" \
  R"({"type":"object","additionalProperties":true},"published_at_ms":{"type":"integer"}}})"

#define CAIRN_FN_WEIGHTS                                                                      \
  R"({"type":"array","maxItems":1,"items":{"type":"object","required":["version","weight"],)" \
  R"("properties":{"version":{"type":"integer","minimum":1},"weight":{"type":"integer",)"     \
  R"("minimum":1,"maximum":99,"description":"Of a hundred invocations."}}}})"

#define CAIRN_FN_ALIAS                                                                            \
  R"({"type":"object","required":["alias","version","updated_at_ms"],"properties":{"alias":)"     \
  R"({"type":"string"},"version":{"type":"integer"},"updated_at_ms":{"type":"integer"},)"         \
  R"("weights":)" CAIRN_FN_WEIGHTS R"(,"min_warm":{"type":"integer"},"history":{"type":"array",)" \
  R"("items":{"type":"object","required":["version","updated_at_ms"],"properties":{"version":)"   \
  R"({"type":"integer"},"weights":)" CAIRN_FN_WEIGHTS                                             \
  R"(,"updated_at_ms":{"type":"integer"}}}},"shift":{"type":"object","required":["id","from",)"   \
  R"("to","step_percent","interval_seconds","max_error_rate","step","started_at_ms",)"            \
  R"("next_step_at_ms"],"properties":{"id":{"type":"string"},"from":{"type":"integer"},"to":)"    \
  R"({"type":"integer"},"step_percent":{"type":"integer"},"interval_seconds":{"type":)"           \
  R"("integer"},"max_error_rate":{"type":"number"},"step":{"type":"integer"},"started_at_ms":)"   \
  R"({"type":"integer"},"next_step_at_ms":{"type":"integer"}}},"last_shift":{"type":"object",)"   \
  R"("required":["from","to","state","reason","ended_at_ms"],"properties":{"from":)"              \
  R"({"type":"integer"},"to":{"type":"integer"},"state":{"type":"string","enum":["completed",)"   \
  R"("rolled_back","cancelled"]},"reason":{"type":"string"},"ended_at_ms":)"                      \
  R"({"type":"integer"}}}}})"

#define CAIRN_FN_FILES                                                                    \
  R"({"type":"object","additionalProperties":{"type":"string"},"description":"Files by )" \
  R"(path, each in base64; function.js and manifest.json are needed."})"

#define CAIRN_FN_CONFIG                                                                      \
  R"({"type":"object","properties":{"timeout_ms":{"type":"integer","minimum":0,)"            \
  R"("maximum":900000},"memory_mb":{"type":"integer","minimum":0,"maximum":4096},)"          \
  R"("max_concurrency":{"type":"integer","minimum":0,"maximum":100},"isolation":)"           \
  R"({"type":"string","enum":["activation","version"]},"capabilities":{"type":"object",)"    \
  R"("additionalProperties":true},"authz":{"type":"object","additionalProperties":true},)"   \
  R"("max_retries":{"type":"integer","minimum":0,"maximum":10},"on_failure":)"               \
  R"({"type":"string"},"rate_limit":{"type":"integer","minimum":0},"env":{"type":"object",)" \
  R"("additionalProperties":{"type":"string"}},"secrets":{"type":"array","items":)"          \
  R"({"type":"string"}}},"description":"What is not named, or is 0, is the manifest's."})"

inline constexpr std::string_view kFunctionErrorSchema =
    R"({"type":"object","required":["error"],"properties":{"error":{"type":"object",)"
    R"("required":["code","message","request_id"],"properties":{"code":{"type":"string"},)"
    R"("message":{"type":"string"},"request_id":{"type":"string"}}}}})";

inline constexpr std::string_view kNewFunctionSchema =
    R"({"type":"object","required":["name"],"properties":{"name":{"type":"string"},"runtime":)"
    R"({"type":"string","enum":["cs-js"]},"entry":{"type":"string"},"handler":{"type":)"
    R"("string","enum":["default"]}}})";
inline constexpr std::string_view kFunctionSchema = CAIRN_FN_FUNCTION;
inline constexpr std::string_view kFunctionPageSchema =
    R"({"type":"object","required":["functions","cursor"],"properties":{"functions":)"
    R"({"type":"array","items":)" CAIRN_FN_FUNCTION
    R"(},"cursor":{"type":"string","nullable":true}}})";
inline constexpr std::string_view kDetailSchema =
    R"({"type":"object","required":["function","aliases","latest_version"],"properties":)"
    R"({"function":)" CAIRN_FN_FUNCTION R"(,"aliases":{"type":"array","items":)" CAIRN_FN_ALIAS
    R"(},"latest_version":{"nullable":true,"type":"object","additionalProperties":true}}})";
inline constexpr std::string_view kFunctionStatusSchema =
    R"({"type":"object","required":["status"],"properties":{"status":{"type":"string"}}})";

inline constexpr std::string_view kFilesSchema =
    R"({"type":"object","required":["files"],"properties":{"files":)" CAIRN_FN_FILES R"(}})";
inline constexpr std::string_view kDraftSchema =
    R"({"type":"object","required":["draft_id","sha256","size_bytes","expires_at_ms"],)"
    R"("properties":{"draft_id":{"type":"string"},"sha256":{"type":"string"},"size_bytes":)"
    R"({"type":"integer"},"expires_at_ms":{"type":"integer"}}})";
inline constexpr std::string_view kPublishSchema =
    R"({"type":"object","properties":{"draft_id":{"type":"string"},"files":)" CAIRN_FN_FILES
    R"(,"config":)" CAIRN_FN_CONFIG R"(,"alias":{"type":"string"}}})";
inline constexpr std::string_view kPublishedSchema =
    R"({"type":"object","required":["version","sha256","published_at_ms"],"properties":)"
    R"({"version":{"type":"integer"},"sha256":{"type":"string"},"published_at_ms":)"
    R"({"type":"integer"}}})";
inline constexpr std::string_view kVersionSchema = CAIRN_FN_VERSION;
inline constexpr std::string_view kVersionPageSchema =
    R"({"type":"object","required":["versions","cursor"],"properties":{"versions":)"
    R"({"type":"array","items":)" CAIRN_FN_VERSION
    R"(},"cursor":{"type":"string","nullable":true}}})";

inline constexpr std::string_view kAliasUpdateSchema =
    R"({"type":"object","required":["version"],"properties":{"version":{"type":"integer",)"
    R"("minimum":1},"weights":)" CAIRN_FN_WEIGHTS
    R"(,"min_warm":{"type":"integer","minimum":0,"maximum":64}}})";
inline constexpr std::string_view kAliasSchema = CAIRN_FN_ALIAS;
inline constexpr std::string_view kAliasesSchema =
    R"({"type":"object","required":["aliases"],"properties":{"aliases":{"type":"array",)"
    R"("items":)" CAIRN_FN_ALIAS R"(}}})";
inline constexpr std::string_view kShiftSchema =
    R"({"type":"object","required":["to","step_percent","interval_seconds",)"
    R"("max_error_rate"],"properties":{"to":{"type":"integer","minimum":1},"step_percent":)"
    R"({"type":"integer","minimum":1,"maximum":99},"interval_seconds":{"type":"integer",)"
    R"("minimum":1,"maximum":86400},"max_error_rate":{"type":"number","minimum":0,)"
    R"("maximum":1}}})";

#undef CAIRN_FN_FUNCTION
#undef CAIRN_FN_VERSION
#undef CAIRN_FN_WEIGHTS
#undef CAIRN_FN_ALIAS
#undef CAIRN_FN_FILES
#undef CAIRN_FN_CONFIG

}  // namespace cairn::functions
