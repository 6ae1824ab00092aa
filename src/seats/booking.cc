#include "seats/booking.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/json_text.h"
#include "data/json/text.h"
#include "data/value/collection.h"
#include "data/value/fields.h"
#include "seats/limits.h"
#include "seats/refusal.h"
#include "seats/time_text.h"
#include "seats/view.h"

namespace cairn::seats {
namespace {

using data::Collection;
using data::JsonValue;
using FieldMap = std::map<std::string, std::string, std::less<>>;

constexpr std::array<std::string_view, 5> kStatusNames = {"reserved", "paid", "cancelled",
                                                          "expired", "refunded"};

std::string SeatsJson(const std::vector<std::string>& seats) {
  std::string json = "[";
  for (const std::string& seat : seats) {
    if (json.size() > 1) json.push_back(',');
    AppendJsonString(seat, json);
  }
  json.push_back(']');
  return json;
}

std::optional<std::vector<std::string>> ParseSeatsJson(std::string_view text) {
  const Result<JsonValue> json = data::ParseJson(text);
  if (!json.ok() || json->array() == nullptr) return std::nullopt;
  std::vector<std::string> seats;
  for (const JsonValue& seat : *json->array()) {
    if (seat.string() == nullptr) return std::nullopt;
    seats.push_back(*seat.string());
  }
  return seats;
}

std::string_view Take(std::string_view& text, char until) {
  const size_t end = std::min(text.find(until), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return number;
}

std::string CountsText(const Counts& counts) {
  std::string text;
  for (const int64_t count : {counts.available, counts.reserved, counts.sold, counts.total}) {
    if (!text.empty()) text.push_back(',');
    AppendInteger(count, text);
  }
  return text;
}

std::optional<Counts> ParseCounts(std::string_view text) {
  Counts counts;
  for (int64_t* count : {&counts.available, &counts.reserved, &counts.sold, &counts.total}) {
    const auto number = ParseNumber(Take(text, ','));
    if (!number) return std::nullopt;
    *count = *number;
  }
  return counts;
}

// receipt: counts of the section, counts of the event, the request; between them a bar.
std::string ReceiptText(const Booking& booking) {
  return fmt::format("{}|{}|{}", CountsText(booking.section_counts),
                     CountsText(booking.event_counts), booking.request);
}

bool ParseReceipt(std::string_view text, Booking& booking) {
  const auto section = ParseCounts(Take(text, '|'));
  const auto event = ParseCounts(Take(text, '|'));
  if (!section || !event) return false;
  booking.section_counts = *section;
  booking.event_counts = *event;
  booking.request = text;
  return true;
}

Result<Collection> OpenHash(store::Transaction& transaction, const Keys& keys,
                            const std::string& key) {
  CAIRN_ASSIGN_OR_RETURN(Collection hash,
                         Collection::Load(transaction, keys.db(), key, data::ValueType::kHash));
  if (hash.wrong_type()) {
    return Refuse(Reason::kBookingConflict, fmt::format("the key {} is not a booking", key));
  }
  return hash;
}

Result<FieldMap> ReadFields(Collection& hash) {
  FieldMap fields;
  if (!hash.exists()) return fields;
  CAIRN_RETURN_IF_ERROR(
      hash.elements().Scan(data::SuffixRange::All(), {}, [&](BytesView suffix, BytesView value) {
        if (const auto name = data::DecodeField(suffix)) fields.emplace(*name, value);
        return true;
      }));
  return fields;
}

// Reads a field and remembers whether one was missing or made no sense.
class FieldReader {
 public:
  explicit FieldReader(const FieldMap& fields) : fields_(fields) {}

  std::string_view Text(std::string_view name, std::string_view otherwise = {}) const {
    const auto found = fields_.find(name);
    return found == fields_.end() ? otherwise : std::string_view(found->second);
  }
  bool Has(std::string_view name) const { return fields_.contains(name); }
  int64_t Number(std::string_view name) { return Checked(ParseNumber(Text(name))); }
  Timestamp Time(std::string_view name) { return Checked(ParseTime(Text(name))); }
  template <typename T>
  T Checked(const std::optional<T>& value) {
    sound_ = sound_ && value.has_value();
    return value.value_or(T());
  }
  bool sound() const { return sound_; }

 private:
  const FieldMap& fields_;
  bool sound_ = true;
};

std::optional<Booking> BookingOf(std::string_view id, const FieldMap& fields) {
  FieldReader reader(fields);
  Booking booking{.id = std::string(id),
                  .event = std::string(reader.Text("event_id")),
                  .section = std::string(reader.Text("section"))};
  booking.mode =
      reader.Text("mode") == ModeName(Mode::kManual) ? Mode::kManual : Mode::kBestAvailable;
  booking.asked = reader.Checked(ParseSeatsJson(reader.Text("seats", "[]")));
  booking.quantity = reader.Number("quantity");
  booking.buyer = reader.Text("buyer");
  booking.status = reader.Checked(ParseStatus(reader.Text("status")));
  booking.seats = reader.Checked(ParseSeatsJson(reader.Text("reserved_seats")));
  booking.total_price = reader.Number("total_price");
  booking.created_at = reader.Time("created_at");
  booking.updated_at = reader.Time("updated_at");
  booking.expires_at = reader.Time("expires_at");
  if (reader.Has("paid_at")) booking.paid_at = reader.Time("paid_at");
  if (reader.Has("extended_by")) booking.extended_by = reader.Number("extended_by");
  booking.error_message = reader.Text("error_message");
  if (!reader.sound() || !ParseReceipt(reader.Text("receipt"), booking)) return std::nullopt;
  return booking;
}

void PutField(Collection& hash, std::string_view name, std::string_view value) {
  hash.elements().Put(data::EncodeField(name), value);
}

// "A-1-2-11" and "2-11" are the same seat of a section.
std::string LastTwoParts(std::string_view seat) {
  const size_t last = seat.rfind('-');
  if (last == std::string_view::npos || last == 0) return std::string(seat);
  const size_t before = seat.rfind('-', last - 1);
  return std::string(before == std::string_view::npos ? seat : seat.substr(before + 1));
}

}  // namespace

std::string_view StatusName(Status status) { return kStatusNames[static_cast<size_t>(status)]; }

std::optional<Status> ParseStatus(std::string_view name) {
  const auto* found = std::ranges::find(kStatusNames, name);
  if (found == kStatusNames.end()) return std::nullopt;
  return static_cast<Status>(found - kStatusNames.begin());
}

std::string_view ModeName(Mode mode) { return mode == Mode::kManual ? "manual" : "best_available"; }

bool IsBookingId(std::string_view id) {
  return !id.empty() && id.size() <= kMaxBookingIdBytes &&
         std::ranges::all_of(id, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == ':';
         });
}

Result<std::optional<Booking>> LoadBooking(store::Transaction& transaction, const Keys& keys,
                                           std::string_view id) {
  if (!IsBookingId(id)) return std::optional<Booking>();
  CAIRN_ASSIGN_OR_RETURN(Collection hash, OpenHash(transaction, keys, keys.Booking(id)));
  if (!hash.exists()) return std::optional<Booking>();
  CAIRN_ASSIGN_OR_RETURN(const FieldMap fields, ReadFields(hash));
  std::optional<Booking> booking = BookingOf(id, fields);
  if (!booking) {
    return Refuse(Reason::kBookingConflict,
                  fmt::format("booking {} was written by another client", id));
  }
  return booking;
}

Result<std::string> LoadSectionOf(store::Transaction& transaction, const Keys& keys,
                                  std::string_view id) {
  if (!IsBookingId(id)) return std::string();
  CAIRN_ASSIGN_OR_RETURN(Collection hash, OpenHash(transaction, keys, keys.Booking(id)));
  if (!hash.exists()) return std::string();
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> section,
                         hash.elements().Get(data::EncodeField("section")));
  return section.value_or("");
}

