#include "jobs/ledger/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/json_text.h"
#include "jobs/model/json_members.h"

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

// What stands before the members of an event, in this order.
constexpr std::string_view kAt = R"("at_ns":)";
constexpr std::string_view kType = R"("type":)";
constexpr std::string_view kJob = R"("job_id":)";
constexpr std::string_view kQueue = R"("queue":)";
constexpr std::string_view kData = R"("data":)";

// A row that has got so large, or has so many events, is followed by another.
constexpr size_t kFullRowBytes = 32 * 1024;
constexpr uint32_t kMostInRow = 256;

// The data of a completion that left no job behind.
constexpr std::string_view kRemoved = R"({"removed":true)";
constexpr std::string_view kResult = R"(,"result":)";
// How far back a removal is looked for: whoever looks was woken by it.
constexpr size_t kMostLookedBack = 20'000;

// Takes a row apart as EventRows puts it together. The data is not looked into but for its end: it
// may be as deep as whoever gave it liked, and has to come back byte for byte.
class RowReader {
 public:
  explicit RowReader(BytesView row) : rest_(row) {}

  bool Take(std::string_view text) {
    if (!ok_ || !rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void Expect(std::string_view text) { ok_ = Take(text); }

  // The next member of the event, if it is the one called so.
  bool Member(std::string_view name) {
    const bool first = rest_.starts_with('{');
    if (!ok_ || !(first || rest_.starts_with(',')) || !rest_.substr(1).starts_with(name)) {
      return false;
    }
    rest_.remove_prefix(1 + name.size());
    return true;
  }
  uint64_t Number() {
    uint64_t number = 0;
    const auto [end, failure] = std::from_chars(rest_.begin(), rest_.end(), number);
    ok_ = ok_ && failure == std::errc();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.begin()));
    return number;
  }
  std::string Text() {
    const size_t end = EndOfString(0);
    ok_ = ok_ && rest_.starts_with('"') && end != std::string_view::npos;
    if (!ok_) return "";
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (text.find('\\') == std::string_view::npos) {
      return std::string(text.substr(1, text.size() - 2));
    }
    std::optional<std::string> decoded = StringOf(text);
    ok_ = decoded.has_value();
    return decoded.value_or("");
  }
  // A value of any kind, up to the bracket that closes the event.
  std::string Value() {
    const size_t end = EndOfValue();
    ok_ = ok_ && end != 0 && end != std::string_view::npos;
    if (!ok_) return "";
    std::string value(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return value;
  }
  bool AtEnd() const { return ok_ && rest_.empty(); }
  bool ok() const { return ok_; }

 private:
  // Behind the closing quote of the string that begins at `at`; npos if there is none.
  size_t EndOfString(size_t at) const {
    for (++at; at < rest_.size() && rest_[at] != '"'; ++at) {
      if (rest_[at] == '\\') ++at;
    }
    return at < rest_.size() ? at + 1 : std::string_view::npos;
  }
  size_t EndOfValue() const {
    size_t depth = 0;
    for (size_t at = 0; at < rest_.size();) {
      const char c = rest_[at];
      if (c == '"') {
        at = EndOfString(at);
        continue;  // npos ends the loop too
      }
      if (depth == 0 && c == '}') return at;
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
      ++at;
    }
    return std::string_view::npos;
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

void EventRows::Add(const NewEvent& event) {
  const bool first = count_ == 0;
  row_.append(first ? "[{" : ",{");
  const size_t begin = row_.size();
  const auto comma = [&] {
    if (row_.size() != begin) row_.push_back(',');
  };
  if (first) {
    std::array<char, 24> digits;
    const auto at_ns = static_cast<uint64_t>(transaction_.now().us) * 1000;
    row_.append(kAt).append(digits.data(), std::to_chars(digits.begin(), digits.end(), at_ns).ptr);
  }
  if (first || event.type != type_ || event.job.empty()) {  // so that none is without members
    comma();
    AppendMember(kType, EventTypeName(event.type), row_);
    type_ = event.type;
  }
  if (!event.job.empty()) {
    comma();
    AppendMember(kJob, event.job, row_);
  }
  if (first ? !event.queue.empty() : event.queue != queue_) {
    comma();
    AppendMember(kQueue, event.queue, row_);
  }
  if (first || event.queue != queue_) queue_ = event.queue;
  if (!event.data.empty()) {
    comma();
    row_.append(kData).append(event.data);
  }
  row_.push_back('}');
  if (++count_ == kMostInRow || row_.size() >= kFullRowBytes) WriteRow();
}

void EventRows::WriteRow() {
  if (count_ > 1) row_.push_back(']');
  // One event stands there without brackets.
  const BytesView row = count_ > 1 ? BytesView(row_) : BytesView(row_).substr(1);
  transaction_.AppendEvents(InJobs(family::kEvent), row, count_);
  row_.clear();
  count_ = 0;
  written_ = true;
}

void EventRows::Write() {
  if (count_ > 0) WriteRow();
  if (std::exchange(written_, false)) transaction_.Wake(EventsTopic());
}

void AppendEvent(store::Transaction& transaction, const NewEvent& event) {
  EventRows rows(transaction);
  rows.Add(event);
  rows.Write();
}

store::Topic EventsTopic() { return store::Topic::Of(store::Space::kJobs, family::kEvent); }

uint64_t EventRowTime(BytesView value) {
  RowReader row(value);
  row.Take("[");
  return row.Member(kAt) ? row.Number() : 0;
}

uint64_t EventRowCount(BytesView value) {
  if (!value.starts_with('[')) return 1;
  uint64_t count = 0;
  size_t depth = 0;
  for (size_t at = 0; at < value.size(); ++at) {
    switch (value[at]) {
      case '"':  // what it says does not count
        for (++at; at < value.size() && value[at] != '"'; ++at) {
          if (value[at] == '\\') ++at;
        }
        break;
      case '{':
        if (depth == 1) ++count;
        [[fallthrough]];
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        --depth;
        break;
      default:
        break;
    }
  }
  return count;
}

Result<std::vector<Event>> DecodeEvents(BytesView key, BytesView value) {
  RowReader row(value);
  const bool several = row.Take("[");
  std::vector<Event> events;
  bool known = true;  // the types
  do {
    Event event;
    if (!events.empty()) {
      event.at_ns = events.back().at_ns;
      event.type = events.back().type;
      event.queue = events.back().queue;
    }
    if (row.Member(kAt)) event.at_ns = row.Number();
    if (row.Member(kType)) {
      const auto type = ParseEventType(row.Text());
      event.type = type.value_or(event.type);
      known = known && type;
    } else {
      known = known && !events.empty();  // the first one says it
    }
    if (row.Member(kJob)) event.job = row.Text();
    if (row.Member(kQueue)) event.queue = row.Text();
    if (row.Member(kData)) event.data = row.Value();
    row.Expect("}");
    events.push_back(std::move(event));
  } while (several && row.Take(","));
  if (several) row.Expect("]");
  const uint64_t last = DecodeEventNumber(key).value_or(0);
  if (!known || !row.AtEnd() || last < events.size() || events.front().at_ns == 0) {
    return Error{ErrorCode::kCorruption, "a row of the event log cannot be decoded"};
  }
  uint64_t number = last - events.size();
  for (Event& event : events) event.number = ++number;
  return events;
}

std::string EventJson(const Event& event) {
  std::string text =
      fmt::format(R"({{"seq":{},"type":"{}")", event.number, EventTypeName(event.type));
  if (!event.job.empty()) {
    text += R"(,"job_id":)";
    AppendJsonString(event.job, text);
  }
  text += R"(,"queue":)";
  AppendJsonString(event.queue, text);
  text += fmt::format(R"(,"at_ns":{})", event.at_ns);
  if (!event.data.empty()) text += R"(,"data":)" + event.data;
  return text + "}";
}

Result<EventPage> ReadEvents(store::Reader& reader, uint64_t number, size_t limit) {
  EventPage page;
  std::vector<Event>& events = page.events;
  // The names and numbers of an event, as text.
  constexpr size_t kEventOverhead = 256;
  size_t bytes = 0;
  std::optional<Error> failure;
  store::Range range = store::Range::Prefix(store::Space::kJobs, family::kEvent);
  // What was removed left marks that a scan would have to step over.
  CAIRN_ASSIGN_OR_RETURN(const uint64_t removed, RemovedEvents(reader));
  const uint64_t after = std::max(number, removed);
  if (number < removed) page.missed_to = removed;
  range.begin = EventKey(after + 1);
  CAIRN_RETURN_IF_ERROR(reader.Scan(range, {.limit = limit}, [&](BytesView key, BytesView value) {
    Result<std::vector<Event>> row = DecodeEvents(key, value);
    if (!row.ok()) {
      failure = row.error();
      return false;
    }
    for (Event& event : *row) {
      if (event.number <= after || page.more) continue;
      bytes += kEventOverhead + event.data.size();
      events.push_back(std::move(event));
      page.more = events.size() >= limit || bytes >= kMaxAnswerBytes;
    }
    return !page.more;
  }));
  if (failure) return *failure;
  return page;
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
  size_t looked_at = 0;
  const auto look = [&](BytesView key, BytesView value) {
    const Result<std::vector<Event>> row = DecodeEvents(key, value);
    if (!row.ok()) {
      failure = row.error();
      return false;
    }
    for (const Event& event : *row) {
      if (event.job != job || !event.data.starts_with(kRemoved)) continue;
      std::string_view rest = std::string_view(event.data).substr(kRemoved.size());
      rest.remove_suffix(1);
      if (rest.starts_with(kResult)) rest.remove_prefix(kResult.size());
      removal = Removal{.at_ns = event.at_ns, .result = std::string(rest)};
    }
    looked_at += row->size();
    return !removal && looked_at < kMostLookedBack && row->front().at_ns >= since_ns;
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
  CAIRN_ASSIGN_OR_RETURN(const EventTail tail, LoadEventTail(reader));
  return tail.removed;
}

Bytes EncodeEventTail(const EventTail& tail) {
  Bytes row;
  AppendBig64(row, tail.removed);
  AppendBig64(row, tail.counted);
  AppendBig64(row, tail.count);
  return row;
}

Result<EventTail> LoadEventTail(store::Reader& reader) {
  const Bytes key = EventCursorKey();
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get(InJobs(key)));
  if (!row) return EventTail{};
  BytesReader bytes(*row);
  EventTail tail{.removed = bytes.Big64()};
  tail.counted = tail.removed;
  if (bytes.AtEnd()) return tail;  // as versions wrote it that did not count
  tail.counted = bytes.Big64();
  tail.count = bytes.Big64();
  if (!bytes.ok() || tail.counted < tail.removed) {
    return Error{ErrorCode::kCorruption,
                 "the row that says where the event log begins cannot be decoded"};
  }
  return tail;
}

}  // namespace cairn::jobs
