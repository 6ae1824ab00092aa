#include "functions/model/context.h"

#include "functions/model/json_writer.h"

namespace cairn::functions {

std::string ContextText(const Activation& activation, const Principal& principal,
                        int64_t deadline_ms) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("activation_id", activation.activation_id);
  json.Text("request_id", activation.request_id);
  json.Integer("deadline_ms", deadline_ms);
  json.Text("tenant", activation.tenant);
  json.Text("namespace", activation.ns);
  json.Text("function", activation.ref.function);
  json.Integer("version", activation.resolved_version.value_or(0));
  json.BeginObject("ref");
  if (!activation.ref.alias.empty()) json.Text("alias", activation.ref.alias);
  json.Integer("version", activation.resolved_version.value_or(0));
  json.EndObject();
  json.BeginObject("trigger");
  json.Text("type", TriggerName(activation.trigger.type));
  json.Raw("source", activation.trigger.source);
  json.EndObject();
  json.BeginObject("principal");
  json.Text("sub", principal.sub);
  json.Texts("roles", principal.roles);
  json.EndObject();
  if (activation.durable) json.Switch("recorded_steps", true);
  json.EndObject();
  return text;
}

}  // namespace cairn::functions
