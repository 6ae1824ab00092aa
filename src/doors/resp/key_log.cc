#include "doors/resp/key_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "doors/resp/glob.h"

namespace cairn::doors {
namespace {

constexpr std::string_view kFamily = "kev";
constexpr std::string_view kRemovedKey = "kec";
constexpr size_t kLongestEventName = 255;

store::Key InEvents(BytesView key) { return {store::Space::kEvents, key}; }

store::Range RowsAfter(uint64_t number) {
  store::Range range = store::Range::Prefix(store::Space::kEvents, kFamily);
  Bytes begin(kFamily);
  AppendBig64(begin, number + 1);
  range.begin = std::move(begin);
  return range;
}

}  // namespace

void KeyLog::SetRules(std::vector<Rule> rules, uint64_t changes) {
  const std::scoped_lock lock(mutex_);
  if (changes != changes_) return;
  const Mode mode = rules.empty() ? Mode::kNothing : Mode::kRules;
  rules_ = std::make_shared<const std::vector<Rule>>(std::move(rules));
  mode_.store(mode, std::memory_order_release);
}

void KeyLog::NoteChange() {
  const std::scoped_lock lock(mutex_);
  ++changes_;
  mode_.store(Mode::kEverything, std::memory_order_release);
}

void KeyLog::NoteIfWanted(store::Transaction& transaction, uint8_t db, std::string_view event,
                          std::string_view key) const {
  std::shared_ptr<const std::vector<Rule>> rules;
  {
    const std::scoped_lock lock(mutex_);
    if (mode_.load(std::memory_order_relaxed) == Mode::kRules) rules = rules_;
  }
  const auto wants = [&](const Rule& rule) { return Matches(rule, db, event, key); };
  if (rules != nullptr && std::ranges::none_of(*rules, wants)) return;
  const KeyEvent row{.at_ms = transaction.now().millis(),
                     .db = db,
                     .event = std::string(event),
                     .key = std::string(key)};
  transaction.AppendEvent(InEvents(kFamily), EncodeKeyEvent(row));
  transaction.Wake(KeyEventsTopic());
}

bool Matches(const KeyLog::Rule& rule, uint8_t db, std::string_view event, std::string_view key) {
  if (rule.db != db) return false;
  if (!rule.events.empty() && std::ranges::find(rule.events, event) == rule.events.end()) {
    return false;
  }
  return std::ranges::any_of(rule.keys,
                             [&](const std::string& pattern) { return GlobMatch(pattern, key); });
}

Bytes EncodeKeyEvent(const KeyEvent& event) {
  const std::string_view name = std::string_view(event.event).substr(0, kLongestEventName);
  Bytes value;
  AppendBig64(value, static_cast<uint64_t>(event.at_ms));
  value.push_back(static_cast<char>(event.db));
  value.push_back(static_cast<char>(name.size()));
  value.append(name).append(event.key);
  return value;
}

std::optional<KeyEvent> DecodeKeyEvent(BytesView key, BytesView value) {
  BytesReader named(key);
  const bool is_ours = named.Take(kFamily.size()) == kFamily;
  KeyEvent event{.number = named.Big64()};
  BytesReader reader(value);
  event.at_ms = static_cast<int64_t>(reader.Big64());
  event.db = reader.Byte();
  event.event = reader.Take(reader.Byte());
  event.key = reader.Rest();
  if (!is_ours || !named.AtEnd() || !reader.ok()) return std::nullopt;
  return event;
}

Result<std::vector<KeyEvent>> ReadKeyEvents(store::Reader& reader, uint64_t number, size_t limit) {
  std::vector<KeyEvent> events;
  bool damaged = false;
  CAIRN_RETURN_IF_ERROR(
      reader.Scan(RowsAfter(number), {.limit = limit}, [&](BytesView key, BytesView value) {
        std::optional<KeyEvent> event = DecodeKeyEvent(key, value);
        if (event) events.push_back(*std::move(event));
        damaged = !event;
        return event.has_value();
      }));
  if (damaged) return Error{ErrorCode::kCorruption, "a row of the log of keys is none"};
  return events;
}

Result<uint64_t> NewestKeyEvent(store::Reader& reader) {
  uint64_t newest = 0;
  CAIRN_RETURN_IF_ERROR(reader.Scan(store::Range::Prefix(store::Space::kEvents, kFamily),
                                    {.reverse = true, .limit = 1},
                                    [&](BytesView key, BytesView value) {
                                      const auto event = DecodeKeyEvent(key, value);
                                      if (event) newest = event->number;
                                      return false;
                                    }));
  return newest;
}

Result<uint64_t> RemovedKeyEvents(store::Reader& reader) {
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get(InEvents(kRemovedKey)));
  if (!row) return uint64_t{0};
  return BytesReader(*row).Big64();
}

Result<bool> TrimKeyEvents(store::Transaction& transaction, const KeyLogTrim& trim) {
  std::vector<Bytes> old;
  uint64_t removed = 0;
  CAIRN_RETURN_IF_ERROR(
      transaction.Scan(RowsAfter(0), {.limit = trim.rows}, [&](BytesView key, BytesView value) {
        const std::optional<KeyEvent> event = DecodeKeyEvent(key, value);
        if (event && event->number > trim.read_to && event->at_ms >= trim.oldest_ms) return false;
        if (event) removed = event->number;
        old.emplace_back(key);
        return true;
      }));
  if (old.empty()) return false;
  for (const Bytes& key : old) transaction.Delete(InEvents(key));
  Bytes value;
  AppendBig64(value, removed);
  transaction.Put(InEvents(kRemovedKey), value);
  return old.size() == trim.rows;
}

void AddKeyLogScope(store::Scopes& scopes) { scopes.Add(store::Space::kEvents, kRemovedKey); }

store::Topic KeyEventsTopic() { return store::Topic::Of(store::Space::kEvents, kFamily); }

}  // namespace cairn::doors
