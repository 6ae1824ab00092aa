#include "seats/commands.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
#include "doors/resp/typed_row.h"
#include "seats/operations.h"
#include "seats/queries.h"
#include "seats/refusal.h"
#include "seats/verify.h"
#include "seats/view.h"

// Replies are JSON, the same as over HTTP: scripts decode them with cjson. A refusal is an error
// whose first word is its reason (refusal.h).
namespace cairn::seats {
namespace {

using doors::ArgParser;
using doors::Args;
using doors::Command;
using doors::CommandContext;

// What a row does with its request. An answer is JSON.
template <typename Request>
struct RowFunctions {
  Result<Request> (*parse)(Args);
  void (*scopes)(const Keys&, const Request&, store::Scopes&);
  Result<std::string> (*run)(Context&, const CommandContext&, const Request&);
};

Error Syntax(std::string_view text = "syntax error") { return Refuse(Reason::kBadRequest, text); }

// An answer is the reply; so is a refusal, which has written nothing. What the store could not do
// is handed on.
Result<void> Reply(CommandContext& context, const Result<std::string>& answer) {
  if (!answer.ok() && FindReason(answer.error()) == nullptr) return answer.error();
  if (!answer.ok()) return context.Fail(answer.error().message);
  context.reply.Bulk(*answer);
  return {};
}

// The row, of the keys that begin with `prefix`.
template <typename Request>
Command RowOf(Command row, const std::string& prefix, RowFunctions<Request> functions) {
  row.group = "seats";
  row.since = "0.1.0";
  const auto scopes = [prefix, add = functions.scopes](const Request& request, uint8_t db,
                                                       store::Scopes& into) {
    const Place place{db, prefix};
    add(Keys(place), request, into);
  };
  const auto run = [prefix, run = functions.run](CommandContext& context, const Request& request) {
    const Place place{context.db(), prefix};
    Context here{context.transaction, Keys(place), context.pubsub};
    return Reply(context, run(here, context, request));
  };
  return doors::TypedRow<Request>(std::move(row),
                                  {.parse = functions.parse, .scopes = scopes, .run = run});
}

Result<std::string> ToJson(const Result<Answer>& answer, Timestamp now) {
  if (!answer.ok()) return answer.error();
  return AnswerJson(answer->booking, answer->section, answer->event, now);
}

// --- SEAT.CREATE ---------------------------------------------------------------------------------

struct CreateRequest {
  std::string event;
  std::string definition;  // JSON, read by the handler: it can be long, and this is a loop
};

Result<CreateRequest> ParseCreate(Args args) {
  return CreateRequest{.event = std::string(args[1]), .definition = std::string(args[2])};
}

void AddCreateScopes(const Keys& keys, const CreateRequest& request, store::Scopes& scopes) {
  AddEventScopes(keys, request.event, {}, {}, scopes);
}

Result<std::string> RunCreate(Context& here, const CommandContext& /*command*/,
                              const CreateRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const EventDefinition definition,
                         ParseDefinition(request.event, request.definition));
  CAIRN_ASSIGN_OR_RETURN(const bool created, CreateEvent(here, definition));
  return fmt::format(R"({{"id":"{}","created":{}}})", definition.id, created);
}

// --- SEAT.RESERVE --------------------------------------------------------------------------------

// A word with a number behind it.
std::optional<int64_t> NumberOption(ArgParser& parser, std::string_view word) {
  if (!parser.Keyword(word)) return std::nullopt;
  return parser.Integer(fmt::format("{} needs a whole number", word));
}

bool TakeOption(ArgParser& parser, ReserveRequest& request) {
  if (const auto quantity = NumberOption(parser, "BEST")) {
    request.mode = Mode::kBestAvailable;
    request.quantity = quantity;
  } else if (const auto hold = NumberOption(parser, "HOLD")) {
    request.hold_seconds = hold;
  } else if (const auto least = NumberOption(parser, "MINPRICE")) {
    request.min_price = least;
  } else if (const auto most = NumberOption(parser, "MAXPRICE")) {
    request.max_price = most;
  } else if (parser.Keyword("BUYER")) {
    request.buyer = parser.Next();
  } else if (parser.Keyword("PREFER")) {
    const auto prefer = parser.OneOf<Prefer>(
        {{"FRONT", Prefer::kFront}, {"CENTER", Prefer::kCenter}, {"BACK", Prefer::kBack}});
    if (!prefer) parser.Fail("PREFER is followed by FRONT, CENTER or BACK");
    request.prefer = prefer.value_or(Prefer::kFront);
  } else if (parser.Keyword("NOORPHANS")) {
    request.avoid_orphans = true;
  } else if (parser.Keyword("ADJACENT")) {
    request.adjacent_only = true;
  } else {
    return false;
  }
  return true;
}

Result<ReserveRequest> ParseReserve(Args args) {
  ArgParser parser(args);
  ReserveRequest request{.event = std::string(parser.Next()),
                         .booking = std::string(parser.Next()),
                         .section = std::string(parser.Next())};
  if (doors::EqualsIgnoreCase(request.section, kAnySection)) request.section = kAnySection;
  bool chosen = false;
  while (parser.HasNext()) {
    if (parser.Keyword("SEATS")) {
      request.mode = Mode::kManual;
      for (const std::string_view seat : parser.Rest()) request.seats.emplace_back(seat);
      chosen = true;
    } else if (TakeOption(parser, request)) {
      chosen = chosen || request.quantity.has_value();
    } else {
      parser.Fail(fmt::format("'{}' is not an option", Printable(parser.Next(), 32)));
    }
  }
  if (!parser.Finish()) return Syntax(parser.error());
  if (!chosen)
    return Refuse(Reason::kBadQuantity, "say which seats you want: BEST quantity or SEATS seat …");
  return request;
}

Result<std::string> RunReserve(Context& here, const CommandContext& command,
                               const ReserveRequest& request) {
  return ToJson(Reserve(here, request), command.now());
}

// --- What happens to a booking -------------------------------------------------------------------

// Where "SECTION section" begins at the end of the arguments; their end if it is not there.
size_t SectionAt(Args args) {
  const bool named = args.size() >= 5 && doors::EqualsIgnoreCase(args[args.size() - 2], "SECTION");
  return named ? args.size() - 2 : args.size();
}

BookingRef RefOf(Args args) {
  BookingRef ref{.event = std::string(args[1]), .id = std::string(args[2])};
  if (SectionAt(args) < args.size()) ref.section = args.back();
  return ref;
}

// A booking's seats are in a section that only the store knows, unless the client names it: once it
// is known, its scopes are asked for.
Result<void> RequireSection(const Context& here, const CommandContext& command,
                            const BookingRef& booking) {
  if (!booking.section.empty()) return {};
  CAIRN_ASSIGN_OR_RETURN(const std::string section,
                         LoadSectionOf(here.transaction, here.keys, booking.id));
  if (section.empty()) return {};
  store::Scopes scopes;
  AddSeatScopes(here.keys, booking.event, section, scopes);
  return command.Require(scopes);
}

Result<BookingRef> ParseBooking(Args args) {
  if (SectionAt(args) != 3) return Syntax();
  return RefOf(args);
}

template <Result<Answer> (*change)(Context&, const BookingRef&)>
Result<std::string> ChangeBooking(Context& here, const CommandContext& command,
                                  const BookingRef& booking) {
  CAIRN_RETURN_IF_ERROR(RequireSection(here, command, booking));
  return ToJson(change(here, booking), command.now());
}

Result<ExtendRequest> ParseExtend(Args args) {
  const auto seconds = doors::ParseInteger(args[3]);
  if (!seconds) return Syntax("the seconds are not a whole number");
  return ExtendRequest{.booking = RefOf(args), .seconds = *seconds};
}

void AddExtendScopes(const Keys& keys, const ExtendRequest& request, store::Scopes& scopes) {
  AddBookingScopes(keys, request.booking, scopes);
}

Result<std::string> RunExtend(Context& here, const CommandContext& command,
                              const ExtendRequest& request) {
  return ToJson(Extend(here, request), command.now());
}

Result<RefundRequest> ParseRefund(Args args) {
  const size_t end = SectionAt(args);
  if (end > 4) return Syntax();
  RefundRequest request{.booking = RefOf(args)};
  if (end == 4) request.reason = args[3];
  return request;
}

void AddRefundScopes(const Keys& keys, const RefundRequest& request, store::Scopes& scopes) {
  AddBookingScopes(keys, request.booking, scopes);
}

Result<std::string> RunRefund(Context& here, const CommandContext& command,
                              const RefundRequest& request) {
  CAIRN_RETURN_IF_ERROR(RequireSection(here, command, request.booking));
  return ToJson(Refund(here, request), command.now());
}

// --- SEAT.BLOCK, SEAT.UNBLOCK --------------------------------------------------------------------

Result<SaleRequest> ParseSale(Args args) {
  SaleRequest request{.event = std::string(args[1]), .section = std::string(args[2])};
  for (const std::string_view seat : args.subspan(3)) request.seats.emplace_back(seat);
  return request;
}

template <Result<BlockAnswer> (*change)(Context&, const SaleRequest&)>
Result<std::string> ChangeSale(Context& here, const CommandContext& /*command*/,
                               const SaleRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(const BlockAnswer answer, change(here, request));
  return CountsJson(answer.section, answer.event);
}

// --- Asking --------------------------------------------------------------------------------------

// What a question names.
struct EventRef {
  std::string event;
  std::string section = {};  // of SEAT.MAP
};

Result<EventRef> ParseEvent(Args args) {
  EventRef ref{.event = std::string(args[1])};
  if (args.size() > 2) ref.section = args[2];
  return ref;
}

void AddEventScope(const Keys& keys, const EventRef& ref, store::Scopes& scopes) {
  AddEventScopes(keys, ref.event, ref.section, {}, scopes);
}

Result<std::string> RunState(Context& here, const CommandContext& /*command*/,
                             const EventRef& ref) {
  return EventJson(here.transaction, here.keys, ref.event);
}

Result<std::string> RunMap(Context& here, const CommandContext& /*command*/, const EventRef& ref) {
  return MapJson(here.transaction, here.keys, ref.event, ref.section);
}

Result<std::string> RunVerify(Context& here, const CommandContext& /*command*/,
                              const EventRef& ref) {
  CAIRN_ASSIGN_OR_RETURN(const VerifyReport report,
                         VerifyEvent(here.transaction, here.keys, ref.event));
  return report.ToJson();
}

Result<BookingRef> ParseBookingId(Args args) { return BookingRef{.id = std::string(args[1])}; }

void AddBookingScope(const Keys& keys, const BookingRef& booking, store::Scopes& scopes) {
  Bytes scratch;
  doors::AddKeyScope(keys.db(), keys.Booking(booking.id), scopes, scratch);
}

Result<std::string> RunBooking(Context& here, const CommandContext& /*command*/,
                               const BookingRef& booking) {
  return OneBookingJson(here.transaction, here.keys, booking.id);
}

}  // namespace

