#include "functions/schedule/requests.h"

#include <fmt/format.h>

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

ScheduleUpdate ReadUpdate(ObjectReader& object) {
  ScheduleUpdate update{
      .every_seconds = object.OptionalInteger("every_seconds", kMinEverySeconds, kMaxEverySeconds),
      .cron = object.OptionalText("cron", {1, kMaxCronBytes}),
      .time_zone = object.OptionalText("time_zone", {1, kMaxTimeZoneBytes}),
      .enabled = object.OptionalSwitch("enabled")};
  if (const auto overlap = object.OptionalChoice("overlap_policy", {"skip", "queue", "parallel"})) {
    update.overlap = ParseOverlap(*overlap);
  }
  if (auto ref = object.OptionalObject("ref")) {
    update.ref = ReadRef(*std::move(ref), NamesFunction::kYes);
  }
  if (const std::string_view payload = object.Raw("payload"); !payload.empty()) {
    update.payload = payload;
  }
  return update;
}

}  // namespace

Schedule NewScheduleOf(const ScheduleUpdate& given) {
  Schedule schedule;
  schedule.every_seconds = given.every_seconds.value_or(0);
  schedule.cron = given.cron.value_or("");
  schedule.time_zone = given.time_zone.value_or("");
  schedule.overlap = given.overlap.value_or(Overlap::kSkip);
  schedule.ref = given.ref.value_or(Ref());
  schedule.payload = given.payload.value_or("{}");
  schedule.enabled = given.enabled.value_or(true);
  return schedule;
}

Result<NewSchedule> ParseNewSchedule(const NamespaceName& ns, std::string_view text) {
  return ReadObject(text, Code::kValidation, [&](ObjectReader& object) {
    NewSchedule created{.name = {ns, object.Text("name", {1, kAnyName})}};
    const ScheduleUpdate given = ReadUpdate(object);
    if (!given.every_seconds && !given.cron) object.Fail("every_seconds", "or cron must be there");
    if (!given.ref) object.Fail("ref", "is missing");
    object.RefuseOthers();
    created.schedule = NewScheduleOf(given);
    return created;
  });
}

Result<ScheduleUpdate> ParseScheduleUpdate(std::string_view text) {
  return ReadObject(text, Code::kValidation, [&](ObjectReader& object) {
    ScheduleUpdate update = ReadUpdate(object);
    object.RefuseOthers();
    return update;
  });
}

std::string DetailText(const ScheduleDetail& detail) {
  std::string text = Encode(detail.schedule);
  text.pop_back();
  text += R"(,"state":)" + Encode(detail.state) + R"(,"next_ticks_ms":[)";
  for (size_t i = 0; i < detail.next_ticks.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", detail.next_ticks[i]);
  }
  return text + "]}";
}

std::string PageText(const SchedulePage& page) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("schedules");
  for (const ScheduleDetail& detail : page.schedules) json.Raw("", DetailText(detail));
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
