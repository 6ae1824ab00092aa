#include "seats/operations.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/value/collection.h"
#include "data/value/entry.h"
#include "data/value/fields.h"
#include "seats/limits.h"
#include "seats/refusal.h"
#include "seats/row_index.h"
#include "seats/section_index.h"
#include "seats/time_text.h"
#include "seats/view.h"

namespace cairn::seats {
namespace {

using data::Collection;
using data::ValueType;

constexpr int64_t kSecondUs = 1'000'000;

// --- Hashes and sets beside the booking ---------------------------------------------------------

Result<Collection> OpenCollection(Context& context, const std::string& key, ValueType type) {
  CAIRN_ASSIGN_OR_RETURN(Collection collection,
                         Collection::Load(context.transaction, context.keys.db(), key, type));
  if (collection.wrong_type()) {
    return Refuse(Reason::kBadEvent, fmt::format("the key {} is of another type", key));
  }
  return collection;
}

Result<std::optional<Bytes>> GetField(Collection& hash, std::string_view name) {
  return hash.elements().Get(data::EncodeField(name));
}

// Writes a field and keeps the count right; without a value, removes it.
Result<void> PutField(Collection& hash, std::string_view name,
                      std::optional<std::string_view> value) {
  const Bytes suffix = data::EncodeField(name);
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> old, hash.elements().Get(suffix));
  uint64_t count = hash.count();
  if (value) {
    hash.elements().Put(suffix, *value);
    count += old ? 0 : 1;
  } else {
    if (!old) return {};
    hash.elements().Delete(suffix);
    count -= 1;
  }
  hash.Save(count);
  return {};
}

// --- The sellout timer ---------------------------------------------------------------------------

// Notes the first ticket, which stays, and the moment at which none was left.
Result<void> TrackSellout(Context& context, const Event& event, const Counts& before) {
  const Counts& now = event.counts();
  const bool was_untouched = before.reserved + before.sold == 0;
  const bool first = was_untouched && now.reserved + now.sold > 0;
  const bool sold_out = before.available > 0 && now.available == 0;
  if (!first && !sold_out) return {};
  const std::string time = FormatTime(context.transaction.now());
  CAIRN_ASSIGN_OR_RETURN(Collection timer, OpenCollection(context, context.keys.Sellout(event.id()),
                                                          ValueType::kHash));
  CAIRN_ASSIGN_OR_RETURN(std::optional<Bytes> started, GetField(timer, "first_ticket_reserved_at"));
  if (first && !started) {
    CAIRN_RETURN_IF_ERROR(PutField(timer, "first_ticket_reserved_at", time));
    started = time;
  }
  if (!sold_out || !started) return {};
  CAIRN_RETURN_IF_ERROR(PutField(timer, "fully_reserved_at", time));
  const std::optional<Timestamp> since = ParseTime(*started);
  if (!since) return {};
  return PutField(timer, "duration_seconds",
                  FormatSeconds(std::max<int64_t>(context.transaction.now().us - since->us, 0)));
}

// --- Seats ---------------------------------------------------------------------------------------

// An event, one of its sections, and the seats of that, ready to be changed.
struct OpenSection {
  Event event;
  Section section;
  SeatBits bits;
};

Result<OpenSection> LoadOpenSection(Context& context, Event event, Section section) {
  CAIRN_ASSIGN_OR_RETURN(SeatBits bits,
                         SeatBits::Load(context.transaction, context.keys.db(),
                                        context.keys.Seats(event.id(), section.id), section.shape));
  return OpenSection{std::move(event), std::move(section), std::move(bits)};
}

Result<OpenSection> LoadOpenSection(Context& context, std::string_view event_id,
                                    std::string_view section_id) {
  CAIRN_ASSIGN_OR_RETURN(Event event, Event::Load(context.transaction, context.keys, event_id));
  CAIRN_ASSIGN_OR_RETURN(Section section, event.LoadSection(section_id));
  return LoadOpenSection(context, std::move(event), std::move(section));
}

std::vector<std::string> NamesOf(const Shape& shape, const std::vector<int64_t>& seats) {
  std::vector<std::string> names;
  names.reserve(seats.size());
  for (const int64_t seat : seats) names.push_back(SeatName(shape, seat));
  return names;
}

// Refuses, naming the first, if a seat is in another state than `state`.
Result<void> RequireState(OpenSection& opened, const std::vector<int64_t>& seats, SeatState state,
                          Reason reason) {
  for (const int64_t seat : seats) {
    CAIRN_ASSIGN_OR_RETURN(const SeatState found, opened.bits.Get(seat));
    if (found == state) continue;
    const std::string text =
        fmt::format("of section {} is {}", opened.section.id, StateName(found));
    const std::string name = SeatName(opened.section.shape, seat);
    if (!ReasonRowOf(reason).names_subject)
      return Refuse(reason, fmt::format("seat {} {}", name, text));
    return RefuseSeat(reason, name, text);
  }
  return {};
}

struct Transition {
  std::string_view what;
  SeatState from;
  SeatState to;
};
constexpr Transition kReserve{"reserved", SeatState::kAvailable, SeatState::kReserved};
constexpr Transition kSell{"sold", SeatState::kReserved, SeatState::kSold};
constexpr Transition kRelease{"released", SeatState::kReserved, SeatState::kAvailable};
constexpr Transition kLapse{"expired", SeatState::kReserved, SeatState::kAvailable};
constexpr Transition kGiveBack{"refunded", SeatState::kSold, SeatState::kAvailable};
constexpr Transition kTakeOut{"blocked", SeatState::kAvailable, SeatState::kBlocked};
constexpr Transition kPutBack{"unblocked", SeatState::kBlocked, SeatState::kAvailable};

// Gives seats that are in `from` their new state, with everything that goes along: the first write
// of each operation. `index` is the section's if it is at hand.
Result<void> ChangeSeats(Context& context, OpenSection& opened, const std::vector<int64_t>& seats,
                         const Transition& transition, std::optional<RowIndex> index = {}) {
  const Counts before = opened.event.counts();
  const int64_t last_change = opened.event.updated_at();
  const bool moves_free =
      transition.from == SeatState::kAvailable || transition.to == SeatState::kAvailable;
  // A stored index carries the version of the bits, so it is written whenever they are.
  if (!index && (moves_free || RowIndex::IsStored(opened.section.shape))) {
    CAIRN_ASSIGN_OR_RETURN(
        index,
        RowIndex::Load(context.transaction, context.keys.db(),
                       context.keys.Rows(opened.event.id(), opened.section.id), opened.bits));
  }
  const uint8_t longest = index ? index->longest() : 0;
  CAIRN_RETURN_IF_ERROR(opened.bits.Set(seats, transition.to));
  opened.bits.Save();
  if (moves_free) CAIRN_RETURN_IF_ERROR(index->Refresh(seats, opened.bits));
  if (index) index->Save();
  if (index && index->longest() != longest && opened.section.place) {
    CAIRN_RETURN_IF_ERROR(SectionIndex::Update(context.transaction, context.keys.db(),
                                               context.keys.Sections(opened.event.id()),
                                               *opened.section.place, index->longest()));
  }
  CAIRN_RETURN_IF_ERROR(opened.event.Move(opened.section, static_cast<int64_t>(seats.size()),
                                          transition.from, transition.to));
  opened.event.Save();
  CAIRN_RETURN_IF_ERROR(TrackSellout(context, opened.event, before));
  Announce(context, opened.event, opened.section,
           {transition.what, transition.to, NamesOf(opened.section.shape, seats)}, last_change);
  return {};
}

// --- Whose seats they are ------------------------------------------------------------------------

Result<int64_t> SeatsOfBuyer(Context& context, const Event& event, std::string_view buyer) {
  CAIRN_ASSIGN_OR_RETURN(Collection buyers, OpenCollection(context, context.keys.Buyers(event.id()),
                                                           ValueType::kHash));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> count, GetField(buyers, buyer));
  return count ? std::strtoll(count->c_str(), nullptr, 10) : 0;
}

