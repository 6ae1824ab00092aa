#include "seats/verify.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "data/value/collection.h"
#include "data/value/entry.h"
#include "data/value/fields.h"
#include "data/value/keys.h"
#include "seats/booking.h"
#include "seats/refusal.h"
#include "seats/row_index.h"
#include "seats/time_text.h"
#include "seats/view.h"
#include "store/timers.h"

namespace cairn::seats {
namespace {

using data::Collection;
using data::ValueType;

class Verification {
 public:
  Verification(store::Transaction& transaction, const Keys& keys, Event event)
      : transaction_(transaction), keys_(keys), event_(std::move(event)) {
    report_.event = event_.id();
  }

  Result<VerifyReport> Run() {
    CAIRN_RETURN_IF_ERROR(CheckSections());
    CAIRN_RETURN_IF_ERROR(CheckListedBookings());
    if (!unowned_.empty()) CAIRN_RETURN_IF_ERROR(CheckForeignBookings());
    for (const auto& [place, state] : unowned_) {
      Problem(fmt::format("seat {} of section {} is {} and belongs to no booking",
                          SeatName(shapes_.at(place.first), place.second), place.first,
                          StateName(state)));
    }
    CAIRN_RETURN_IF_ERROR(CheckBuyers());
    CAIRN_RETURN_IF_ERROR(CheckSellout());
    return std::move(report_);
  }

 private:
  using SeatPlace = std::pair<std::string, int64_t>;  // section, index

  void Problem(std::string text) {
    if (report_.problems.size() < kMaxProblems) {
      report_.problems.push_back(std::move(text));
    } else {
      ++report_.more_problems;
    }
  }

  void CompareCounts(std::string_view what, const Counts& told, const Counts& found) {
    if (told == found) return;
    std::string told_text;
    std::string found_text;
    AppendCounts(told, told_text);
    AppendCounts(found, found_text);
    Problem(fmt::format("{} counts {}, its seats are {}", what, told_text, found_text));
  }

  Result<void> CheckSections() {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<Section> sections, event_.LoadSections());
    for (const Section& section : sections) {
      CAIRN_RETURN_IF_ERROR(CheckSection(section));
      ++report_.sections;
    }
    CompareCounts("the event", event_.counts(), report_.counts);
    return {};
  }

  Result<void> CheckSection(const Section& section) {
    shapes_[section.id] = section.shape;
    CAIRN_ASSIGN_OR_RETURN(SeatBits bits,
                           SeatBits::Load(transaction_, keys_.db(),
                                          keys_.Seats(event_.id(), section.id), section.shape));
    Counts counts{.total = section.shape.seats()};
    CAIRN_ASSIGN_OR_RETURN(const std::vector<SeatState> states,
                           bits.Read(0, section.shape.seats()));
    for (int64_t index = 0; index < section.shape.seats(); ++index) {
      const SeatState state = states[static_cast<size_t>(index)];
      counts.available += state == SeatState::kAvailable ? 1 : 0;
      counts.reserved += state == SeatState::kReserved ? 1 : 0;
      counts.sold += state == SeatState::kSold ? 1 : 0;
      if (state == SeatState::kReserved || state == SeatState::kSold) {
        unowned_[{section.id, index}] = state;
      }
    }
    CompareCounts(fmt::format("section {}", section.id), section.counts, counts);
    report_.counts.available += counts.available;
    report_.counts.reserved += counts.reserved;
    report_.counts.sold += counts.sold;
    report_.counts.total += counts.total;
    CAIRN_ASSIGN_OR_RETURN(
        const std::string fault,
        RowIndex::FindFault(transaction_, keys_.db(), keys_.Rows(event_.id(), section.id), bits));
    if (!fault.empty()) Problem(fault);
    return {};
  }

