#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/trigger/triggers.h"

// The JSON that both doors take and give of triggers. Objects are closed, as in control/requests.h.
namespace cairn::functions {

// A trigger of what is given, and of the usual where nothing is.
TriggerConfig NewTriggerOf(const TriggerUpdate& given);

struct NewTrigger {
  TriggerId id;
  TriggerConfig trigger;
  StartAt start = StartAt::kNewest;
};
// {"name","source":{"type","queues" or "events" or "keys","types","database"},
//  "ref":{"function","alias" or
//  "version"},"batch_size","window_ms","concurrency","enabled","start"}
Result<NewTrigger> ParseNewTrigger(const NamespaceName& ns, std::string_view text);
// The same without "name" and "start"; all of them may be missing.
Result<TriggerUpdate> ParseTriggerUpdate(std::string_view text);

// The record, and behind its members "state":{…}, "position":{…} and, where it does nothing,
// "paused":"why".
std::string DetailText(const TriggerDetail& detail);
// {"triggers":[…],"cursor":"…" or null}
std::string PageText(const TriggerPage& page);

}  // namespace cairn::functions
