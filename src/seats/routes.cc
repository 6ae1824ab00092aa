#include "seats/routes.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "doors/http/request_values.h"
#include "seats/feed.h"
#include "seats/limits.h"
#include "seats/operations.h"
#include "seats/queries.h"
#include "seats/refusal.h"
#include "seats/route_schemas.h"
#include "seats/verify.h"
#include "seats/view.h"

namespace cairn::seats {
namespace {

namespace json = boost::json;
using boost::asio::awaitable;
using doors::NumberOf;
using doors::RouteCall;
using doors::StringsOf;
using doors::SwitchOf;
using doors::TextOf;
using net::HttpReply;
using net::HttpResponse;

// What all routes share; they are database 0's.
struct Parts {
  doors::RouteStore& store;
  doors::PubSub& pubsub;
  Place place;

  Keys keys() const { return Keys(place); }
};
using SharedParts = std::shared_ptr<const Parts>;

// An answer as text, made inside a transaction.
using Maker = std::function<Result<std::string>(Context&)>;

Result<HttpReply> ToReply(const Result<void>& done, int status, std::string text) {
  if (!done.ok()) return done.error();
  return HttpReply(HttpResponse::Json(status, std::move(text)));
}

// Runs `maker` in a transaction of these scopes; `status` is the answer's.
awaitable<Result<HttpReply>> RunChange(SharedParts parts, store::Scopes scopes, int status,
                                       Maker maker) {
  std::string text;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    Context context{transaction, parts->keys(), parts->pubsub};
    CAIRN_ASSIGN_OR_RETURN(text, maker(context));
    return {};
  };
  const Result<void> done = co_await parts->store.Write(scopes, task);
  co_return ToReply(done, status, std::move(text));
}

enum class Where { kLoop, kPool };

awaitable<Result<HttpReply>> Ask(SharedParts parts, store::Scopes scopes, Where where,
                                 Maker maker) {
  std::string text;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    Context context{transaction, parts->keys(), parts->pubsub};
    CAIRN_ASSIGN_OR_RETURN(text, maker(context));
    return {};
  };
  Result<void> done;
  if (where == Where::kPool) {
    done = co_await parts->store.ReadOnPool(scopes, task);
  } else {
    done = co_await parts->store.Read(scopes, task);
  }
  co_return ToReply(done, 200, std::move(text));
}

// --- Requests -----------------------------------------------------------------------------------

ReserveRequest RequestOf(const RouteCall& call) {
  const json::value& body = call.body;
  ReserveRequest request{.event = call.PathValue("id"),
                         .booking = TextOf(body, "booking_id"),
                         .buyer = TextOf(body, "buyer"),
                         .section = TextOf(body, "section"),
                         .seats = StringsOf(body, "seats"),
                         .quantity = NumberOf(body, "quantity"),
                         .hold_seconds = NumberOf(body, "hold_seconds"),
                         .avoid_orphans = SwitchOf(body, "avoid_orphans"),
                         .adjacent_only = TextOf(body, "adjacent") == "required",
                         .min_price = NumberOf(body, "min_price"),
                         .max_price = NumberOf(body, "max_price")};
  const std::string mode = TextOf(body, "mode");
  const bool manual = mode.empty() ? !request.seats.empty() : mode == ModeName(Mode::kManual);
  request.mode = manual ? Mode::kManual : Mode::kBestAvailable;
  const std::string prefer = TextOf(body, "prefer");
  request.prefer = prefer == "center" ? Prefer::kCenter
                   : prefer == "back" ? Prefer::kBack
                                      : Prefer::kFront;
  return request;
}

// --- Events --------------------------------------------------------------------------------------

store::Scopes EventScopes(const Parts& parts, std::string_view event,
                          std::string_view section = {}) {
  store::Scopes scopes;
  AddEventScopes(parts.keys(), event, section, {}, scopes);
  return scopes;
}