Result<void> AddSeatsOfBuyer(Context& context, const Event& event, const Booking& booking,
                             int64_t seats) {
  if (event.settings().max_per_buyer == 0) return {};
  CAIRN_ASSIGN_OR_RETURN(const int64_t held, SeatsOfBuyer(context, event, booking.buyer));
  CAIRN_ASSIGN_OR_RETURN(Collection buyers, OpenCollection(context, context.keys.Buyers(event.id()),
                                                           ValueType::kHash));
  const int64_t now = held + seats;
  const std::string text = fmt::to_string(now);
  return PutField(buyers, booking.buyer,
                  now > 0 ? std::optional<std::string_view>(text) : std::nullopt);
}

Result<void> ListBooking(Context& context, const Booking& booking) {
  CAIRN_ASSIGN_OR_RETURN(
      Collection bookings,
      OpenCollection(context, context.keys.Bookings(booking.event), ValueType::kSet));
  // It is new, so it is not in there.
  bookings.elements().Put(data::EncodeField(booking.id), {});
  bookings.Save(bookings.count() + 1);
  return {};
}

Result<void> UnlistBooking(Context& context, const Booking& booking) {
  CAIRN_ASSIGN_OR_RETURN(
      Collection bookings,
      OpenCollection(context, context.keys.Bookings(booking.event), ValueType::kSet));
  return PutField(bookings, booking.id, std::nullopt);
}

