#include "functions/trigger/sources.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "doors/resp/glob.h"
#include "functions/model/base64.h"
#include "functions/model/json_writer.h"
#include "jobs/ledger/event.h"
#include "jobs/model/json_members.h"
#include "jobs/model/topics.h"
#include "seats/feed.h"
#include "seats/keys.h"

namespace cairn::functions {
namespace {

// Events that are read from a log at once.
constexpr size_t kPage = 250;
constexpr int64_t kNsPerMs = 1'000'000;

bool MatchesOne(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return doors::GlobMatch(pattern, name); });
}

bool HasType(const TriggerSource& source, std::string_view type) {
  return source.types.empty() || std::ranges::find(source.types, type) != source.types.end();
}

seats::Place SeatsPlaceOf(const SourcePlace& place) {
  return {static_cast<uint8_t>(place.source.database), place.seats_prefix};
}

// One event of a log; no JSON if the source does not ask for it.
struct Looked {
  uint64_t number = 0;
  int64_t at_ms = 0;
  std::string json;
};
struct LogPage {
  std::vector<Looked> events;
  uint64_t missed_to = 0;
};

Result<LogPage> ReadJobs(store::Reader& reader, const SourcePlace& place, uint64_t after) {
  CAIRN_ASSIGN_OR_RETURN(const jobs::EventPage page, jobs::ReadEvents(reader, after, kPage));
  LogPage read{.missed_to = page.missed_to};
  for (const jobs::Event& event : page.events) {
    const bool wanted = !event.queue.empty() && !IsPlatformQueue(event.queue) &&
                        HasType(place.source, jobs::EventTypeName(event.type)) &&
                        MatchesOne(place.source.names, event.queue);
    read.events.push_back({event.number, static_cast<int64_t>(event.at_ns) / kNsPerMs,
                           wanted ? jobs::EventJson(event) : std::string()});
  }
  return read;
}

// {"seq","event",…} and what seats/feed.h has of the change.
std::string SeatsJson(const seats::FeedChange& change) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Integer("seq", change.number);
  json.Text("event", change.event);
  json.EndObject();
  // Both are objects that have members.
  text.back() = ',';
  return text.append(std::string_view(change.json).substr(1));
}

Result<LogPage> ReadSeats(store::Reader& reader, const SourcePlace& place, uint64_t after) {
  const seats::Place seats_place = SeatsPlaceOf(place);
  const seats::Keys keys(seats_place);
  LogPage read;
  CAIRN_ASSIGN_OR_RETURN(const uint64_t removed, seats::RemovedChanges(reader, keys));
  if (removed > after) read.missed_to = removed;
  const auto wants = [&](std::string_view event) { return MatchesOne(place.source.names, event); };
  CAIRN_ASSIGN_OR_RETURN(const auto changes, seats::ReadFeeds(reader, keys, after, kPage, wants));
  for (const seats::FeedChange& change : changes) {
    bool wanted = place.source.types.empty();
    if (!wanted) {
      const auto members = jobs::MembersOf(change.json);
      if (members && !members->empty() && members->front().name == "change") {
        wanted = HasType(place.source, jobs::StringOf(members->front().json).value_or(""));
      }
    }
    read.events.push_back(
        {change.number, change.at_seconds * kSecondMs, wanted ? SeatsJson(change) : std::string()});
  }
  return read;
}

std::string KeyJson(const doors::KeyEvent& event) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Integer("seq", event.number);
  json.Text("event", event.event);
  if (IsUtf8(event.key)) {
    json.Text("key", event.key);
  } else {
    json.Text("key_base64", Base64Encode(event.key));
  }
  json.Integer("database", event.db);
  json.Integer("at_ms", event.at_ms);
  json.EndObject();
  return text;
}

