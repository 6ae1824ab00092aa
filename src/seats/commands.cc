#include "seats/commands.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doors/resp/arg_parser.h"
#include "doors/resp/command.h"
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

// A handler that knows where its keys are.
using Handler = std::function<Result<std::string>(Context&, const CommandContext&)>;

constexpr std::string_view kSyntax = "syntax error";

Error Syntax(std::string_view text = kSyntax) { return Refuse(Reason::kBadRequest, text); }

// An answer is the reply; so is a refusal, which has written nothing. What the store could not do
// is handed on.
Result<void> Reply(CommandContext& context, const Result<std::string>& answer) {
  if (!answer.ok() && FindReason(answer.error()) == nullptr) return answer.error();
  if (!answer.ok()) return context.Fail(answer.error().message);
  context.reply.Bulk(*answer);
  return {};
}

doors::RunHandler InPlace(const std::string& prefix, Handler handler) {
  return [prefix, handler = std::move(handler)](CommandContext& context) -> Result<void> {
    const Place place{context.db(), prefix};
    Context here{context.transaction, Keys(place), context.pubsub};
    return Reply(context, handler(here, context));
  };
}

Result<std::string> ToJson(const Result<Answer>& answer, Timestamp now) {
  if (!answer.ok()) return answer.error();
  return AnswerJson(answer->booking, answer->section, answer->event, now);
}

// --- SEAT.CREATE ---------------------------------------------------------------------------------

Result<std::string> Create(Context& here, const CommandContext& command) {
  CAIRN_ASSIGN_OR_RETURN(const EventDefinition definition,
                         ParseDefinition(command.args[1], command.args[2]));
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
  if (!chosen) return Refuse(Reason::kBadQuantity, "how many seats (BEST n), or which (SEATS …)?");
  return request;
}

Result<std::string> ReserveSeats(Context& here, const CommandContext& command) {
  CAIRN_ASSIGN_OR_RETURN(const ReserveRequest request, ParseReserve(command.args));
  return ToJson(Reserve(here, request), command.now());
}

void AddReserveScopes(const Keys& keys, Args args, store::Scopes& scopes) {
  const bool any = doors::EqualsIgnoreCase(args[3], kAnySection);
  if (any) scopes.AddAll(store::Scopes::Exclusive());
  AddEventScopes(keys, args[1], any ? std::string_view() : args[3], args[2], scopes);
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
Result<void> RequireSection(const Context& here, const CommandContext& command) {
  const Args args = command.args;
  if (SectionAt(args) < args.size()) return {};
  CAIRN_ASSIGN_OR_RETURN(const std::string section,
                         LoadSectionOf(here.transaction, here.keys, args[2]));
  if (section.empty()) return {};
  store::Scopes scopes;
  AddSeatScopes(here.keys, args[1], section, scopes);
  return command.Require(scopes);
}

Result<std::string> PayBooking(Context& here, const CommandContext& command) {
  if (SectionAt(command.args) != 3) return Syntax();
  CAIRN_RETURN_IF_ERROR(RequireSection(here, command));
  return ToJson(Pay(here, RefOf(command.args)), command.now());
}

Result<std::string> ReleaseBooking(Context& here, const CommandContext& command) {
  if (SectionAt(command.args) != 3) return Syntax();
  CAIRN_RETURN_IF_ERROR(RequireSection(here, command));
  return ToJson(Cancel(here, RefOf(command.args)), command.now());
}

Result<std::string> ExtendBooking(Context& here, const CommandContext& command) {
  const auto seconds = doors::ParseInteger(command.args[3]);
  if (!seconds) return Syntax("the seconds are not a whole number");
  return ToJson(Extend(here, RefOf(command.args), *seconds), command.now());
}

Result<std::string> RefundBooking(Context& here, const CommandContext& command) {
  const size_t end = SectionAt(command.args);
  if (end > 4) return Syntax();
  CAIRN_RETURN_IF_ERROR(RequireSection(here, command));
  const std::string_view reason = end == 4 ? command.args[3] : "";
  return ToJson(Refund(here, RefOf(command.args), reason), command.now());
}

void AddBookingScopes(const Keys& keys, Args args, store::Scopes& scopes) {
  const bool named = SectionAt(args) < args.size();
  AddEventScopes(keys, args[1], named ? args.back() : std::string_view(), args[2], scopes);
  Bytes scratch;
  doors::AddKeyScope(keys.db(), keys.Refund(args[2]), scopes, scratch);
}

void AddExtendScopes(const Keys& keys, Args args, store::Scopes& scopes) {
  AddEventScopes(keys, args[1], {}, args[2], scopes);
}

// --- SEAT.BLOCK, SEAT.UNBLOCK --------------------------------------------------------------------

using SaleChange = Result<BlockAnswer> (*)(Context&, std::string_view, std::string_view,
                                           const std::vector<std::string>&);

template <SaleChange change>
Result<std::string> ChangeSale(Context& here, const CommandContext& command) {
  std::vector<std::string> seats;
  for (const std::string_view seat : command.args.subspan(3)) seats.emplace_back(seat);
  CAIRN_ASSIGN_OR_RETURN(const BlockAnswer answer,
                         change(here, command.args[1], command.args[2], seats));
  std::string out = R"({"section_stats":)";
  AppendCounts(answer.section, out);
  out += R"(,"event_stats":)";
  AppendCounts(answer.event, out);
  out += "}";
  return out;
}

void AddSectionScopes(const Keys& keys, Args args, store::Scopes& scopes) {
  AddEventScopes(keys, args[1], args[2], {}, scopes);
}

// --- Asking --------------------------------------------------------------------------------------

Result<std::string> State(Context& here, const CommandContext& command) {
  return EventJson(here.transaction, here.keys, command.args[1]);
}

Result<std::string> Map(Context& here, const CommandContext& command) {
  return MapJson(here.transaction, here.keys, command.args[1], command.args[2]);
}

Result<std::string> ShowBooking(Context& here, const CommandContext& command) {
  return OneBookingJson(here.transaction, here.keys, command.args[1]);
}

Result<std::string> Verify(Context& here, const CommandContext& command) {
  CAIRN_ASSIGN_OR_RETURN(const VerifyReport report,
                         VerifyEvent(here.transaction, here.keys, command.args[1]));
  return report.ToJson();
}

void AddEventScope(const Keys& keys, Args args, store::Scopes& scopes) {
  AddEventScopes(keys, args[1], {}, {}, scopes);
}

void AddBookingScope(const Keys& keys, Args args, store::Scopes& scopes) {
  Bytes scratch;
  doors::AddKeyScope(keys.db(), keys.Booking(args[1]), scopes, scratch);
}

}  // namespace

