#include "functions/cadence/requests.h"

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

BindingUpdate ReadUpdate(ObjectReader& object) {
  BindingUpdate update{.domain = object.OptionalText("domain", {1, kMaxBindingNameBytes}),
                       .tasklist = object.OptionalText("tasklist", {1, kMaxBindingNameBytes}),
                       .worker_id = object.OptionalText("worker_id", {1, kMaxBindingNameBytes}),
                       .enabled = object.OptionalSwitch("enabled")};
  if (auto activities = object.OptionalObject("activity_map")) {
    update.activity_map.emplace();
    for (const std::string& activity : activities->Names()) {
      update.activity_map->emplace_back(activity,
                                        ReadRef(activities->Object(activity), NamesFunction::kYes));
    }
    activities->RefuseOthers();
  }
  if (auto pollers = object.OptionalObject("pollers")) {
    update.pollers = pollers->OptionalInteger("activity", 1, kMaxPollers);
    pollers->RefuseOthers();
  }
  if (auto limits = object.OptionalObject("limits")) {
    update.max_inflight_tasks = limits->OptionalInteger("max_inflight_tasks", 1, kMaxInflightTasks);
    limits->RefuseOthers();
  }
  return update;
}

}  // namespace

WorkerBinding NewBindingOf(const BindingUpdate& given) {
  const WorkerBinding usual;
  WorkerBinding binding;
  binding.domain = given.domain.value_or("");
  binding.tasklist = given.tasklist.value_or("");
  binding.worker_id = given.worker_id.value_or("");
  if (given.activity_map) binding.activity_map = *given.activity_map;
  binding.pollers = given.pollers.value_or(usual.pollers);
  binding.max_inflight_tasks = given.max_inflight_tasks.value_or(usual.max_inflight_tasks);
  binding.enabled = given.enabled.value_or(true);
  return binding;
}

Result<NewBinding> ParseNewBinding(const NamespaceName& ns, std::string_view text) {
  return ReadObject(text, Code::kValidation, [&](ObjectReader& object) {
    NewBinding created{.name = {ns, object.Text("name", {1, kAnyName})}};
    const BindingUpdate given = ReadUpdate(object);
    if (!given.domain) object.Fail("domain", "is missing");
    if (!given.tasklist) object.Fail("tasklist", "is missing");
    if (!given.worker_id) object.Fail("worker_id", "is missing");
    if (!given.activity_map) object.Fail("activity_map", "is missing");
    object.RefuseOthers();
    created.binding = NewBindingOf(given);
    return created;
  });
}

Result<BindingUpdate> ParseBindingUpdate(std::string_view text) {
  return ReadObject(text, Code::kValidation, [&](ObjectReader& object) {
    BindingUpdate update = ReadUpdate(object);
    object.RefuseOthers();
    return update;
  });
}

std::string PageText(const BindingPage& page) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.BeginArray("workers");
  for (const WorkerBinding& binding : page.bindings) json.Raw("", Encode(binding));
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
