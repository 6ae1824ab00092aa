#include "functions/http/trigger_routes.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "functions/http/control_schemas.h"
#include "functions/http/control_support.h"
#include "functions/trigger/requests.h"
#include "functions/trigger/triggers.h"

namespace cairn::functions {
namespace {

using doors::RouteCall;

// --- Bodies -------------------------------------------------------------------------------------

#define CAIRN_FN_TRIGGER_MEMBERS                                                                  \
  R"("source":{"type":"object","required":["type"],"properties":{"type":{"type":"string",)"       \
  R"("enum":["queue","jobs","seats","keys"]},"queues":{"type":"array","items":)"                  \
  R"({"type":"string"},"description":"Of queue: names; of jobs: patterns."},"events":)"           \
  R"({"type":"array","items":{"type":"string"},"description":"Of seats: patterns."},"keys":)"     \
  R"({"type":"array","items":{"type":"string"},"description":"Of keys: patterns."},"types":)"     \
  R"({"type":"array","items":{"type":"string"},"description":"Only these events; all unless )"    \
  R"(given."},"database":{"type":"integer","description":"Of seats and keys."}}},)"               \
  R"("ref":{"type":"object","required":["function"],"properties":{"function":{"type":"string"},)" \
  R"("alias":{"type":"string"},"version":{"type":"integer","minimum":1}}},)"                      \
  R"("batch_size":{"type":"integer","minimum":1,"maximum":100,"description":)"                    \
  R"("At most so many jobs or events in one activation; 10 unless given."},"window_ms":)"         \
  R"({"type":"integer","minimum":0,"maximum":300000,"description":"How long fewer wait for )"     \
  R"(more; 0 unless given."},"concurrency":{"type":"integer","minimum":1,"maximum":100,)"         \
  R"("description":"Activations at once; 1 unless given."},"enabled":{"type":"boolean"})"

#define CAIRN_FN_TRIGGER                                                                         \
  R"({"type":"object","required":["name","source","ref","batch_size","window_ms",)"              \
  R"("concurrency","enabled","created_at_ms","tenant","namespace","state","position"],)"         \
  R"("properties":{"name":{"type":"string"},)" CAIRN_FN_TRIGGER_MEMBERS                          \
  R"(,"created_at_ms":{"type":"integer"},"tenant":{"type":"string"},"namespace":)"               \
  R"({"type":"string"},"state":{"type":"object","required":["cursor","batches","delivered",)"    \
  R"("failed"],"properties":{"cursor":{"type":"integer"},"inflight":{"type":"array","items":)"   \
  R"({"type":"object","required":["activation_id","message","since_ms"],"properties":)"          \
  R"({"activation_id":{"type":"string"},"message":{"type":"string"},"since_ms":)"                \
  R"({"type":"integer"}}}},"batches":{"type":"integer"},"delivered":{"type":"integer"},)"        \
  R"("failed":{"type":"integer"},"gaps":{"type":"integer","description":)"                       \
  R"("How often events were removed before they were read."},"missed_to":{"type":"integer"},)"   \
  R"("last_activation_id":{"type":"string"},"last_batch_ms":{"type":"integer"},"last_error":)"   \
  R"({"type":"string"},"last_error_ms":{"type":"integer"},"read_ms":{"type":"integer"}}},)"      \
  R"("position":{"type":"object","required":["behind","lag_ms"],"properties":{"cursor":)"        \
  R"({"type":"integer"},"newest":{"type":"integer"},"behind":{"type":"boolean"},"lag_ms":)"      \
  R"({"type":"integer","description":"Since when the first that it has not begun with waits."})" \
  R"(}},"paused":{"type":"string","description":"Why it does nothing although it is enabled."}}})"

constexpr std::string_view kNewTriggerSchema =
    R"({"type":"object","required":["name","source","ref"],"properties":{"name":)"
    R"({"type":"string"},)" CAIRN_FN_TRIGGER_MEMBERS
    R"(,"start":{"type":"string","enum":["newest","oldest"],"description":"Where an event )"
    R"(trigger begins in its log; newest unless given."}}})";
constexpr std::string_view kTriggerUpdateSchema =
    R"({"type":"object","properties":{)" CAIRN_FN_TRIGGER_MEMBERS "}}";
constexpr std::string_view kTriggerSchema = CAIRN_FN_TRIGGER;
constexpr std::string_view kTriggerPageSchema =
    R"({"type":"object","required":["triggers","cursor"],"properties":{"triggers":)"
    R"({"type":"array","items":)" CAIRN_FN_TRIGGER
    R"(},"cursor":{"type":"string","nullable":true}}})";

#undef CAIRN_FN_TRIGGER_MEMBERS
#undef CAIRN_FN_TRIGGER

// --- Routes -------------------------------------------------------------------------------------

TriggerId TriggerOf(const RouteCall& call) {
  return {NamespaceOf(call), call.PathValue("trigger")};
}

TriggerPlace PlaceOf(const SharedControl& parts) { return {parts->seats_prefix}; }

ChangeOptions OptionsFor(const TriggerId& id, int status = 200) {
  ChangeOptions options{.status = status};
  AddTriggerScopes(id, options.scopes);
  return options;
}

Result<std::string> TextOf(const Result<TriggerDetail>& detail) {
  if (!detail.ok()) return detail.error();
  return DetailText(*detail);
}

