#include "seats/feed.h"

#include <fmt/format.h>

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

}  // namespace

void Announce(Context& context, const Event& event, const Section& section, const Change& change,
              int64_t last_change) {
  store::Transaction& transaction = context.transaction;
  const std::string json = ChangeJson(event, section, change, transaction.now());
  transaction.AppendEvent({store::Space::kEvents, context.keys.FeedPrefix(event.id())},
                          EncodeEntry(transaction.now(), json));
  transaction.Wake(context.keys.FeedTopic(event.id()));
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
  if (old.size() == kFeedBatch) {
    transaction.SetTimer(transaction.now(), kTimerFeed, timer.owner, {});
  }
  return {};
}

}  // namespace cairn::seats