Result<Booking> RequireBooking(store::Transaction& transaction, const Keys& keys,
                               std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(std::optional<Booking> booking, LoadBooking(transaction, keys, id));
  if (!booking) {
    return Refuse(Reason::kNoSuchBooking, fmt::format("booking '{}'", Printable(id, 140)));
  }
  return *std::move(booking);
}

Result<void> AddBooking(store::Transaction& transaction, const Keys& keys, const Booking& booking) {
  CAIRN_ASSIGN_OR_RETURN(Collection hash, OpenHash(transaction, keys, keys.Booking(booking.id)));
  uint64_t count = 0;
  const auto put = [&](std::string_view name, std::string_view value) {
    PutField(hash, name, value);
    ++count;
  };
  const std::string created = FormatTime(booking.created_at);
  put("event_id", booking.event);
  put("section", booking.section);
  put("quantity", fmt::to_string(booking.quantity));
  put("mode", ModeName(booking.mode));
  if (booking.mode == Mode::kManual) put("seats", SeatsJson(booking.asked));
  if (!booking.buyer.empty()) put("buyer", booking.buyer);
  put("status", StatusName(booking.status));
  put("reserved_seats", SeatsJson(booking.seats));
  put("total_price", fmt::to_string(booking.total_price));
  put("created_at", created);
  put("updated_at", created);
  put("expires_at", FormatTime(booking.expires_at));
  put("receipt", ReceiptText(booking));
  hash.Save(count);
  return {};
}