awaitable<Result<HttpReply>> PostEvent(SharedParts parts, const RouteCall& call) {
  const Result<EventDefinition> definition = ParseDefinition("", call.request.body);
  if (!definition.ok()) co_return definition.error();
  bool created = false;
  std::string text;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    Context context{transaction, parts->keys(), parts->pubsub};
    CAIRN_ASSIGN_OR_RETURN(created, CreateEvent(context, *definition));
    CAIRN_ASSIGN_OR_RETURN(text, EventJson(transaction, context.keys, definition->id));
    return {};
  };
  const store::Scopes scopes = EventScopes(*parts, definition->id);
  const Result<void> done = co_await parts->store.WriteOnPool(scopes, task);
  co_return ToReply(done, created ? 201 : 200, std::move(text));
}

awaitable<Result<HttpReply>> GetEvents(SharedParts parts, const RouteCall& call) {
  Page page{.after = std::string(call.request.Query("after").value_or(""))};
  if (const auto limit = call.request.Query("limit")) {
    int64_t number = 0;
    std::from_chars(limit->data(), limit->data() + limit->size(), number);
    if (number < 1 || number > kMaxPage) {
      co_return Refuse(Reason::kBadRequest, fmt::format("limit must be from 1 to {}", kMaxPage));
    }
    page.limit = static_cast<size_t>(number);
  }
  Maker maker = [page](Context& context) {
    return EventsJson(context.transaction, context.keys, page);
  };
  // All of them: a list may show the newest commit of any event, and waits until it is durable.
  const store::Scopes all = store::Scopes::Exclusive();
  co_return co_await Ask(parts, all, Where::kPool, std::move(maker));
}

awaitable<Result<HttpReply>> GetEvent(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("id");
  Maker maker = [id](Context& context) { return EventJson(context.transaction, context.keys, id); };
  co_return co_await Ask(parts, EventScopes(*parts, id), Where::kLoop, std::move(maker));
}

awaitable<Result<HttpReply>> GetSeats(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("id");
  const std::string& section = call.PathValue("section");
  Maker maker = [id, section](Context& context) {
    return MapJson(context.transaction, context.keys, id, section);
  };
  co_return co_await Ask(parts, EventScopes(*parts, id, section), Where::kLoop, std::move(maker));
}

awaitable<Result<HttpReply>> GetVerification(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("id");
  Maker maker = [id](Context& context) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const VerifyReport report,
                           VerifyEvent(context.transaction, context.keys, id));
    return report.ToJson();
  };
  co_return co_await Ask(parts, EventScopes(*parts, id), Where::kPool, std::move(maker));
}

template <Result<BlockAnswer> (*change)(Context&, const SaleRequest&)>
awaitable<Result<HttpReply>> PostSale(SharedParts parts, const RouteCall& call) {
  SaleRequest request{.event = call.PathValue("id"),
                      .section = call.PathValue("section"),
                      .seats = StringsOf(call.body, "seats")};
  store::Scopes scopes;
  AddSaleScopes(parts->keys(), request, scopes);
  Maker maker = [request = std::move(request)](Context& context) -> Result<std::string> {
    CAIRN_ASSIGN_OR_RETURN(const BlockAnswer answer, change(context, request));
    return CountsJson(answer.section, answer.event);
  };
  return RunChange(std::move(parts), std::move(scopes), 200, std::move(maker));
}

// --- Bookings ------------------------------------------------------------------------------------

Result<std::string> ToJson(Context& context, const Result<Answer>& answer) {
  if (!answer.ok()) return answer.error();
  return AnswerJson(answer->booking, answer->section, answer->event, context.transaction.now());
}

awaitable<Result<HttpReply>> PostBooking(SharedParts parts, const RouteCall& call) {
  const ReserveRequest request = RequestOf(call);
  store::Scopes scopes;
  AddReserveScopes(parts->keys(), request, scopes);
  bool repeated = false;
  std::string text;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    Context context{transaction, parts->keys(), parts->pubsub};
    const Result<Answer> answer = Reserve(context, request);
    CAIRN_ASSIGN_OR_RETURN(text, ToJson(context, answer));
    repeated = answer->repeated;
    return {};
  };
  const Result<void> done = co_await parts->store.Write(scopes, task);
  co_return ToReply(done, repeated ? 200 : 201, std::move(text));
}

