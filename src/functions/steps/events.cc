#include "functions/steps/events.h"

#include <fmt/format.h>

#include <algorithm>

#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/keys.h"
#include "functions/model/limits.h"
#include "functions/steps/hash.h"
#include "functions/steps/history.h"

namespace cairn::functions {
namespace {

constexpr std::string_view kNext = "next";

std::string FieldOf(uint64_t number) { return fmt::format("{:012}", number); }

uint64_t NumberOf(BytesView field) {
  uint64_t number = 0;
  for (const char digit : field) {
    if (digit < '0' || digit > '9') return 0;
    number = number * 10 + static_cast<uint64_t>(digit - '0');
  }
  return number;
}

std::string Encode(std::string_view name, std::string_view payload, int64_t sent_ms) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Text("name", name);
  json.Raw("payload", payload);
  json.Integer("sent_ms", sent_ms);
  json.EndObject();
  return text;
}

Result<KeptEvent> Decode(BytesView field, BytesView text) {
  constexpr int64_t kAnyTime = 9'000'000'000'000'000;
  const auto read = [&](ObjectReader& object) {
    return KeptEvent{.number = NumberOf(field),
                     .name = object.Text("name", {1, kMaxRequestBytes}),
                     .payload = std::string(object.Raw("payload")),
                     .sent_ms = object.Integer("sent_ms", 0, kAnyTime)};
  };
  return ReadObject(text, Code::kStoreReadFailed, read);
}

}  // namespace

Result<std::vector<KeptEvent>> LoadEvents(store::Transaction& transaction, std::string_view tenant,
                                          std::string_view id) {
  CAIRN_ASSIGN_OR_RETURN(data::Fields hash, LoadHash(transaction, EventsKey(tenant, id)));
  std::vector<KeptEvent> events;
  const auto read = [&](BytesView field, BytesView value) -> Result<bool> {
    if (field == kNext) return true;
    CAIRN_ASSIGN_OR_RETURN(events.emplace_back(), Decode(field, value));
    return true;
  };
  CAIRN_RETURN_IF_ERROR(hash.ForEachInAnyOrder(read));
  std::ranges::sort(events, {}, &KeptEvent::number);
  return events;
}

Result<uint64_t> KeepEvent(store::Transaction& transaction, std::string_view tenant,
                           std::string_view id, std::string_view name, std::string_view payload) {
  const std::string key = EventsKey(tenant, id);
  CAIRN_ASSIGN_OR_RETURN(data::Fields hash, LoadHash(transaction, key));
  CAIRN_ASSIGN_OR_RETURN(const std::optional<Bytes> next, hash.Get(kNext));
  if (hash.count() > kMaxKeptEvents) {
    return Refuse(
        Code::kTooLarge,
        fmt::format("{} events wait for the activation {} already: it takes one with each "
                    "ctx.waitForEvent",
                    kMaxKeptEvents, id));
  }
  const int64_t now_ms = transaction.now().millis();
  const uint64_t number = next ? NumberOf(*next) : 1;
  CAIRN_ASSIGN_OR_RETURN(const bool added,
                         hash.Put(FieldOf(number), Encode(name, payload, now_ms)));
  CAIRN_ASSIGN_OR_RETURN(const bool counted, hash.Put(kNext, fmt::to_string(number + 1)));
  (void)added;
  hash.Save();
  if (counted) CAIRN_RETURN_IF_ERROR(SetExpiry(transaction, key, HistoryExpiry(now_ms)));
  return number;
}

Result<void> RemoveEvents(store::Transaction& transaction, std::string_view tenant,
                          std::string_view id, std::span<const uint64_t> numbers) {
  if (numbers.empty()) return {};
  CAIRN_ASSIGN_OR_RETURN(data::Fields hash, LoadHash(transaction, EventsKey(tenant, id)));
  for (const uint64_t number : numbers) {
    CAIRN_ASSIGN_OR_RETURN(const bool removed, hash.Remove(FieldOf(number)));
    (void)removed;
  }
  hash.Save();
  return {};
}

}  // namespace cairn::functions
