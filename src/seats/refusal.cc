#include "seats/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace cairn::seats {
namespace {

using enum ErrorCode;

constexpr std::array kRows = {
    ReasonRow{Reason::kBadRequest, "BAD_REQUEST", kInvalid, 422, false,
              "an argument is missing, unknown or out of its bounds"},
    ReasonRow{Reason::kNoSuchEvent, "NO_SUCH_EVENT", kNotFound, 404, false,
              "there is no event with this id"},
    ReasonRow{Reason::kNoSuchSection, "NO_SUCH_SECTION", kNotFound, 404, false,
              "the event has no such section"},
    ReasonRow{Reason::kNoSuchBooking, "NO_SUCH_BOOKING", kNotFound, 404, false,
              "there is no booking with this id, or none of this event"},
    ReasonRow{Reason::kEventExists, "EVENT_EXISTS", kConflict, 409, false,
              "the id is taken by an event with another definition"},
    ReasonRow{Reason::kBadEvent, "BAD_EVENT", kConflict, 409, false,
              "what is stored under the event's keys is not what an event looks like"},
    ReasonRow{Reason::kBadSeat, "BAD_SEAT", kInvalid, 422, true, "a seat is not written row-seat"},
    ReasonRow{Reason::kNoSuchSeat, "NO_SUCH_SEAT", kInvalid, 422, true,
              "the section has no such row or seat"},
    ReasonRow{Reason::kDuplicateSeat, "DUPLICATE_SEAT", kInvalid, 422, true,
              "a seat is named twice"},
    ReasonRow{Reason::kSeatTaken, "SEAT_TAKEN", kConflict, 409, true,
              "the first seat named that is not available"},
    ReasonRow{Reason::kSeatNotBlocked, "SEAT_NOT_BLOCKED", kConflict, 409, true,
              "the first seat named that is not blocked"},
    ReasonRow{Reason::kNotEnoughSeats, "NOT_ENOUGH_SEATS", kConflict, 409, false,
              "fewer seats are available than were asked for"},
    ReasonRow{Reason::kNotAdjacent, "NOT_ADJACENT", kConflict, 409, false,
              "there are enough seats, but not side by side"},
    ReasonRow{Reason::kBadQuantity, "BAD_QUANTITY", kInvalid, 422, false,
              "the quantity is not a number above 0, or differs from the number of seats named"},
    ReasonRow{Reason::kLimitPerBooking, "LIMIT_PER_BOOKING", kInvalid, 422, false,
              "more seats than a booking of this event may have"},
    ReasonRow{Reason::kLimitPerBuyer, "LIMIT_PER_BUYER", kConflict, 409, false,
              "more seats than a buyer may have at this event"},
    ReasonRow{Reason::kBookingConflict, "BOOKING_CONFLICT", kConflict, 409, false,
              "the booking id was used with other arguments"},
    ReasonRow{Reason::kHoldExpired, "HOLD_EXPIRED", kConflict, 409, false,
              "the booking's time to pay is over"},
    ReasonRow{Reason::kHoldTooLong, "HOLD_TOO_LONG", kInvalid, 422, false,
              "a hold would be longer than the event allows"},
    ReasonRow{Reason::kAlreadyExtended, "ALREADY_EXTENDED", kConflict, 409, false,
              "a hold can be extended once"},
    ReasonRow{Reason::kNotHeld, "NOT_HELD", kConflict, 409, false,
              "the booking holds no seats any more"},
    ReasonRow{Reason::kAlreadyPaid, "ALREADY_PAID", kConflict, 409, false,
              "a paid booking is final; there is refund"},
    ReasonRow{Reason::kNotPaid, "NOT_PAID", kConflict, 409, false,
              "only a paid booking can be refunded"},
};

std::string_view FirstWord(std::string_view text) { return text.substr(0, text.find(' ')); }

}  // namespace

const ReasonRow& ReasonRowOf(Reason reason) {
  const auto* row = std::ranges::find(kRows, reason, &ReasonRow::reason);
  CAIRN_CHECK(row != kRows.end(), "reason {}", static_cast<int>(reason));
  return *row;
}

const ReasonRow* FindReason(const Error& error) {
  const auto* row = std::ranges::find(kRows, FirstWord(error.message), &ReasonRow::name);
  return row == kRows.end() || row->code != error.code ? nullptr : row;
}

Error Refuse(Reason reason, std::string_view text) {
  const ReasonRow& row = ReasonRowOf(reason);
  return {row.code, fmt::format("{} {}", row.name, text)};
}

Error RefuseSeat(Reason reason, std::string_view seat, std::string_view text) {
  const ReasonRow& row = ReasonRowOf(reason);
  return {row.code, fmt::format("{} {} {}", row.name, seat, text)};
}

std::string_view RefusalText(const Error& error) {
  const std::string_view message = error.message;
  return message.substr(std::min(FirstWord(message).size() + 1, message.size()));
}

std::string_view RefusedSeat(const Error& error) {
  const ReasonRow* row = FindReason(error);
  return row == nullptr || !row->names_seat ? std::string_view() : FirstWord(RefusalText(error));
}

}  // namespace cairn::seats
