#include "functions/http/schedule_routes.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "functions/http/control_schemas.h"
#include "functions/http/control_support.h"
#include "functions/schedule/requests.h"
#include "functions/schedule/schedules.h"

namespace cairn::functions {
namespace {

using doors::RouteCall;

// --- Bodies -------------------------------------------------------------------------------------

#define CAIRN_FN_TIMES                                                                            \
  R"("every_seconds":{"type":"integer","minimum":1,"maximum":86400,"description":)"               \
  R"("The first tick comes at once."},"cron":{"type":"string","description":"Instead of )"        \
  R"(every_seconds: five fields, six with seconds first, or @daily and the like."},)"             \
  R"("time_zone":{"type":"string","description":"Of cron; an IANA name, UTC unless given."},)"    \
  R"("overlap_policy":{"type":"string","enum":["skip","queue","parallel"],"description":)"        \
  R"("While the activation of the tick before has not ended; skip unless given."},)"              \
  R"("ref":{"type":"object","required":["function"],"properties":{"function":{"type":"string"},)" \
  R"("alias":{"type":"string"},"version":{"type":"integer","minimum":1}}},)"                      \
  R"("payload":{"description":"The event; {} unless given."},"enabled":{"type":"boolean"})"

#define CAIRN_FN_SCHEDULE                                                                      \
  R"({"type":"object","required":["name","overlap_policy","ref","payload","enabled",)"         \
  R"("created_at_ms","tenant","namespace","state","next_ticks_ms"],"properties":{"name":)"     \
  R"({"type":"string"},)" CAIRN_FN_TIMES R"(,"created_at_ms":{"type":"integer"},"tenant":)"    \
  R"({"type":"string"},"namespace":{"type":"string"},"state":{"type":"object","required":)"    \
  R"(["next_tick_ms","tick_seq"],"properties":{"next_tick_ms":{"type":"integer"},"tick_seq":)" \
  R"({"type":"integer"},"last_tick_ms":{"type":"integer"},"last_activation_id":)"              \
  R"({"type":"string"},"skipped":{"type":"integer","description":"Ticks that were left out, )" \
  R"(because of activations that had not ended."},"failed":{"type":"integer","description":)"  \
  R"("Ticks whose activation was refused."},"last_error":{"type":"string"},"last_error_ms":)"  \
  R"({"type":"integer"},"waiting":{"type":"array","items":{"type":"string"}},"message":)"      \
  R"({"type":"string"}}},"next_ticks_ms":{"type":"array","items":{"type":"integer"}}}})"

constexpr std::string_view kNewScheduleSchema =
    R"({"type":"object","required":["name","ref"],"properties":{"name":{"type":"string"},)" CAIRN_FN_TIMES
    "}}";
constexpr std::string_view kScheduleUpdateSchema =
    R"({"type":"object","properties":{)" CAIRN_FN_TIMES "}}";
constexpr std::string_view kScheduleSchema = CAIRN_FN_SCHEDULE;
constexpr std::string_view kSchedulePageSchema =
    R"({"type":"object","required":["schedules","cursor"],"properties":{"schedules":)"
    R"({"type":"array","items":)" CAIRN_FN_SCHEDULE
    R"(},"cursor":{"type":"string","nullable":true}}})";

#undef CAIRN_FN_TIMES
#undef CAIRN_FN_SCHEDULE

// --- Routes -------------------------------------------------------------------------------------

ScheduleName ScheduleOf(const RouteCall& call) {
  return {NamespaceOf(call), call.PathValue("schedule")};
}

ChangeOptions OptionsFor(const ScheduleName& name, int status = 200) {
  ChangeOptions options{.status = status};
  AddScheduleScopes(name, options.scopes);
  return options;
}

Result<std::string> TextOf(const Result<ScheduleDetail>& detail) {
  if (!detail.ok()) return detail.error();
  return DetailText(*detail);
}

RouteReply PostSchedule(SharedControl parts, const RouteCall& call) {
  Result<NewSchedule> created = ParseNewSchedule(NamespaceOf(call), call.request.body);
  if (!created.ok()) return Refused(created.error(), call);
  call.audit_detail = created->name.name;
  ChangeOptions options = OptionsFor(created->name, 201);
  return Apply(std::move(parts), call, std::move(options),
               [created = *std::move(created)](Context& context) {
                 return TextOf(CreateSchedule(context, created.name, created.schedule));
               });
}

RouteReply GetSchedules(SharedControl parts, const RouteCall& call) {
  const Result<size_t> limit = LimitOf(call);
  if (!limit.ok()) return Refused(limit.error(), call);
  Page page{.after = std::string(call.request.Query("cursor").value_or("")), .limit = *limit};
  return Answer(
      std::move(parts), call, Where::kPool,
      [ns = NamespaceOf(call), page = std::move(page)](Context& context) -> Result<std::string> {
        CAIRN_ASSIGN_OR_RETURN(const SchedulePage listed, ListSchedules(context, ns, page));
        return PageText(listed);
      });
}

RouteReply GetOneSchedule(SharedControl parts, const RouteCall& call) {
  return Answer(std::move(parts), call, Where::kLoop, [name = ScheduleOf(call)](Context& context) {
    return TextOf(GetSchedule(context, name));
  });
}

RouteReply Update(SharedControl parts, const RouteCall& call, ScheduleUpdate update) {
  const ScheduleName name = ScheduleOf(call);
  return Apply(std::move(parts), call, OptionsFor(name),
               [name, update = std::move(update)](Context& context) {
                 return TextOf(UpdateSchedule(context, name, update));
               });
}

RouteReply PutSchedule(SharedControl parts, const RouteCall& call) {
  Result<ScheduleUpdate> update = ParseScheduleUpdate(call.request.body);
  if (!update.ok()) return Refused(update.error(), call);
  return Update(std::move(parts), call, *std::move(update));
}

RouteReply PostEnableSchedule(SharedControl parts, const RouteCall& call) {
  return Update(std::move(parts), call, {.enabled = true});
}

RouteReply PostDisableSchedule(SharedControl parts, const RouteCall& call) {
  return Update(std::move(parts), call, {.enabled = false});
}

RouteReply RemoveSchedule(SharedControl parts, const RouteCall& call) {
  const ScheduleName name = ScheduleOf(call);
  return Apply(std::move(parts), call, OptionsFor(name), [name](Context& context) {
    return StatusText(DeleteSchedule(context, name), "deleted");
  });
}

#define CAIRN_SCHEDULES_PATH "/v1/tenants/{tenant}/namespaces/{namespace}/schedules"

constexpr std::string_view kSchedulesPath = CAIRN_SCHEDULES_PATH;
constexpr std::string_view kSchedulePath = CAIRN_SCHEDULES_PATH "/{schedule}";
constexpr std::string_view kEnableSchedulePath = CAIRN_SCHEDULES_PATH "/{schedule}/enable";
constexpr std::string_view kDisableSchedulePath = CAIRN_SCHEDULES_PATH "/{schedule}/disable";

#undef CAIRN_SCHEDULES_PATH

}  // namespace

void AddScheduleRoutes(const ControlParts& parts, doors::RouteTable& table) {
  constexpr std::string_view kReadPermission = "functions.read";
  ControlRows rows(std::make_shared<const ControlParts>(parts), table);
  rows.Add({.method = "POST",
            .path = kSchedulesPath,
            .permission = kSchedulePermission,
            .summary = "Creates a schedule, which invokes a function again and again.",
            .request_schema = kNewScheduleSchema,
            .responses = {{201, "The schedule.", kScheduleSchema}}},
           PostSchedule);
  rows.Add({.method = "GET",
            .path = kSchedulesPath,
            .permission = kReadPermission,
            .summary = "The schedules of a namespace, by name.",
            .query = {kLimitParameter, kCursorParameter},
            .responses = {{200, "A page of them.", kSchedulePageSchema}}},
           GetSchedules);
  rows.Add({.method = "GET",
            .path = kSchedulePath,
            .permission = kReadPermission,
            .summary = "One schedule, how far it is, and its next ticks.",
            .responses = {{200, "The schedule.", kScheduleSchema}}},
           GetOneSchedule);
  rows.Add({.method = "PUT",
            .path = kSchedulePath,
            .permission = kSchedulePermission,
            .summary = "Updates the given settings; the others are unchanged.",
            .request_schema = kScheduleUpdateSchema,
            .responses = {{200, "The schedule.", kScheduleSchema}}},
           PutSchedule);
  rows.Add({.method = "DELETE",
            .path = kSchedulePath,
            .permission = kSchedulePermission,
            .summary = "Deletes a schedule; activations of its ticks go on.",
            .responses = {{200, "It is deleted.", kFunctionStatusSchema}}},
           RemoveSchedule);
  rows.Add({.method = "POST",
            .path = kEnableSchedulePath,
            .permission = kSchedulePermission,
            .summary = "Lets a disabled schedule go on with its next tick from now.",
            .responses = {{200, "The schedule.", kScheduleSchema}}},
           PostEnableSchedule);
  rows.Add({.method = "POST",
            .path = kDisableSchedulePath,
            .permission = kSchedulePermission,
            .summary = "Disables the schedule: it does not fire until it is enabled.",
            .responses = {{200, "The schedule.", kScheduleSchema}}},
           PostDisableSchedule);
}

}  // namespace cairn::functions
