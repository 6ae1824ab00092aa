#include "functions/http/cadence_routes.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "functions/cadence/bindings.h"
#include "functions/cadence/requests.h"
#include "functions/http/control_schemas.h"
#include "functions/http/control_support.h"

namespace cairn::functions {
namespace {

using doors::RouteCall;

// --- Bodies -------------------------------------------------------------------------------------

#define CAIRN_FN_BINDING_MEMBERS                                                                 \
  R"("domain":{"type":"string"},"tasklist":{"type":"string"},"worker_id":{"type":"string",)"     \
  R"("description":"Who Cadence shows as the worker."},"activity_map":{"type":"object",)"        \
  R"("description":"By the activity's type.","additionalProperties":{"type":"object",)"          \
  R"("required":["function"],"properties":{"function":{"type":"string"},"alias":)"               \
  R"({"type":"string"},"version":{"type":"integer","minimum":1}}}},"pollers":{"type":"object",)" \
  R"("properties":{"activity":{"type":"integer","minimum":1,"maximum":256,"description":)"       \
  R"("Polls at once of each server; 1 unless given."}}},"limits":{"type":"object",)"             \
  R"("properties":{"max_inflight_tasks":{"type":"integer","minimum":1,"maximum":100000,)"        \
  R"("description":"Tasks and polls at once of each server; 256 unless given."}}},)"             \
  R"("enabled":{"type":"boolean"})"

#define CAIRN_FN_BINDING                                                                         \
  R"({"type":"object","required":["name","domain","tasklist","worker_id","activity_map",)"       \
  R"("pollers","limits","enabled","tenant","namespace"],"properties":{"name":)"                  \
  R"({"type":"string"},)" CAIRN_FN_BINDING_MEMBERS R"(,"tenant":{"type":"string"},"namespace":)" \
  R"({"type":"string"}}})"

constexpr std::string_view kNewBindingSchema =
    R"({"type":"object","required":["name","domain","tasklist","worker_id","activity_map"],)"
    R"("properties":{"name":{"type":"string"},)" CAIRN_FN_BINDING_MEMBERS "}}";
constexpr std::string_view kBindingUpdateSchema =
    R"({"type":"object","properties":{)" CAIRN_FN_BINDING_MEMBERS "}}";
constexpr std::string_view kBindingSchema = CAIRN_FN_BINDING;
constexpr std::string_view kBindingPageSchema =
    R"({"type":"object","required":["workers","cursor"],"properties":{"workers":)"
    R"({"type":"array","items":)" CAIRN_FN_BINDING
    R"(},"cursor":{"type":"string","nullable":true}}})";

#undef CAIRN_FN_BINDING_MEMBERS
#undef CAIRN_FN_BINDING

// --- Routes -------------------------------------------------------------------------------------

BindingName BindingOf(const RouteCall& call) {
  return {NamespaceOf(call), call.PathValue("worker")};
}

ChangeOptions OptionsFor(const BindingName& name, int status = 200) {
  ChangeOptions options{.status = status};
  AddBindingScopes(name, options.scopes);
  return options;
}

RouteReply PostBinding(SharedControl parts, const RouteCall& call) {
  Result<NewBinding> created = ParseNewBinding(NamespaceOf(call), call.request.body);
  if (!created.ok()) return Refused(created.error(), call);
  call.audit_detail = created->name.name;
  ChangeOptions options = OptionsFor(created->name, 201);
  return Apply(std::move(parts), call, std::move(options),
               [created = *std::move(created)](Context& context) {
                 return Encoded(CreateBinding(context, created.name, created.binding));
               });
}

RouteReply GetBindings(SharedControl parts, const RouteCall& call) {
  const Result<size_t> limit = LimitOf(call);
  if (!limit.ok()) return Refused(limit.error(), call);
  Page page{.after = std::string(call.request.Query("cursor").value_or("")), .limit = *limit};
  return Answer(
      std::move(parts), call, Where::kPool,
      [ns = NamespaceOf(call), page = std::move(page)](Context& context) -> Result<std::string> {
        CAIRN_ASSIGN_OR_RETURN(const BindingPage listed, ListBindings(context, ns, page));
        return PageText(listed);
      });
}

RouteReply GetOneBinding(SharedControl parts, const RouteCall& call) {
  return Answer(std::move(parts), call, Where::kLoop, [name = BindingOf(call)](Context& context) {
    return Encoded(GetBinding(context, name));
  });
}

RouteReply Update(SharedControl parts, const RouteCall& call, BindingUpdate update) {
  const BindingName name = BindingOf(call);
  return Apply(std::move(parts), call, OptionsFor(name),
               [name, update = std::move(update)](Context& context) {
                 return Encoded(UpdateBinding(context, name, update));
               });
}

RouteReply PutBinding(SharedControl parts, const RouteCall& call) {
  Result<BindingUpdate> update = ParseBindingUpdate(call.request.body);
  if (!update.ok()) return Refused(update.error(), call);
  return Update(std::move(parts), call, *std::move(update));
}

RouteReply PostEnableBinding(SharedControl parts, const RouteCall& call) {
  return Update(std::move(parts), call, {.enabled = true});
}

RouteReply PostDisableBinding(SharedControl parts, const RouteCall& call) {
  return Update(std::move(parts), call, {.enabled = false});
}

RouteReply RemoveBinding(SharedControl parts, const RouteCall& call) {
  const BindingName name = BindingOf(call);
  return Apply(std::move(parts), call, OptionsFor(name), [name](Context& context) {
    return StatusText(DeleteBinding(context, name), "deleted");
  });
}

#define CAIRN_BINDINGS_PATH "/v1/tenants/{tenant}/namespaces/{namespace}/cadence/workers"

constexpr std::string_view kBindingsPath = CAIRN_BINDINGS_PATH;
constexpr std::string_view kBindingPath = CAIRN_BINDINGS_PATH "/{worker}";
constexpr std::string_view kEnableBindingPath = CAIRN_BINDINGS_PATH "/{worker}/enable";
constexpr std::string_view kDisableBindingPath = CAIRN_BINDINGS_PATH "/{worker}/disable";

#undef CAIRN_BINDINGS_PATH

}  // namespace

void AddCadenceRoutes(const ControlParts& parts, doors::RouteTable& table) {
  constexpr std::string_view kReadPermission = "functions.read";
  ControlRows rows(std::make_shared<const ControlParts>(parts), table);
  rows.Add({.method = "POST",
            .path = kBindingsPath,
            .permission = kCadencePermission,
            .summary = "Creates a worker binding, which runs activities of Cadence as functions.",
            .request_schema = kNewBindingSchema,
            .responses = {{201, "The binding.", kBindingSchema}}},
           PostBinding);
  rows.Add({.method = "GET",
            .path = kBindingsPath,
            .permission = kReadPermission,
            .summary = "The worker bindings of a namespace, by name.",
            .query = {kLimitParameter, kCursorParameter},
            .responses = {{200, "A page of them.", kBindingPageSchema}}},
           GetBindings);
  rows.Add({.method = "GET",
            .path = kBindingPath,
            .permission = kReadPermission,
            .summary = "One worker binding.",
            .responses = {{200, "The binding.", kBindingSchema}}},
           GetOneBinding);
  rows.Add({.method = "PUT",
            .path = kBindingPath,
            .permission = kCadencePermission,
            .summary = "Changes what is given; the rest stays.",
            .request_schema = kBindingUpdateSchema,
            .responses = {{200, "The binding.", kBindingSchema}}},
           PutBinding);
  rows.Add({.method = "DELETE",
            .path = kBindingPath,
            .permission = kCadencePermission,
            .summary = "Deletes a worker binding; tasks that it was given are still answered.",
            .responses = {{200, "It is deleted.", kFunctionStatusSchema}}},
           RemoveBinding);
  rows.Add({.method = "POST",
            .path = kEnableBindingPath,
            .permission = kCadencePermission,
            .summary = "Polls for a disabled worker binding again.",
            .responses = {{200, "The binding.", kBindingSchema}}},
           PostEnableBinding);
  rows.Add({.method = "POST",
            .path = kDisableBindingPath,
            .permission = kCadencePermission,
            .summary = "Polls no more until it is enabled; tasks that it has are still answered.",
            .responses = {{200, "The binding.", kBindingSchema}}},
           PostDisableBinding);
}

}  // namespace cairn::functions
