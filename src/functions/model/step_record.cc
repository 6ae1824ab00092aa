#include "functions/model/step_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

constexpr std::array<std::string_view, 4> kKinds = {"step", "sleep", "event", "invoke"};
constexpr std::array<std::string_view, 4> kStates = {"waiting", "retrying", "done", "failed"};
constexpr int64_t kAnyInteger = 9'000'000'000'000'000;
constexpr size_t kAnyLength = kMaxRequestBytes;

template <typename Value>
std::optional<Value> Parse(const std::array<std::string_view, 4>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

StepRecord Read(ObjectReader& object) {
  StepRecord record{.position =
                        static_cast<uint32_t>(object.Integer("position", 0, kMaxSteps - 1))};
  if (const auto seq = object.OptionalInteger("seq", 0, kMaxSteps)) {
    record.seq = static_cast<uint32_t>(*seq);
  }
  const std::optional<StepKind> kind = ParseStepKind(object.Text("kind", {1, kAnyLength}));
  if (!kind) object.Fail("kind", "is none that this server knows");
  const std::optional<StepState> state = ParseStepState(object.Text("state", {1, kAnyLength}));
  if (!state) object.Fail("state", "is none that this server knows");
  record.kind = kind.value_or(StepKind::kStep);
  record.state = state.value_or(StepState::kFailed);
  record.name = object.OptionalText("name", {0, kAnyLength}).value_or("");
  record.attempts = object.OptionalInteger("attempts", 0, kAnyInteger).value_or(0);
  record.value = object.Raw("value");
  if (auto error = object.OptionalObject("error")) {
    record.error = ReadFunctionError(*std::move(error));
  }
  record.wake_ms = object.OptionalInteger("wake_ms", 0, kAnyInteger);
  record.child = object.OptionalText("child", {0, kAnyLength}).value_or("");
  record.started_ms = object.OptionalInteger("started_ms", 0, kAnyInteger).value_or(0);
  record.ended_ms = object.OptionalInteger("ended_ms", 0, kAnyInteger).value_or(0);
  record.duration_ms = object.OptionalInteger("duration_ms", 0, kAnyInteger).value_or(0);
  return record;
}

}  // namespace

std::string_view StepKindName(StepKind kind) { return kKinds.at(static_cast<size_t>(kind)); }
std::optional<StepKind> ParseStepKind(std::string_view name) {
  return Parse<StepKind>(kKinds, name);
}
std::string_view StepStateName(StepState state) { return kStates.at(static_cast<size_t>(state)); }
std::optional<StepState> ParseStepState(std::string_view name) {
  return Parse<StepState>(kStates, name);
}

void WriteStepRecord(const StepRecord& record, JsonWriter& json) {
  json.BeginObject();
  json.Integer("position", record.position);
  if (record.seq) json.Integer("seq", *record.seq);
  json.Text("kind", StepKindName(record.kind));
  if (!record.name.empty() || record.kind != StepKind::kSleep) json.Text("name", record.name);
  json.Text("state", StepStateName(record.state));
  if (record.attempts > 0) json.Integer("attempts", record.attempts);
  if (!record.value.empty()) json.Raw("value", record.value);
  if (record.error) WriteFunctionError(*record.error, "error", json);
  if (record.wake_ms) json.Integer("wake_ms", *record.wake_ms);
  if (!record.child.empty()) json.Text("child", record.child);
  json.Integer("started_ms", record.started_ms);
  if (record.ended()) json.Integer("ended_ms", record.ended_ms);
  if (record.kind == StepKind::kStep) json.Integer("duration_ms", record.duration_ms);
  json.EndObject();
}

std::string Encode(const StepRecord& record) {
  std::string text;
  JsonWriter json(text);
  WriteStepRecord(record, json);
  return text;
}

Result<StepRecord> DecodeStepRecord(std::string_view text) {
  Result<StepRecord> record = ReadObject(text, Code::kStoreReadFailed, Read);
  if (record.ok()) return record;
  return Refuse(Code::kStoreReadFailed,
                fmt::format("a step cannot be read: {}", RefusalText(record.error())));
}

Result<void> CheckStepName(std::string_view what, std::string_view name) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (!name.empty() && name.size() <= kMaxStepNameBytes && IsUtf8(name) &&
      std::ranges::none_of(name, is_control)) {
    return {};
  }
  return Refuse(Code::kValidation,
                fmt::format("{} is 1 to {} bytes of text without control characters", what,
                            kMaxStepNameBytes));
}

}  // namespace cairn::functions
