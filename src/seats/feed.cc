#include "seats/feed.h"

#include <fmt/format.h>

#include <algorithm>

#include "seats/limits.h"
#include "seats/time_text.h"
#include "seats/view.h"

namespace cairn::seats {
namespace {

// A row of the log: when it was written, in seconds:8, then the JSON.
Bytes EncodeEntry(Timestamp now, std::string_view json) {
  Bytes value;
  value.reserve(8 + json.size());
  AppendBig64(value, static_cast<uint64_t>(now.us / 1'000'000));
  value.append(json);
  return value;
}

int64_t SpanOf(int64_t seconds) { return seconds / kFeedTidySeconds; }

Bytes NumberedKey(Bytes prefix, uint64_t number) {
  AppendBig64(prefix, number);
  return prefix;
}

// Who reads all feeds is told that changes are gone that it may not have seen.
Result<void> NoteRemoved(store::Transaction& transaction, const Keys& keys, BytesView newest) {
  const uint64_t number = DecodeFeedNumber(newest).value_or(0);
  CAIRN_ASSIGN_OR_RETURN(const uint64_t before, RemovedChanges(transaction, keys));
  if (number <= before) return {};
  Bytes value;
  AppendBig64(value, number);
  const Bytes key = keys.FeedRemovedKey();
  transaction.Put({store::Space::kEvents, key}, value);
  return {};
}

}  // namespace

void Announce(Context& context, const Event& event, const Section& section, const Change& change,
              int64_t last_change) {
  store::Transaction& transaction = context.transaction;
  const std::string json = ChangeJson(event, section, change, transaction.now());
  transaction.AppendEvent({store::Space::kEvents, context.keys.FeedPrefix(event.id())},
                          EncodeEntry(transaction.now(), json));
  transaction.Wake(context.keys.FeedTopic(event.id()));
  transaction.Wake(context.keys.FeedsTopic());
  context.pubsub.Publish(transaction,
                         {.channel = context.keys.Channel(event.id()), .payload = json});
  if (SpanOf(transaction.now().us / 1'000'000) != SpanOf(last_change)) {
    TidyFeedLater(context, event.id());
  }
}

void TidyFeedLater(Context& context, std::string_view event) {
  const int64_t span = SpanOf(context.transaction.now().us / 1'000'000);
  const int64_t due_seconds = (span + 1) * kFeedTidySeconds + kFeedKeptSeconds;
  context.transaction.SetTimer(Timestamp::FromMillis(due_seconds * 1000), kTimerFeed,
                               EncodeFeedOwner(context.keys.db(), event), {});
}

Result<std::vector<FeedEntry>> ReadFeed(store::Transaction& transaction, const Keys& keys,
                                        std::string_view event, uint64_t number) {
  const Bytes prefix = keys.FeedPrefix(event);
  store::Range range = store::Range::Prefix(store::Space::kEvents, prefix);
  range.begin = NumberedKey(prefix, number + 1);
  std::vector<FeedEntry> entries;
  CAIRN_RETURN_IF_ERROR(
      transaction.Scan(range, {.limit = kFeedBatch}, [&](BytesView key, BytesView value) {
        BytesReader reader(value);
        reader.Big64();
        entries.push_back({DecodeFeedNumber(key).value_or(0), std::string(reader.Rest())});
        return true;
      }));
  return entries;
}

Result<std::vector<FeedChange>> ReadFeeds(store::Reader& reader, const Keys& keys, uint64_t number,
                                          size_t limit, FunctionRef<bool(std::string_view)> wants) {
  const std::string& key_prefix = keys.place().prefix;
  std::vector<FeedChange> changes;
  store::Range all = store::Range::Prefix(store::Space::kEvents, keys.FeedsPrefix());
  while (true) {
    // The next event that has a change, and then those of its changes that are new.
    std::optional<std::string> event;
    CAIRN_RETURN_IF_ERROR(reader.Scan(all, {.limit = 1}, [&](BytesView key, BytesView) {
      if (const auto found = DecodeFeedEvent(key)) event = std::string(*found);
      return false;
    }));
    if (!event) break;
    const bool ours = event->starts_with(key_prefix);
    const std::string id = ours ? event->substr(key_prefix.size()) : std::string();
    const Bytes prefix = Keys(Place{keys.db(), ""}).FeedPrefix(*event);
    store::Range range = store::Range::Prefix(store::Space::kEvents, prefix);
    all.begin = range.end;
    if (!ours || !wants(id)) continue;
    range.begin = NumberedKey(prefix, number + 1);
    CAIRN_RETURN_IF_ERROR(reader.Scan(range, {.limit = limit}, [&](BytesView key, BytesView value) {
      BytesReader row(value);
      const auto at = static_cast<int64_t>(row.Big64());
      changes.push_back({DecodeFeedNumber(key).value_or(0), at, id, std::string(row.Rest())});
      return true;
    }));
    // What is behind the first `limit` of all is not wanted, whatever its event.
    if (changes.size() > 2 * limit) {
      std::ranges::sort(changes, {}, &FeedChange::number);
      changes.resize(limit);
    }
  }
  std::ranges::sort(changes, {}, &FeedChange::number);
  if (changes.size() > limit) changes.resize(limit);
  return changes;
}

Result<uint64_t> NewestChangeOfAll(store::Reader& reader, const Keys& keys) {
  uint64_t newest = 0;
  store::Range all = store::Range::Prefix(store::Space::kEvents, keys.FeedsPrefix());
  for (bool found = true; found;) {
    found = false;
    // From the end: the newest change of the last event, then of the one before it.
    CAIRN_RETURN_IF_ERROR(
        reader.Scan(all, {.reverse = true, .limit = 1}, [&](BytesView key, BytesView) {
          const auto event = DecodeFeedEvent(key);
          if (!event) return false;
          newest = std::max(newest, DecodeFeedNumber(key).value_or(0));
          all.end = Keys(Place{keys.db(), ""}).FeedPrefix(*event);
          found = true;
          return false;
        }));
  }
  return newest;
}

Result<uint64_t> RemovedChanges(store::Reader& reader, const Keys& keys) {
  const Bytes key = keys.FeedRemovedKey();
  CAIRN_ASSIGN_OR_RETURN(const auto row, reader.Get({store::Space::kEvents, key}));
  if (!row) return uint64_t{0};
  return BytesReader(*row).Big64();
}

Result<uint64_t> NewestChange(store::Transaction& transaction, const Keys& keys,
                              std::string_view event) {
  uint64_t newest = 0;
  CAIRN_RETURN_IF_ERROR(
      transaction.Scan(store::Range::Prefix(store::Space::kEvents, keys.FeedPrefix(event)),
                       {.reverse = true, .limit = 1}, [&](BytesView key, BytesView) {
                         newest = DecodeFeedNumber(key).value_or(0);
                         return false;
                       }));
  return newest;
}

Result<bool> HasChange(store::Transaction& transaction, const Keys& keys, std::string_view event,
                       uint64_t number) {
  CAIRN_ASSIGN_OR_RETURN(
      const auto row,
      transaction.Get({store::Space::kEvents, NumberedKey(keys.FeedPrefix(event), number)}));
  return row.has_value();
}

void FeedTimers::AddScopes(const store::Timer& timer, store::Scopes& scopes) const {
  scopes.Add(store::Space::kTimers, timer.owner);
  if (const std::optional<FeedTimer> feed = DecodeFeedOwner(timer.owner)) {
    scopes.Add(store::Space::kEvents, Keys(Place{feed->db, prefix_}).FeedRemovedKey());
  }
}

Result<void> FeedTimers::Fire(store::Transaction& transaction, const store::Timer& timer) {
  const std::optional<FeedTimer> feed = DecodeFeedOwner(timer.owner);
  if (!feed) return Error{ErrorCode::kCorruption, "a feed timer without an event"};
  const Place place{feed->db, prefix_};
  const auto range =
      store::Range::Prefix(store::Space::kEvents, Keys(place).FeedPrefix(feed->event));
  const int64_t oldest = transaction.now().us / 1'000'000 - kFeedKeptSeconds;
  std::vector<Bytes> old;
  CAIRN_RETURN_IF_ERROR(
      transaction.Scan(range, {.limit = kFeedBatch}, [&](BytesView key, BytesView value) {
        if (static_cast<int64_t>(BytesReader(value).Big64()) > oldest) return false;
        old.emplace_back(key);
        return true;
      }));
  for (const Bytes& key : old) transaction.Delete({store::Space::kEvents, key});
  if (!old.empty()) CAIRN_RETURN_IF_ERROR(NoteRemoved(transaction, Keys(place), old.back()));
  if (old.size() == kFeedBatch) {
    transaction.SetTimer(transaction.now(), kTimerFeed, timer.owner, {});
  }
  return {};
}

}  // namespace cairn::seats
