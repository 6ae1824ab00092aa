#include "functions/trigger/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/records.h"
#include "jobs/model/job.h"

namespace cairn::functions {
namespace {

constexpr int64_t kAnyInteger = 9'000'000'000'000'000'000;
constexpr size_t kAnyLength = kMaxRequestBytes;
constexpr size_t kAnyCount = 4096;

constexpr std::array<std::string_view, 4> kSources = {"queue", "jobs", "seats", "keys"};

std::string AnyText(ObjectReader& object, std::string_view name) {
  return object.OptionalText(name, {0, kAnyLength}).value_or("");
}
int64_t AnyInteger(ObjectReader& object, std::string_view name) {
  return object.OptionalInteger(name, 0, kAnyInteger).value_or(0);
}
std::optional<int64_t> MaybeInteger(ObjectReader& object, std::string_view name) {
  return object.OptionalInteger(name, 0, kAnyInteger);
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

TriggerSource SourceFrom(ObjectReader object) {
  TriggerSource source;
  source.type = ParseSource(AnyText(object, "type")).value_or(SourceType::kQueue);
  source.names = object.Texts(NamesMember(source.type), kAnyCount, {0, kAnyLength});
  source.types = object.Texts("types", kAnyCount, {0, kAnyLength});
  source.database = AnyInteger(object, "database");
  return source;
}

Ref StoredRef(ObjectReader object) {
  Ref ref{.function = AnyText(object, "function"), .alias = AnyText(object, "alias")};
  if (const auto version = MaybeInteger(object, "version")) {
    ref.version = static_cast<uint64_t>(*version);
  }
  return ref;
}

}  // namespace

std::string ResourceName(const TriggerId& trigger) {
  return fmt::format("{}/{}/{}", trigger.ns.tenant, trigger.ns.name, trigger.name);
}

std::optional<TriggerId> ParseTriggerId(std::string_view text) {
  const size_t first = text.find('/');
  const size_t second = first == std::string_view::npos ? first : text.find('/', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return TriggerId{
      {std::string(text.substr(0, first)), std::string(text.substr(first + 1, second - first - 1))},
      std::string(text.substr(second + 1))};
}

std::string_view SourceName(SourceType type) { return kSources[static_cast<size_t>(type)]; }

std::optional<SourceType> ParseSource(std::string_view name) {
  const auto* found = std::ranges::find(kSources, name);
  if (found == kSources.end()) return std::nullopt;
  return static_cast<SourceType>(found - kSources.begin());
}

std::string_view NamesMember(SourceType type) {
  switch (type) {
    case SourceType::kSeats:
      return "events";
    case SourceType::kKeys:
      return "keys";
    case SourceType::kQueue:
    case SourceType::kJobs:
      break;
  }
  return "queues";
}

void WriteSource(const TriggerSource& source, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Text("type", SourceName(source.type));
  json.Texts(NamesMember(source.type), source.names);
  if (!source.types.empty()) json.Texts("types", source.types);
  if (source.type == SourceType::kSeats || source.type == SourceType::kKeys) {
    json.Integer("database", source.database);
  }
  json.EndObject();
}

std::string Encode(const TriggerConfig& trigger) {
  std::string source;
  WriteSource(trigger.source, source);
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("name", trigger.name);
  json.Raw("source", source);
  WriteRef(trigger.ref, "ref", json);
  json.Integer("batch_size", trigger.batch_size);
  json.Integer("window_ms", trigger.window_ms);
  json.Integer("concurrency", trigger.concurrency);
  json.Switch("enabled", trigger.enabled);
  json.Integer("created_at_ms", trigger.created_at_ms);
  json.Text("tenant", trigger.tenant);
  json.Text("namespace", trigger.ns);
  json.EndObject();
  return text;
}

Result<TriggerConfig> DecodeTriggerConfig(std::string_view text) {
  return Decode("a trigger", text, [](ObjectReader& object) {
    TriggerConfig trigger;
    trigger.name = object.Text("name", {1, kAnyLength});
    trigger.source = SourceFrom(object.Object("source"));
    trigger.ref = StoredRef(object.Object("ref"));
    trigger.batch_size = object.Integer("batch_size", 1, kMaxTriggerBatch);
    trigger.window_ms = AnyInteger(object, "window_ms");
    trigger.concurrency = object.Integer("concurrency", 1, kMaxTriggerConcurrency);
    trigger.enabled = object.OptionalSwitch("enabled").value_or(true);
    trigger.created_at_ms = AnyInteger(object, "created_at_ms");
    trigger.tenant = AnyText(object, "tenant");
    trigger.ns = AnyText(object, "namespace");
    return trigger;
  });
}

std::string Encode(const TriggerState& state) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Integer("cursor", state.cursor);
  if (!state.inflight.empty()) {
    json.BeginArray("inflight");
    for (const TriggerState::Inflight& one : state.inflight) {
      json.BeginObject();
      json.Text("activation_id", one.activation_id);
      json.Text("message", one.message);
      json.Integer("since_ms", one.since_ms);
      json.EndObject();
    }
    json.EndArray();
  }
  json.Integer("batches", state.batches);
  json.Integer("delivered", state.delivered);
  json.Integer("failed", state.failed);
  if (state.gaps != 0) json.Integer("gaps", state.gaps);
  if (state.missed_to != 0) json.Integer("missed_to", state.missed_to);
  if (!state.last_activation_id.empty()) json.Text("last_activation_id", state.last_activation_id);
  if (state.last_batch_ms) json.Integer("last_batch_ms", *state.last_batch_ms);
  if (!state.last_error.empty()) json.Text("last_error", state.last_error);
  if (state.last_error_ms) json.Integer("last_error_ms", *state.last_error_ms);
  if (state.read_ms != 0) json.Integer("read_ms", state.read_ms);
  json.EndObject();
  return text;
}

Result<TriggerState> DecodeTriggerState(std::string_view text) {
  return Decode("the state of a trigger", text, [](ObjectReader& object) {
    TriggerState state;
    state.cursor = static_cast<uint64_t>(AnyInteger(object, "cursor"));
    for (ObjectReader& one : object.Objects("inflight", kAnyCount)) {
      state.inflight.push_back(
          {AnyText(one, "activation_id"), AnyText(one, "message"), AnyInteger(one, "since_ms")});
    }
    state.batches = AnyInteger(object, "batches");
    state.delivered = AnyInteger(object, "delivered");
    state.failed = AnyInteger(object, "failed");
    state.gaps = AnyInteger(object, "gaps");
    state.missed_to = static_cast<uint64_t>(AnyInteger(object, "missed_to"));
    state.last_activation_id = AnyText(object, "last_activation_id");
    state.last_batch_ms = MaybeInteger(object, "last_batch_ms");
    state.last_error = AnyText(object, "last_error");
    state.last_error_ms = MaybeInteger(object, "last_error_ms");
    state.read_ms = AnyInteger(object, "read_ms");
    return state;
  });
}

std::string Encode(const TriggerBatch& batch) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("jobs");
  for (const TriggerBatch::Lease& lease : batch.jobs) {
    json.BeginObject();
    json.Text("id", lease.id);
    json.Text("token", jobs::FormatToken(lease.token));
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text;
}

Result<TriggerBatch> DecodeTriggerBatch(std::string_view text) {
  return Decode("the batch of a trigger", text, [](ObjectReader& object) {
    TriggerBatch batch;
    for (ObjectReader& one : object.Objects("jobs", kAnyCount)) {
      batch.jobs.push_back(
          {one.Text("id", {1, kAnyLength}), jobs::ParseToken(AnyText(one, "token")).value_or(0)});
    }
    return batch;
  });
}

std::string Encode(const TriggerCause& cause) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("trigger_name", cause.trigger);
  json.Text("type", SourceName(cause.type));
  if (cause.type == SourceType::kQueue) {
    json.Text("queue", cause.queue);
    json.Texts("jobs", cause.jobs);
  } else {
    json.Integer("events", cause.events);
  }
  json.EndObject();
  return text;
}

std::optional<TriggerCause> ParseCause(std::string_view source) {
  if (!IsJson(source)) return std::nullopt;
  JsonFault fault;
  ObjectReader object(source, "", fault);
  TriggerCause cause{.trigger = object.Text("trigger_name", {1, kAnyLength})};
  const std::optional<SourceType> type = ParseSource(AnyText(object, "type"));
  cause.queue = AnyText(object, "queue");
  cause.jobs = object.Texts("jobs", kAnyCount, {1, kAnyLength});
  cause.events = AnyInteger(object, "events");
  if (fault.found() || !type) return std::nullopt;
  cause.type = *type;
  return cause;
}

}  // namespace cairn::functions
