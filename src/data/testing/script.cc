#include "data/testing/script.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "data/commands.h"
#include "data/entry.h"
#include "data/keys.h"
#include "data/list_page.h"
#include "data/member_filter.h"
#include "data/member_order.h"
#include "data/packed_rows.h"
#include "doors/limits.h"
#include "store/timers.h"

namespace cairn::data::testing {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  text = Trimmed(text);
  while (!text.empty()) {
    const bool quoted = text.front() == '"';
    if (quoted) text.remove_prefix(1);
    const size_t end = std::min(text.find(quoted ? '"' : ' '), text.size());
    words.emplace_back(text.substr(0, end));
    text = Trimmed(text.substr(std::min(end + 1, text.size())));
  }
  return words;
}

void PlayLine(doors::testing::TestClient& client, std::string_view line) {
  const size_t arrow = line.find("=>");
  const std::string reply = client.Run(SplitWords(line.substr(0, arrow)));
  if (arrow == std::string_view::npos) {
    EXPECT_FALSE(reply.starts_with("(error)")) << line << ": " << reply;
  } else {
    EXPECT_EQ(Trimmed(reply), Trimmed(line.substr(arrow + 2))) << line;
  }
}

struct Counts {
  int64_t keys = 0;
  int64_t expiring = 0;
};

using Generation = std::pair<uint8_t, uint64_t>;  // with its database

// What the record says about the elements of its value.
struct Owner {
  ValueType type = ValueType::kString;
  uint64_t count = 0;   // of members; of collections only
  MemberFilter filter;  // of hashes and sets
};

Owner OwnerOf(const Record& record) {
  BytesReader reader(record.payload);
  Owner owner{.type = record.type, .count = reader.Big64()};
  if (record.type == ValueType::kHash || record.type == ValueType::kSet) {
    const std::optional<MemberFilter> filter = MemberFilter::Decode(reader.Rest());
    EXPECT_TRUE(filter.has_value());
    owner.filter = filter.value_or(MemberFilter());
  }
  return owner;
}

struct Timers {
  std::set<std::pair<int64_t, Bytes>> expiries;  // due, owner
  std::set<Generation> reclaims;
};

Timers ReadTimers(store::Snapshot& reader) {
  Timers timers;
  const auto rows =
      reader.Scan(store::Range::All(store::Space::kTimers), {}, [&](BytesView key, BytesView) {
        const std::optional<store::Timer> timer = store::DecodeTimerKey(key);
        EXPECT_TRUE(timer.has_value());
        if (timer->kind == store::kTimerKeyExpiry) {
          timers.expiries.emplace(timer->due.millis(), timer->owner);
        }
        if (timer->kind == store::kTimerReclaim) {
          const std::optional<Reclaimed> owner = DecodeReclaimOwner(timer->owner);
          EXPECT_TRUE(owner.has_value());
          timers.reclaims.emplace(owner->db, owner->generation);
        }
        return true;
      });
  EXPECT_TRUE(rows.ok());
  return timers;
}

// How many rows of a value there are, by the first byte of their suffixes; of pages of a list, how
// many elements they have.
using Rows = std::map<char, uint64_t>;

uint64_t CountAll(const Rows& rows) {
  uint64_t all = 0;
  for (const auto& [family, count] : rows) all += count;
  return all;
}

void CheckCount(const Owner& owner, const Rows& rows, const std::string& where) {
  const auto of = [&](char family) { return rows.contains(family) ? rows.at(family) : 0; };
  switch (owner.type) {
    case ValueType::kHash:
    case ValueType::kSet:
      EXPECT_EQ(CountAll(rows), owner.count) << where;
      break;
    case ValueType::kList:
      // Others stand in the record, less than a page at either end.
      EXPECT_LE(CountAll(rows), owner.count) << where;
      EXPECT_LE(owner.count - CountAll(rows), 2 * (kListPage - 1)) << where;
      break;
    case ValueType::kSortedSet:
      EXPECT_EQ(of('m'), owner.count) << "members of " << where;
      EXPECT_EQ(of('s'), owner.count) << "places in the order of " << where;
      break;
    case ValueType::kStream:
      EXPECT_EQ(of('e'), owner.count) << "entries of " << where;
      break;
    case ValueType::kString:
    case ValueType::kJson:
      break;
  }
}

uint64_t CountInPage(BytesView row) {
  const std::optional<ListPage> page = ListPage::Take(row, kListPage);
  EXPECT_TRUE(page && row.empty());
  uint64_t count = 0;
  for (size_t i = 0; page && i < kListPage; ++i) count += page->At(i) ? 1 : 0;
  EXPECT_GT(count, 0U) << "a page that could as well not be there";
  return count;
}

// A hash or a set in one piece has as many members as it says.
void CheckPacked(const Record& record, BytesView key) {
  BytesReader reader(record.payload);
  const uint64_t count = reader.Big64();
  const std::optional<PackedRows> packed = PackedRows::Decode(reader.Rest());
  ASSERT_TRUE(reader.ok() && packed) << Printable(key);
  uint64_t rows = 0;
  packed->ForEach([&](BytesView, BytesView) {
    ++rows;
    return true;
  });
  EXPECT_EQ(rows, count) << Printable(key);
  EXPECT_GT(count, 0U) << Printable(key);
}

// The order in which fields were added has each of them; those of a hash that other layers write
// without looking (seats) may be missing.
void CheckOrder(const Owner& owner, BytesView bytes) {
  EXPECT_EQ(owner.type, ValueType::kHash);
  const std::optional<MemberOrder> order = MemberOrder::Decode(bytes);
  ASSERT_TRUE(order.has_value());
  EXPECT_LE(order->size(), owner.count);
  EXPECT_LE(order->size(), MemberOrder::kMaxMembers);
}