void AddSeatCommands(doors::Instance& instance, const std::string& prefix) {
  const auto add = [&]<typename Request>(Command row, const RowFunctions<Request>& functions) {
    instance.commands().Add(RowOf(std::move(row), prefix, functions));
  };
  constexpr std::string_view kBuyers = "is what buyers do all day: the bookings tell it";
  add({.name = "seat.create",
       .arity = 3,
       .flags = doors::kWrite | doors::kDenyOom,
       .long_running = true,
       .complexity = "O(N) with N being the number of sections",
       .summary = "Creates an event from its JSON definition.",
       .syntax = "event definition"},
      RowFunctions<CreateRequest>{ParseCreate, AddCreateScopes, RunCreate});
  add({.name = "seat.reserve",
       .arity = -5,
       .flags = doors::kWrite | doors::kDenyOom,
       .unaudited = kBuyers,
       .complexity = "O(N) with N being the number of seats taken",
       .summary = "Holds seats for a booking: those named, or the best available.",
       .syntax = "event booking section [BUYER buyer] [HOLD seconds:integer] "
                 "[PREFER (FRONT | CENTER | BACK)] [NOORPHANS] [ADJACENT] "
                 "[MINPRICE price:integer] [MAXPRICE price:integer] "
                 "[BEST quantity:integer | SEATS seat ...]"},
      RowFunctions<ReserveRequest>{ParseReserve, AddReserveScopes, RunReserve});
  add({.name = "seat.pay",
       .arity = -3,
       .flags = doors::kWrite | doors::kDenyOom,
       .unaudited = kBuyers,
       .complexity = "O(N) with N being the number of seats of the booking",
       .summary = "Sells the seats that a booking holds.",
       .syntax = "event booking [SECTION section]"},
      RowFunctions<BookingRef>{ParseBooking, AddBookingScopes, ChangeBooking<Pay>});
  add({.name = "seat.release",
       .arity = -3,
       .flags = doors::kWrite,
       .unaudited = kBuyers,
       .complexity = "O(N) with N being the number of seats of the booking",
       .summary = "Gives back the seats that a booking holds.",
       .syntax = "event booking [SECTION section]"},
      RowFunctions<BookingRef>{ParseBooking, AddBookingScopes, ChangeBooking<Cancel>});
  add({.name = "seat.extend",
       .arity = 4,
       .flags = doors::kWrite | doors::kFast,
       .unaudited = kBuyers,
       .complexity = "O(1)",
       .summary = "Lets a booking hold its seats longer, once.",
       .syntax = "event booking seconds:integer"},
      RowFunctions<ExtendRequest>{ParseExtend, AddExtendScopes, RunExtend});
  add({.name = "seat.refund",
       .arity = -3,
       .flags = doors::kWrite,
       .complexity = "O(N) with N being the number of seats of the booking",
       .summary = "Takes back the seats of a paid booking.",
       .syntax = "event booking [reason] [SECTION section]"},
      RowFunctions<RefundRequest>{ParseRefund, AddRefundScopes, RunRefund});
  add({.name = "seat.block",
       .arity = -4,
       .flags = doors::kWrite,
       .complexity = "O(N) with N being the number of seats named",
       .summary = "Takes available seats out of the sale.",
       .syntax = "event section seat ..."},
      RowFunctions<SaleRequest>{ParseSale, AddSaleScopes, ChangeSale<Block>});
  add({.name = "seat.unblock",
       .arity = -4,
       .flags = doors::kWrite,
       .complexity = "O(N) with N being the number of seats named",
       .summary = "Puts blocked seats back into the sale.",
       .syntax = "event section seat ..."},
      RowFunctions<SaleRequest>{ParseSale, AddSaleScopes, ChangeSale<Unblock>});
  add({.name = "seat.state",
       .arity = 2,
       .flags = doors::kReadOnly,
       .complexity = "O(N) with N being the number of sections",
       .summary = "Tells an event's sections, counts and settings.",
       .syntax = "event"},
      RowFunctions<EventRef>{ParseEvent, AddEventScope, RunState});
  add({.name = "seat.map",
       .arity = 3,
       .flags = doors::kReadOnly,
       .complexity = "O(N) with N being the number of seats of the section",
       .summary = "Draws the seats of a section.",
       .syntax = "event section"},
      RowFunctions<EventRef>{ParseEvent, AddEventScope, RunMap});
  add({.name = "seat.booking",
       .arity = 2,
       .flags = doors::kReadOnly | doors::kFast,
       .complexity = "O(1)",
       .summary = "Tells about a booking.",
       .syntax = "booking"},
      RowFunctions<BookingRef>{ParseBookingId, AddBookingScope, RunBooking});
  add({.name = "seat.verify",
       .arity = 2,
       .flags = doors::kReadOnly,
       .long_running = true,
       .complexity = "O(N) with N being the number of seats",
       .summary = "Checks that an event's seats, counts and bookings agree.",
       .syntax = "event"},
      RowFunctions<EventRef>{ParseEvent, AddEventScope, RunVerify});
}

}  // namespace cairn::seats