void SetHoldTimer(Context& context, const Booking& booking) {
  context.transaction.SetTimer(booking.expires_at, kTimerHold,
                               EncodeHoldOwner(context.keys.db(), booking.id),
                               EncodeHoldPayload(booking.event, booking.section));
}

void CancelHoldTimer(Context& context, const Booking& booking) {
  context.transaction.CancelTimer(booking.expires_at, kTimerHold,
                                  EncodeHoldOwner(context.keys.db(), booking.id));
}

// --- Reserve -------------------------------------------------------------------------------------

Error BadRequest(const std::string& text) { return Refuse(Reason::kBadRequest, text); }

bool IsPrintable(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

Result<void> CheckManual(const ReserveRequest& request) {
  if (request.section == kAnySection) {
    return BadRequest("mode manual needs one section; 'any' is for best_available");
  }
  if (request.seats.empty()) {
    return Refuse(Reason::kBadQuantity, "mode manual needs seats");
  }
  if (request.prefer != Prefer::kFront || request.avoid_orphans || request.adjacent_only) {
    return BadRequest("prefer, avoid_orphans and adjacent are options of best_available");
  }
  if (request.quantity && *request.quantity != static_cast<int64_t>(request.seats.size())) {
    return Refuse(Reason::kBadQuantity, fmt::format("quantity is {}, but {} seats are named",
                                                    *request.quantity, request.seats.size()));
  }
  return {};
}

Result<void> CheckBest(const ReserveRequest& request) {
  if (!request.seats.empty()) {
    return Refuse(Reason::kBadQuantity, "mode best_available takes a quantity, not seats");
  }
  if (!request.quantity)
    return Refuse(Reason::kBadQuantity, "quantity is missing: say how many seats you want");
  if (*request.quantity < 1) {
    return Refuse(Reason::kBadQuantity,
                  fmt::format("quantity is {}; it must be at least 1", *request.quantity));
  }
  return {};
}

// What can be said about a request without looking at the store.
Result<void> CheckRequest(const ReserveRequest& request) {
  if (!IsBookingId(request.booking)) {
    return BadRequest(fmt::format("a booking id has 1 to {} letters, digits, '_', '-', '.', ':'",
                                  kMaxBookingIdBytes));
  }
  if (request.buyer.size() > kMaxBuyerBytes || !IsPrintable(request.buyer)) {
    return BadRequest(
        fmt::format("buyer must be at most {} bytes without control characters", kMaxBuyerBytes));
  }
  if (request.hold_seconds && *request.hold_seconds < 1) {
    return BadRequest("hold_seconds must be at least 1");
  }
  if (request.section != kAnySection && (request.min_price || request.max_price)) {
    return BadRequest("a price range needs section any");
  }
  return request.mode == Mode::kManual ? CheckManual(request) : CheckBest(request);
}

// All arguments but the booking id, in one form, with bars between them.
std::string Canonical(const ReserveRequest& request) {
  std::string text = request.event;
  text.append(1, '|').append(request.section);
  text.append(request.mode == Mode::kManual ? "|m" : "|b");
  const auto number = [&](std::optional<int64_t> value) {
    text.push_back('|');
    if (value) AppendInteger(*value, text);
  };
  number(request.mode == Mode::kManual ? static_cast<int64_t>(request.seats.size())
                                       : request.quantity);
  number(request.hold_seconds);
  number(static_cast<int64_t>(request.prefer));
  text.append(request.avoid_orphans ? "|o" : "|").append(request.adjacent_only ? "|a" : "|");
  number(request.min_price);
  number(request.max_price);
  for (const std::string& seat : request.seats) text.append(1, '|').append(seat);
  text.append("||").append(request.buyer);
  return text;
}

// What the event's settings say about it.
Result<void> CheckLimits(Context& context, const Event& event, const ReserveRequest& request,
                         int64_t quantity) {
  const EventSettings& settings = event.settings();
  if (quantity > settings.max_per_booking) {
    return Refuse(Reason::kLimitPerBooking,
                  fmt::format("{} seats were asked for; a booking of event {} may have {}",
                              quantity, event.id(), settings.max_per_booking));
  }
  if (request.hold_seconds.value_or(0) > settings.max_hold_seconds) {
    return Refuse(Reason::kHoldTooLong, fmt::format("a hold of event {} lasts {} seconds at most",
                                                    event.id(), settings.max_hold_seconds));
  }
  if (settings.max_per_buyer == 0) return {};
  if (request.buyer.empty()) {
    return BadRequest("this event limits the seats per buyer: name the buyer");
  }
  CAIRN_ASSIGN_OR_RETURN(const int64_t held, SeatsOfBuyer(context, event, request.buyer));
  if (held + quantity <= settings.max_per_buyer) return {};
  return Refuse(Reason::kLimitPerBuyer,
                fmt::format("{} seats were asked for; a buyer may have {} at event {} and has {}",
                            quantity, settings.max_per_buyer, event.id(), held));
}

// The seats that a request gets, and where.
struct Choice {
  OpenSection opened;
  std::vector<int64_t> seats;
  std::optional<RowIndex> index;
};

Error NotEnough(const Event& event, std::string_view section, int64_t quantity, int64_t available) {
  return Refuse(
      Reason::kNotEnoughSeats,
      fmt::format(
          "{} seats were asked for; {} of event {} has {}", quantity,
          section == kAnySection ? "no section in range" : fmt::format("section {}", section),
          event.id(), section == kAnySection ? "enough" : fmt::to_string(available)));
}

Result<Choice> ChooseManual(Context& context, Event event, const ReserveRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(Section section, event.LoadSection(request.section));
  CAIRN_ASSIGN_OR_RETURN(std::vector<int64_t> seats,
                         ParseSeats(section.shape, section.id, request.seats));
  CAIRN_ASSIGN_OR_RETURN(OpenSection opened,
                         LoadOpenSection(context, std::move(event), std::move(section)));
  CAIRN_RETURN_IF_ERROR(RequireState(opened, seats, SeatState::kAvailable, Reason::kSeatTaken));
  return Choice{std::move(opened), std::move(seats), std::nullopt};
}

FindOptions OptionsOf(const ReserveRequest& request) {
  return {.quantity = *request.quantity,
          .prefer = request.prefer,
          .avoid_orphans = request.avoid_orphans,
          .adjacent_only = request.adjacent_only};
}

// The best seats of one section; none if it has not enough, or not enough side by side.
struct Found {
  SeatBits bits;
  RowIndex index;
  std::vector<int64_t> seats;
};
Result<Found> FindIn(Context& context, const Event& event, const Section& section,
                     const FindOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(SeatBits bits,
                         SeatBits::Load(context.transaction, context.keys.db(),
                                        context.keys.Seats(event.id(), section.id), section.shape));
  CAIRN_ASSIGN_OR_RETURN(RowIndex index,
                         RowIndex::Load(context.transaction, context.keys.db(),
                                        context.keys.Rows(event.id(), section.id), bits));
  CAIRN_ASSIGN_OR_RETURN(std::vector<int64_t> seats, FindSeats(index, bits, options));
  if (seats.empty() && !options.adjacent_only) {
    // By its counts the section has enough, so the index may be wrong: somebody has written the
    // bits behind an operation of ours in the same transaction.
    CAIRN_RETURN_IF_ERROR(index.Rebuild(bits));
    CAIRN_ASSIGN_OR_RETURN(seats, FindSeats(index, bits, options));
  }
  return Found{std::move(bits), std::move(index), std::move(seats)};
}

Result<Choice> ChooseInSection(Context& context, Event event, const ReserveRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(Section section, event.LoadSection(request.section));
  const int64_t quantity = *request.quantity;
  if (section.counts.available < quantity) {
    return NotEnough(event, section.id, quantity, section.counts.available);
  }
  CAIRN_ASSIGN_OR_RETURN(Found found, FindIn(context, event, section, OptionsOf(request)));
  if (found.seats.empty() && request.adjacent_only) {
    return Refuse(Reason::kNotAdjacent,
                  fmt::format("section {} has no {} seats side by side", section.id, quantity));
  }
  if (found.seats.empty()) {
    return NotEnough(event, section.id, quantity, section.counts.available);
  }
  return Choice{{std::move(event), std::move(section), std::move(found.bits)},
                std::move(found.seats),
                std::move(found.index)};
}

// Whether the price of a section is in the range.
bool InRange(const ReserveRequest& request, int64_t price) {
  return price >= request.min_price.value_or(0) && price <= request.max_price.value_or(kMaxPrice);
}

// How sections are looked through for somebody who takes any.
struct LookOptions {
  bool together = true;                 // only seats side by side
  const SectionIndex* index = nullptr;  // passes over what it says has not enough
};
struct Looked {
  std::optional<Choice> choice;
  bool enough = false;  // a section had as many seats, side by side or not
};

// Takes the first section that has what is asked for. Uses the event up if there is one.
Result<Looked> LookThrough(Context& context, Event& event, const ReserveRequest& request,
                           const LookOptions& look) {
  Looked looked;
  std::optional<Section> chosen;
  std::optional<Found> found;
  FindOptions options = OptionsOf(request);
  options.adjacent_only = look.together;
  const int64_t least = look.together ? options.quantity : 1;
  const auto visit = [&](const Event::Listed& listed) -> Result<bool> {
    if (!InRange(request, listed.price)) return true;
    if (look.index != nullptr && look.index->longest(listed.place) < least) return true;
    CAIRN_ASSIGN_OR_RETURN(Section section, event.LoadSection(listed.id));
    if (section.counts.available < options.quantity) return true;
    looked.enough = true;
    CAIRN_ASSIGN_OR_RETURN(Found in_section, FindIn(context, event, section, options));
    if (in_section.seats.empty()) return true;
    chosen = std::move(section);
    found = std::move(in_section);
    return false;
  };
  CAIRN_RETURN_IF_ERROR(event.VisitSections(visit));
  if (chosen) {
    looked.choice.emplace(Choice{{std::move(event), *std::move(chosen), std::move(found->bits)},
                                 std::move(found->seats),
                                 std::move(found->index)});
  }
  return looked;
}

// The first section with enough seats side by side, else the first with enough.
Result<Choice> ChooseAnywhere(Context& context, Event event, const ReserveRequest& request) {
  const int64_t quantity = *request.quantity;
  if (event.counts().available < quantity) return NotEnough(event, kAnySection, quantity, 0);
  CAIRN_ASSIGN_OR_RETURN(const SectionIndex index,
                         SectionIndex::Load(context.transaction, context.keys.db(),
                                            context.keys.Sections(event.id())));
  bool enough = false;
  for (const LookOptions& look : {LookOptions{true, &index}, LookOptions{true, nullptr},
                                  LookOptions{false, &index}, LookOptions{false, nullptr}}) {
    if (!look.together && (request.adjacent_only || !enough)) continue;
    CAIRN_ASSIGN_OR_RETURN(Looked looked, LookThrough(context, event, request, look));
    if (looked.choice) return *std::move(looked.choice);
    enough = enough || looked.enough;
  }
  if (!enough || !request.adjacent_only) return NotEnough(event, kAnySection, quantity, 0);
  return Refuse(Reason::kNotAdjacent,
                fmt::format("no section in range has {} seats side by side", quantity));
}

Result<Choice> Choose(Context& context, Event event, const ReserveRequest& request) {
  if (request.mode == Mode::kManual) return ChooseManual(context, std::move(event), request);
  if (request.section == kAnySection) return ChooseAnywhere(context, std::move(event), request);
  return ChooseInSection(context, std::move(event), request);
}

Booking NewBooking(const ReserveRequest& request, const Choice& choice, Timestamp now) {
  const OpenSection& opened = choice.opened;
  const int64_t hold_seconds = request.hold_seconds.value_or(opened.event.settings().hold_seconds);
  Booking booking{.id = request.booking,
                  .event = opened.event.id(),
                  .section = opened.section.id,
                  .mode = request.mode,
                  .asked = request.seats,
                  .quantity = static_cast<int64_t>(choice.seats.size()),
                  .buyer = request.buyer,
                  .seats = NamesOf(opened.section.shape, choice.seats)};
  booking.total_price = opened.section.price * booking.quantity;
  booking.created_at = booking.updated_at = now;
  booking.expires_at = Timestamp::FromMillis(now.millis() + hold_seconds * 1000);
  return booking;
}

// --- What has happened to a booking --------------------------------------------------------------

Result<Answer> AnswerNow(const OpenSection& opened, Booking booking) {
  return Answer{std::move(booking), opened.section.counts, opened.event.counts()};
}

// The answer of an operation that had been done before.
Result<Answer> AnswerAgain(Context& context, Booking booking) {
  CAIRN_ASSIGN_OR_RETURN(Event event,
                         Event::Load(context.transaction, context.keys, booking.event));
  CAIRN_ASSIGN_OR_RETURN(const Section section, event.LoadSection(booking.section));
  return Answer{std::move(booking), section.counts, event.counts(), true};
}

Result<Booking> FindBooking(Context& context, const BookingRef& ref) {
  CAIRN_ASSIGN_OR_RETURN(Booking booking,
                         RequireBooking(context.transaction, context.keys, ref.id));
  if (!ref.event.empty() && booking.event != ref.event) {
    return Refuse(Reason::kNoSuchBooking,
                  fmt::format("event \"{}\" has no booking {}", Printable(ref.event, 80), ref.id));
  }
  if (!ref.section.empty() && booking.section != ref.section) {
    return Refuse(Reason::kNoSuchBooking, fmt::format("booking {} has no seats in section '{}'",
                                                      ref.id, Printable(ref.section, 40)));
  }
  return booking;
}

// Refuses a booking that does not hold its seats now, saying why.
Result<void> RequireHeld(const Booking& booking, Timestamp now) {
  switch (booking.StatusAt(now)) {
    case Status::kReserved:
      return {};
    case Status::kPaid:
      return Refuse(Reason::kAlreadyPaid, fmt::format("booking {} is paid", booking.id));
    case Status::kExpired:
      return Refuse(Reason::kHoldExpired, fmt::format("booking {} held its seats until {}",
                                                      booking.id, FormatTime(booking.expires_at)));
    case Status::kCancelled:
    case Status::kRefunded:
      break;
  }
  return Refuse(Reason::kNotHeld,
                fmt::format("booking {} is {}", booking.id, StatusName(booking.status)));
}

// Opens the booking's section and makes sure that its seats are in the state they should be in.
struct Held {
  OpenSection opened;
  std::vector<int64_t> seats;
};
Result<Held> OpenHeld(Context& context, const Booking& booking, SeatState state) {
  CAIRN_ASSIGN_OR_RETURN(OpenSection opened,
                         LoadOpenSection(context, booking.event, booking.section));
  CAIRN_ASSIGN_OR_RETURN(std::vector<int64_t> seats,
                         ParseSeats(opened.section.shape, opened.section.id, booking.seats));
  CAIRN_RETURN_IF_ERROR(RequireState(opened, seats, state, Reason::kBadEvent));
  return Held{std::move(opened), std::move(seats)};
}

// The booking loses its seats and ends as `status`.
Result<Answer> GiveUp(Context& context, Booking booking, const Transition& transition,
                      Status status, std::string_view why) {
  CAIRN_ASSIGN_OR_RETURN(Held held, OpenHeld(context, booking, transition.from));
  CAIRN_RETURN_IF_ERROR(ChangeSeats(context, held.opened, held.seats, transition));
  if (booking.status == Status::kReserved) CancelHoldTimer(context, booking);
  CAIRN_RETURN_IF_ERROR(AddSeatsOfBuyer(context, held.opened.event, booking,
                                        -static_cast<int64_t>(held.seats.size())));
  CAIRN_RETURN_IF_ERROR(UnlistBooking(context, booking));
  booking.status = status;
  booking.updated_at = context.transaction.now();
  booking.error_message = why;
  CAIRN_RETURN_IF_ERROR(UpdateBooking(context.transaction, context.keys, booking));
  return AnswerNow(held.opened, std::move(booking));
}

// BLOCK and UNBLOCK.
Result<BlockAnswer> ChangeSale(Context& context, const SaleRequest& request,
                               const Transition& transition, Reason refusal) {
  const std::vector<std::string>& names = request.seats;
  if (names.empty() || names.size() > kMaxSeatsPerBlock) {
    return Refuse(Reason::kBadQuantity, fmt::format("name 1 to {} seats; the request has {}",
                                                    kMaxSeatsPerBlock, names.size()));
  }
  CAIRN_ASSIGN_OR_RETURN(OpenSection opened,
                         LoadOpenSection(context, request.event, request.section));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<int64_t> seats,
                         ParseSeats(opened.section.shape, opened.section.id, names));
  CAIRN_RETURN_IF_ERROR(RequireState(opened, seats, transition.from, refusal));
  CAIRN_RETURN_IF_ERROR(ChangeSeats(context, opened, seats, transition));
  return BlockAnswer{opened.section.counts, opened.event.counts()};
}