RouteReply PostTrigger(SharedControl parts, const RouteCall& call) {
  Result<NewTrigger> created = ParseNewTrigger(NamespaceOf(call), call.request.body);
  if (!created.ok()) return Refused(created.error(), call);
  call.audit_detail = created->id.name;
  ChangeOptions options = OptionsFor(created->id, 201);
  const TriggerPlace place = PlaceOf(parts);
  return Apply(
      std::move(parts), call, std::move(options),
      [created = *std::move(created), place](Context& context) {
        return TextOf(CreateTrigger(context, place, created.id, created.trigger, created.start));
      });
}

RouteReply GetTriggers(SharedControl parts, const RouteCall& call) {
  const Result<size_t> limit = LimitOf(call);
  if (!limit.ok()) return Refused(limit.error(), call);
  Page page{.after = std::string(call.request.Query("cursor").value_or("")), .limit = *limit};
  const TriggerPlace place = PlaceOf(parts);
  return Answer(std::move(parts), call, Where::kPool,
                [ns = NamespaceOf(call), place,
                 page = std::move(page)](Context& context) -> Result<std::string> {
                  CAIRN_ASSIGN_OR_RETURN(const TriggerPage listed,
                                         ListTriggers(context, place, ns, page));
                  return PageText(listed);
                });
}

RouteReply GetOneTrigger(SharedControl parts, const RouteCall& call) {
  const TriggerPlace place = PlaceOf(parts);
  return Answer(std::move(parts), call, Where::kPool,
                [id = TriggerOf(call), place](Context& context) {
                  return TextOf(GetTrigger(context, place, id));
                });
}

RouteReply Update(SharedControl parts, const RouteCall& call, TriggerUpdate update) {
  const TriggerId id = TriggerOf(call);
  const TriggerPlace place = PlaceOf(parts);
  return Apply(std::move(parts), call, OptionsFor(id),
               [id, place, update = std::move(update)](Context& context) {
                 return TextOf(UpdateTrigger(context, place, id, update));
               });
}

RouteReply PutTrigger(SharedControl parts, const RouteCall& call) {
  Result<TriggerUpdate> update = ParseTriggerUpdate(call.request.body);
  if (!update.ok()) return Refused(update.error(), call);
  return Update(std::move(parts), call, *std::move(update));
}

RouteReply PostEnableTrigger(SharedControl parts, const RouteCall& call) {
  return Update(std::move(parts), call, {.enabled = true});
}

RouteReply PostDisableTrigger(SharedControl parts, const RouteCall& call) {
  return Update(std::move(parts), call, {.enabled = false});
}

RouteReply RemoveTrigger(SharedControl parts, const RouteCall& call) {
  const TriggerId id = TriggerOf(call);
  return Apply(std::move(parts), call, OptionsFor(id), [id](Context& context) {
    return StatusText(DeleteTrigger(context, id), "deleted");
  });
}

#define CAIRN_TRIGGERS_PATH "/v1/tenants/{tenant}/namespaces/{namespace}/triggers"

constexpr std::string_view kTriggersPath = CAIRN_TRIGGERS_PATH;
constexpr std::string_view kTriggerPath = CAIRN_TRIGGERS_PATH "/{trigger}";
constexpr std::string_view kEnableTriggerPath = CAIRN_TRIGGERS_PATH "/{trigger}/enable";
constexpr std::string_view kDisableTriggerPath = CAIRN_TRIGGERS_PATH "/{trigger}/disable";

#undef CAIRN_TRIGGERS_PATH

}  // namespace

void AddTriggerRoutes(const ControlParts& parts, doors::RouteTable& table) {
  constexpr std::string_view kReadPermission = "functions.read";
  ControlRows rows(std::make_shared<const ControlParts>(parts), table);
  rows.Add({.method = "POST",
            .path = kTriggersPath,
            .permission = kTriggerPermission,
            .summary = "Creates a trigger, which invokes a function with what has happened.",
            .request_schema = kNewTriggerSchema,
            .responses = {{201, "The trigger.", kTriggerSchema}}},
           PostTrigger);
  rows.Add({.method = "GET",
            .path = kTriggersPath,
            .permission = kReadPermission,
            .summary = "The triggers of a namespace, by name.",
            .query = {kLimitParameter, kCursorParameter},
            .responses = {{200, "A page of them.", kTriggerPageSchema}}},
           GetTriggers);
  rows.Add({.method = "GET",
            .path = kTriggerPath,
            .permission = kReadPermission,
            .summary = "One trigger, how far it is, and why it waits.",
            .responses = {{200, "The trigger.", kTriggerSchema}}},
           GetOneTrigger);
  rows.Add({.method = "PUT",
            .path = kTriggerPath,
            .permission = kTriggerPermission,
            .summary = "Changes what is given; the rest stays.",
            .request_schema = kTriggerUpdateSchema,
            .responses = {{200, "The trigger.", kTriggerSchema}}},
           PutTrigger);
  rows.Add({.method = "DELETE",
            .path = kTriggerPath,
            .permission = kTriggerPermission,
            .summary = "Deletes a trigger; activations of its batches go on.",
            .responses = {{200, "It is deleted.", kFunctionStatusSchema}}},
           RemoveTrigger);
  rows.Add({.method = "POST",
            .path = kEnableTriggerPath,
            .permission = kTriggerPermission,
            .summary = "Lets a disabled trigger go on from where it was.",
            .responses = {{200, "The trigger.", kTriggerSchema}}},
           PostEnableTrigger);
  rows.Add({.method = "POST",
            .path = kDisableTriggerPath,
            .permission = kTriggerPermission,
            .summary = "Lets the trigger begin no batch until it is enabled.",
            .responses = {{200, "The trigger.", kTriggerSchema}}},
           PostDisableTrigger);
}

}  // namespace cairn::functions
