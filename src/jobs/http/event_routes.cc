// The event log: as a stream, page by page, and counted by the minute.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json_text.h"
#include "jobs/http/route_schemas.h"
#include "jobs/http/route_support.h"
#include "jobs/http/throughput.h"
#include "jobs/ledger/event.h"
#include "jobs/model/limits.h"
#include "jobs/model/refusal.h"

namespace cairn::jobs {
namespace {

using doors::RouteCall;
using net::HttpReply;

constexpr size_t kStreamBatch = 256;

struct EventFilter {
  std::vector<std::string> queues;
  std::vector<std::string> jobs;
  std::vector<EventType> types;

  bool Passes(const Event& event) const {
    const auto wanted = [](const auto& list, const auto& value) {
      return list.empty() || std::ranges::find(list, value) != list.end();
    };
    return wanted(queues, event.queue) && wanted(jobs, event.job) && wanted(types, event.type);
  }
};

Result<EventFilter> FilterOf(const net::HttpRequest& request) {
  EventFilter filter{.queues = SplitList(request.Query("queues").value_or("")),
                     .jobs = SplitList(request.Query("job_ids").value_or(""))};
  for (const std::string& name : SplitList(request.Query("types").value_or(""))) {
    const std::optional<EventType> type = ParseEventType(name);
    if (!type) {
      return Refuse(Reason::kValidation, fmt::format("there is no event '{}'", Printable(name)));
    }
    filter.types.push_back(*type);
  }
  return filter;
}

// --- The stream ---------------------------------------------------------------------------------

// Where a stream that was interrupted had come to; nullopt if it does not say.
Result<std::optional<uint64_t>> LastEventId(const net::HttpRequest& request) {
  std::string_view text = request.headers.Get("Last-Event-ID").value_or("");
  if (text.empty()) text = request.Query("last_event_id").value_or("");
  if (text.empty()) return std::optional<uint64_t>();
  uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) {
    return Refuse(Reason::kValidation, "the last event's id is not the number of an event");
  }
  return std::optional(number);
}

struct StreamStart {
  uint64_t number = 0;
  bool resumed = false;
};

awaitable<Result<StreamStart>> FindStart(SharedParts parts, std::optional<uint64_t> last) {
  StreamStart start;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t newest, NewestEvent(transaction));
    start = {.number = last.value_or(newest), .resumed = last.has_value()};
    // A number that was never given: of another store, or of one that was lost.
    start.number = std::min(start.number, newest);
    return {};
  };
  const Held all = Held::Everything();
  const Result<void> done = co_await Look(*parts, all, body);
  if (!done.ok()) co_return done.error();
  co_return start;
}

// Tells that the events from `from` to `to` are gone. Its id is the last of them, so that a stream
// that comes back is not told again. False if the client is gone.
awaitable<bool> SendGap(SharedParts parts, uint64_t from, uint64_t to, net::EventSink& sink) {
  ++parts->gaps->streams;
  const net::ServerEvent gap(fmt::to_string(to), "gap",
                             fmt::format(R"({{"missed_from":{},"missed_to":{}}})", from, to));
  const bool sent = co_await sink.Send(gap);
  co_return sent;
}

// Sends all events behind `number` that pass; returns the last one's number, sent or not.
awaitable<Result<uint64_t>> SendEvents(SharedParts parts, const EventFilter& filter,
                                       uint64_t number, net::EventSink& sink) {
  EventPage page;
  const LookBody read = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(page, ReadEvents(transaction, number, kStreamBatch));
    return {};
  };
  const Held all = Held::Everything();
  do {
    const Result<void> done = co_await Look(*parts, all, read);
    if (!done.ok()) co_return done.error();
    // 0 asks for whatever there is.
    if (page.missed_to != 0 && number != 0) {
      const bool sent = co_await SendGap(parts, number + 1, page.missed_to, sink);
      if (!sent) co_return number;
      number = page.missed_to;
    }
    for (const Event& event : page.events) {
      number = event.number;
      if (!filter.Passes(event) || !doors::Allows(parts->queues(), event.queue)) continue;
      const net::ServerEvent message(fmt::to_string(event.number),
                                     std::string(EventTypeName(event.type)), EventJson(event));
      const bool sent = co_await sink.Send(message);
      if (!sent) co_return number;
    }
  } while (!page.events.empty());
  co_return number;
}

awaitable<void> RunStream(SharedParts parts, EventFilter filter, StreamStart start,
                          net::EventSink& sink) {
  doors::RouteStore::Signal signal(parts->store, EventsTopic());
  uint64_t number = start.number;
  // Tells a new stream where it stands, so that one that breaks before its first event misses none.
  if (!start.resumed) {
    const net::ServerEvent position(fmt::to_string(number), "position",
                                    fmt::format(R"({{"seq":{}}})", number));
    const bool sent = co_await sink.Send(position);
    if (!sent) co_return;
  }
  while (!sink.gone()) {
    const Result<uint64_t> sent = co_await SendEvents(parts, filter, number, sink);
    if (!sent.ok()) co_return;  // the client comes back with the last id it has
    number = *sent;
    const bool woken = co_await signal.Wait();
    if (!woken) co_return;
  }
}

