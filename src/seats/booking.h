#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "seats/event.h"
#include "seats/keys.h"
#include "store/transaction.h"

// A booking, the hash booking:ID:
//
//   event_id section quantity mode buyer       what was asked for; `section` is the one it got
//   seats                                      JSON: the seats asked for, [] for best_available
//   status                                     reserved paid cancelled expired refunded
//   reserved_seats total_price                 JSON: what it got, ["1-4","1-5"], and its price
//   created_at updated_at expires_at paid_at   ISO-8601 in UTC with microseconds (time_text.h)
//   extended_by                                seconds, once the hold was extended
//   error_message                              why it lost its seats
//   receipt                                    the arguments, and the counts of the first answer
//
// Fields that do not apply are not there. A booking that holds or owns seats stays; one that does
// not any more has a time to live, an hour from its last change.
namespace cairn::seats {

enum class Status : uint8_t { kReserved, kPaid, kCancelled, kExpired, kRefunded };
std::string_view StatusName(Status status);
std::optional<Status> ParseStatus(std::string_view name);

enum class Mode : uint8_t { kManual, kBestAvailable };
std::string_view ModeName(Mode mode);

bool IsBookingId(std::string_view id);

struct Booking {
  std::string id;
  std::string event;
  std::string section;
  Mode mode = Mode::kBestAvailable;
  std::vector<std::string> asked;  // seats, of kManual
  int64_t quantity = 0;
  std::string buyer;
  Status status = Status::kReserved;
  std::vector<std::string> seats;
  int64_t total_price = 0;
  Timestamp created_at;
  Timestamp updated_at;
  Timestamp expires_at;  // whole milliseconds
  std::optional<Timestamp> paid_at;
  std::optional<int64_t> extended_by;
  std::string error_message;

  std::string request;    // the arguments in one form, to compare
  Counts section_counts;  // after it was made
  Counts event_counts;

  // What it is at `now`: a hold past its time is expired, although its timer may not have fired.
  Status StatusAt(Timestamp now) const {
    return status == Status::kReserved && expires_at <= now ? Status::kExpired : status;
  }
  bool OwnsSeats() const { return status == Status::kReserved || status == Status::kPaid; }
};

// nullopt if there is none. Refuses a key that holds something else, or a hash that this layer did
// not write.
Result<std::optional<Booking>> LoadBooking(store::Transaction& transaction, const Keys& keys,
                                           std::string_view id);
// Only where its seats are; empty if there is no such booking.
Result<std::string> LoadSectionOf(store::Transaction& transaction, const Keys& keys,
                                  std::string_view id);
// Refuses a booking that is not there.
Result<Booking> RequireBooking(store::Transaction& transaction, const Keys& keys,
                               std::string_view id);

// Writes a new one, under an id that is free.
Result<void> AddBooking(store::Transaction& transaction, const Keys& keys, const Booking& booking);
// Writes what an operation can change: status, times, extended_by, error_message; and the time to
// live.
Result<void> UpdateBooking(store::Transaction& transaction, const Keys& keys,
                           const Booking& booking);

// A booking as verify reads it, whoever wrote it.
struct SeatClaim {
  std::string event;
  std::string section;
  std::string status;
  std::vector<std::string> seats;  // "row-seat"
};
Result<std::optional<SeatClaim>> LoadClaim(store::Transaction& transaction, const Keys& keys,
                                           std::string_view id);

}  // namespace cairn::seats
