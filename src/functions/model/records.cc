#include "functions/model/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "functions/model/base64.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

constexpr int64_t kAnyInteger = 9'000'000'000'000'000;
constexpr size_t kAnyLength = kMaxRequestBytes;
constexpr size_t kAnyCount = 4096;

constexpr std::array<std::string_view, 3> kOverlaps = {"skip", "queue", "parallel"};

// Records were checked when they were written; reading them only asks for the right types.
std::string AnyText(ObjectReader& object, std::string_view name) {
  return object.OptionalText(name, {0, kAnyLength}).value_or("");
}
std::string NeededText(ObjectReader& object, std::string_view name) {
  return object.Text(name, {1, kAnyLength});
}
int64_t AnyInteger(ObjectReader& object, std::string_view name) {
  return object.OptionalInteger(name, 0, kAnyInteger).value_or(0);
}
std::optional<int64_t> MaybeInteger(ObjectReader& object, std::string_view name) {
  return object.OptionalInteger(name, 0, kAnyInteger);
}
uint64_t AnyVersion(ObjectReader& object, std::string_view name) {
  return static_cast<uint64_t>(object.Integer(name, 1, kAnyInteger));
}

template <typename Read>
auto Decode(std::string_view what, std::string_view text, Read read) {
  auto decoded = ReadObject(text, Code::kStoreReadFailed, read);
  if (!decoded.ok()) {
    decoded = Refuse(Code::kStoreReadFailed,
                     fmt::format("{} cannot be read: {}", what, RefusalText(decoded.error())));
  }
  return decoded;
}

void WriteWeights(const Target& target, JsonWriter& json) {
  json.Integer("version", target.version);
  if (!target.second) return;
  json.BeginArray("weights");
  json.BeginObject();
  json.Integer("version", target.second->version);
  json.Integer("weight", target.second->weight);
  json.EndObject();
  json.EndArray();
}

Target ReadTarget(ObjectReader& object) {
  Target target{.version = AnyVersion(object, "version")};
  for (ObjectReader& weight : object.Objects("weights", 1)) {
    target.second = {AnyVersion(weight, "version"), weight.Integer("weight", 1, 99)};
  }
  return target;
}

void WriteShift(const Shift& shift, JsonWriter& json) {
  json.BeginObject("shift");
  json.Text("id", shift.id);
  json.Integer("from", shift.from);
  json.Integer("to", shift.to);
  json.Integer("step_percent", shift.step_percent);
  json.Integer("interval_seconds", shift.interval_seconds);
  json.Number("max_error_rate", shift.max_error_rate);
  json.Integer("step", shift.step);
  json.Integer("started_at_ms", shift.started_at_ms);
  json.Integer("next_step_at_ms", shift.next_step_at_ms);
  json.EndObject();
}

Shift ReadShift(ObjectReader& object) {
  return {.id = NeededText(object, "id"),
          .from = AnyVersion(object, "from"),
          .to = AnyVersion(object, "to"),
          .step_percent = object.Integer("step_percent", 1, 100),
          .interval_seconds = object.Integer("interval_seconds", kMinShiftIntervalSeconds,
                                             kMaxShiftIntervalSeconds),
          .max_error_rate = object.OptionalNumber("max_error_rate", 0, 1).value_or(0),
          .step = object.Integer("step", 1, 100),
          .started_at_ms = AnyInteger(object, "started_at_ms"),
          .next_step_at_ms = AnyInteger(object, "next_step_at_ms")};
}

void WriteShiftEnd(const ShiftEnd& end, JsonWriter& json) {
  json.BeginObject("last_shift");
  json.Integer("from", end.from);
  json.Integer("to", end.to);
  json.Text("state", end.state);
  json.Text("reason", end.reason);
  json.Integer("ended_at_ms", end.ended_at_ms);
  json.EndObject();
}

ShiftEnd ReadShiftEnd(ObjectReader& object) {
  return {.from = AnyVersion(object, "from"),
          .to = AnyVersion(object, "to"),
          .state = NeededText(object, "state"),
          .reason = AnyText(object, "reason"),
          .ended_at_ms = AnyInteger(object, "ended_at_ms")};
}

// A ref in a record, with or without its function.
Ref ReadStoredRef(ObjectReader object) {
  Ref ref{.function = AnyText(object, "function"), .alias = AnyText(object, "alias")};
  if (const auto version = MaybeInteger(object, "version")) {
    ref.version = static_cast<uint64_t>(*version);
  }
  return ref;
}