void AddSeatCommands(doors::Instance& instance, const std::string& prefix) {
  using Scoping = void (*)(const Keys&, Args, store::Scopes&);
  const auto add = [&](Command row, Scoping scoping, Handler handler) {
    row.group = "seats";
    row.since = "0.1.0";
    row.run = InPlace(prefix, std::move(handler));
    row.add_scopes = [prefix, scoping](Args args, uint8_t db, store::Scopes& scopes) {
      const Place place{db, prefix};
      scoping(Keys(place), args, scopes);
    };
    instance.commands().Add(std::move(row));
  };
  constexpr std::string_view kBuyers = "is what buyers do all day: the bookings tell it";
  add({.name = "seat.create",
       .arity = 3,
       .flags = doors::kWrite | doors::kDenyOom,
       .long_running = true,
       .complexity = "O(N) with N being the number of sections",
       .summary = "Creates an event from its JSON definition.",
       .syntax = "event definition"},
      AddEventScope, Create);
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
      AddReserveScopes, ReserveSeats);
  add({.name = "seat.pay",
       .arity = -3,
       .flags = doors::kWrite | doors::kDenyOom,
       .unaudited = kBuyers,
       .complexity = "O(N) with N being the number of seats of the booking",
       .summary = "Sells the seats that a booking holds.",
       .syntax = "event booking [SECTION section]"},
      AddBookingScopes, PayBooking);
  add({.name = "seat.release",
       .arity = -3,
       .flags = doors::kWrite,
       .unaudited = kBuyers,
       .complexity = "O(N) with N being the number of seats of the booking",
       .summary = "Gives back the seats that a booking holds.",
       .syntax = "event booking [SECTION section]"},
      AddBookingScopes, ReleaseBooking);
  add({.name = "seat.extend",
       .arity = 4,
       .flags = doors::kWrite | doors::kFast,
       .unaudited = kBuyers,
       .complexity = "O(1)",
       .summary = "Lets a booking hold its seats longer, once.",
       .syntax = "event booking seconds:integer"},
      AddExtendScopes, ExtendBooking);
  add({.name = "seat.refund",
       .arity = -3,
       .flags = doors::kWrite,
       .complexity = "O(N) with N being the number of seats of the booking",
       .summary = "Takes back the seats of a paid booking.",
       .syntax = "event booking [reason] [SECTION section]"},
      AddBookingScopes, RefundBooking);
  add({.name = "seat.block",
       .arity = -4,
       .flags = doors::kWrite,
       .complexity = "O(N) with N being the number of seats named",
       .summary = "Takes available seats out of the sale.",
       .syntax = "event section seat ..."},
      AddSectionScopes, ChangeSale<Block>);
  add({.name = "seat.unblock",
       .arity = -4,
       .flags = doors::kWrite,
       .complexity = "O(N) with N being the number of seats named",
       .summary = "Puts blocked seats back into the sale.",
       .syntax = "event section seat ..."},
      AddSectionScopes, ChangeSale<Unblock>);
  add({.name = "seat.state",
       .arity = 2,
       .flags = doors::kReadOnly,
       .complexity = "O(N) with N being the number of sections",
       .summary = "Tells an event's sections, counts and settings.",
       .syntax = "event"},
      AddEventScope, State);
  add({.name = "seat.map",
       .arity = 3,
       .flags = doors::kReadOnly,
       .complexity = "O(N) with N being the number of seats of the section",
       .summary = "Draws the seats of a section.",
       .syntax = "event section"},
      AddSectionScopes, Map);
  add({.name = "seat.booking",
       .arity = 2,
       .flags = doors::kReadOnly | doors::kFast,
       .complexity = "O(1)",
       .summary = "Tells about a booking.",
       .syntax = "booking"},
      AddBookingScope, ShowBooking);
  add({.name = "seat.verify",
       .arity = 2,
       .flags = doors::kReadOnly,
       .long_running = true,
       .complexity = "O(N) with N being the number of seats",
       .summary = "Checks that an event's seats, counts and bookings agree.",
       .syntax = "event"},
      AddEventScope, Verify);
}

}  // namespace cairn::seats
