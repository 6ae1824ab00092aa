#pragma once

#include <string_view>

// The bodies that the routes of this layer take and give, as JSON schemas
// (doors/http/json_schema.h). Parts that several of them have are macros, because literals join at
// compile time.
namespace cairn::seats {

#define CAIRN_SEATS_COUNTS                                                            \
  R"({"type":"object","required":["available","reserved","sold","blocked","total"],)" \
  R"("properties":{"available":{"type":"integer"},"reserved":{"type":"integer"},)"    \
  R"("sold":{"type":"integer"},"blocked":{"type":"integer"},"total":{"type":"integer"}}})"

#define CAIRN_SEATS_BOOKING                                                                           \
  R"({"type":"object","required":["id","event_id","section","mode","status",)"                        \
  R"("quantity","seats","total_price","created_at","updated_at","expires_at"],)"                      \
  R"("properties":{"id":{"type":"string"},"event_id":{"type":"string"},"section":{"type":"string"},)" \
  R"("mode":{"type":"string","enum":["manual","best_available"]},"status":{"type":"string",)"         \
  R"("enum":["reserved","paid","cancelled","expired","refunded"]},"quantity":{"type":"integer"},)"    \
  R"("seats":{"type":"array","items":{"type":"string"}},"total_price":{"type":"integer"},)"           \
  R"("buyer":{"type":"string"},"created_at":{"type":"string"},"updated_at":{"type":"string"},)"       \
  R"("expires_at":{"type":"string"},"paid_at":{"type":"string"},"extended_by":{"type":"integer"},)"   \
  R"("error_message":{"type":"string"}}})"

inline constexpr std::string_view kCountsSchema =
    R"({"type":"object","required":["section_stats","event_stats"],"properties":{"section_stats":)" CAIRN_SEATS_COUNTS
    R"(,"event_stats":)" CAIRN_SEATS_COUNTS R"(}})";

inline constexpr std::string_view kBookingSchema = CAIRN_SEATS_BOOKING;

inline constexpr std::string_view kAnswerSchema =
    R"({"type":"object","required":["booking","section_stats","event_stats"],)"
    R"("properties":{"booking":)" CAIRN_SEATS_BOOKING R"(,"section_stats":)" CAIRN_SEATS_COUNTS
    R"(,"event_stats":)" CAIRN_SEATS_COUNTS R"(}})";

inline constexpr std::string_view kEventSchema =
    R"({"type":"object","required":["id","settings","stats","sections","sellout"],)"
    R"("properties":{"id":{"type":"string"},"name":{"type":"string","nullable":true},)"
    R"("status":{"type":"string","nullable":true},"created_at":{"type":"string",)"
    R"("nullable":true},"settings":{"type":"object","required":["max_per_booking",)"
    R"("max_per_buyer","hold_seconds","max_hold_seconds"],"properties":{"max_per_booking":{"type":"integer"},)"
    R"("max_per_buyer":{"type":"integer"},"hold_seconds":{"type":"integer"},"max_hold_seconds":{"type":"integer"}}},)"
    R"("stats":)" CAIRN_SEATS_COUNTS
    R"(,"sections":{"type":"object","additionalProperties":{"type":"object","required":["rows",)"
    R"("cols","price","stats"],"properties":{"rows":{"type":"integer"},"cols":{"type":"integer"},)"
    R"("price":{"type":"integer"},"stats":)" CAIRN_SEATS_COUNTS
    R"(}}},"sellout":{"type":"object","properties":{"first_ticket_reserved_at":{"type":"string"},)"
    R"("fully_reserved_at":{"type":"string"},"duration_seconds":{"type":"string"}}}}})";

inline constexpr std::string_view kEventsSchema =
    R"({"type":"object","required":["events","next"],"properties":{"events":{"type":"array",)"
    R"("items":{"type":"object","required":["id","name","stats"],"properties":{"id":{"type":"string"},)"
    R"("name":{"type":"string"},"stats":)" CAIRN_SEATS_COUNTS
    R"(}}},"next":{"type":"string","nullable":true}}})";

inline constexpr std::string_view kMapSchema =
    R"({"type":"object","required":["event_id","section","rows","cols","price",)"
    R"("stats","seats"],"properties":{"event_id":{"type":"string"},"section":{"type":"string"},)"
    R"("rows":{"type":"integer"},"cols":{"type":"integer"},"price":{"type":"integer"},)"
    R"("stats":)" CAIRN_SEATS_COUNTS R"(,"seats":{"type":"array","items":{"type":"string"}}}})";

inline constexpr std::string_view kVerifySchema =
    R"({"type":"object","required":["event_id","sound","sections","bookings",)"
    R"("seats","problems","more_problems"],"properties":{"event_id":{"type":"string"},)"
    R"("sound":{"type":"boolean"},"sections":{"type":"integer"},"bookings":{"type":"integer"},)"
    R"("seats":)" CAIRN_SEATS_COUNTS
    R"(,"problems":{"type":"array","items":{"type":"string"}},"more_problems":{"type":"integer"}}})";

inline constexpr std::string_view kRefusalSchema =
    R"({"type":"object","required":["error"],"properties":{"error":{"type":"object",)"
    R"("required":["code","message","request_id"],"properties":{"code":{"type":"string"},)"
    R"("message":{"type":"string"},"request_id":{"type":"string"},"seat":{"type":"string"}}}}})";

inline constexpr std::string_view kDefinitionSchema =
    R"({"type":"object","required":["id","sections"],"properties":{"id":{"type":"string",)"
    R"("description":"Letters, digits, _ . - up to 64."},"name":{"type":"string"},)"
    R"("sections":{"type":"array","items":{"type":"object","required":["name",)"
    R"("rows","cols","price"],"properties":{"name":{"type":"string","description":"Letters,)"
    R"( digits and underscores, up to 16."},"subsections":{"type":"integer","description":"How many rectangles NAME-1,)"
    R"( NAME-2 … of this shape; 1 unless given."},"rows":{"type":"integer"},"cols":{"type":"integer"},)"
    R"("price":{"type":"integer","description":"In minor units."}}}},"max_per_booking":{"type":"integer",)"
    R"("description":"4 unless given."},"max_per_buyer":{"type":"integer","description":"0: no limit."},)"
    R"("hold_seconds":{"type":"integer","description":"How long seats are held; 900 unless given."},)"
    R"("max_hold_seconds":{"type":"integer","description":"How long a hold may be at most,)"
    R"( extended or not; 7200 unless given."}}})";

