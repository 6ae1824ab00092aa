#pragma once

#include <string_view>

// The bodies that the routes of this layer take and give, as JSON schemas
// (doors/http/json_schema.h). Keys and values of entries are bytes, in base64. Parts that several
// of them have are macros, because literals join at compile time.
namespace cairn::actors {

#define CAIRN_ACTORS_ACTOR                                                                  \
  R"({"type":"object","required":["actor_id","namespace","name","key","created_at_ms",)"    \
  R"("generation","revision","entries","bytes"],"properties":{)"                            \
  R"("actor_id":{"type":"string"},"namespace":{"type":"string"},"name":{"type":"string"},)" \
  R"("key":{"type":"array","items":{"type":"string"}},"created_at_ms":{"type":"integer"},)" \
  R"("generation":{"type":"integer","description":"Grows with each start."},)"              \
  R"("revision":{"type":"integer","description":"Grows with each write."},)"                \
  R"("entries":{"type":"integer"},"bytes":{"type":"integer",)"                              \
  R"("description":"Of keys and values; what the quota bounds."}}})"

#define CAIRN_ACTORS_ENTRY                                                                   \
  R"({"type":"object","required":["key","value","revision","updated_at_ms"],"properties":{)" \
  R"("key":{"type":"string","format":"byte"},"value":{"type":"string","format":"byte"},)"    \
  R"("revision":{"type":"integer"},"updated_at_ms":{"type":"integer"}}})"

#define CAIRN_ACTORS_BASE64 R"({"type":"string","format":"byte"})"

inline constexpr std::string_view kErrorSchema =
    R"({"type":"object","required":["error"],"properties":{"error":{"type":"object",)"
    R"("required":["group","code","message","fields","request_id"],"properties":{)"
    R"("group":{"type":"string","enum":["actor","server"]},"code":{"type":"string"},)"
    R"("message":{"type":"string"},"fields":{"type":"object",)"
    R"("additionalProperties":{"type":"string"}},"request_id":{"type":"string"}}}}})";

inline constexpr std::string_view kActorSchema = CAIRN_ACTORS_ACTOR;

inline constexpr std::string_view kMadeActorSchema =
    R"({"type":"object","required":["actor","created"],"properties":{"actor":)" CAIRN_ACTORS_ACTOR
    R"(,"created":{"type":"boolean"}}})";

inline constexpr std::string_view kActorsSchema =
    R"({"type":"object","required":["actors","next"],"properties":{"actors":{"type":"array",)"
    R"("items":)" CAIRN_ACTORS_ACTOR R"(},"next":{"type":"string","nullable":true}}})";

inline constexpr std::string_view kCreateSchema =
    R"({"type":"object","required":["namespace","name","key"],"properties":{)"
    R"("namespace":{"type":"string"},"name":{"type":"string"},"key":{"type":"array",)"
    R"("items":{"type":"string"}},"input":{"type":"string","format":"byte","nullable":true}}})";

inline constexpr std::string_view kInputSchema =
    R"({"type":"object","required":["input"],"properties":{)"
    R"("input":{"type":"string","format":"byte","nullable":true}}})";

inline constexpr std::string_view kGenerationSchema =
    R"({"type":"object","required":["generation"],"properties":{"generation":{"type":"integer"}}})";

inline constexpr std::string_view kDoneSchema =
    R"({"type":"object","required":["destroyed"],"properties":{"destroyed":{"type":"boolean"}}})";

inline constexpr std::string_view kKeysSchema =
    R"({"type":"object","required":["keys"],"properties":{"keys":{"type":"array",)"
    R"("items":)" CAIRN_ACTORS_BASE64 R"(}}})";

inline constexpr std::string_view kPutSchema =
    R"({"type":"object","required":["entries"],"properties":{"entries":{"type":"array",)"
    R"("items":{"type":"object","required":["key","value"],"properties":{)"
    R"("key":)" CAIRN_ACTORS_BASE64 R"(,"value":)" CAIRN_ACTORS_BASE64 R"(}}}}})";

inline constexpr std::string_view kRangeSchema =
    R"({"type":"object","required":["begin","end"],"properties":{)"
    R"("begin":)" CAIRN_ACTORS_BASE64 R"(,"end":)" CAIRN_ACTORS_BASE64 R"(}})";

inline constexpr std::string_view kBatchSchema =
    R"({"type":"object","required":["changes"],"properties":{)"
    R"("idempotency_id":{"type":"string","minLength":1},)"
    R"("conditions":{"type":"array","items":{"type":"object","required":["key","revision"],)"
    R"("properties":{"key":)" CAIRN_ACTORS_BASE64
    R"(,"revision":{"type":"integer","minimum":0,"description":"0: it is absent."}}}},)"
    R"("changes":{"type":"array","items":{"type":"object","required":["op"],"properties":{)"
    R"("op":{"type":"string","enum":["put","delete","delete_range","drop"]},)"
    R"("key":)" CAIRN_ACTORS_BASE64 R"(,"value":)" CAIRN_ACTORS_BASE64
    R"(,"begin":)" CAIRN_ACTORS_BASE64 R"(,"end":)" CAIRN_ACTORS_BASE64 R"(}}}}})";

inline constexpr std::string_view kBatchAnswerSchema =
    R"({"type":"object","required":["revision","repeated"],"properties":{)"
    R"("revision":{"type":"integer"},"repeated":{"type":"boolean"}}})";

inline constexpr std::string_view kEntrySchema = CAIRN_ACTORS_ENTRY;

inline constexpr std::string_view kFoundSchema =
    R"({"type":"object","required":["entries"],"properties":{"entries":{"type":"array",)"
    R"("description":"One for each key, null for one that is not there.",)"
    R"("items":{"type":"object","nullable":true,"required":["key","value","revision",)"
    R"("updated_at_ms"],"properties":{"key":)" CAIRN_ACTORS_BASE64
    R"(,"value":)" CAIRN_ACTORS_BASE64
    R"(,"revision":{"type":"integer"},"updated_at_ms":{"type":"integer"}}}}}})";

inline constexpr std::string_view kPageSchema =
    R"({"type":"object","required":["entries","next"],"properties":{"entries":{"type":"array",)"
    R"("items":)" CAIRN_ACTORS_ENTRY R"(},"next":{"type":"string","format":"byte","nullable":true,)"
    R"("description":"What `after` is for the next page; null: this is the last."}}})";

inline constexpr std::string_view kLimitsSchema =
    R"({"type":"object","additionalProperties":{"type":"integer"}})";

#undef CAIRN_ACTORS_ACTOR
#undef CAIRN_ACTORS_ENTRY
#undef CAIRN_ACTORS_BASE64

}  // namespace cairn::actors
