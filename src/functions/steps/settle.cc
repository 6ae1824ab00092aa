#include "functions/steps/settle.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "functions/activation/activations.h"
#include "functions/model/errors.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"
#include "functions/steps/events.h"

namespace cairn::functions {
namespace {

void Fail(StepRecord& record, std::string_view type, std::string message) {
  record.state = StepState::kFailed;
  record.error =
      FunctionError{.type = std::string(type), .message = std::move(message), .stack = {}};
  Truncate(*record.error);
}

class Search {
 public:
  Search(store::Transaction& transaction, std::string_view tenant, const History& history,
         std::vector<KeptEvent> events)
      : transaction_(transaction), tenant_(tenant), history_(history), events_(std::move(events)) {}

  Result<Settled> Run() {
    for (const auto& [position, record] : history_.steps) {
      if (record.state == StepState::kRetrying) {
        if (record.wake_ms.value_or(0) <= now_ms()) found_.retries.push_back(record);
      } else if (record.state == StepState::kWaiting) {
        CAIRN_RETURN_IF_ERROR(Look(record));
      }
    }
    std::ranges::stable_sort(found_.ended, {}, &StepRecord::ended_ms);
    uint32_t seq = history_.next_seq();
    for (StepRecord& record : found_.ended) record.seq = seq++;
    return std::move(found_);
  }

 private:
  int64_t now_ms() const { return transaction_.now().millis(); }

  Result<void> Look(StepRecord record) {
    switch (record.kind) {
      case StepKind::kStep:
        return {};
      case StepKind::kSleep:
        if (record.wake_ms.value_or(0) > now_ms()) return {};
        record.state = StepState::kDone;
        record.ended_ms = record.wake_ms.value_or(now_ms());
        break;
      case StepKind::kEvent:
        if (!TakeEvent(record)) return {};
        break;
      case StepKind::kInvoke: {
        CAIRN_ASSIGN_OR_RETURN(const bool ended, TakeChild(record));
        if (!ended) return {};
        break;
      }
    }
    found_.ended.push_back(std::move(record));
    return {};
  }

  bool TakeEvent(StepRecord& record) {
    const bool late = record.wake_ms && *record.wake_ms <= now_ms();
    const auto event = std::ranges::find(events_, record.name, &KeptEvent::name);
    // One that came after the time-out is not for this step, whenever it is looked at.
    if (event != events_.end() && (!late || event->sent_ms < *record.wake_ms)) {
      record.state = StepState::kDone;
      record.value = event->payload;
      record.ended_ms = std::max(event->sent_ms, record.started_ms);
      found_.events.push_back(event->number);
      events_.erase(event);
      return true;
    }
    if (!late) return false;
    Fail(record, "TimeoutError",
         fmt::format("the event \"{}\" did not come within {} ms", record.name,
                     *record.wake_ms - record.started_ms));
    record.ended_ms = *record.wake_ms;
    return true;
  }

  Result<bool> TakeChild(StepRecord& record) {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Activation> child,
                           LoadActivation(transaction_, tenant_, record.child));
    if (child && !IsTerminal(child->status)) return false;
    record.ended_ms = now_ms();
    if (!child) {
      Fail(record, "InvokeError",
           fmt::format("the activation {} of {} is not kept any more", record.child, record.name));
      return true;
    }
    record.ended_ms = child->end_ms.value_or(now_ms());
    if (child->result) {
      JsonWriter json(record.value);
      WriteFunctionResult(*child->result, "", json);
      record.state = StepState::kDone;
      const Result<void> fits = CheckRoom(record, 1, history_.bytes());
      if (fits.ok()) return true;
      record.value.clear();
      Fail(record, "InvokeError", std::string(RefusalText(fits.error())));
      return true;
    }
    const FunctionError error =
        child->error.value_or(FunctionError{"Error", "it did not say why", ""});
    Fail(record, error.type, fmt::format("{} has failed: {}", record.name, error.message));
    return true;
  }

  store::Transaction& transaction_;
  const std::string_view tenant_;
  const History& history_;
  std::vector<KeptEvent> events_;
  Settled found_;
};

}  // namespace

Result<Settled> LookForEnds(store::Transaction& transaction, std::string_view tenant,
                            std::string_view id, const History& history) {
  const bool waits = std::ranges::any_of(history.steps, [](const auto& one) {
    return one.second.state == StepState::kWaiting && one.second.kind == StepKind::kEvent;
  });
  std::vector<KeptEvent> events;
  if (waits) {
    CAIRN_ASSIGN_OR_RETURN(events, LoadEvents(transaction, tenant, id));
  }
  return Search(transaction, tenant, history, std::move(events)).Run();
}

Result<void> PutEnds(store::Transaction& transaction, std::string_view tenant, std::string_view id,
                     const Settled& settled, History& history) {
  if (settled.ended.empty()) return {};
  CAIRN_RETURN_IF_ERROR(PutSteps(transaction, tenant, id, settled.ended, {}));
  CAIRN_RETURN_IF_ERROR(RemoveEvents(transaction, tenant, id, settled.events));
  for (const StepRecord& record : settled.ended) history.steps[record.position] = record;
  return {};
}

}  // namespace cairn::functions