Ref WithoutFunction(Ref ref) {
  ref.function.clear();
  return ref;
}

}  // namespace

std::string Encode(const Function& function) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("tenant", function.tenant);
  json.Text("namespace", function.ns);
  json.Text("name", function.name);
  json.Text("runtime", function.runtime);
  json.Text("entry", function.entry);
  json.Text("handler", function.handler);
  json.Integer("created_at_ms", function.created_at_ms);
  json.OptionalInteger("deleted_at_ms", function.deleted_at_ms);
  json.Switch("enabled", function.enabled);
  json.EndObject();
  return text;
}

Result<Function> DecodeFunction(std::string_view text) {
  return Decode("a function", text, [](ObjectReader& object) {
    return Function{.tenant = NeededText(object, "tenant"),
                    .ns = NeededText(object, "namespace"),
                    .name = NeededText(object, "name"),
                    .runtime = NeededText(object, "runtime"),
                    .entry = NeededText(object, "entry"),
                    .handler = NeededText(object, "handler"),
                    .created_at_ms = AnyInteger(object, "created_at_ms"),
                    .deleted_at_ms = MaybeInteger(object, "deleted_at_ms"),
                    .enabled = object.OptionalSwitch("enabled").value_or(true)};
  });
}

std::string Encode(const Draft& draft) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("draft_id", draft.draft_id);
  json.Text("sha256", draft.sha256);
  json.BeginObject("files");
  for (const auto& [path, content] : draft.files) json.Text(path, Base64Encode(content));
  json.EndObject();
  json.Integer("created_at_ms", draft.created_at_ms);
  json.Integer("expires_at_ms", draft.expires_at_ms);
  json.Switch("consumed", draft.consumed);
  json.EndObject();
  return text;
}

Result<Draft> DecodeDraft(std::string_view text) {
  return Decode("a draft", text, [](ObjectReader& object) {
    Draft draft;
    draft.draft_id = NeededText(object, "draft_id");
    draft.sha256 = NeededText(object, "sha256");
    ObjectReader files = object.Object("files");
    for (const std::string& path : files.Names()) {
      std::optional<Bytes> content = Base64Decode(AnyText(files, path));
      if (!content) files.Fail(path, "is not base64");
      draft.files.emplace(path, std::move(content).value_or(Bytes()));
    }
    draft.created_at_ms = AnyInteger(object, "created_at_ms");
    draft.expires_at_ms = AnyInteger(object, "expires_at_ms");
    draft.consumed = object.OptionalSwitch("consumed").value_or(false);
    return draft;
  });
}

std::string Encode(const VersionMeta& meta) {
  std::string config;
  AppendConfig(meta.config, config);
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Integer("version", meta.version);
  json.Text("sha256", meta.sha256);
  json.Raw("config", config);
  json.Integer("published_at_ms", meta.published_at_ms);
  json.EndObject();
  return text;
}

Result<VersionMeta> DecodeVersionMeta(std::string_view text) {
  return Decode("a version", text, [](ObjectReader& object) {
    VersionMeta meta;
    meta.version = AnyVersion(object, "version");
    meta.sha256 = NeededText(object, "sha256");
    ObjectReader config = object.Object("config");
    meta.config = ReadConfig(config);
    meta.published_at_ms = AnyInteger(object, "published_at_ms");
    return meta;
  });
}

std::string Encode(const Alias& alias) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("alias", alias.alias);
  json.Integer("version", alias.target.version);
  json.Integer("updated_at_ms", alias.updated_at_ms);
  if (alias.target.second) {
    json.BeginArray("weights");
    json.BeginObject();
    json.Integer("version", alias.target.second->version);
    json.Integer("weight", alias.target.second->weight);
    json.EndObject();
    json.EndArray();
  }
  if (alias.min_warm != 0) json.Integer("min_warm", alias.min_warm);
  if (!alias.history.empty()) {
    json.BeginArray("history");
    for (const Alias::Earlier& earlier : alias.history) {
      json.BeginObject();
      WriteWeights(earlier.target, json);
      json.Integer("updated_at_ms", earlier.updated_at_ms);
      json.EndObject();
    }
    json.EndArray();
  }
  if (alias.shift) WriteShift(*alias.shift, json);
  if (alias.last_shift) WriteShiftEnd(*alias.last_shift, json);
  json.EndObject();
  return text;
}

