#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

// Why an operation was refused, in words that a program can compare. A refusal is an Error whose
// message begins with the reason's name: that word is the RESP error's, and in small letters the
// `code` of an HTTP answer.
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

struct ReasonRow {
  Reason reason;
  std::string_view name;  // "SEAT_TAKEN"
  ErrorCode code;
  int http_status;
  bool names_seat;  // the word behind the name is a seat
  std::string_view meaning;
};

const ReasonRow& ReasonRowOf(Reason reason);
// The row of a refusal; null for an error that is none.
const ReasonRow* FindReason(const Error& error);

Error Refuse(Reason reason, std::string_view text);
// For a reason that names a seat: `text` goes on after the seat ("of section A-1 is sold").
Error RefuseSeat(Reason reason, std::string_view seat, std::string_view text);

// The seat that a refusal names; empty if it names none.
std::string_view RefusedSeat(const Error& error);
// The message without the reason's name.
std::string_view RefusalText(const Error& error);

}  // namespace cairn::seats
