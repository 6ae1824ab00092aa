#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "data/json/document.h"
#include "data/json/value.h"
#include "seats/keys.h"
#include "seats/limits.h"
#include "seats/seat.h"
#include "store/transaction.h"

// An event's document, event_state:EVENT:
//
//   {"event_stats": {"available","reserved","sold","total","updated_at"},
//    "sections": {"A-1": {"rows","cols","price","stats": {the same five},"place"}, …},
//    "name", "status": "available" or "sold_out", "created_at",
//    "settings": {"max_per_booking","max_per_buyer","hold_seconds","max_hold_seconds"},
//    "layout": [{"name","subsections","rows","cols","price"}, …]}
//
// `place` is the section's in the layout, from 0 on. What is blocked is the rest: total - available
// - reserved - sold. updated_at is in seconds since 1970. A document that another client made needs
// the first two members only.
namespace cairn::seats {

struct Counts {
  int64_t available = 0;
  int64_t reserved = 0;
  int64_t sold = 0;
  int64_t total = 0;

  int64_t blocked() const { return total - available - reserved - sold; }
  friend bool operator==(const Counts&, const Counts&) = default;
};

// A part of the house: `subsections` rectangles of one price, called NAME-1, NAME-2 and so on.
struct SectionLayout {
  std::string name;
  int64_t subsections = 1;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t price = 0;  // in minor units
  friend bool operator==(const SectionLayout&, const SectionLayout&) = default;
};

struct EventSettings {
  int64_t max_per_booking = kDefaultSeatsPerBooking;
  int64_t max_per_buyer = 0;  // 0: no limit
  int64_t hold_seconds = kDefaultHoldSeconds;
  int64_t max_hold_seconds = kMaxHoldSeconds;
  friend bool operator==(const EventSettings&, const EventSettings&) = default;
};

struct EventDefinition {
  std::string id;
  std::string name;
  std::vector<SectionLayout> sections;
  EventSettings settings;
};

// Refuses a definition that is out of bounds or names something twice.
Result<void> CheckDefinition(const EventDefinition& definition);
// Reads {"name","sections":[…],…} as docs/seats.md describes it; unknown members are refused.
Result<EventDefinition> ParseDefinition(std::string_view id, std::string_view json);

bool IsEventId(std::string_view id);
bool IsSectionId(std::string_view id);  // "A-1"

struct Section {
  std::string id;
  Shape shape;
  int64_t price = 0;
  Counts counts;
  std::optional<int64_t> place;  // in the layout
  data::JsonValue json = {};     // as stored
};

// An event as a transaction found it. Changes are written by Save. Lives inside the transaction's
// body.
class Event {
 public:
  // Refuses an event that does not exist, or a document that is not one.
  static Result<Event> Load(store::Transaction& transaction, const Keys& keys, std::string_view id);
  // Writes document, seats and row indexes of a new event, which must not exist.
  static Result<void> Create(store::Transaction& transaction, const Keys& keys,
                             const EventDefinition& definition);

  const std::string& id() const { return id_; }
  const Counts& counts() const { return counts_; }
  const EventSettings& settings() const { return settings_; }
  // When it last changed, in seconds.
  int64_t updated_at() const { return updated_at_; }

  Result<Section> LoadSection(std::string_view section);
  // All of them, in order. Refuses like LoadSection.
  Result<std::vector<Section>> LoadSections();
  // Calls `visit` for each section, in order, until it returns false. Reads no section by itself if
  // there is a layout.
  struct Listed {
    std::string id;
    int64_t price = 0;
    int64_t place = 0;
  };
  using SectionVisitor = FunctionRef<Result<bool>(const Listed& section)>;
  Result<void> VisitSections(SectionVisitor visit);
  // The definition it was created with; nullopt for a document of another client.
  Result<std::optional<EventDefinition>> LoadDefinition();
  // A member of the document; null if it has none.
  Result<data::JsonValue> LoadMember(std::string_view name);

  // Counts `seats` seats of the section out of one state and into another, in the section and in
  // the event.
  Result<void> Move(Section& section, int64_t seats, SeatState from, SeatState to);
  void Save() { document_->Save(); }

 private:
  Event(store::Transaction& transaction, std::string id,
        std::unique_ptr<data::JsonDocument> document)
      : transaction_(&transaction), id_(std::move(id)), document_(std::move(document)) {}
  Result<void> Read();
  Result<data::JsonCursor> Sections();
  Result<Section> ReadSection(std::string_view section, data::JsonValue json) const;

  store::Transaction* transaction_;
  std::string id_;
  std::unique_ptr<data::JsonDocument> document_;
  data::JsonValue stats_;
  Counts counts_;
  int64_t updated_at_ = 0;
  EventSettings settings_;
};

}  // namespace cairn::seats