Result<Alias> DecodeAlias(std::string_view text) {
  return Decode("an alias", text, [](ObjectReader& object) {
    Alias alias;
    alias.alias = NeededText(object, "alias");
    alias.target = ReadTarget(object);
    alias.updated_at_ms = AnyInteger(object, "updated_at_ms");
    alias.min_warm = AnyInteger(object, "min_warm");
    for (ObjectReader& earlier : object.Objects("history", kAnyCount)) {
      alias.history.push_back({ReadTarget(earlier), AnyInteger(earlier, "updated_at_ms")});
    }
    if (auto shift = object.OptionalObject("shift")) alias.shift = ReadShift(*shift);
    if (auto end = object.OptionalObject("last_shift")) alias.last_shift = ReadShiftEnd(*end);
    return alias;
  });
}

std::string Encode(const ShiftOutcomes& outcomes) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("shift", outcomes.shift);
  json.Integer("version", outcomes.version);
  json.Integer("step", outcomes.step);
  json.Integer("total", outcomes.total);
  json.Integer("errors", outcomes.errors);
  json.EndObject();
  return text;
}

Result<ShiftOutcomes> DecodeShiftOutcomes(std::string_view text) {
  return Decode("the outcomes of a shift", text, [](ObjectReader& object) {
    return ShiftOutcomes{.shift = NeededText(object, "shift"),
                         .version = AnyVersion(object, "version"),
                         .step = AnyInteger(object, "step"),
                         .total = AnyInteger(object, "total"),
                         .errors = AnyInteger(object, "errors")};
  });
}

std::string_view OverlapName(Overlap overlap) { return kOverlaps[static_cast<size_t>(overlap)]; }

std::optional<Overlap> ParseOverlap(std::string_view name) {
  const auto* found = std::ranges::find(kOverlaps, name);
  if (found == kOverlaps.end()) return std::nullopt;
  return static_cast<Overlap>(found - kOverlaps.begin());
}

std::string Encode(const Schedule& schedule) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("name", schedule.name);
  if (schedule.cron.empty()) {
    json.Integer("every_seconds", schedule.every_seconds);
  } else {
    json.Text("cron", schedule.cron);
    json.Text("time_zone", schedule.time_zone);
  }
  json.Text("overlap_policy", OverlapName(schedule.overlap));
  WriteRef(schedule.ref, "ref", json);
  json.Raw("payload", schedule.payload);
  json.Switch("enabled", schedule.enabled);
  json.Integer("created_at_ms", schedule.created_at_ms);
  json.Text("tenant", schedule.tenant);
  json.Text("namespace", schedule.ns);
  json.EndObject();
  return text;
}

Result<Schedule> DecodeSchedule(std::string_view text) {
  return Decode("a schedule", text, [](ObjectReader& object) {
    Schedule schedule;
    schedule.name = NeededText(object, "name");
    schedule.every_seconds = AnyInteger(object, "every_seconds");
    schedule.cron = AnyText(object, "cron");
    schedule.time_zone = AnyText(object, "time_zone");
    schedule.overlap = ParseOverlap(AnyText(object, "overlap_policy")).value_or(Overlap::kSkip);
    schedule.ref = ReadStoredRef(object.Object("ref"));
    const std::string_view payload = object.Raw("payload");
    if (!payload.empty()) schedule.payload = payload;
    schedule.enabled = object.OptionalSwitch("enabled").value_or(true);
    schedule.created_at_ms = AnyInteger(object, "created_at_ms");
    schedule.tenant = AnyText(object, "tenant");
    schedule.ns = AnyText(object, "namespace");
    return schedule;
  });
}

std::string Encode(const ScheduleState& state) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Integer("next_tick_ms", state.next_tick_ms);
  json.Integer("tick_seq", state.tick_seq);
  if (state.last_tick_ms) json.Integer("last_tick_ms", *state.last_tick_ms);
  if (!state.last_activation_id.empty()) json.Text("last_activation_id", state.last_activation_id);
  if (state.skipped != 0) json.Integer("skipped", state.skipped);
  if (state.failed != 0) json.Integer("failed", state.failed);
  if (!state.last_error.empty()) json.Text("last_error", state.last_error);
  if (state.last_error_ms) json.Integer("last_error_ms", *state.last_error_ms);
  if (!state.waiting.empty()) json.Texts("waiting", state.waiting);
  if (!state.message.empty()) json.Text("message", state.message);
  json.EndObject();
  return text;
}