Result<void> RemoveKey(Context& context, const std::string& key) {
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry,
                         data::Entry::Load(context.transaction, context.keys.db(), key));
  if (entry.exists()) entry.Remove();
  return {};
}

}  // namespace

Result<bool> CreateEvent(Context& context, const EventDefinition& definition) {
  CAIRN_RETURN_IF_ERROR(CheckDefinition(definition));
  CAIRN_ASSIGN_OR_RETURN(
      const data::Entry entry,
      data::Entry::Load(context.transaction, context.keys.db(), context.keys.State(definition.id)));
  if (entry.exists()) {
    CAIRN_ASSIGN_OR_RETURN(Event event,
                           Event::Load(context.transaction, context.keys, definition.id));
    CAIRN_ASSIGN_OR_RETURN(const std::optional<EventDefinition> old, event.LoadDefinition());
    if (old && old->name == definition.name && old->sections == definition.sections &&
        old->settings == definition.settings) {
      return false;
    }
    return Refuse(Reason::kEventExists,
                  fmt::format("event {} exists with another definition", definition.id));
  }
  // What an event of this id may have left that somebody has deleted.
  CAIRN_RETURN_IF_ERROR(RemoveKey(context, context.keys.Sellout(definition.id)));
  CAIRN_RETURN_IF_ERROR(RemoveKey(context, context.keys.Bookings(definition.id)));
  CAIRN_RETURN_IF_ERROR(RemoveKey(context, context.keys.Buyers(definition.id)));
  CAIRN_RETURN_IF_ERROR(Event::Create(context.transaction, context.keys, definition));
  TidyFeedLater(context, definition.id);
  return true;
}

