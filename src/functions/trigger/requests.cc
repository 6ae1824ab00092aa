#include "functions/trigger/requests.h"

#include <optional>
#include <utility>

#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"

namespace cairn::functions {
namespace {

// Longer ones are no names: the operation says so.
constexpr size_t kAnyName = 1024;
constexpr int64_t kAnyDatabase = 255;

TriggerSource ReadTheSource(ObjectReader source) {
  TriggerSource read;
  const std::string type = source.Choice("type", {"queue", "jobs", "seats", "keys"});
  read.type = ParseSource(type).value_or(SourceType::kQueue);
  read.names = source.Texts(NamesMember(read.type), kMaxTriggerNames, {1, kAnyName});
  if (read.type != SourceType::kQueue) {
    read.types = source.Texts("types", kMaxTriggerNames, {1, kAnyName});
  }
  if (read.type == SourceType::kSeats || read.type == SourceType::kKeys) {
    read.database = source.OptionalInteger("database", 0, kAnyDatabase).value_or(0);
  }
  source.RefuseOthers();
  return read;
}

TriggerUpdate ReadUpdate(ObjectReader& object) {
  TriggerUpdate update{
      .batch_size = object.OptionalInteger("batch_size", 1, kMaxTriggerBatch),
      .window_ms = object.OptionalInteger("window_ms", 0, kMaxTriggerWindowMs),
      .concurrency = object.OptionalInteger("concurrency", 1, kMaxTriggerConcurrency),
      .enabled = object.OptionalSwitch("enabled")};
  if (auto source = object.OptionalObject("source")) {
    update.source = ReadTheSource(*std::move(source));
  }
  if (auto ref = object.OptionalObject("ref")) {
    update.ref = ReadRef(*std::move(ref), NamesFunction::kYes);
  }
  return update;
}

void WritePosition(const TriggerDetail& detail, JsonWriter& json) {
  const TriggerPosition& position = detail.position;
  json.BeginObject();
  if (detail.trigger.source.type != SourceType::kQueue) {
    json.Integer("cursor", position.cursor);
    json.Integer("newest", position.newest);
  }
  json.Switch("behind", position.behind);
  json.Integer("lag_ms", position.lag_ms);
  json.EndObject();
}

}  // namespace

TriggerConfig NewTriggerOf(const TriggerUpdate& given) {
  TriggerConfig trigger;
  trigger.source = given.source.value_or(TriggerSource());
  trigger.ref = given.ref.value_or(Ref());
  trigger.batch_size = given.batch_size.value_or(kDefaultTriggerBatch);
  trigger.window_ms = given.window_ms.value_or(0);
  trigger.concurrency = given.concurrency.value_or(1);
  trigger.enabled = given.enabled.value_or(true);
  return trigger;
}

Result<NewTrigger> ParseNewTrigger(const NamespaceName& ns, std::string_view text) {
  return ReadObject(text, Code::kValidation, [&](ObjectReader& object) {
    NewTrigger created{.id = {ns, object.Text("name", {1, kAnyName})}};
    const TriggerUpdate given = ReadUpdate(object);
    if (!given.source) object.Fail("source", "is missing");
    if (!given.ref) object.Fail("ref", "is missing");
    if (object.OptionalChoice("start", {"newest", "oldest"}) == "oldest") {
      created.start = StartAt::kOldest;
    }
    object.RefuseOthers();
    created.trigger = NewTriggerOf(given);
    return created;
  });
}

Result<TriggerUpdate> ParseTriggerUpdate(std::string_view text) {
  return ReadObject(text, Code::kValidation, [&](ObjectReader& object) {
    TriggerUpdate update = ReadUpdate(object);
    object.RefuseOthers();
    return update;
  });
}

std::string DetailText(const TriggerDetail& detail) {
  std::string position;
  JsonWriter of_position(position);
  WritePosition(detail, of_position);
  std::string text = Encode(detail.trigger);
  text.pop_back();
  text += R"(,"state":)" + Encode(detail.state) + R"(,"position":)" + position;
  if (!detail.paused.empty()) {
    text += R"(,"paused":)";
    AppendJsonString(detail.paused, text);
  }
  return text + "}";
}

std::string PageText(const TriggerPage& page) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("triggers");
  for (const TriggerDetail& detail : page.triggers) json.Raw("", DetailText(detail));
  json.EndArray();
  if (page.cursor.empty()) {
    json.Null("cursor");
  } else {
    json.Text("cursor", page.cursor);
  }
  json.EndObject();
  return text;
}

}  // namespace cairn::functions
