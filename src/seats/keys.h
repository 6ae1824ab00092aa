#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "store/scopes.h"
#include "store/space.h"

// The keys of seats. Nearly all of them are keys of the data server, so any Redis client sees them;
// PREFIX is the setting seats.key_prefix, EVENT, SECTION and ID stand for names.
//
//   key                              type     content
//   ──────────────────────────────   ──────   ─────────────────────────────────────────────────────
//   PREFIXseats_bf:EVENT:SECTION     string   2 bits a seat (seat.h)
//   PREFIXevent_state:EVENT          JSON     counts and shape of each section, settings (event.h)
//   PREFIXbooking:ID                 hash     a booking (booking.h)
//   PREFIXevent_sellout_timer:EVENT  hash     first_ticket_reserved_at fully_reserved_at
//                                             duration_seconds
//   PREFIXseats_rows:EVENT:SECTION   string   a hint where free seats are (row_index.h)
//   PREFIXseats_sections:EVENT       string   a hint which sections have some (section_index.h)
//   PREFIXevent_bookings:EVENT       set      the ids of the bookings that hold or own seats
//   PREFIXevent_buyers:EVENT         hash     seats each buyer holds or owns, if that is limited
//   PREFIXrefund:ID                  hash     what was given back, and when
//
// Besides these there are, in other spaces,
//
//   events   'seat' db:1 size:2 EVENT number:8    a change (feed.h); PREFIX is part of EVENT here
//            'setr' db:1                          number:8, the newest change that was removed
//   timers   kind kTimerHold   owner db:1 ID       payload size:1 EVENT SECTION: a hold to release
//            kind kTimerFeed   owner db:1 EVENT    old changes to remove
namespace cairn::seats {

// Stored: never renumber. store/timers.h has those of the layers below.
inline constexpr uint8_t kTimerHold = 16;
inline constexpr uint8_t kTimerFeed = 17;

// Where a layer's keys are: a database and a prefix.
struct Place {
  uint8_t db = 0;
  std::string prefix = {};
};

// Builds the names. A borrowed view of the place.
class Keys {
 public:
  explicit Keys(const Place& place) : place_(&place) {}

  std::string State(std::string_view event) const { return Make("event_state:", event); }
  std::string Seats(std::string_view event, std::string_view section) const {
    return Make("seats_bf:", event, section);
  }
  std::string Rows(std::string_view event, std::string_view section) const {
    return Make("seats_rows:", event, section);
  }
  std::string Sections(std::string_view event) const { return Make("seats_sections:", event); }
  std::string Booking(std::string_view id) const { return Make("booking:", id); }
  std::string Sellout(std::string_view event) const { return Make("event_sellout_timer:", event); }
  std::string Bookings(std::string_view event) const { return Make("event_bookings:", event); }
  std::string Buyers(std::string_view event) const { return Make("event_buyers:", event); }
  std::string Refund(std::string_view id) const { return Make("refund:", id); }
  // The pub/sub channel of an event's changes.
  std::string Channel(std::string_view event) const { return Make("seats:", event); }

  // Before the number of each change of an event.
  Bytes FeedPrefix(std::string_view event) const;
  store::Topic FeedTopic(std::string_view event) const;
  // Before all changes of the database, and what is woken by each of them.
  Bytes FeedsPrefix() const;
  store::Topic FeedsTopic() const;
  Bytes FeedRemovedKey() const;

  uint8_t db() const { return place_->db; }
  const Place& place() const { return *place_; }

 private:
  std::string Make(std::string_view family, std::string_view name,
                   std::string_view section = {}) const;

  const Place* place_;
};

// The event of a change from its key, PREFIX included; nullopt for a key that is none.
std::optional<std::string_view> DecodeFeedEvent(BytesView key);
// The number of a change from its key; nullopt for a key that is none.
std::optional<uint64_t> DecodeFeedNumber(BytesView key);

// A hold's timer.
struct HoldTimer {
  uint8_t db = 0;
  std::string booking;
  std::string event;
  std::string section;
  friend bool operator==(const HoldTimer&, const HoldTimer&) = default;
};
Bytes EncodeHoldOwner(uint8_t db, std::string_view booking);
Bytes EncodeHoldPayload(std::string_view event, std::string_view section);
std::optional<HoldTimer> DecodeHoldTimer(BytesView owner, BytesView payload);

// The timer of an event's feed.
struct FeedTimer {
  uint8_t db = 0;
  std::string event;
  friend bool operator==(const FeedTimer&, const FeedTimer&) = default;
};
Bytes EncodeFeedOwner(uint8_t db, std::string_view event);
std::optional<FeedTimer> DecodeFeedOwner(BytesView owner);

// Adds the scopes of everything an operation on the event may change; without a section, of all but
// the seats of its sections, and without a booking, of all but one.
void AddEventScopes(const Keys& keys, std::string_view event, std::string_view section,
                    std::string_view booking, store::Scopes& scopes);
// Those of the seats of a section alone.
void AddSeatScopes(const Keys& keys, std::string_view event, std::string_view section,
                   store::Scopes& scopes);

}  // namespace cairn::seats
