#include "seats/refusal.h"

#include <fmt/format.h>

#include <array>

namespace cairn::seats {
namespace {

using enum ErrorCode;

constexpr std::array kRows = {
    ReasonRow{Reason::kBadRequest, "BAD_REQUEST", kInvalid, 422,
              "an argument is missing, unknown or out of its bounds"},
    ReasonRow{Reason::kNoSuchEvent, "NO_SUCH_EVENT", kNotFound, 404,
              "there is no event with this id"},
    ReasonRow{Reason::kNoSuchSection, "NO_SUCH_SECTION", kNotFound, 404,
              "the event has no such section"},
    ReasonRow{Reason::kNoSuchBooking, "NO_SUCH_BOOKING", kNotFound, 404,
              "there is no booking with this id, or none of this event"},
    ReasonRow{Reason::kEventExists, "EVENT_EXISTS", kConflict, 409,
              "the id is taken by an event with another definition"},
    ReasonRow{Reason::kBadEvent, "BAD_EVENT", kConflict, 409,
              "the data stored for the event is damaged"},
    ReasonRow{Reason::kBadSeat, "BAD_SEAT", kInvalid, 422, "a seat is not written row-seat", true},
    ReasonRow{Reason::kNoSuchSeat, "NO_SUCH_SEAT", kInvalid, 422,
              "the section has no such row or seat", true},
    ReasonRow{Reason::kDuplicateSeat, "DUPLICATE_SEAT", kInvalid, 422, "a seat is named twice",
              true},
    ReasonRow{Reason::kSeatTaken, "SEAT_TAKEN", kConflict, 409,
              "the first seat named that is not available", true},
    ReasonRow{Reason::kSeatNotBlocked, "SEAT_NOT_BLOCKED", kConflict, 409,
              "the first seat named that is not blocked", true},
    ReasonRow{Reason::kNotEnoughSeats, "NOT_ENOUGH_SEATS", kConflict, 409,
              "fewer seats are available than were asked for"},
    ReasonRow{Reason::kNotAdjacent, "NOT_ADJACENT", kConflict, 409,
              "there are enough seats, but not side by side"},
    ReasonRow{Reason::kBadQuantity, "BAD_QUANTITY", kInvalid, 422,
              "the quantity is not a number above 0, or differs from the number of seats named"},
    ReasonRow{Reason::kLimitPerBooking, "LIMIT_PER_BOOKING", kInvalid, 422,
              "more seats than a booking of this event may have"},
    ReasonRow{Reason::kLimitPerBuyer, "LIMIT_PER_BUYER", kConflict, 409,
              "more seats than a buyer may have at this event"},
    ReasonRow{Reason::kBookingConflict, "BOOKING_CONFLICT", kConflict, 409,
              "the booking id was used with other arguments"},
    ReasonRow{Reason::kHoldExpired, "HOLD_EXPIRED", kConflict, 409,
              "the booking's time to pay is over"},
    ReasonRow{Reason::kHoldTooLong, "HOLD_TOO_LONG", kInvalid, 422,
              "a hold would be longer than the event allows"},
    ReasonRow{Reason::kAlreadyExtended, "ALREADY_EXTENDED", kConflict, 409,
              "a hold can be extended once"},
    ReasonRow{Reason::kNotHeld, "NOT_HELD", kConflict, 409, "the booking no longer holds seats"},
    ReasonRow{Reason::kAlreadyPaid, "ALREADY_PAID", kConflict, 409,
              "a paid booking cannot be changed, only refunded"},
    ReasonRow{Reason::kNotPaid, "NOT_PAID", kConflict, 409, "only a paid booking can be refunded"},
};

constexpr RefusalTable<Reason> kTable{kRows};

}  // namespace

const ReasonRow& ReasonRowOf(Reason reason) { return kTable.RowOf(reason); }
const ReasonRow* FindReason(const Error& error) { return kTable.Find(error); }
std::optional<Refusal> ReadRefusal(const Error& error) { return kTable.Read(error); }
Error Refuse(Reason reason, std::string_view text) { return kTable.Refuse(reason, text); }
std::string_view RefusalText(const Error& error) { return kTable.TextOf(error); }

Error RefuseSeat(Reason reason, std::string_view seat, std::string_view text) {
  return Refuse(reason, fmt::format("{} {}", seat, text));
}

std::string_view RefusedSeat(const Error& error) {
  const std::optional<Refusal> refusal = ReadRefusal(error);
  return refusal ? refusal->subject : std::string_view();
}

}  // namespace cairn::seats
