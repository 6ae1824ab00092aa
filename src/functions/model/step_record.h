#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "functions/model/json_writer.h"
#include "functions/model/message.h"

// What is kept of one step of an activation (keys.h: cs:steps:T:ID).
namespace cairn::functions {

enum class StepKind : uint8_t { kStep, kSleep, kEvent, kInvoke };
std::string_view StepKindName(StepKind kind);  // "step", "sleep", "event", "invoke"
std::optional<StepKind> ParseStepKind(std::string_view name);

//   waiting ─→ done, failed       of a sleep, an event, an invocation
//   retrying ─→ done, failed      of a step that has failed and is tried again
enum class StepState : uint8_t { kWaiting, kRetrying, kDone, kFailed };
std::string_view StepStateName(StepState state);
std::optional<StepState> ParseStepState(std::string_view name);

// {"position","seq","kind","name","state","attempts","value","error":{"type","message","stack"},
//  "wake_ms","child","started_ms","ended_ms","duration_ms"}; what says nothing is left out.
struct StepRecord {
  uint32_t position = 0;  // in the order in which the function has asked for them
  // In the order in which they have ended; nullopt while they have not.
  std::optional<uint32_t> seq = {};
  StepKind kind = StepKind::kStep;
  std::string name = {};  // of the step, the event or the function; a sleep has none
  StepState state = StepState::kWaiting;
  int64_t attempts = 0;
  std::string value = {};  // JSON; empty: none
  std::optional<FunctionError> error = {};
  std::optional<int64_t> wake_ms = {};  // when it ends, times out, or is tried again
  std::string child = {};               // the activation that was invoked
  int64_t started_ms = 0;
  int64_t ended_ms = 0;
  int64_t duration_ms = 0;  // of the last attempt
  friend bool operator==(const StepRecord&, const StepRecord&) = default;

  bool ended() const { return state >= StepState::kDone; }
};
std::string Encode(const StepRecord& record);
Result<StepRecord> DecodeStepRecord(std::string_view text);
void WriteStepRecord(const StepRecord& record, JsonWriter& json);

// Refuses (CS_VALIDATION_FAILED) what cannot be the name of a step or an event: 1 to
// kMaxStepNameBytes of text without control characters. `what` begins the refusal.
Result<void> CheckStepName(std::string_view what, std::string_view name);

}  // namespace cairn::functions
