#include "doors/resp/slow_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doors/access/limits.h"

namespace cairn::doors {
namespace {

void Add(SlowLog& log, std::vector<std::string_view> args) { log.Add({}, 20'000, args, "p", "n"); }

TEST(SlowLogTest, WantsWhatReachesTheThreshold) {
  SlowLog log;
  EXPECT_FALSE(log.Wants(9'999));
  EXPECT_TRUE(log.Wants(10'000));
  log.set_threshold_us(0);
  EXPECT_TRUE(log.Wants(0));
  log.set_threshold_us(-1);
  EXPECT_FALSE(log.Wants(1'000'000));
}

TEST(SlowLogTest, KeepsTheNewestWithinItsLength) {
  SlowLog log;
  log.set_max_length(2);
  for (const char* name : {"a", "b", "c"}) Add(log, {name});
  const auto entries = log.Newest(10);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].args, std::vector<std::string>{"c"});
  EXPECT_EQ(entries[0].id, 2U);
  EXPECT_EQ(entries[1].args, std::vector<std::string>{"b"});
  log.Clear();
  EXPECT_EQ(log.size(), 0U);
  Add(log, {"d"});
  EXPECT_EQ(log.Newest(1)[0].id, 3U);  // ids go on
}

TEST(SlowLogTest, ShortensLongArguments) {
  SlowLog log;
  const std::string large(kSlowLogArgumentBytes + 5, 'x');
  const std::vector<std::string_view> args(kSlowLogArguments + 10, large);
  Add(log, args);
  const SlowLog::Entry entry = log.Newest(1)[0];
  ASSERT_EQ(entry.args.size(), kSlowLogArguments);
  EXPECT_EQ(entry.args[0].substr(0, kSlowLogArgumentBytes), large.substr(0, kSlowLogArgumentBytes));
  EXPECT_EQ(entry.args[0].substr(kSlowLogArgumentBytes), "... (5 more bytes)");
  EXPECT_EQ(entry.args.back(), "... (11 more arguments)");
}

}  // namespace
}  // namespace cairn::doors
