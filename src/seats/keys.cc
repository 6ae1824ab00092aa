#include "seats/keys.h"

#include "doors/resp/command.h"

namespace cairn::seats {
namespace {

constexpr std::string_view kFeedFamily = "seat";
constexpr std::string_view kRemovedFamily = "setr";

}  // namespace

std::string Keys::Make(std::string_view family, std::string_view name,
                       std::string_view section) const {
  std::string key;
  key.reserve(place_->prefix.size() + family.size() + name.size() + section.size() + 1);
  key.append(place_->prefix).append(family).append(name);
  if (!section.empty()) key.append(1, ':').append(section);
  return key;
}

Bytes Keys::FeedPrefix(std::string_view event) const {
  Bytes prefix(kFeedFamily);
  prefix.push_back(static_cast<char>(place_->db));
  // Sized, so that no event's prefix is the beginning of another's.
  AppendBig16(prefix, static_cast<uint16_t>(place_->prefix.size() + event.size()));
  prefix.append(place_->prefix).append(event);
  return prefix;
}

store::Topic Keys::FeedTopic(std::string_view event) const {
  return store::Topic::Of(store::Space::kEvents, FeedPrefix(event));
}

Bytes Keys::FeedsPrefix() const {
  Bytes prefix(kFeedFamily);
  prefix.push_back(static_cast<char>(place_->db));
  return prefix;
}

store::Topic Keys::FeedsTopic() const {
  return store::Topic::Of(store::Space::kEvents, FeedsPrefix());
}

Bytes Keys::FeedRemovedKey() const {
  Bytes key(kRemovedFamily);
  key.push_back(static_cast<char>(place_->db));
  return key;
}

std::optional<std::string_view> DecodeFeedEvent(BytesView key) {
  if (!DecodeFeedNumber(key)) return std::nullopt;
  BytesReader reader(key);
  reader.Take(kFeedFamily.size() + 1);
  return reader.Take(reader.Big16());
}

std::optional<uint64_t> DecodeFeedNumber(BytesView key) {
  BytesReader reader(key);
  const bool is_ours = reader.Take(kFeedFamily.size()) == kFeedFamily;
  reader.Byte();
  reader.Take(reader.Big16());
  const uint64_t number = reader.Big64();
  if (!is_ours || !reader.AtEnd()) return std::nullopt;
  return number;
}

Bytes EncodeHoldOwner(uint8_t db, std::string_view booking) {
  Bytes owner(1, static_cast<char>(db));
  owner.append(booking);
  return owner;
}

Bytes EncodeHoldPayload(std::string_view event, std::string_view section) {
  Bytes payload(1, static_cast<char>(event.size()));
  payload.append(event).append(section);
  return payload;
}

std::optional<HoldTimer> DecodeHoldTimer(BytesView owner, BytesView payload) {
  BytesReader owned(owner);
  BytesReader paid(payload);
  HoldTimer timer;
  timer.db = owned.Byte();
  timer.booking = owned.Rest();
  timer.event = paid.Take(paid.Byte());
  timer.section = paid.Rest();
  if (!owned.ok() || !paid.ok() || timer.booking.empty() || timer.event.empty() ||
      timer.section.empty()) {
    return std::nullopt;
  }
  return timer;
}

Bytes EncodeFeedOwner(uint8_t db, std::string_view event) { return EncodeHoldOwner(db, event); }

std::optional<FeedTimer> DecodeFeedOwner(BytesView owner) {
  BytesReader reader(owner);
  FeedTimer timer;
  timer.db = reader.Byte();
  timer.event = reader.Rest();
  if (!reader.ok() || timer.event.empty()) return std::nullopt;
  return timer;
}

void AddEventScopes(const Keys& keys, std::string_view event, std::string_view section,
                    std::string_view booking, store::Scopes& scopes) {
  Bytes scratch;
  const auto add = [&](const std::string& key) {
    doors::AddKeyScope(keys.db(), key, scopes, scratch);
  };
  // Whoever changes an event holds its document, so its other keys need scopes of their own only
  // against commands that name these keys.
  add(keys.State(event));
  add(keys.Sellout(event));
  add(keys.Bookings(event));
  add(keys.Buyers(event));
  add(keys.Sections(event));
  if (!section.empty()) AddSeatScopes(keys, event, section, scopes);
  if (!booking.empty()) add(keys.Booking(booking));
}

void AddSeatScopes(const Keys& keys, std::string_view event, std::string_view section,
                   store::Scopes& scopes) {
  Bytes scratch;
  doors::AddKeyScope(keys.db(), keys.Seats(event, section), scopes, scratch);
  doors::AddKeyScope(keys.db(), keys.Rows(event, section), scopes, scratch);
}

}  // namespace cairn::seats