void AddReserveScopes(const Keys& keys, const ReserveRequest& request, store::Scopes& scopes) {
  const bool any = request.section == kAnySection;
  if (any) scopes.AddAll(store::Scopes::Exclusive());
  AddEventScopes(keys, request.event, any ? std::string_view() : request.section, request.booking,
                 scopes);
}

Result<Answer> Reserve(Context& context, const ReserveRequest& request) {
  CAIRN_RETURN_IF_ERROR(CheckRequest(request));
  const std::string canonical = Canonical(request);
  CAIRN_ASSIGN_OR_RETURN(std::optional<Booking> known,
                         LoadBooking(context.transaction, context.keys, request.booking));
  if (known && known->request == canonical) {
    const Counts section = known->section_counts;
    const Counts event = known->event_counts;
    return Answer{*std::move(known), section, event, true};
  }
  if (known) {
    return Refuse(Reason::kBookingConflict,
                  fmt::format("booking {} exists with different arguments; use another booking id",
                              request.booking));
  }
  CAIRN_ASSIGN_OR_RETURN(Event event,
                         Event::Load(context.transaction, context.keys, request.event));
  const int64_t quantity = request.mode == Mode::kManual
                               ? static_cast<int64_t>(request.seats.size())
                               : *request.quantity;
  CAIRN_RETURN_IF_ERROR(CheckLimits(context, event, request, quantity));
  CAIRN_ASSIGN_OR_RETURN(Choice choice, Choose(context, std::move(event), request));

  Booking booking = NewBooking(request, choice, context.transaction.now());
  CAIRN_RETURN_IF_ERROR(
      ChangeSeats(context, choice.opened, choice.seats, kReserve, std::move(choice.index)));
  booking.request = canonical;
  booking.section_counts = choice.opened.section.counts;
  booking.event_counts = choice.opened.event.counts();
  CAIRN_RETURN_IF_ERROR(AddBooking(context.transaction, context.keys, booking));
  CAIRN_RETURN_IF_ERROR(ListBooking(context, booking));
  CAIRN_RETURN_IF_ERROR(AddSeatsOfBuyer(context, choice.opened.event, booking, quantity));
  SetHoldTimer(context, booking);
  return AnswerNow(choice.opened, std::move(booking));
}

