#include "data/testing/script.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/log.h"
#include "data/commands.h"
#include "data/entry.h"
#include "data/keys.h"
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

}  // namespace

DataServer::DataServer(size_t loops)
    : TestServer({.add_commands = AddDataCommands, .loops = loops}) {}

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
  ExpiryTimers expiry(instance().pubsub());
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

  std::set<std::pair<int64_t, Bytes>> timers;  // due, owner
  const auto timer_rows =
      reader.Scan(store::Range::All(store::Space::kTimers), {}, [&](BytesView key, BytesView) {
        const std::optional<store::Timer> timer = store::DecodeTimerKey(key);
        EXPECT_TRUE(timer.has_value());
        if (timer->kind == store::kTimerKeyExpiry)
          timers.emplace(timer->due.millis(), timer->owner);
        return true;
      });
  EXPECT_TRUE(timer_rows.ok());

  std::map<int, Counts> counted;
  for (int db = 0; db < doors::kDatabases; ++db) {
    const auto rows =
        reader.Scan(RecordRange(static_cast<uint8_t>(db)), {}, [&](BytesView key, BytesView value) {
          const std::optional<Record> record = DecodeRecord(value);
          EXPECT_TRUE(record.has_value()) << Printable(key);
          ++counted[db].keys;
          if (record && record->expire_ms) {
            ++counted[db].expiring;
            const bool has_timer = timers.contains({*record->expire_ms, Bytes(TimerOwner(key))}) ||
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
}

}  // namespace cairn::data::testing
