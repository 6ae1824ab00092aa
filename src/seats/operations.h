#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "seats/booking.h"
#include "seats/event.h"
#include "seats/feed.h"
#include "seats/finder.h"
#include "seats/keys.h"
#include "store/timers.h"

// What can be done with seats. Each function is one step inside a transaction: it checks first and
// writes afterwards, so a refusal (refusal.h) has changed nothing. It writes seats, counts,
// booking, sellout timer and announcements together.
//
// The same request again, with the same booking id, gives the same answer and does nothing: a
// client that does not know whether it was heard asks again.
//
//   reserve ─→ reserved ─pay─→ paid ─refund─→ refunded
//                 ├─ cancel ─→ cancelled
//                 └─ time ───→ expired
namespace cairn::seats {

// An event of this definition exists afterwards. Refuses if there is another one with this id.
// Returns whether it is new.
Result<bool> CreateEvent(Context& context, const EventDefinition& definition);

inline constexpr std::string_view kAnySection = "any";

struct ReserveRequest {
  std::string event;
  std::string booking;
  std::string buyer = {};
  std::string section = {};  // "A-1", or kAnySection: the first that fits
  Mode mode = Mode::kBestAvailable;
  std::vector<std::string> seats = {};       // of kManual
  std::optional<int64_t> quantity = {};      // of kManual may be left out
  std::optional<int64_t> hold_seconds = {};  // the event's own unless given
  // Of kBestAvailable.
  Prefer prefer = Prefer::kFront;
  bool avoid_orphans = false;
  bool adjacent_only = false;
  std::optional<int64_t> min_price = {};  // of kAnySection
  std::optional<int64_t> max_price = {};
};

// A booking and the counts of its section and event: after the first time it was made, if this is a
// repetition.
struct Answer {
  Booking booking;
  Counts section;
  Counts event;
  bool repeated = false;
};

void AddReserveScopes(const Keys& keys, const ReserveRequest& request, store::Scopes& scopes);
Result<Answer> Reserve(Context& context, const ReserveRequest& request);

// The rest refuses a booking that is not of this event, or has its seats in another section than
// the one named. Empty ones are not compared.
struct BookingRef {
  std::string event = {};
  std::string id;
  std::string section = {};
};
// Without a section, all but the seats.
void AddBookingScopes(const Keys& keys, const BookingRef& booking, store::Scopes& scopes);
Result<Answer> Pay(Context& context, const BookingRef& booking);
Result<Answer> Cancel(Context& context, const BookingRef& booking);
// Once, and to no more than the event's max_hold_seconds in all.
struct ExtendRequest {
  BookingRef booking;
  int64_t seconds = 0;
};
Result<Answer> Extend(Context& context, const ExtendRequest& request);
struct RefundRequest {
  BookingRef booking;
  std::string reason = {};
};
Result<Answer> Refund(Context& context, const RefundRequest& request);

struct SaleRequest {
  std::string event;
  std::string section;
  std::vector<std::string> seats;
};
struct BlockAnswer {
  Counts section;
  Counts event;
};
void AddSaleScopes(const Keys& keys, const SaleRequest& request, store::Scopes& scopes);
// Takes available seats out of the sale, and back into it.
Result<BlockAnswer> Block(Context& context, const SaleRequest& request);
Result<BlockAnswer> Unblock(Context& context, const SaleRequest& request);

// Releases holds whose time is up.
class HoldTimers final : public store::TimerHandler {
 public:
  HoldTimers(std::string prefix, doors::PubSub& pubsub)
      : prefix_(std::move(prefix)), pubsub_(pubsub) {}
  void AddScopes(const store::Timer& timer, store::Scopes& scopes) const override;
  Result<void> Fire(store::Transaction& transaction, const store::Timer& timer) override;

 private:
  const std::string prefix_;
  doors::PubSub& pubsub_;
};

}  // namespace cairn::seats