// Every element belongs to a record, or is about to be reclaimed; and a record has as many members
// as it says.
void CheckElements(store::Snapshot& reader, const std::map<Generation, Owner>& owners,
                   const std::set<Generation>& reclaims) {
  std::map<Generation, Rows> found;
  for (int db = 0; db < doors::kDatabases; ++db) {
    const auto rows = reader.Scan(
        ElementRange(static_cast<uint8_t>(db)), {}, [&](BytesView key, BytesView value) {
          BytesReader key_reader(key.substr(2));
          const Generation generation(static_cast<uint8_t>(db), key_reader.Big64());
          EXPECT_TRUE(key_reader.ok()) << Printable(key);
          const BytesView suffix = key_reader.Rest();
          const auto owner = owners.find(generation);
          if (suffix.empty()) {
            if (owner != owners.end()) CheckOrder(owner->second, value);
            return true;
          }
          const bool page = owner != owners.end() && owner->second.type == ValueType::kList &&
                            suffix.front() == kListPageFamily;
          if (owner != owners.end()) {
            EXPECT_TRUE(owner->second.filter.MayHave(BytesReader(suffix).Big32()))
                << "not in the filter: " << Printable(key);
          }
          found[generation][suffix.front()] += page ? CountInPage(value) : 1;
          return true;
        });
    EXPECT_TRUE(rows.ok());
  }
  for (const auto& [generation, rows] : found) {
    EXPECT_TRUE(owners.contains(generation) || reclaims.contains(generation))
        << "elements of nobody: database " << int{generation.first} << ", generation "
        << generation.second;
  }
  for (const auto& [generation, owner] : owners) {
    EXPECT_FALSE(reclaims.contains(generation)) << "about to be lost: " << generation.second;
    CheckCount(owner, found[generation], "generation " + std::to_string(generation.second));
  }
}

}  // namespace

DataServer::DataServer(size_t loops)
    : TestServer({.add_commands = AddDataCommands, .loops = loops}) {}

DataServer::DataServer(size_t buffer_bytes, size_t reply_bytes)
    : TestServer({.add_commands = AddDataCommands,
                  .buffer_bytes = buffer_bytes,
                  .reply_bytes = reply_bytes}) {}

void DataServer::Play(doors::testing::TestClient& client, std::string_view script) {
  while (!script.empty()) {
    const size_t end = std::min(script.find('\n'), script.size());
    const std::string_view line = Trimmed(script.substr(0, end));
    if (!line.empty()) PlayLine(client, line);
    script.remove_prefix(std::min(end + 1, script.size()));
  }
}

void DataServer::Play(std::string_view script) {
  doors::testing::TestClient client = Connect();
  Play(client, script);
}

void DataServer::FireTimers() {
  ExpiryTimers expiry(instance().pubsub(), instance().expired_keys());
  store::TimerService timers(store(), clock(), Log::Silent());
  timers.Register(store::kTimerKeyExpiry, expiry);
  ReclaimTimers reclaim;
  timers.Register(store::kTimerReclaim, reclaim);
  const Result<size_t> fired = timers.RunDue();
  EXPECT_TRUE(fired.ok());
}

void DataServer::CheckConsistency() {
  const auto snapshot = store().Read();
  ASSERT_TRUE(snapshot.ok());
  store::Snapshot& reader = **snapshot;

  const Timers timers = ReadTimers(reader);
  std::map<Generation, Owner> owners;
  std::map<int, Counts> counted;
  for (int db = 0; db < doors::kDatabases; ++db) {
    const auto rows =
        reader.Scan(RecordRange(static_cast<uint8_t>(db)), {}, [&](BytesView key, BytesView value) {
          const std::optional<Record> record = DecodeRecord(value);
          EXPECT_TRUE(record.has_value()) << Printable(key);
          ++counted[db].keys;
          if (record && record->generation == 0 &&
              (record->type == ValueType::kHash || record->type == ValueType::kSet)) {
            CheckPacked(*record, key);
          }
          if (record && record->generation != 0) {
            const bool alone =
                owners
                    .emplace(Generation(static_cast<uint8_t>(db), record->generation),
                             OwnerOf(*record))
                    .second;
            EXPECT_TRUE(alone) << "shares its elements: " << Printable(key);
          }
          if (record && record->expire_ms) {
            ++counted[db].expiring;
            const bool has_timer =
                timers.expiries.contains({*record->expire_ms, Bytes(TimerOwner(key))}) ||
                *record->expire_ms > INT64_MAX / 1000;
            EXPECT_TRUE(has_timer) << "no timer for " << Printable(key);
          }
          return true;
        });
    EXPECT_TRUE(rows.ok());
    const auto keys = reader.Get({store::Space::kData, EncodeKeyCounter(static_cast<uint8_t>(db))});
    const auto expiring =
        reader.Get({store::Space::kData, EncodeExpiringCounter(static_cast<uint8_t>(db))});
    ASSERT_TRUE(keys.ok() && expiring.ok());
    EXPECT_EQ(DecodeCounter(*keys), counted[db].keys) << "keys of database " << db;
    EXPECT_EQ(DecodeCounter(*expiring), counted[db].expiring) << "expiring in database " << db;
  }
  CheckElements(reader, owners, timers.reclaims);
}

}  // namespace cairn::data::testing