Result<ScheduleState> DecodeScheduleState(std::string_view text) {
  return Decode("the state of a schedule", text, [](ObjectReader& object) {
    return ScheduleState{.next_tick_ms = AnyInteger(object, "next_tick_ms"),
                         .tick_seq = AnyInteger(object, "tick_seq"),
                         .last_tick_ms = MaybeInteger(object, "last_tick_ms"),
                         .last_activation_id = AnyText(object, "last_activation_id"),
                         .skipped = AnyInteger(object, "skipped"),
                         .failed = AnyInteger(object, "failed"),
                         .last_error = AnyText(object, "last_error"),
                         .last_error_ms = MaybeInteger(object, "last_error_ms"),
                         .waiting = object.Texts("waiting", kAnyCount, {1, kAnyLength}),
                         .message = AnyText(object, "message")};
  });
}

std::string Encode(const WorkerBinding& binding) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("name", binding.name);
  json.Text("domain", binding.domain);
  json.Text("tasklist", binding.tasklist);
  json.Text("worker_id", binding.worker_id);
  json.BeginObject("activity_map");
  for (const auto& [activity, ref] : binding.activity_map) WriteRef(ref, activity, json);
  json.EndObject();
  json.BeginObject("pollers");
  json.Integer("activity", binding.pollers);
  json.EndObject();
  json.BeginObject("limits");
  json.Integer("max_inflight_tasks", binding.max_inflight_tasks);
  json.EndObject();
  json.Switch("enabled", binding.enabled);
  json.Text("tenant", binding.tenant);
  json.Text("namespace", binding.ns);
  json.EndObject();
  return text;
}

Result<WorkerBinding> DecodeWorkerBinding(std::string_view text) {
  return Decode("a worker binding", text, [](ObjectReader& object) {
    WorkerBinding binding;
    binding.name = NeededText(object, "name");
    binding.domain = AnyText(object, "domain");
    binding.tasklist = AnyText(object, "tasklist");
    binding.worker_id = AnyText(object, "worker_id");
    ObjectReader activities = object.Object("activity_map");
    for (const std::string& activity : activities.Names()) {
      binding.activity_map.emplace_back(activity, ReadStoredRef(activities.Object(activity)));
    }
    if (auto pollers = object.OptionalObject("pollers")) {
      binding.pollers = pollers->Integer("activity", 1, kMaxPollers);
    }
    if (auto limits = object.OptionalObject("limits")) {
      binding.max_inflight_tasks = limits->Integer("max_inflight_tasks", 1, kMaxInflightTasks);
    }
    binding.enabled = object.OptionalSwitch("enabled").value_or(true);
    binding.tenant = AnyText(object, "tenant");
    binding.ns = AnyText(object, "namespace");
    return binding;
  });
}

