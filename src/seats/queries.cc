#include "seats/queries.h"

#include <fmt/format.h>

#include <vector>

#include "base/json_text.h"
#include "data/json/text.h"
#include "data/value/collection.h"
#include "data/value/entry.h"
#include "data/value/fields.h"
#include "data/value/keys.h"
#include "seats/booking.h"
#include "seats/event.h"
#include "seats/refusal.h"
#include "seats/view.h"

namespace cairn::seats {
namespace {

using data::JsonValue;

Result<void> AppendMember(Event& event, std::string_view name, std::string& out) {
  CAIRN_ASSIGN_OR_RETURN(const JsonValue value, event.LoadMember(name));
  out.append(",\"").append(name).append("\":");
  data::AppendJson(value, {}, out);
  return {};
}

void AppendSection(const Section& section, std::string& out) {
  AppendJsonString(section.id, out);
  fmt::format_to(std::back_inserter(out), R"(:{{"rows":{},"cols":{},"price":{},"stats":)",
                 section.shape.rows, section.shape.cols, section.price);
  AppendCounts(section.counts, out);
  out.push_back('}');
}

void AppendSettings(const EventSettings& settings, std::string& out) {
  fmt::format_to(
      std::back_inserter(out),
      R"({{"max_per_booking":{},"max_per_buyer":{},"hold_seconds":{},"max_hold_seconds":{}}})",
      settings.max_per_booking, settings.max_per_buyer, settings.hold_seconds,
      settings.max_hold_seconds);
}

Result<void> AppendSellout(store::Transaction& transaction, const Keys& keys,
                           std::string_view event, std::string& out) {
  CAIRN_ASSIGN_OR_RETURN(
      data::Collection hash,
      data::Collection::Load(transaction, keys.db(), keys.Sellout(event), data::ValueType::kHash));
  out += "{";
  if (hash.exists() && !hash.wrong_type()) {
    for (const std::string_view name :
         {"first_ticket_reserved_at", "fully_reserved_at", "duration_seconds"}) {
      CAIRN_ASSIGN_OR_RETURN(const auto value, hash.elements().Get(data::EncodeField(name)));
      if (!value) continue;
      if (out.back() != '{') out.push_back(',');
      AppendJsonString(name, out);
      out.push_back(':');
      AppendJsonString(*value, out);
    }
  }
  out += "}";
  return {};
}

Result<void> AppendSummary(store::Transaction& transaction, const Keys& keys, const std::string& id,
                           std::string& out) {
  Result<Event> loaded = Event::Load(transaction, keys, id);
  // Keys that only look like an event's are passed over.
  if (!loaded.ok() && FindReason(loaded.error()) != nullptr) return {};
  if (!loaded.ok()) return loaded.error();
  CAIRN_ASSIGN_OR_RETURN(const std::optional<EventDefinition> definition, loaded->LoadDefinition());
  if (out.back() != '[') out.push_back(',');
  out += R"({"id":)";
  AppendJsonString(id, out);
  out += R"(,"name":)";
  AppendJsonString(definition ? definition->name : "", out);
  out += R"(,"stats":)";
  AppendCounts(loaded->counts(), out);
  out += "}";
  return {};
}

}  // namespace

Result<std::string> EventJson(store::Transaction& transaction, const Keys& keys,
                              std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(Event event, Event::Load(transaction, keys, id));
  std::string out = R"({"id":)";
  AppendJsonString(event.id(), out);
  for (const std::string_view name : {"name", "status", "created_at"}) {
    CAIRN_RETURN_IF_ERROR(AppendMember(event, name, out));
  }
  out += R"(,"settings":)";
  AppendSettings(event.settings(), out);
  out += R"(,"stats":)";
  AppendCounts(event.counts(), out);
  out += R"(,"sections":{)";
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Section> sections, event.LoadSections());
  for (const Section& section : sections) {
    if (out.back() != '{') out.push_back(',');
    AppendSection(section, out);
  }
  out += R"(},"sellout":)";
  CAIRN_RETURN_IF_ERROR(AppendSellout(transaction, keys, id, out));
  out.push_back('}');
  return out;
}

Result<std::string> MapJson(store::Transaction& transaction, const Keys& keys,
                            std::string_view event_id, std::string_view section_id) {
  CAIRN_ASSIGN_OR_RETURN(Event event, Event::Load(transaction, keys, event_id));
  CAIRN_ASSIGN_OR_RETURN(const Section section, event.LoadSection(section_id));
  CAIRN_ASSIGN_OR_RETURN(
      SeatBits bits,
      SeatBits::Load(transaction, keys.db(), keys.Seats(event_id, section_id), section.shape));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<SeatState> states, bits.Read(0, section.shape.seats()));
  std::string out = R"({"event_id":)";
  AppendJsonString(event_id, out);
  out += R"(,"section":)";
  AppendJsonString(section_id, out);
  fmt::format_to(std::back_inserter(out), R"(,"rows":{},"cols":{},"price":{},"stats":)",
                 section.shape.rows, section.shape.cols, section.price);
  AppendCounts(section.counts, out);
  out += R"(,"seats":[)";
  for (size_t i = 0; i < states.size(); ++i) {
    const auto seat = static_cast<int64_t>(i) % section.shape.cols;
    if (seat == 0) out += i == 0 ? "\"" : ",\"";
    out.push_back(StateLetter(states[i]));
    if (seat == section.shape.cols - 1) out.push_back('"');
  }
  out += "]}";
  return out;
}

Result<std::vector<std::string>> ListEvents(store::Transaction& transaction, const Keys& keys,
                                            const Page& page) {
  const std::string prefix = keys.State("");
  store::Range range = data::RecordRange(keys.db(), prefix);
  if (!page.after.empty()) {
    range.begin = data::EncodeRecordKey({keys.db(), keys.State(page.after)}) + '\0';
  }
  std::vector<std::string> ids;
  CAIRN_RETURN_IF_ERROR(data::ScanRecords(
      transaction, range, [&](const data::RecordKey& key, const data::Record& record) {
        if (record.type == data::ValueType::kJson) {
          ids.emplace_back(key.user_key.substr(prefix.size()));
        }
        return ids.size() < page.limit;
      }));
  return ids;
}

Result<std::string> EventsJson(store::Transaction& transaction, const Keys& keys,
                               const Page& page) {
  // One more tells whether there is a next page.
  CAIRN_ASSIGN_OR_RETURN(std::vector<std::string> ids,
                         ListEvents(transaction, keys, {page.after, page.limit + 1}));
  const bool more = ids.size() > page.limit;
  if (more) ids.resize(page.limit);
  std::string out = R"({"events":[)";
  for (const std::string& id : ids) {
    CAIRN_RETURN_IF_ERROR(AppendSummary(transaction, keys, id, out));
  }
  out += R"(],"next":)";
  if (more) {
    AppendJsonString(ids.back(), out);
  } else {
    out += "null";
  }
  out += "}";
  return out;
}

Result<std::string> OneBookingJson(store::Transaction& transaction, const Keys& keys,
                                   std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(const Booking booking, RequireBooking(transaction, keys, id));
  return BookingJson(booking, transaction.now());
}

}  // namespace cairn::seats