inline constexpr std::string_view kReserveSchema =
    R"({"type":"object","required":["booking_id","section"],"properties":{"booking_id":{"type":"string",)"
    R"("description":"Chosen by the client; the same request with the same id is done once."},)"
    R"("buyer":{"type":"string"},"section":{"type":"string","description":"Such as A-1,)"
    R"( or any."},"mode":{"type":"string","enum":["manual","best_available"],)"
    R"("description":"manual if seats are given, unless said otherwise."},"seats":{"type":"array",)"
    R"("items":{"type":"string","example":"2-11"}},"quantity":{"type":"integer"},)"
    R"("hold_seconds":{"type":"integer"},"prefer":{"type":"string","enum":["front",)"
    R"("center","back"]},"avoid_orphans":{"type":"boolean","description":"Leave no single free seat where that can be helped."},)"
    R"("adjacent":{"type":"string","enum":["preferred","required"]},"min_price":{"type":"integer"},)"
    R"("max_price":{"type":"integer"}}})";

inline constexpr std::string_view kSeatsSchema =
    R"({"type":"object","required":["seats"],"properties":{"seats":{"type":"array",)"
    R"("minItems":1,"items":{"type":"string","example":"2-11"}}}})";

inline constexpr std::string_view kExtendSchema =
    R"({"type":"object","required":["seconds"],"properties":{"seconds":{"type":"integer"}}})";

inline constexpr std::string_view kRefundSchema =
    R"({"type":"object","properties":{"reason":{"type":"string"}}})";

#undef CAIRN_SEATS_COUNTS
#undef CAIRN_SEATS_BOOKING

}  // namespace cairn::seats