void AddBookingScopes(const Keys& keys, const BookingRef& booking, store::Scopes& scopes) {
  AddEventScopes(keys, booking.event, booking.section, booking.id, scopes);
  Bytes scratch;
  doors::AddKeyScope(keys.db(), keys.Refund(booking.id), scopes, scratch);
}

Result<Answer> Pay(Context& context, const BookingRef& ref) {
  CAIRN_ASSIGN_OR_RETURN(Booking booking, FindBooking(context, ref));
  if (booking.status == Status::kPaid) return AnswerAgain(context, std::move(booking));
  CAIRN_RETURN_IF_ERROR(RequireHeld(booking, context.transaction.now()));
  CAIRN_ASSIGN_OR_RETURN(Held held, OpenHeld(context, booking, SeatState::kReserved));
  CAIRN_RETURN_IF_ERROR(ChangeSeats(context, held.opened, held.seats, kSell));
  CancelHoldTimer(context, booking);
  booking.status = Status::kPaid;
  booking.paid_at = booking.updated_at = context.transaction.now();
  CAIRN_RETURN_IF_ERROR(UpdateBooking(context.transaction, context.keys, booking));
  return AnswerNow(held.opened, std::move(booking));
}

Result<Answer> Cancel(Context& context, const BookingRef& ref) {
  CAIRN_ASSIGN_OR_RETURN(Booking booking, FindBooking(context, ref));
  if (booking.status == Status::kCancelled) return AnswerAgain(context, std::move(booking));
  CAIRN_RETURN_IF_ERROR(RequireHeld(booking, context.transaction.now()));
  return GiveUp(context, std::move(booking), kRelease, Status::kCancelled, "");
}