awaitable<Result<HttpReply>> GetEvents(SharedParts parts, const RouteCall& call) {
  const Result<EventFilter> filter = FilterOf(call.request);
  if (!filter.ok()) co_return HttpReply(ErrorReply(filter.error()));
  const Result<std::optional<uint64_t>> last = LastEventId(call.request);
  if (!last.ok()) co_return HttpReply(ErrorReply(last.error()));
  const Result<StreamStart> start = co_await FindStart(parts, *last);
  if (!start.ok()) co_return HttpReply(ErrorReply(start.error()));
  net::HttpEventStream stream;
  stream.run = [parts, filter = *filter, start = *start](net::EventSink& sink) {
    return RunStream(parts, filter, start, sink);
  };
  co_return HttpReply(std::move(stream));
}

// --- Pages --------------------------------------------------------------------------------------

awaitable<Result<HttpReply>> GetEventPage(SharedParts parts, const RouteCall& call) {
  const Result<int64_t> after = QueryNumber(call.request, "after_seq", 0, 0, INT64_MAX);
  if (!after.ok()) co_return HttpReply(ErrorReply(after.error()));
  const Result<int64_t> limit = QueryNumber(call.request, "limit", 100, 1, kMaxPage);
  if (!limit.ok()) co_return HttpReply(ErrorReply(limit.error()));
  std::string text;
  bool gap = false;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(
        const EventPage page,
        ReadEvents(transaction, static_cast<uint64_t>(*after), static_cast<size_t>(*limit)));
    const std::vector<Event>& events = page.events;
    gap = page.missed_to != 0 && *after != 0;  // 0 asks for whatever there is
    CAIRN_ASSIGN_OR_RETURN(const uint64_t removed, RemovedEvents(transaction));
    text = R"({"events":[)";
    for (const Event& event : events) {
      if (!doors::Allows(parts->queues(), event.queue)) continue;
      if (text.back() != '[') text.push_back(',');
      text += EventJson(event);
    }
    const uint64_t reached = std::max(static_cast<uint64_t>(*after), page.missed_to);
    text += fmt::format(R"(],"next_seq":{},"removed_seq":{},"gap":{}}})",
                        events.empty() ? reached : events.back().number, removed, gap);
    return {};
  };
  const Held all = Held::Everything();
  const Result<void> done = co_await Look(*parts, all, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  if (gap) ++parts->gaps->pages;
  co_return HttpReply(Json(200, std::move(text)));
}

awaitable<Result<HttpReply>> ShowThroughput(SharedParts parts,
                                            std::shared_ptr<Throughput> throughput) {
  std::string text;
  const LookBody body = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(text, throughput->CatchUp(transaction));
    return {};
  };
  const store::Scopes all = store::Scopes::Exclusive();
  const Result<void> done = co_await parts->store.ReadOnPool(all, body);
  if (!done.ok()) co_return HttpReply(ErrorReply(done.error()));
  co_return HttpReply(Json(200, std::move(text)));
}

}  // namespace

void AddEventRoutes(const SharedParts& parts, doors::RouteTable& table) {
  AddRoute(parts, table,
           {.method = "GET",
            .path = "/api/v1/events",
            .permission = "jobs.read",
            .touches = doors::Touches::Only(kQueueKind),
            .summary = "Server-sent events: what happens to jobs and queues from now on, or after "
                       "Last-Event-ID.",
            .query = {{"queues", "Only of these, with commas between them."},
                      {"job_ids", "Only of these."},
                      {"types", "Only of these kinds."},
                      {"last_event_id",
                       "Replaces Last-Event-ID where a browser cannot send it; 0 starts "
                       "with the oldest event that is kept."}},
            .responses = {{200, "The stream.", "", "text/event-stream"},
                          Refused(400, "The request is invalid.")}},
           GetEvents);
  AddRoute(
      parts, table,
      {.method = "GET",
       .path = "/api/v1/cluster/events",
       .permission = "jobs.read",
       .touches = doors::Touches::Only(kQueueKind),
       .summary = "The event log, page by page.",
       .query = {{"after_seq", "The number before the first; 0 unless given.", "integer"},
                 {"limit", "How many at most, up to 1000; 100 unless given.", "integer"}},
       .responses = {{200, "A page.", kEventPageSchema}, Refused(400, "The request is invalid.")}},
      GetEventPage);
  doors::Route route{.method = "GET",
                     .path = "/api/v1/metrics/throughput",
                     .permission = "jobs.read",
                     .summary =
                         "Jobs enqueued, completed and failed in each of the last sixty "
                         "minutes.",
                     .tag = "jobs",
                     .responses = {{200, "Sixty minutes, oldest first.", kThroughputSchema}}};
  route.handler = [parts, throughput = std::make_shared<Throughput>(parts->gaps)](
                      const RouteCall&) { return ShowThroughput(parts, throughput); };
  table.Add(std::move(route));
}

}  // namespace cairn::jobs