store::Scopes BookingScopes(const Parts& parts, std::string_view id) {
  store::Scopes scopes;
  Bytes scratch;
  doors::AddKeyScope(parts.place.db, parts.keys().Booking(id), scopes, scratch);
  return scopes;
}

awaitable<Result<HttpReply>> GetBooking(SharedParts parts, const RouteCall& call) {
  const std::string& id = call.PathValue("id");
  Maker maker = [id](Context& context) {
    return OneBookingJson(context.transaction, context.keys, id);
  };
  co_return co_await Ask(parts, BookingScopes(*parts, id), Where::kLoop, std::move(maker));
}

using BookingChange = std::function<Result<Answer>(Context&, const BookingRef&)>;

// Looks where the booking's seats are, then changes it there. The change makes sure that it still
// is the same booking.
awaitable<Result<HttpReply>> ChangeBooking(SharedParts parts, std::string id,
                                           BookingChange change) {
  BookingRef ref{.id = id};
  const doors::RouteStore::Task find = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const Booking booking,
                           RequireBooking(transaction, parts->keys(), ref.id));
    ref.event = booking.event;
    ref.section = booking.section;
    return {};
  };
  store::Scopes scopes = BookingScopes(*parts, id);
  const Result<void> found = co_await parts->store.Peek(scopes, find);
  if (!found.ok()) co_return ToReply(found, 200, "");
  AddBookingScopes(parts->keys(), ref, scopes);
  Maker maker = [&change, &ref](Context& context) -> Result<std::string> {
    return ToJson(context, change(context, ref));
  };
  co_return co_await RunChange(parts, scopes, 200, std::move(maker));
}

awaitable<Result<HttpReply>> PostPay(SharedParts parts, const RouteCall& call) {
  BookingChange change = Pay;
  return ChangeBooking(std::move(parts), call.PathValue("id"), std::move(change));
}

awaitable<Result<HttpReply>> PostCancel(SharedParts parts, const RouteCall& call) {
  BookingChange change = Cancel;
  return ChangeBooking(std::move(parts), call.PathValue("id"), std::move(change));
}

awaitable<Result<HttpReply>> PostExtend(SharedParts parts, const RouteCall& call) {
  const int64_t seconds = NumberOf(call.body, "seconds").value_or(0);
  BookingChange change = [seconds](Context& context, const BookingRef& ref) {
    return Extend(context, {.booking = ref, .seconds = seconds});
  };
  return ChangeBooking(std::move(parts), call.PathValue("id"), std::move(change));
}

awaitable<Result<HttpReply>> PostRefund(SharedParts parts, const RouteCall& call) {
  BookingChange change = [reason = TextOf(call.body, "reason")](Context& context,
                                                                const BookingRef& ref) {
    return Refund(context, {.booking = ref, .reason = reason});
  };
  return ChangeBooking(std::move(parts), call.PathValue("id"), std::move(change));
}

// --- The stream ----------------------------------------------------------------------------------