Result<Answer> Extend(Context& context, const ExtendRequest& request) {
  CAIRN_ASSIGN_OR_RETURN(Booking booking, FindBooking(context, request.booking));
  const int64_t seconds = request.seconds;
  const Timestamp now = context.transaction.now();
  CAIRN_RETURN_IF_ERROR(RequireHeld(booking, now));
  if (seconds < 1) return BadRequest("a hold must be extended by at least 1 second");
  if (booking.extended_by == seconds) return AnswerAgain(context, std::move(booking));
  if (booking.extended_by) {
    return Refuse(Reason::kAlreadyExtended, fmt::format("booking {} was extended by {} seconds",
                                                        booking.id, *booking.extended_by));
  }
  CAIRN_ASSIGN_OR_RETURN(Event event,
                         Event::Load(context.transaction, context.keys, booking.event));
  const int64_t most = event.settings().max_hold_seconds;
  const int64_t held_us = booking.expires_at.us - booking.created_at.us;
  if (seconds > most || held_us + seconds * kSecondUs > most * kSecondUs) {
    return Refuse(Reason::kHoldTooLong,
                  fmt::format("a hold of event {} lasts {} seconds at most", event.id(), most));
  }
  CAIRN_ASSIGN_OR_RETURN(const Section section, event.LoadSection(booking.section));
  CancelHoldTimer(context, booking);
  booking.extended_by = seconds;
  booking.expires_at.us += seconds * kSecondUs;
  booking.updated_at = now;
  SetHoldTimer(context, booking);
  CAIRN_RETURN_IF_ERROR(UpdateBooking(context.transaction, context.keys, booking));
  return Answer{std::move(booking), section.counts, event.counts()};
}

