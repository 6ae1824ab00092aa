#include "functions/steps/views.h"

#include <fmt/format.h>

#include <vector>

#include "functions/activation/views.h"
#include "functions/model/json_writer.h"
#include "functions/steps/events.h"
#include "functions/steps/history.h"

namespace cairn::functions {
namespace {

void WriteSuspension(const Activation& activation, JsonWriter& json) {
  if (!activation.durable || !activation.durable->suspended) return json.Null("suspended");
  const Suspension& suspended = *activation.durable->suspended;
  json.BeginObject("suspended");
  json.Integer("since_ms", suspended.since_ms);
  json.Integer("until_ms", suspended.until_ms);
  json.Raw("waits_for", suspended.waits_for);
  json.EndObject();
}

}  // namespace

Result<std::string> StepsText(store::Transaction& transaction, const doors::NamePatterns* names,
                              std::string_view tenant, std::string_view id, const StepsPage& page) {
  CAIRN_ASSIGN_OR_RETURN(const Activation activation,
                         FindActivation(transaction, names, tenant, id));
  CAIRN_ASSIGN_OR_RETURN(const History history, LoadHistory(transaction, tenant, id));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<KeptEvent> events, LoadEvents(transaction, tenant, id));
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("activation_id", activation.activation_id);
  json.Text("status", StatusName(activation.status));
  json.BeginArray("steps");
  auto at = history.steps.lower_bound(page.from);
  for (size_t shown = 0; at != history.steps.end() && shown < page.limit; ++at, ++shown) {
    WriteStepRecord(at->second, json);
  }
  json.EndArray();
  if (at == history.steps.end()) {
    json.Null("cursor");
  } else {
    json.Text("cursor", fmt::to_string(at->first));
  }
  json.BeginArray("events");
  for (const KeptEvent& event : events) {
    json.BeginObject();
    json.Integer("number", event.number);
    json.Text("name", event.name);
    json.Raw("payload", event.payload);
    json.Integer("sent_ms", event.sent_ms);
    json.EndObject();
  }
  json.EndArray();
  WriteSuspension(activation, json);
  json.EndObject();
  return text;
}

}  // namespace cairn::functions
