#pragma once

#include <string_view>

// What the routes take and give, as JSON schemas (doors/http/json_schema.h). Parts that several of
// them have are macros, because literals join at compile time.
namespace cairn::view {

#define CAIRN_VIEW_FILTER                                                                             \
  R"("queue":{"type":"string","nullable":true},"state":{"nullable":true,"oneOf":[{"type":"string"},)" \
  R"({"type":"array","items":{"type":"string"}}]},"priority":{"nullable":true,)"                      \
  R"("oneOf":[{"type":"string"},{"type":"integer"}]},"tags":{"type":"object","nullable":true,)"       \
  R"("additionalProperties":true},"payload_contains":{"type":"string","nullable":true},)"             \
  R"("payload_jq":{"type":"string","nullable":true,"example":".user.plan == \"pro\""},)"              \
  R"("created_after":{"type":"string","nullable":true},"created_before":{"type":"string",)"           \
  R"("nullable":true},"scheduled_after":{"type":"string","nullable":true},)"                          \
  R"("scheduled_before":{"type":"string","nullable":true},"started_after":{"type":"string",)"         \
  R"("nullable":true},"started_before":{"type":"string","nullable":true},)"                           \
  R"("completed_after":{"type":"string","nullable":true},"completed_before":{"type":"string",)"       \
  R"("nullable":true},"failed_after":{"type":"string","nullable":true},)"                             \
  R"("failed_before":{"type":"string","nullable":true},"expire_after":{"type":"string",)"             \
  R"("nullable":true},"expire_before":{"type":"string","nullable":true},)"                            \
  R"("attempt_min":{"type":"integer","nullable":true},"attempt_max":{"type":"integer",)"              \
  R"("nullable":true},"unique_key":{"type":"string","nullable":true},)"                               \
  R"("batch_id":{"type":"string","nullable":true},"worker_id":{"type":"string","nullable":true},)"    \
  R"("parent_id":{"type":"string","nullable":true},"chain_id":{"type":"string","nullable":true},)"    \
  R"("has_errors":{"type":"boolean","nullable":true},)"                                               \
  R"("error_contains":{"type":"string","nullable":true},)"                                            \
  R"("job_id_prefix":{"type":"string","nullable":true})"

inline constexpr std::string_view kSearchSchema =
    R"({"type":"object","properties":{)" CAIRN_VIEW_FILTER
    R"(,"sort":{"type":"string","nullable":true},"order":{"type":"string","nullable":true},)"
    R"("limit":{"type":"integer","nullable":true},"cursor":{"type":"string","nullable":true}}})";

inline constexpr std::string_view kSearchResultSchema =
    R"({"type":"object","required":["jobs","total","has_more","duration_ms"],"properties":{)"
    R"("jobs":{"type":"array","items":{"type":"object","required":["id","queue","state","payload",)"
    R"("priority","attempt","max_retries","created_at"],"properties":{"id":{"type":"string"},)"
    R"("queue":{"type":"string"},"state":{"type":"string"},"payload":{"additionalProperties":true,"nullable":true},)"
    R"("priority":{"type":"integer"},"attempt":{"type":"integer"},"max_retries":{"type":"integer"},)"
    R"("unique_key":{"type":"string"},"batch_id":{"type":"string"},"worker_id":{"type":"string"},)"
    R"("tags":{"type":"object","additionalProperties":true},"parent_id":{"type":"string"},)"
    R"("chain_id":{"type":"string"},"chain_step":{"type":"integer"},"scheduled_at":{"type":"string"},)"
    R"("created_at":{"type":"string"},"started_at":{"type":"string"},"completed_at":{"type":"string"},)"
    R"("failed_at":{"type":"string"}}}},"total":{"type":"integer"},"cursor":{"type":"string"},)"
    R"("has_more":{"type":"boolean"},"duration_ms":{"type":"integer"}}})";

inline constexpr std::string_view kFullTextSchema =
    R"({"type":"object","required":["q","results"],"properties":{"q":{"type":"string"},)"
    R"("results":{"type":"array","items":{"type":"object","required":["id","queue","state","payload",)"
    R"("created_at"],"properties":{"id":{"type":"string"},"queue":{"type":"string"},)"
    R"("state":{"type":"string"},"payload":{"type":"string"},"tags":{"type":"string"},)"
    R"("created_at":{"type":"string"}}}}}})";

inline constexpr std::string_view kBulkSchema =
    R"({"type":"object","required":["action"],"properties":{"action":{"type":"string",)"
    R"("enum":["retry","delete","cancel","move","requeue","change_priority","hold","approve","reject"]},)"
    R"("job_ids":{"type":"array","items":{"type":"string"}},"filter":{"type":"object","properties":{)" CAIRN_VIEW_FILTER
    R"(}},"move_to_queue":{"type":"string"},"priority":{"type":"string"},"async":{"type":"boolean"}}})";

inline constexpr std::string_view kBulkDoneSchema =
    R"({"type":"object","required":["affected","errors","duration_ms"],"properties":{)"
    R"("affected":{"type":"integer"},"errors":{"type":"integer"},"duration_ms":{"type":"integer"}}})";

inline constexpr std::string_view kBulkStartedSchema =
    R"({"type":"object","required":["bulk_operation_id","status","estimated_total","progress_url"],)"
    R"("properties":{"bulk_operation_id":{"type":"string"},"status":{"type":"string"},)"
    R"("estimated_total":{"type":"integer"},"progress_url":{"type":"string"}}})";

#define CAIRN_VIEW_BULK_TASK                                                                        \
  R"({"type":"object","required":["id","status","action","total","processed","affected","errors",)" \
  R"("created_at","updated_at"],"properties":{"id":{"type":"string"},"status":{"type":"string",)"   \
  R"("enum":["queued","running","completed","failed","cancelled"]},"action":{"type":"string"},)"    \
  R"("total":{"type":"integer"},"processed":{"type":"integer"},"affected":{"type":"integer"},)"     \
  R"("errors":{"type":"integer"},"error":{"type":"string"},"created_at":{"type":"string"},)"        \
  R"("updated_at":{"type":"string"},"finished_at":{"type":"string"}}})"
inline constexpr std::string_view kBulkTaskSchema = CAIRN_VIEW_BULK_TASK;

inline constexpr std::string_view kBulkListSchema =
    R"({"type":"object","required":["operations"],"properties":{"operations":{"type":"array",)"
    R"("items":)" CAIRN_VIEW_BULK_TASK R"(}}})";

inline constexpr std::string_view kRebuiltSchema =
    R"({"type":"object","required":["status","rebuilt","duration_ms"],"properties":{)"
    R"("status":{"type":"string"},"rebuilt":{"type":"integer"},"duration_ms":{"type":"integer"}}})";

}  // namespace cairn::view