Result<void> UpdateBooking(store::Transaction& transaction, const Keys& keys,
                           const Booking& booking) {
  const std::string key = keys.Booking(booking.id);
  CAIRN_ASSIGN_OR_RETURN(Collection hash, OpenHash(transaction, keys, key));
  CAIRN_ASSIGN_OR_RETURN(FieldMap fields, ReadFields(hash));
  const auto put = [&](const std::string& name, const std::string& value) {
    std::string& known = fields[name];
    if (known != value) PutField(hash, name, value);
    known = value;
  };
  put("status", std::string(StatusName(booking.status)));
  put("updated_at", FormatTime(booking.updated_at));
  put("expires_at", FormatTime(booking.expires_at));
  if (booking.paid_at) put("paid_at", FormatTime(*booking.paid_at));
  if (booking.extended_by) put("extended_by", fmt::to_string(*booking.extended_by));
  if (!booking.error_message.empty()) put("error_message", booking.error_message);
  hash.Save(fields.size());
  if (booking.OwnsSeats()) return {};
  CAIRN_ASSIGN_OR_RETURN(data::Entry entry, data::Entry::Load(transaction, keys.db(), key));
  entry.SetExpiry(booking.updated_at.millis() + kBookingKeptSeconds * 1000);
  return {};
}

Result<std::optional<SeatClaim>> LoadClaim(store::Transaction& transaction, const Keys& keys,
                                           std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(Collection hash, Collection::Load(transaction, keys.db(), keys.Booking(id),
                                                           data::ValueType::kHash));
  if (!hash.exists() || hash.wrong_type()) return std::optional<SeatClaim>();
  CAIRN_ASSIGN_OR_RETURN(const FieldMap fields, ReadFields(hash));
  const FieldReader reader(fields);
  SeatClaim claim{.event = std::string(reader.Text("event_id")),
                  .section = std::string(reader.Text("section")),
                  .status = std::string(reader.Text("status"))};
  // Other clients name the section and the subsection apart.
  if (reader.Has("subsection")) claim.section += fmt::format("-{}", reader.Text("subsection"));
  for (const std::string& seat :
       ParseSeatsJson(reader.Text("reserved_seats", "[]")).value_or(std::vector<std::string>())) {
    claim.seats.push_back(LastTwoParts(seat));
  }
  return std::optional(std::move(claim));
}

}  // namespace cairn::seats