// Where a stream that was interrupted had come to; nullopt if it says nothing of use.
std::optional<uint64_t> LastEventId(const net::HttpRequest& request) {
  std::string_view text = request.headers.Get("Last-Event-ID").value_or("");
  if (text.empty()) text = request.Query("last_event_id").value_or("");
  uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

// What a stream begins with.
struct StreamStart {
  uint64_t number = 0;   // the change it stands at
  std::string snapshot;  // empty if it goes on from there
};

Result<StreamStart> StartStream(Context& context, const std::string& event,
                                std::optional<uint64_t> last) {
  CAIRN_ASSIGN_OR_RETURN(std::string snapshot, EventJson(context.transaction, context.keys, event));
  if (last) {
    CAIRN_ASSIGN_OR_RETURN(const bool kept,
                           HasChange(context.transaction, context.keys, event, *last));
    if (kept) return StreamStart{*last, ""};
  }
  CAIRN_ASSIGN_OR_RETURN(const uint64_t newest,
                         NewestChange(context.transaction, context.keys, event));
  return StreamStart{newest, std::move(snapshot)};
}

// Sends all changes behind `number` and returns the last one's.
awaitable<Result<uint64_t>> SendChanges(SharedParts parts, std::string event, uint64_t number,
                                        net::EventSink& sink) {
  std::vector<FeedEntry> entries;
  const doors::RouteStore::Task read = [&](store::Transaction& transaction) -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(entries, ReadFeed(transaction, parts->keys(), event, number));
    return {};
  };
  const store::Scopes scopes = EventScopes(*parts, event);
  do {
    const Result<void> done = co_await parts->store.Read(scopes, read);
    if (!done.ok()) co_return done.error();
    for (const FeedEntry& entry : entries) {
      const net::ServerEvent change(fmt::to_string(entry.number), "change", entry.json);
      if (!co_await sink.Send(change)) co_return number;
      number = entry.number;
    }
  } while (!entries.empty());
  co_return number;
}

awaitable<void> RunStream(SharedParts parts, std::string event, StreamStart start,
                          net::EventSink& sink) {
  doors::RouteStore::Signal signal(parts->store, parts->keys().FeedTopic(event));
  uint64_t number = start.number;
  if (!start.snapshot.empty()) {
    const net::ServerEvent snapshot(fmt::to_string(number), "snapshot", start.snapshot);
    if (!co_await sink.Send(snapshot)) co_return;
  }
  while (!sink.gone()) {
    const Result<uint64_t> sent = co_await SendChanges(parts, event, number, sink);
    if (!sent.ok()) co_return;  // the client comes back with the last id it has
    number = *sent;
    const bool woken = co_await signal.Wait();
    if (!woken) co_return;
  }
}

awaitable<Result<HttpReply>> GetStream(SharedParts parts, const RouteCall& call) {
  const std::string& event = call.PathValue("id");
  const std::optional<uint64_t> last = LastEventId(call.request);
  StreamStart start;
  const doors::RouteStore::Task task = [&](store::Transaction& transaction) -> Result<void> {
    Context context{transaction, parts->keys(), parts->pubsub};
    CAIRN_ASSIGN_OR_RETURN(start, StartStream(context, event, last));
    return {};
  };
  const store::Scopes scopes = EventScopes(*parts, event);
  const Result<void> done = co_await parts->store.Read(scopes, task);
  if (!done.ok()) co_return ToReply(done, 200, "");
  net::HttpEventStream stream;
  stream.run = [parts, event, start](net::EventSink& sink) {
    return RunStream(parts, event, start, sink);
  };
  co_return HttpReply(std::move(stream));
}

}  // namespace

