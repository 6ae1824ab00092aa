#include "jobs/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "jobs/job_json.h"
#include "jobs/json_members.h"

namespace cairn::jobs {
namespace {

constexpr std::array<std::string_view, 29> kNames = {
    "enqueued",      "started",      "completed",     "continued",      "failed",
    "retrying",      "dead",         "cancelled",     "held",           "approved",
    "rejected",      "progress",     "promoted",      "reclaimed",      "expired",
    "snoozed",       "retried",      "moved",         "reprioritized",  "updated",
    "deleted",       "queue.paused", "queue.resumed", "queue.draining", "queue.cleared",
    "queue.deleted", "queue.config", "batch.sealed",  "batch.completed"};
static_assert(kNames.size() == static_cast<size_t>(EventType::kBatchCompleted) + 1);

// What stands before the members of a row, in this order.
constexpr std::string_view kAt = R"({"at_ns":)";
constexpr std::string_view kType = R"(,"type":)";
constexpr std::string_view kJob = R"(,"job_id":)";
constexpr std::string_view kQueue = R"(,"queue":)";
constexpr std::string_view kData = R"(,"data":)";

// The data of a completion that left no job behind.
constexpr std::string_view kRemoved = R"({"removed":true)";
constexpr std::string_view kResult = R"(,"result":)";
// How far back a removal is looked for: whoever looks was woken by it.
constexpr size_t kMostLookedBack = 20'000;

// Takes a row apart as AppendEvent puts it together. The data is not looked into: it may be as deep
// as whoever gave it liked, and has to come back byte for byte.
class RowReader {
 public:
  explicit RowReader(BytesView row) : rest_(row) {}

  uint64_t Number(std::string_view before) {
    uint64_t number = 0;
    if (!Take(before)) return 0;
    const auto [end, failure] = std::from_chars(rest_.begin(), rest_.end(), number);
    ok_ = ok_ && failure == std::errc();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.begin()));
    return number;
  }
  std::string Text(std::string_view before) {
    ok_ = ok_ && rest_.starts_with(before);
    return TextIf(before);
  }
  std::string TextIf(std::string_view before) {
    if (!ok_ || !rest_.starts_with(before)) return "";
    rest_.remove_prefix(before.size());
    size_t end = 1;
    bool escaped = false;
    for (; end < rest_.size() && rest_[end] != '"'; ++end) {
      if (rest_[end] != '\\') continue;
      escaped = true;
      ++end;
    }
    ok_ = rest_.starts_with('"') && end < rest_.size();
    if (!ok_) return "";
    const std::string_view text = rest_.substr(0, end + 1);
    rest_.remove_prefix(text.size());
    if (!escaped) return std::string(text.substr(1, text.size() - 2));
    std::optional<std::string> decoded = StringOf(text);
    ok_ = decoded.has_value();
    return decoded.value_or("");
  }
  // All that is left but the end of the row.
  std::string RestIf(std::string_view before) {
    if (!ok_ || !rest_.starts_with(before) || rest_.size() < before.size() + 2) return "";
    rest_.remove_prefix(before.size());
    std::string data(rest_.substr(0, rest_.size() - 1));
    rest_.remove_prefix(data.size());
    return data;
  }
  bool AtEnd() const { return ok_ && rest_ == "}"; }

 private:
  bool Take(std::string_view text) {
    ok_ = ok_ && rest_.starts_with(text);
    if (ok_) rest_.remove_prefix(text.size());
    return ok_;
  }

  BytesView rest_;
  bool ok_ = true;
};

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
  AppendMember(kType, EventTypeName(event.type), row);
  if (!event.job.empty()) AppendMember(kJob, event.job, row);
  if (!event.queue.empty()) AppendMember(kQueue, event.queue, row);
  if (!event.data.empty()) row.append(kData).append(event.data);
  row.push_back('}');
  transaction.AppendEvent(InJobs(family::kEvent), row);
}

store::Topic EventsTopic() { return store::Topic::Of(store::Space::kJobs, family::kEvent); }

Result<Event> DecodeEvent(BytesView key, BytesView value) {
  const std::optional<uint64_t> number = DecodeEventNumber(key);
  RowReader row(value);
  Event event{.number = number.value_or(0), .at_ns = row.Number(kAt)};
  const auto type = ParseEventType(row.Text(kType));
  event.job = row.TextIf(kJob);
  event.queue = row.TextIf(kQueue);
  event.data = row.RestIf(kData);
  if (!number || !type || !row.AtEnd()) {
    return Error{ErrorCode::kCorruption, "a row of the event log is no event"};
  }
  event.type = *type;
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

std::string RemovalData(std::string_view result) {
  std::string data(kRemoved);
  if (!result.empty()) data.append(kResult).append(result);
  data.push_back('}');
  return data;
}

Result<std::optional<Removal>> FindRemoval(store::Reader& reader, std::string_view job,
                                           uint64_t since_ns) {
  std::optional<Removal> removal;
  std::optional<Error> failure;
  const auto look = [&](BytesView key, BytesView value) {
    const Result<Event> event = DecodeEvent(key, value);
    if (!event.ok()) {
      failure = event.error();
      return false;
    }
    if (event->job == job && event->data.starts_with(kRemoved)) {
      std::string_view rest = std::string_view(event->data).substr(kRemoved.size());
      rest.remove_suffix(1);
      if (rest.starts_with(kResult)) rest.remove_prefix(kResult.size());
      removal = Removal{.at_ns = event->at_ns, .result = std::string(rest)};
    }
    return !removal && event->at_ns >= since_ns;
  };
  CAIRN_RETURN_IF_ERROR(reader.Scan(store::Range::Prefix(store::Space::kJobs, family::kEvent),
                                    {.reverse = true, .limit = kMostLookedBack}, look));
  if (failure) return *failure;
  return removal;
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