  // Gives the seats to the booking, if they are free to be given.
  void Claim(const std::string& id, const std::string& section,
             const std::vector<std::string>& seats, SeatState state) {
    const auto shape = shapes_.find(section);
    const auto indexes = shape == shapes_.end()
                             ? Result<std::vector<int64_t>>(Refuse(Reason::kNoSuchSection, section))
                             : ParseSeats(shape->second, section, seats);
    if (!indexes.ok()) {
      return Problem(fmt::format("booking {}: {}", id, RefusalText(indexes.error())));
    }
    for (const int64_t index : *indexes) {
      const SeatPlace place{section, index};
      const std::string seat =
          fmt::format("seat {} of section {}", SeatName(shape->second, index), section);
      const auto [owner, first] = owners_.emplace(place, id);
      if (!first) {
        Problem(fmt::format("{} belongs to the bookings {} and {}", seat, owner->second, id));
        continue;
      }
      const auto found = unowned_.find(place);
      const SeatState is = found == unowned_.end() ? SeatState::kAvailable : found->second;
      if (is != state) {
        Problem(fmt::format("{} of booking {} is not {}", seat, id, StateName(state)));
      }
      if (found != unowned_.end()) unowned_.erase(found);
    }
  }

  Result<std::vector<std::string>> ListedBookings() {
    std::vector<std::string> ids;
    CAIRN_ASSIGN_OR_RETURN(
        Collection set,
        Collection::Load(transaction_, keys_.db(), keys_.Bookings(event_.id()), ValueType::kSet));
    if (!set.exists()) return ids;
    if (set.wrong_type()) {
      Problem(fmt::format("{} is not a set", keys_.Bookings(event_.id())));
      return ids;
    }
    CAIRN_RETURN_IF_ERROR(
        set.elements().Scan(data::SuffixRange::All(), {}, [&](BytesView suffix, BytesView) {
          if (const auto id = data::DecodeField(suffix)) ids.emplace_back(*id);
          return true;
        }));
    return ids;
  }

  Result<void> CheckListedBookings() {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> ids, ListedBookings());
    for (const std::string& id : ids) {
      const Result<std::optional<Booking>> loaded = LoadBooking(transaction_, keys_, id);
      if (!loaded.ok() && FindReason(loaded.error()) == nullptr) return loaded.error();
      if (!loaded.ok() || !*loaded) {
        Problem(fmt::format("booking {} is listed and cannot be read", id));
        continue;
      }
      CAIRN_RETURN_IF_ERROR(CheckBooking(**loaded));
    }
    return {};
  }

  Result<void> CheckBooking(const Booking& booking) {
    ++report_.bookings;
    if (!booking.OwnsSeats() || booking.event != event_.id()) {
      Problem(fmt::format("booking {} is listed, but is {} at event {}", booking.id,
                          StatusName(booking.status), booking.event));
      return {};
    }
    const bool paid = booking.status == Status::kPaid;
    Claim(booking.id, booking.section, booking.seats,
          paid ? SeatState::kSold : SeatState::kReserved);
    buyers_[booking.buyer] += static_cast<int64_t>(booking.seats.size());
    const Bytes timer_key = store::EncodeTimerKey(booking.expires_at, kTimerHold,
                                                  EncodeHoldOwner(keys_.db(), booking.id));
    CAIRN_ASSIGN_OR_RETURN(const auto timer, transaction_.Get({store::Space::kTimers, timer_key}));
    if (timer.has_value() == paid) {
      Problem(fmt::format("booking {} is {} and has {} timer", booking.id,
                          StatusName(booking.status), paid ? "a" : "no"));
    }
    return {};
  }

  // Bookings that other clients wrote by the plain pattern are in no list: they are looked for only
  // when seats are left that nobody owns.
  Result<void> CheckForeignBookings() {
    const std::string prefix = keys_.Booking("");
    std::vector<std::string> ids;
    CAIRN_RETURN_IF_ERROR(
        data::ScanRecords(transaction_, data::RecordRange(keys_.db(), prefix),
                          [&](const data::RecordKey& key, const data::Record& record) {
                            if (record.type == ValueType::kHash) {
                              ids.emplace_back(key.user_key.substr(prefix.size()));
                            }
                            return true;
                          }));
    for (const std::string& id : ids) {
      CAIRN_ASSIGN_OR_RETURN(const std::optional<SeatClaim> claim,
                             LoadClaim(transaction_, keys_, id));
      const bool foreign = claim && claim->event == event_.id() && !ParseStatus(claim->status);
      if (!foreign || claim->status == "RESERVE_FAILED") continue;
      ++report_.bookings;
      for (const std::string& seat : claim->seats) ClaimForeign(id, claim->section, seat);
    }
    return {};
  }