namespace {

void WriteOutcome(const Activation& activation, JsonWriter& json) {
  if (activation.result) {
    WriteFunctionResult(*activation.result, "result", json);
  } else {
    json.Null("result");
  }
  if (activation.usage) {
    json.BeginObject("usage");
    json.Integer("cpu_us", activation.usage->cpu_us);
    json.Integer("peak_memory_bytes", activation.usage->peak_memory_bytes);
    json.Switch("cold", activation.usage->cold);
    json.EndObject();
  } else {
    json.Null("usage");
  }
  if (activation.limit_hit.empty()) {
    json.Null("limit_hit");
  } else {
    json.Text("limit_hit", activation.limit_hit);
  }
  json.Integer("retries", activation.retries);
}

void ReadOutcome(ObjectReader& object, Activation& activation) {
  if (auto error = object.OptionalObject("error")) {
    activation.error = ReadFunctionError(*std::move(error));
  }
  if (auto result = object.OptionalObject("result")) {
    activation.result = ReadFunctionResult(*std::move(result));
  }
  if (auto usage = object.OptionalObject("usage")) {
    activation.usage = Usage{.cpu_us = AnyInteger(*usage, "cpu_us"),
                             .peak_memory_bytes = AnyInteger(*usage, "peak_memory_bytes"),
                             .cold = usage->OptionalSwitch("cold").value_or(false)};
  }
  activation.limit_hit = AnyText(object, "limit_hit");
  activation.retries = AnyInteger(object, "retries");
}

void WriteDurable(const Activation::Durable& durable, JsonWriter& json) {
  json.BeginObject("durable");
  json.Integer("suspended_ms", durable.suspended_ms);
  json.Integer("log_chunks", durable.log_chunks);
  json.Integer("log_bytes", durable.log_bytes);
  if (durable.suspended) {
    json.BeginObject("suspended");
    json.Integer("since_ms", durable.suspended->since_ms);
    json.Integer("until_ms", durable.suspended->until_ms);
    json.Raw("waits_for", durable.suspended->waits_for);
    json.Text("message", durable.suspended->message);
    json.EndObject();
  } else {
    json.Null("suspended");
  }
  json.EndObject();
}

Activation::Durable ReadDurable(ObjectReader object) {
  Activation::Durable durable{.suspended_ms = AnyInteger(object, "suspended_ms"),
                              .log_chunks = AnyInteger(object, "log_chunks"),
                              .log_bytes = AnyInteger(object, "log_bytes"),
                              .suspended = std::nullopt};
  if (auto suspended = object.OptionalObject("suspended")) {
    durable.suspended = Suspension{.since_ms = AnyInteger(*suspended, "since_ms"),
                                   .until_ms = AnyInteger(*suspended, "until_ms"),
                                   .waits_for = std::string(suspended->Raw("waits_for")),
                                   .message = AnyText(*suspended, "message")};
  }
  return durable;
}

}  // namespace

std::string Encode(const Activation& activation) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("activation_id", activation.activation_id);
  json.Text("tenant", activation.tenant);
  json.Text("namespace", activation.ns);
  json.Text("function", activation.ref.function);
  WriteRef(WithoutFunction(activation.ref), "ref", json);
  json.BeginObject("trigger");
  json.Text("type", TriggerName(activation.trigger.type));
  if (activation.trigger.source != "{}") json.Raw("source", activation.trigger.source);
  json.EndObject();
  json.Text("status", StatusName(activation.status));
  json.OptionalInteger("start_ms", activation.start_ms);
  json.OptionalInteger("end_ms", activation.end_ms);
  json.OptionalInteger("duration_ms", activation.duration_ms);
  json.Switch("result_truncated", activation.result_truncated);
  if (activation.error) {
    WriteFunctionError(*activation.error, "error", json);
  } else {
    json.Null("error");
  }
  json.Text("request_id", activation.request_id);
  if (activation.resolved_version) {
    json.Integer("resolved_version", *activation.resolved_version);
  } else {
    json.Null("resolved_version");
  }
  WriteOutcome(activation, json);
  if (activation.durable) WriteDurable(*activation.durable, json);
  json.EndObject();
  return text;
}

Result<Activation> DecodeActivation(std::string_view text) {
  return Decode("an activation", text, [](ObjectReader& object) {
    Activation activation;
    activation.activation_id = NeededText(object, "activation_id");
    activation.tenant = NeededText(object, "tenant");
    activation.ns = NeededText(object, "namespace");
    activation.ref = ReadStoredRef(object.Object("ref"));
    activation.ref.function = NeededText(object, "function");
    ObjectReader trigger = object.Object("trigger");
    activation.trigger.type = ParseTrigger(AnyText(trigger, "type")).value_or(TriggerType::kApi);
    activation.trigger.source = trigger.RawObject("source").value_or("{}");
    activation.status = ParseStatus(NeededText(object, "status")).value_or(Status::kError);
    activation.start_ms = MaybeInteger(object, "start_ms");
    activation.end_ms = MaybeInteger(object, "end_ms");
    activation.duration_ms = MaybeInteger(object, "duration_ms");
    activation.result_truncated = object.OptionalSwitch("result_truncated").value_or(false);
    activation.request_id = AnyText(object, "request_id");
    if (const auto version = MaybeInteger(object, "resolved_version")) {
      activation.resolved_version = static_cast<uint64_t>(*version);
    }
    ReadOutcome(object, activation);
    if (auto durable = object.OptionalObject("durable")) {
      activation.durable = ReadDurable(*std::move(durable));
    }
    return activation;
  });
}

}  // namespace cairn::functions