void AddSeatRoutes(const RouteParts& given, doors::RouteTable& table) {
  for (const char* prefix : {"/v1/events", "/v1/bookings"}) {
    table.SetErrorForm({.prefix = prefix,
                        .body =
                            [](const doors::ToldError& error) {
                              return doors::StandardErrorBody(error, /*subject_name=*/"seat");
                            },
                        .schema = kRefusalSchema,
                        .read_refusal = ReadRefusal});
  }
  const auto parts =
      std::make_shared<const Parts>(Parts{given.store, given.pubsub, Place{0, given.key_prefix}});
  using Function = awaitable<Result<HttpReply>> (*)(SharedParts, const RouteCall&);
  const auto add = [&](doors::Route route, Function function) {
    route.tag = "seats";
    route.malformed_status = 422;
    route.handler = [parts, function](const RouteCall& call) { return function(parts, call); };
    table.Add(std::move(route));
  };
  const auto read = [&](std::string_view path, std::string_view summary, std::string_view schema,
                        Function function, std::vector<doors::QueryParameter> query = {}) {
    add({.method = "GET",
         .path = path,
         .permission = "seats.read",
         .summary = summary,
         .query = std::move(query),
         .responses = {{200, "What was asked for.", schema}, {404, "It does not exist."}}},
        function);
  };
  const auto change = [&](std::string_view path, std::string_view permission,
                          std::string_view summary, std::string_view request,
                          std::string_view schema, Function function) {
    add({.method = "POST",
         .path = path,
         .permission = permission,
         .summary = summary,
         .request_schema = request,
         .responses = {{200, "Done, now or by the same request before.", schema},
                       {404, "It does not exist."},
                       {409, "The booking or its seats are not in a state that allows it."},
                       {422, "The request is invalid."}}},
        function);
  };

  add({.method = "POST",
       .path = "/v1/events",
       .permission = "seats.manage",
       .summary = "Creates an event.",
       .request_schema = kDefinitionSchema,
       .responses = {{201, "It is on sale.", kEventSchema},
                     {200, "It had been created so before.", kEventSchema},
                     {409, "There is another event with this id."},
                     {422, "The definition is invalid."}}},
      PostEvent);
  read("/v1/events", "The events, in the order of their ids.", kEventsSchema, GetEvents,
       {{"after", "The id before the first: `next` of the page before."},
        {"limit", "How many at most, up to 1000.", "integer"}});
  read("/v1/events/{id}", "One event with its sections and counts.", kEventSchema, GetEvent);
  read("/v1/events/{id}/sections/{section}/seats",
       "The seats of a section: one text a row, one letter a seat (. available, r reserved, "
       "s sold, x blocked).",
       kMapSchema, GetSeats);
  read("/v1/events/{id}/verify", "Whether seats, counts and bookings agree.", kVerifySchema,
       GetVerification);
  add({.method = "GET",
       .path = "/v1/events/{id}/stream",
       .permission = "seats.read",
       .summary = "Server-sent events: a snapshot, then every change; goes on after Last-Event-ID.",
       .query = {{"last_event_id", "Where a browser that cannot send the header has come to."}},
       .responses = {{200, "The stream.", "", "text/event-stream"}, {404, "It does not exist."}}},
      GetStream);
  change("/v1/events/{id}/sections/{section}/block", "seats.manage",
         "Takes available seats out of the sale.", kSeatsSchema, kCountsSchema, PostSale<Block>);
  change("/v1/events/{id}/sections/{section}/unblock", "seats.manage",
         "Puts blocked seats back into the sale.", kSeatsSchema, kCountsSchema, PostSale<Unblock>);
  add({.method = "POST",
       .path = "/v1/events/{id}/bookings",
       .permission = "seats.book",
       .summary = "Holds seats: those named, or the best available.",
       .request_schema = kReserveSchema,
       .responses = {{201, "The seats are held.", kAnswerSchema},
                     {200, "They were, by the same request before.", kAnswerSchema},
                     {404, "No such event or section."},
                     {409, "Seats are taken; `seat` is the first of those named."},
                     {422, "The request is invalid."}}},
      PostBooking);
  read("/v1/bookings/{id}", "One booking.", kBookingSchema, GetBooking);
  change("/v1/bookings/{id}/pay", "seats.book", "Sells the seats that a booking holds.", "",
         kAnswerSchema, PostPay);
  change("/v1/bookings/{id}/cancel", "seats.book", "Gives back the seats that a booking holds.", "",
         kAnswerSchema, PostCancel);
  change("/v1/bookings/{id}/extend", "seats.book", "Lets a booking hold its seats longer, once.",
         kExtendSchema, kAnswerSchema, PostExtend);
  change("/v1/bookings/{id}/refund", "seats.manage", "Takes back the seats of a paid booking.",
         kRefundSchema, kAnswerSchema, PostRefund);
}

}  // namespace cairn::seats