  // A foreign booking says whose a seat is, not whether it is paid.
  void ClaimForeign(const std::string& id, const std::string& section, const std::string& seat) {
    const auto shape = shapes_.find(section);
    if (shape == shapes_.end()) return Claim(id, section, {seat}, SeatState::kReserved);
    const auto index = ParseSeats(shape->second, section, {seat});
    const auto found = index.ok() ? unowned_.find({section, index->front()}) : unowned_.end();
    Claim(id, section, {seat}, found == unowned_.end() ? SeatState::kReserved : found->second);
  }

  Result<void> CheckBuyers() {
    if (event_.settings().max_per_buyer == 0) return {};
    CAIRN_ASSIGN_OR_RETURN(
        Collection hash,
        Collection::Load(transaction_, keys_.db(), keys_.Buyers(event_.id()), ValueType::kHash));
    if (hash.exists() && !hash.wrong_type()) {
      CAIRN_RETURN_IF_ERROR(hash.elements().Scan(
          data::SuffixRange::All(), {}, [&](BytesView suffix, BytesView value) {
            buyers_[std::string(data::DecodeField(suffix).value_or(""))] -=
                std::strtoll(std::string(value).c_str(), nullptr, 10);
            return true;
          }));
    }
    for (const auto& [buyer, difference] : buyers_) {
      if (difference != 0) {
        Problem(fmt::format("buyer '{}' has {} seats more than are counted", Printable(buyer),
                            difference));
      }
    }
    return {};
  }

  Result<void> CheckSellout() {
    CAIRN_ASSIGN_OR_RETURN(
        Collection hash,
        Collection::Load(transaction_, keys_.db(), keys_.Sellout(event_.id()), ValueType::kHash));
    if (hash.wrong_type()) {
      Problem(fmt::format("{} is not a hash", keys_.Sellout(event_.id())));
      return {};
    }
    const auto get = [&](std::string_view name) {
      return hash.elements().Get(data::EncodeField(name));
    };
    CAIRN_ASSIGN_OR_RETURN(const auto first, get("first_ticket_reserved_at"));
    CAIRN_ASSIGN_OR_RETURN(const auto last, get("fully_reserved_at"));
    const bool taken = report_.counts.reserved + report_.counts.sold > 0;
    if (taken && !first) Problem("seats are taken, but no first ticket is noted");
    if (last && !first) Problem("the sellout is noted without a first ticket");
    if (taken && first && report_.counts.available == 0 && !last) {
      Problem("no seat is left, but the sellout is not noted");
    }
    return {};
  }

  store::Transaction& transaction_;
  const Keys& keys_;
  Event event_;
  VerifyReport report_;
  std::map<std::string, Shape, std::less<>> shapes_;
  std::map<SeatPlace, SeatState> unowned_;  // reserved and sold seats nobody has claimed yet
  std::map<SeatPlace, std::string> owners_;
  std::map<std::string, int64_t> buyers_;
};

}  // namespace

std::string VerifyReport::ToJson() const {
  std::string out = R"({"event_id":")" + event + R"(","sound":)" + (sound() ? "true" : "false");
  out += fmt::format(R"(,"sections":{},"bookings":{},"seats":)", sections, bookings);
  AppendCounts(counts, out);
  out += R"(,"problems":)";
  AppendStrings(problems, out);
  out += fmt::format(R"(,"more_problems":{}}})", more_problems);
  return out;
}

Result<VerifyReport> VerifyEvent(store::Transaction& transaction, const Keys& keys,
                                 std::string_view event_id) {
  CAIRN_ASSIGN_OR_RETURN(Event event, Event::Load(transaction, keys, event_id));
  return Verification(transaction, keys, std::move(event)).Run();
}

}  // namespace cairn::seats
