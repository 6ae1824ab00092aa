#include "seats/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/check.h"
#include "data/json/text.h"
#include "seats/refusal.h"
#include "seats/row_index.h"
#include "seats/section_index.h"
#include "seats/time_text.h"

namespace cairn::seats {
namespace {

using data::JsonCursor;
using data::JsonLocation;
using data::JsonValue;

constexpr int64_t kSecondUs = 1'000'000;

Error BadEvent(std::string_view id, std::string_view what) {
  return Refuse(Reason::kBadEvent, fmt::format("event_state:{} {}", id, what));
}

Error BadDefinition(const std::string& text) { return Refuse(Reason::kBadRequest, text); }

bool IsWord(std::string_view text, size_t limit, std::string_view punctuation) {
  return !text.empty() && text.size() <= limit && std::ranges::all_of(text, [&](unsigned char c) {
    return std::isalnum(c) != 0 || punctuation.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// The member as a whole number; nullopt if it is missing or something else.
std::optional<int64_t> NumberOf(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.Find(name);
  if (value == nullptr) return std::nullopt;
  if (const int64_t* integer = value->integer()) return *integer;
  const double* floating = value->floating();
  if (floating == nullptr || *floating != static_cast<double>(static_cast<int64_t>(*floating))) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*floating);
}

std::optional<Counts> CountsOf(const JsonValue& stats) {
  const auto available = NumberOf(stats, "available");
  const auto reserved = NumberOf(stats, "reserved");
  const auto sold = NumberOf(stats, "sold");
  const auto total = NumberOf(stats, "total");
  if (!available || !reserved || !sold || !total) return std::nullopt;
  return Counts{*available, *reserved, *sold, *total};
}

void PutCounts(const Counts& counts, int64_t seconds, JsonValue& stats) {
  stats.Set("available", JsonValue(counts.available));
  stats.Set("reserved", JsonValue(counts.reserved));
  stats.Set("sold", JsonValue(counts.sold));
  stats.Set("total", JsonValue(counts.total));
  stats.Set("updated_at", JsonValue(seconds));
}

JsonValue NewStats(int64_t total, int64_t seconds) {
  JsonValue stats{JsonValue::Object()};
  PutCounts({.available = total, .total = total}, seconds, stats);
  return stats;
}

int64_t* CountOf(Counts& counts, SeatState state) {
  switch (state) {
    case SeatState::kAvailable:
      return &counts.available;
    case SeatState::kReserved:
      return &counts.reserved;
    case SeatState::kSold:
      return &counts.sold;
    case SeatState::kBlocked:
      return nullptr;  // the rest
  }
  return nullptr;
}

void MoveCounts(Counts& counts, int64_t seats, SeatState from, SeatState to) {
  if (int64_t* count = CountOf(counts, from)) *count -= seats;
  if (int64_t* count = CountOf(counts, to)) *count += seats;
}

// A setting's name and where it is.
struct SettingRow {
  std::string_view name;
  int64_t EventSettings::*member;
  int64_t least;
  int64_t most;
};
constexpr std::array kSettings = {
    SettingRow{"max_per_booking", &EventSettings::max_per_booking, 1, kMaxSeatsPerBooking},
    SettingRow{"max_per_buyer", &EventSettings::max_per_buyer, 0, kMaxSeatsPerEvent},
    SettingRow{"hold_seconds", &EventSettings::hold_seconds, 1, kMaxHoldSeconds},
    SettingRow{"max_hold_seconds", &EventSettings::max_hold_seconds, 1, kMaxHoldSeconds},
};

JsonValue SettingsJson(const EventSettings& settings) {
  JsonValue json{JsonValue::Object()};
  for (const SettingRow& row : kSettings) json.Set(row.name, JsonValue(settings.*row.member));
  return json;
}

// What a document has of settings; the rest are the defaults.
EventSettings SettingsOf(const JsonValue& json) {
  EventSettings settings;
  for (const SettingRow& row : kSettings) {
    if (const auto value = NumberOf(json, row.name)) {
      settings.*row.member = std::clamp(*value, row.least, row.most);
    }
  }
  return settings;
}

JsonValue LayoutJson(const std::vector<SectionLayout>& sections) {
  JsonValue::Array layout;
  for (const SectionLayout& section : sections) {
    JsonValue row{JsonValue::Object()};
    row.Set("name", JsonValue(section.name));
    row.Set("subsections", JsonValue(section.subsections));
    row.Set("rows", JsonValue(section.rows));
    row.Set("cols", JsonValue(section.cols));
    row.Set("price", JsonValue(section.price));
    layout.push_back(std::move(row));
  }
  return JsonValue(std::move(layout));
}

std::optional<SectionLayout> LayoutOf(const JsonValue& json) {
  const JsonValue* name = json.Find("name");
  const auto rows = NumberOf(json, "rows");
  const auto cols = NumberOf(json, "cols");
  const auto price = NumberOf(json, "price");
  const auto subsections = json.Find("subsections") == nullptr ? std::optional<int64_t>(1)
                                                               : NumberOf(json, "subsections");
  if (name == nullptr || name->string() == nullptr || !rows || !cols || !price || !subsections) {
    return std::nullopt;
  }
  return SectionLayout{*name->string(), *subsections, *rows, *cols, *price};
}

std::string SubsectionId(const SectionLayout& section, int64_t number) {
  return fmt::format("{}-{}", section.name, number);
}

Result<void> CheckBound(std::string_view what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return BadDefinition(fmt::format("{} is {}; it must be from {} to {}", what, value, least, most));
}

Result<void> CheckSection(const SectionLayout& section) {
  if (!IsWord(section.name, kMaxSectionNameBytes, "_")) {
    return BadDefinition(
        fmt::format("section name '{}' is not 1 to {} letters, digits and underscores",
                    Printable(section.name, 32), kMaxSectionNameBytes));
  }
  const std::string in = fmt::format(" of section {}", section.name);
  CAIRN_RETURN_IF_ERROR(
      CheckBound("subsections" + in, section.subsections, 1, kMaxSectionsPerEvent));
  CAIRN_RETURN_IF_ERROR(CheckBound("rows" + in, section.rows, 1, kMaxRows));
  CAIRN_RETURN_IF_ERROR(CheckBound("cols" + in, section.cols, 1, kMaxCols));
  CAIRN_RETURN_IF_ERROR(CheckBound("price" + in, section.price, 0, kMaxPrice));
  return CheckBound("seats" + in, section.rows * section.cols, 1, kMaxSeatsPerSection);
}

// Refuses members of `object` that are not among `known`.
Result<void> CheckMembers(const JsonValue& object, std::span<const std::string_view> known,
                          std::string_view where) {
  if (object.object() == nullptr) return BadDefinition(fmt::format("{} is not an object", where));
  for (const data::JsonMember& member : *object.object()) {
    if (std::ranges::find(known, member.name) == known.end()) {
      return BadDefinition(fmt::format("{} has no member '{}'", where, Printable(member.name, 32)));
    }
  }
  return {};
}

Result<SectionLayout> ParseSection(const JsonValue& json) {
  constexpr std::array<std::string_view, 5> kMembers = {"name", "subsections", "rows", "cols",
                                                        "price"};
  CAIRN_RETURN_IF_ERROR(CheckMembers(json, kMembers, "a section"));
  const std::optional<SectionLayout> section = LayoutOf(json);
  if (!section) {
    return BadDefinition(
        "a section needs name, rows, cols and price, and may have subsections; all but the name "
        "are whole numbers");
  }
  return *section;
}

}  // namespace

bool IsEventId(std::string_view id) { return IsWord(id, kMaxEventIdBytes, "_.-"); }

bool IsSectionId(std::string_view id) {
  const size_t dash = id.rfind('-');
  return dash != std::string_view::npos && IsWord(id.substr(0, dash), kMaxSectionNameBytes, "_") &&
         IsWord(id.substr(dash + 1), 8, "");
}

Result<void> CheckDefinition(const EventDefinition& definition) {
  if (!IsEventId(definition.id)) {
    return BadDefinition(fmt::format("event id '{}' is not 1 to {} letters, digits, '_', '.', '-'",
                                     Printable(definition.id, 80), kMaxEventIdBytes));
  }
  if (definition.name.size() > kMaxEventNameBytes) {
    return BadDefinition(fmt::format("the name has more than {} bytes", kMaxEventNameBytes));
  }
  for (const SettingRow& row : kSettings) {
    CAIRN_RETURN_IF_ERROR(
        CheckBound(row.name, definition.settings.*row.member, row.least, row.most));
  }
  if (definition.settings.hold_seconds > definition.settings.max_hold_seconds) {
    return BadDefinition("hold_seconds is above max_hold_seconds");
  }
  if (definition.sections.empty()) return BadDefinition("an event needs at least one section");
  std::set<std::string_view> names;
  int64_t sections = 0;
  int64_t seats = 0;
  for (const SectionLayout& section : definition.sections) {
    CAIRN_RETURN_IF_ERROR(CheckSection(section));
    if (!names.insert(section.name).second) {
      return BadDefinition(fmt::format("section {} is named twice", section.name));
    }
    sections += section.subsections;
    seats += section.subsections * section.rows * section.cols;
  }
  CAIRN_RETURN_IF_ERROR(CheckBound("the number of sections", sections, 1, kMaxSectionsPerEvent));
  return CheckBound("the number of seats", seats, 1, kMaxSeatsPerEvent);
}

Result<EventDefinition> ParseDefinition(std::string_view id, std::string_view json) {
  Result<JsonValue> parsed = data::ParseJson(json);
  if (!parsed.ok()) {
    return BadDefinition(fmt::format("the definition is not JSON: {}", parsed.error().message));
  }
  constexpr std::array<std::string_view, 7> kMembers = {"id",
                                                        "name",
                                                        "sections",
                                                        "max_per_booking",
                                                        "max_per_buyer",
                                                        "hold_seconds",
                                                        "max_hold_seconds"};
  CAIRN_RETURN_IF_ERROR(CheckMembers(*parsed, kMembers, "the definition"));
  EventDefinition definition{.id = std::string(id)};
  if (const JsonValue* own = parsed->Find("id")) {
    if (own->string() == nullptr || (!id.empty() && *own->string() != id)) {
      return BadDefinition("the definition's id is not the event's");
    }
    definition.id = *own->string();
  }
  if (const JsonValue* name = parsed->Find("name")) {
    if (name->string() == nullptr) return BadDefinition("the name is not a string");
    definition.name = *name->string();
  }
  for (const SettingRow& row : kSettings) {
    if (parsed->Find(row.name) == nullptr) continue;
    const auto value = NumberOf(*parsed, row.name);
    if (!value) return BadDefinition(fmt::format("{} is not a whole number", row.name));
    definition.settings.*row.member = *value;
  }
  const JsonValue* sections = parsed->Find("sections");
  if (sections == nullptr || sections->array() == nullptr) {
    return BadDefinition("the definition needs an array 'sections'");
  }
  for (const JsonValue& section : *sections->array()) {
    CAIRN_ASSIGN_OR_RETURN(SectionLayout layout, ParseSection(section));
    definition.sections.push_back(std::move(layout));
  }
  CAIRN_RETURN_IF_ERROR(CheckDefinition(definition));
  return definition;
}

namespace {

Error NoSuchEvent(std::string_view id) {
  return Refuse(Reason::kNoSuchEvent,
                fmt::format("there is no event \"{}\"; create it with SEAT.CREATE", id));
}

}  // namespace

Result<Event> Event::Load(store::Transaction& transaction, const Keys& keys, std::string_view id) {
  if (!IsEventId(id)) {
    return NoSuchEvent(Printable(id, 80));
  }
  CAIRN_ASSIGN_OR_RETURN(data::JsonDocument document,
                         data::JsonDocument::Load(transaction, keys.db(), keys.State(id)));
  if (document.wrong_type()) return BadEvent(id, "is not a JSON document");
  if (!document.exists()) return NoSuchEvent(id);
  Event event(transaction, std::string(id),
              std::make_unique<data::JsonDocument>(std::move(document)));
  CAIRN_RETURN_IF_ERROR(event.Read());
  return event;
}

Result<void> Event::Read() {
  const JsonCursor root = document_->root();
  CAIRN_ASSIGN_OR_RETURN(const auto stats, root.Child(std::string("event_stats")));
  if (!stats) return BadEvent(id_, "has no event_stats");
  CAIRN_ASSIGN_OR_RETURN(stats_, stats->Load());
  const std::optional<Counts> counts = CountsOf(stats_);
  if (!counts) return BadEvent(id_, "has event_stats without the five numbers");
  counts_ = *counts;
  updated_at_ = NumberOf(stats_, "updated_at").value_or(0);
  CAIRN_ASSIGN_OR_RETURN(const auto settings, root.Child(std::string("settings")));
  if (settings) {
    CAIRN_ASSIGN_OR_RETURN(const JsonValue json, settings->Load());
    settings_ = SettingsOf(json);
  }
  return {};
}

Result<Section> Event::LoadSection(std::string_view section) {
  const auto none = [&] {
    return Refuse(Reason::kNoSuchSection,
                  fmt::format("event {} has no section \"{}\"", id_, Printable(section, 40)));
  };
  if (!IsSectionId(section)) return none();
  CAIRN_ASSIGN_OR_RETURN(const JsonCursor sections, Sections());
  CAIRN_ASSIGN_OR_RETURN(const auto found, sections.Child(std::string(section)));
  if (!found) return none();
  CAIRN_ASSIGN_OR_RETURN(JsonValue json, found->Load());
  return ReadSection(section, std::move(json));
}

Result<JsonCursor> Event::Sections() {
  CAIRN_ASSIGN_OR_RETURN(const auto sections, document_->root().Child(std::string("sections")));
  if (!sections) return BadEvent(id_, "has no sections");
  return *sections;
}

Result<Section> Event::ReadSection(std::string_view section, JsonValue json) const {
  const auto rows = NumberOf(json, "rows");
  const auto cols = NumberOf(json, "cols");
  const auto price = NumberOf(json, "price");
  const JsonValue* stats = json.Find("stats");
  const auto counts = stats == nullptr ? std::nullopt : CountsOf(*stats);
  const bool sound = IsSectionId(section) && rows && cols && price && counts && *rows > 0 &&
                     *rows <= kMaxRows && *cols > 0 && *cols <= kMaxCols &&
                     *rows * *cols <= kMaxSeatsPerSection;
  if (!sound) {
    return BadEvent(id_,
                    fmt::format("has a section {} without rows, cols, price and stats", section));
  }
  const std::optional<int64_t> place = NumberOf(json, "place");
  return Section{std::string(section), {*rows, *cols}, *price, *counts, place, std::move(json)};
}

Result<std::vector<Section>> Event::LoadSections() {
  CAIRN_ASSIGN_OR_RETURN(const JsonCursor cursor, Sections());
  CAIRN_ASSIGN_OR_RETURN(const auto children, cursor.Children());
  std::vector<Section> sections;
  sections.reserve(children.size());
  for (const auto& [step, child] : children) {
    const auto* name = std::get_if<std::string>(&step);
    if (name == nullptr) return BadEvent(id_, "has sections that are not an object");
    CAIRN_ASSIGN_OR_RETURN(JsonValue json, child.Load());
    CAIRN_ASSIGN_OR_RETURN(Section section, ReadSection(*name, std::move(json)));
    sections.push_back(std::move(section));
  }
  return sections;
}

Result<void> Event::VisitSections(SectionVisitor visit) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<EventDefinition> definition, LoadDefinition());
  int64_t place = 0;
  if (!definition) {
    CAIRN_ASSIGN_OR_RETURN(const std::vector<Section> sections, LoadSections());
    for (const Section& section : sections) {
      CAIRN_ASSIGN_OR_RETURN(const bool more, visit({section.id, section.price, place++}));
      if (!more) return {};
    }
    return {};
  }
  for (const SectionLayout& section : definition->sections) {
    for (int64_t number = 1; number <= section.subsections; ++number) {
      CAIRN_ASSIGN_OR_RETURN(const bool more,
                             visit({SubsectionId(section, number), section.price, place++}));
      if (!more) return {};
    }
  }
  return {};
}

Result<std::optional<EventDefinition>> Event::LoadDefinition() {
  const JsonCursor root = document_->root();
  CAIRN_ASSIGN_OR_RETURN(const auto layout, root.Child(std::string("layout")));
  CAIRN_ASSIGN_OR_RETURN(const auto name, root.Child(std::string("name")));
  if (!layout || !name) return std::optional<EventDefinition>();
  CAIRN_ASSIGN_OR_RETURN(const JsonValue rows, layout->Load());
  CAIRN_ASSIGN_OR_RETURN(const JsonValue title, name->Load());
  if (rows.array() == nullptr || title.string() == nullptr) return std::optional<EventDefinition>();
  EventDefinition definition{.id = id_, .name = *title.string(), .settings = settings_};
  for (const JsonValue& row : *rows.array()) {
    const std::optional<SectionLayout> section = LayoutOf(row);
    if (!section) return std::optional<EventDefinition>();
    definition.sections.push_back(*section);
  }
  return std::optional(std::move(definition));
}

Result<JsonValue> Event::LoadMember(std::string_view name) {
  CAIRN_ASSIGN_OR_RETURN(const auto member, document_->root().Child(std::string(name)));
  if (!member) return JsonValue();
  return member->Load();
}

Result<void> Event::Move(Section& section, int64_t seats, SeatState from, SeatState to) {
  const bool was_sold_out = counts_.available == 0;
  MoveCounts(counts_, seats, from, to);
  MoveCounts(section.counts, seats, from, to);
  updated_at_ = transaction_->now().us / kSecondUs;
  PutCounts(counts_, updated_at_, stats_);
  PutCounts(section.counts, updated_at_, *section.json.Find("stats"));
  CAIRN_RETURN_IF_ERROR(document_->Set({std::string("event_stats")}, stats_));
  CAIRN_RETURN_IF_ERROR(document_->Set({std::string("sections"), section.id}, section.json));
  const bool is_sold_out = counts_.available == 0;
  if (is_sold_out == was_sold_out) return {};
  return document_->Set({std::string("status")},
                        JsonValue(std::string(is_sold_out ? "sold_out" : "available")));
}

Result<void> Event::Create(store::Transaction& transaction, const Keys& keys,
                           const EventDefinition& definition) {
  CAIRN_ASSIGN_OR_RETURN(
      data::JsonDocument document,
      data::JsonDocument::Load(transaction, keys.db(), keys.State(definition.id)));
  CAIRN_CHECK(!document.exists() && !document.wrong_type());
  const int64_t seconds = transaction.now().us / kSecondUs;
  int64_t total = 0;
  JsonValue::Object sections;
  std::string longest;  // a byte a section
  for (const SectionLayout& layout : definition.sections) {
    const Shape shape{layout.rows, layout.cols};
    for (int64_t number = 1; number <= layout.subsections; ++number) {
      const std::string id = SubsectionId(layout, number);
      JsonValue section{JsonValue::Object()};
      section.Set("rows", JsonValue(layout.rows));
      section.Set("cols", JsonValue(layout.cols));
      section.Set("price", JsonValue(layout.price));
      section.Set("stats", NewStats(shape.seats(), seconds));
      section.Set("place", JsonValue(static_cast<int64_t>(sections.size())));
      sections.push_back({id, std::move(section)});
      total += shape.seats();
      CAIRN_ASSIGN_OR_RETURN(SeatBits bits, SeatBits::Create(transaction, keys.db(),
                                                             keys.Seats(definition.id, id), shape));
      bits.Save();
      CAIRN_ASSIGN_OR_RETURN(RowIndex index, RowIndex::Fresh(transaction, keys.db(),
                                                             keys.Rows(definition.id, id), shape));
      index.Save();
      longest.push_back(static_cast<char>(index.longest()));
    }
  }
  CAIRN_RETURN_IF_ERROR(
      SectionIndex::Create(transaction, keys.db(), keys.Sections(definition.id), longest));
  JsonValue root{JsonValue::Object()};
  root.Set("event_stats", NewStats(total, seconds));
  root.Set("sections", JsonValue(std::move(sections)));
  root.Set("name", JsonValue(definition.name));
  root.Set("status", JsonValue(std::string("available")));
  root.Set("created_at", JsonValue(FormatTime(transaction.now())));
  root.Set("settings", SettingsJson(definition.settings));
  root.Set("layout", LayoutJson(definition.sections));
  document.SetRoot(root);
  document.Save();
  return {};
}

}  // namespace cairn::seats
