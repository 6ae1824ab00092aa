#include "data/testing/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/commands.h"
#include "data/value/entry.h"
#include "data/verify.h"
#include "house/verify.h"
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
  ExpiryTimers expiry(instance().traffic().pubsub, instance().observed().expired_keys);
  store::TimerService timers(store(), clock(), Log::Silent());
  timers.Register(store::kTimerKeyExpiry, expiry);
  ReclaimTimers reclaim;
  timers.Register(store::kTimerReclaim, reclaim);
  const Result<size_t> fired = timers.RunDue();
  EXPECT_TRUE(fired.ok());
}

void DataServer::CheckConsistency() {
  house::Verification verification;
  const Result<void> read = Verify(store(), verification);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(verification.problems(), ::testing::IsEmpty());
}

}  // namespace cairn::data::testing
