#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/refusal.h"
#include "base/result.h"

// Why an operation on seats was refused (base/refusal.h).
//
//   SEAT_TAKEN 1-5 of section A-1 is reserved     →  -SEAT_TAKEN 1-5 of section A-1 is reserved
//                                                 →  409
//                                                 {"error":{"code":"seat_taken","seat":"1-5",…
namespace cairn::seats {

enum class Reason : uint8_t {
  kBadRequest,
  kNoSuchEvent,
  kNoSuchSection,
  kNoSuchBooking,
  kEventExists,
  kBadEvent,
  kBadSeat,
  kNoSuchSeat,
  kDuplicateSeat,
  kSeatTaken,
  kSeatNotBlocked,
  kNotEnoughSeats,
  kNotAdjacent,
  kBadQuantity,
  kLimitPerBooking,
  kLimitPerBuyer,
  kBookingConflict,
  kHoldExpired,
  kHoldTooLong,
  kAlreadyExtended,
  kNotHeld,
  kAlreadyPaid,
  kNotPaid,
};

using ReasonRow = cairn::ReasonRow<Reason>;

const ReasonRow& ReasonRowOf(Reason reason);
// The row of a refusal; null if the error is not a refusal.
const ReasonRow* FindReason(const Error& error);
// What a door tells of a refusal, whose subject is a seat; nullopt if it is not a refusal.
std::optional<Refusal> ReadRefusal(const Error& error);

Error Refuse(Reason reason, std::string_view text);
// For a reason that names a seat: `text` goes on after the seat ("of section A-1 is sold").
Error RefuseSeat(Reason reason, std::string_view seat, std::string_view text);

// The seat that a refusal names; empty if it names none.
std::string_view RefusedSeat(const Error& error);
// The message without the reason's name.
std::string_view RefusalText(const Error& error);

}  // namespace cairn::seats