Result<LogPage> ReadKeys(store::Reader& reader, const SourcePlace& place, uint64_t after) {
  LogPage read;
  CAIRN_ASSIGN_OR_RETURN(const uint64_t removed, doors::RemovedKeyEvents(reader));
  if (removed > after) read.missed_to = removed;
  const doors::KeyLog::Rule rule = KeyRuleOf(place.source);
  CAIRN_ASSIGN_OR_RETURN(const auto events, doors::ReadKeyEvents(reader, after, kPage));
  for (const doors::KeyEvent& event : events) {
    const bool wanted = doors::Matches(rule, event.db, event.event, event.key);
    read.events.push_back({event.number, event.at_ms, wanted ? KeyJson(event) : std::string()});
  }
  return read;
}

Result<LogPage> ReadLog(store::Reader& reader, const SourcePlace& place, uint64_t after) {
  switch (place.source.type) {
    case SourceType::kJobs:
      return ReadJobs(reader, place, after);
    case SourceType::kSeats:
      return ReadSeats(reader, place, after);
    case SourceType::kKeys:
      return ReadKeys(reader, place, after);
    case SourceType::kQueue:
      break;
  }
  return LogPage();
}

}  // namespace

bool IsPlatformQueue(std::string_view queue) { return queue.starts_with("cs."); }

doors::KeyLog::Rule KeyRuleOf(const TriggerSource& source) {
  return {
      .db = static_cast<uint8_t>(source.database), .keys = source.names, .events = source.types};
}

Result<SourcePage> ReadSource(store::Reader& reader, const SourcePlace& place, uint64_t after,
                              size_t limit) {
  SourcePage found{.read_to = after};
  for (size_t looked = 0; looked < kMaxEventsRead && found.events.size() < limit;) {
    CAIRN_ASSIGN_OR_RETURN(LogPage page, ReadLog(reader, place, found.read_to));
    found.missed_to = std::max(found.missed_to, page.missed_to);
    found.read_to = std::max(found.read_to, page.missed_to);
    for (Looked& event : page.events) {
      if (found.events.size() == limit) return found;
      ++looked;
      found.read_to = std::max(found.read_to, event.number);
      if (!event.json.empty()) {
        found.events.push_back({event.number, event.at_ms, std::move(event.json)});
      }
    }
    found.at_end = page.events.size() < kPage;
    if (found.at_end) break;
  }
  return found;
}

Result<uint64_t> NewestOf(store::Reader& reader, const SourcePlace& place) {
  const seats::Place seats_place = SeatsPlaceOf(place);
  const seats::Keys keys(seats_place);
  switch (place.source.type) {
    case SourceType::kJobs:
      return jobs::NewestEvent(reader);
    case SourceType::kKeys:
      return doors::NewestKeyEvent(reader);
    case SourceType::kSeats:
      return seats::NewestChangeOfAll(reader, keys);
    case SourceType::kQueue:
      break;
  }
  return uint64_t{0};
}

Result<uint64_t> OldestOf(store::Reader& reader, const SourcePlace& place) {
  const seats::Place seats_place = SeatsPlaceOf(place);
  switch (place.source.type) {
    case SourceType::kJobs:
      return jobs::RemovedEvents(reader);
    case SourceType::kKeys:
      return doors::RemovedKeyEvents(reader);
    case SourceType::kSeats:
      return seats::RemovedChanges(reader, seats::Keys(seats_place));
    case SourceType::kQueue:
      break;
  }
  return uint64_t{0};
}

std::vector<store::Topic> TopicsOf(const SourcePlace& place) {
  const seats::Place seats_place = SeatsPlaceOf(place);
  std::vector<store::Topic> topics;
  switch (place.source.type) {
    case SourceType::kQueue:
      for (const std::string& queue : place.source.names) topics.push_back(jobs::QueueTopic(queue));
      break;
    case SourceType::kJobs:
      topics.push_back(jobs::EventsTopic());
      break;
    case SourceType::kSeats:
      topics.push_back(seats::Keys(seats_place).FeedsTopic());
      break;
    case SourceType::kKeys:
      topics.push_back(doors::KeyEventsTopic());
      break;
  }
  return topics;
}

}  // namespace cairn::functions