Result<Answer> Refund(Context& context, const RefundRequest& request) {
  const std::string& reason = request.reason;
  if (reason.size() > kMaxReasonBytes || !IsPrintable(reason)) {
    return BadRequest(
        fmt::format("reason must be at most {} bytes without control characters", kMaxReasonBytes));
  }
  CAIRN_ASSIGN_OR_RETURN(Booking booking, FindBooking(context, request.booking));
  if (booking.status == Status::kRefunded) return AnswerAgain(context, std::move(booking));
  if (booking.status != Status::kPaid) {
    return Refuse(Reason::kNotPaid,
                  fmt::format("booking {} is {}", booking.id,
                              StatusName(booking.StatusAt(context.transaction.now()))));
  }
  CAIRN_ASSIGN_OR_RETURN(Collection refund, OpenCollection(context, context.keys.Refund(booking.id),
                                                           ValueType::kHash));
  CAIRN_ASSIGN_OR_RETURN(Answer answer,
                         GiveUp(context, std::move(booking), kGiveBack, Status::kRefunded, ""));
  std::string seats;
  AppendStrings(answer.booking.seats, seats);
  CAIRN_RETURN_IF_ERROR(PutField(refund, "booking_id", answer.booking.id));
  CAIRN_RETURN_IF_ERROR(PutField(refund, "event_id", answer.booking.event));
  CAIRN_RETURN_IF_ERROR(PutField(refund, "section", answer.booking.section));
  CAIRN_RETURN_IF_ERROR(PutField(refund, "seats", seats));
  CAIRN_RETURN_IF_ERROR(PutField(refund, "amount", fmt::to_string(answer.booking.total_price)));
  CAIRN_RETURN_IF_ERROR(PutField(refund, "buyer", answer.booking.buyer));
  CAIRN_RETURN_IF_ERROR(PutField(refund, "reason", reason));
  CAIRN_RETURN_IF_ERROR(PutField(refund, "refunded_at", FormatTime(answer.booking.updated_at)));
  return answer;
}

void AddSaleScopes(const Keys& keys, const SaleRequest& request, store::Scopes& scopes) {
  AddEventScopes(keys, request.event, request.section, {}, scopes);
}

Result<BlockAnswer> Block(Context& context, const SaleRequest& request) {
  return ChangeSale(context, request, kTakeOut, Reason::kSeatTaken);
}

Result<BlockAnswer> Unblock(Context& context, const SaleRequest& request) {
  return ChangeSale(context, request, kPutBack, Reason::kSeatNotBlocked);
}

void HoldTimers::AddScopes(const store::Timer& timer, store::Scopes& scopes) const {
  const std::optional<HoldTimer> hold = DecodeHoldTimer(timer.owner, timer.payload);
  if (!hold) return;
  const Place place{hold->db, prefix_};
  AddEventScopes(Keys(place), hold->event, hold->section, hold->booking, scopes);
}

Result<void> HoldTimers::Fire(store::Transaction& transaction, const store::Timer& timer) {
  const std::optional<HoldTimer> hold = DecodeHoldTimer(timer.owner, timer.payload);
  if (!hold) return Error{ErrorCode::kCorruption, "a hold timer without a booking"};
  const Place place{hold->db, prefix_};
  Context context{transaction, Keys(place), pubsub_};
  const auto expire = [&]() -> Result<void> {
    CAIRN_ASSIGN_OR_RETURN(const std::optional<Booking> booking,
                           LoadBooking(transaction, context.keys, hold->booking));
    const bool due = booking && booking->status == Status::kReserved &&
                     booking->event == hold->event && booking->section == hold->section &&
                     booking->expires_at == timer.due;
    if (!due) return {};
    const Result<Answer> answer =
        GiveUp(context, *booking, kLapse, Status::kExpired, "the hold expired before it was paid");
    return answer.ok() ? Result<void>() : Result<void>(answer.error());
  };
  Result<void> expired = expire();
  // Somebody else has changed or deleted what this hold was about: nothing is left to release.
  if (!expired.ok() && FindReason(expired.error()) != nullptr) return {};
  return expired;
}

}  // namespace cairn::seats
