#include "jobs/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>

#include "jobs/job_json.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 29> kNames = {
    "enqueued",      "started",      "completed",     "continued",      "failed",
    "retrying",      "dead",         "cancelled",     "held",           "approved",
    "rejected",      "progress",     "promoted",      "reclaimed",      "expired",
    "snoozed",       "retried",      "moved",         "reprioritized",  "updated",
    "deleted",       "queue.paused", "queue.resumed", "queue.draining", "queue.cleared",
    "queue.deleted", "queue.config", "batch.sealed",  "batch.completed"};
static_assert(kNames.size() == static_cast<size_t>(EventType::kBatchCompleted) + 1);

constexpr std::string_view kAt = R"({"at_ns":)";

// Names of jobs, and most of queues, need no escapes.
void AppendMember(std::string_view name, std::string_view value, std::string& out) {
  out.append(name);
  AppendJsonString(value, out);
}

}  // namespace

std::string_view EventTypeName(EventType type) { return kNames[static_cast<size_t>(type)]; }

std::optional<EventType> ParseEventType(std::string_view name) {
  const auto* found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<EventType>(found - kNames.begin());
}

void AppendEvent(store::Transaction& transaction, const NewEvent& event) {
  std::string row;
  row.reserve(112 + event.queue.size() + event.data.size());
  row.append(kAt);
  std::array<char, 24> digits;
  const auto at_ns = static_cast<uint64_t>(transaction.now().us) * 1000;
  row.append(digits.data(), std::to_chars(digits.begin(), digits.end(), at_ns).ptr);
  AppendMember(R"(,"type":)", EventTypeName(event.type), row);
  if (!event.job.empty()) AppendMember(R"(,"job_id":)", event.job, row);
  if (!event.queue.empty()) AppendMember(R"(,"queue":)", event.queue, row);
  if (!event.data.empty()) row.append(R"(,"data":)").append(event.data);
  row.push_back('}');
  transaction.AppendEvent(InJobs(family::kEvent), row);
}

store::Topic EventsTopic() { return store::Topic::Of(store::Space::kJobs, family::kEvent); }

Result<Event> DecodeEvent(BytesView key, BytesView value) {
  const std::optional<uint64_t> number = DecodeEventNumber(key);
  boost::system::error_code failure;
  const json::value parsed = json::parse(value, failure);
  const json::object* row = failure ? nullptr : parsed.if_object();
  const Error bad{ErrorCode::kCorruption, "a row of the event log is no event"};
  if (!number || row == nullptr) return bad;
  Event event{.number = *number};
  const json::value* at = row->if_contains("at_ns");
  const json::value* type = row->if_contains("type");
  if (at == nullptr || type == nullptr || !type->is_string()) return bad;
  event.at_ns = at->to_number<uint64_t>(failure);
  const auto known = ParseEventType(type->get_string());
  if (failure || !known) return bad;
  event.type = *known;
  const auto text = [&](std::string_view name) {
    const json::value* found = row->if_contains(name);
    return found != nullptr && found->is_string() ? std::string(found->get_string())
                                                  : std::string();
  };
  event.job = text("job_id");
  event.queue = text("queue");
  // As it was written, not as a parser would write it again.
  constexpr std::string_view kData = R"(,"data":)";
  if (row->if_contains("data") != nullptr) {
    // Before it stand a number and names without quotes of their own.
    const size_t at_data = value.find(kData);
    event.data = value.substr(at_data + kData.size());
    event.data.pop_back();
  }
  return event;
}

Result<std::vector<Event>> ReadEvents(store::Reader& reader, uint64_t number, size_t limit) {
  std::vector<Event> events;
  std::optional<Error> failure;
  store::Range range = store::Range::Prefix(store::Space::kJobs, family::kEvent);
  // What was removed left marks that a scan would have to step over.
  CAIRN_ASSIGN_OR_RETURN(const uint64_t removed, RemovedEvents(reader));
  range.begin = EventKey(std::max(number, removed) + 1);
  CAIRN_RETURN_IF_ERROR(reader.Scan(range, {.limit = limit}, [&](BytesView key, BytesView value) {
    Result<Event> event = DecodeEvent(key, value);
    if (!event.ok()) {
      failure = event.error();
      return false;
    }
    events.push_back(std::move(*event));
    return true;
  }));
  if (failure) return *failure;
  return events;
}

Result<uint64_t> NewestEvent(store::Reader& reader) {
  CAIRN_ASSIGN_OR_RETURN(uint64_t newest, RemovedEvents(reader));
  CAIRN_RETURN_IF_ERROR(reader.Scan(store::Range::Prefix(store::Space::kJobs, family::kEvent),
                                    {.reverse = true, .limit = 1}, [&](BytesView key, BytesView) {
                                      newest = DecodeEventNumber(key).value_or(newest);
                                      return false;
                                    }));
  return newest;
}

Result<uint64_t> RemovedEvents(store::Reader& reader) {
  const Bytes key = EventCursorKey();
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get(InJobs(key)));
  return row ? BytesReader(*row).Big64() : uint64_t{0};
}

}  // namespace cairn::jobs
