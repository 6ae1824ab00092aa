#include "jobs/operations/job_json.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "base/time_text.h"
#include "jobs/model/chain.h"
#include "jobs/model/durations.h"
#include "jobs/model/json_check.h"
#include "jobs/model/json_members.h"
#include "jobs/operations/enqueue_json.h"

namespace cairn::jobs {
namespace {

TEST(TimeTest, TimesGoThereAndBack) {
  EXPECT_EQ(FormatTime(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatTime(1'700'000'000'123'456'789), "2023-11-14T22:13:20.123456789Z");
  EXPECT_EQ(FormatTime(1'700'000'000'500'000'000), "2023-11-14T22:13:20.5Z");
  EXPECT_EQ(ParseTime("2023-11-14T22:13:20.123456789Z"), 1'700'000'000'123'456'789);
  EXPECT_EQ(ParseTime("2023-11-14T23:43:20+01:30"), 1'700'000'000'000'000'000);
  EXPECT_EQ(ParseTime("2023-11-14T17:13:20-05:00"), 1'700'000'000'000'000'000);
  for (const std::string_view bad :
       {"", "2023", "2023-02-30T00:00:00Z", "2023-11-14T22:13:20", "2023-11-14T24:00:00Z",
        "2023-11-14T22:13:20Zx", "2023-11-14T22:13:20.Z", "1969-12-31T23:59:59Z"}) {
    EXPECT_FALSE(ParseTime(bad)) << bad;
  }
}

TEST(TimeTest, DurationsAreSumsOfUnits) {
  EXPECT_EQ(ParseDuration("5s"), 5'000);
  EXPECT_EQ(ParseDuration("1h30m"), 5'400'000);
  EXPECT_EQ(ParseDuration("250ms"), 250);
  EXPECT_EQ(ParseDuration("1.5h"), 5'400'000);
  EXPECT_EQ(ParseDuration("2d"), 172'800'000);
  for (const std::string_view bad : {"", "5", "s", "5x", "-5s", "5s5", "1e9s", "99999999h"}) {
    EXPECT_FALSE(ParseDuration(bad)) << bad;
  }
}

TEST(JsonTest, AnyValueIsJsonAndNothingElse) {
  for (const std::string_view good : {"{}", "[]", "null", "12345678901234567890", "\"a\\u00e9\"",
                                      " {\"a\":[1,{\"b\":null}]} ", "-0.5e-7"}) {
    EXPECT_TRUE(IsJson(good)) << good;
  }
  for (const std::string_view bad :
       {"", " ", "{", "{}{}", "[1,]", "'a'", "{a:1}", "01", "nul", "\"\x01\"", "{\"a\":1,}"}) {
    EXPECT_FALSE(IsJson(bad)) << bad;
  }
  EXPECT_FALSE(IsJson(std::string(300, '[') + std::string(300, ']')));
  EXPECT_TRUE(IsJson("{\"a\":1}", JsonKind::kObject));
  EXPECT_FALSE(IsJson("[]", JsonKind::kObject));
}

TEST(JsonTest, MembersAreTheBytesThatWereGiven) {
  const auto members = MembersOf(R"( { "a" : {"x":[1,2], "y":"}"} ,"b\"":  1.50, "c":"\\\"" } )");
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 3U);
  EXPECT_EQ((*members)[0].json, R"({"x":[1,2], "y":"}"})");
  EXPECT_EQ((*members)[1].name, "b\"");
  EXPECT_EQ((*members)[1].json, "1.50");
  EXPECT_EQ((*members)[2].json, R"("\\\"")");
  EXPECT_TRUE(MembersOf("{ }")->empty());
  EXPECT_FALSE(MembersOf("[]"));
  const auto items = ItemsOf(R"([ 1 ,[2,3], "x,]" ])");
  ASSERT_TRUE(items);
  EXPECT_EQ(*items, (std::vector<std::string_view>{"1", "[2,3]", "\"x,]\""}));
  EXPECT_TRUE(ItemsOf("[]")->empty());
}

TEST(JsonTest, EnqueueRequestsAreRead) {
  const Result<EnqueueRequest> request = ParseEnqueue(
      R"({"queue":"q","payload":[1.0],"priority":"high","max_retries":0,"retry_base_delay":"2s",)"
      R"("scheduled_at":"2030-01-01T00:00:00Z","unique_key":"u","unique_period":60,)"
      R"("depends_on":["a","b"],"tags":{"t":1},"parent_id":null})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->payload, "[1.0]");
  EXPECT_EQ(request->priority, Priority::kHigh);
  EXPECT_EQ(request->max_retries, 0);
  EXPECT_EQ(request->retry_base_delay_ms, 2'000);
  EXPECT_EQ(request->unique_period_ms, 60'000);
  EXPECT_EQ(request->depends_on.size(), 2U);
  for (const std::string_view bad :
       {"[]", R"({"queue":1})", R"({"nope":1})", R"({"priority":"low"})",
        R"({"delay":"5 parsecs"})", R"({"scheduled_at":"tomorrow"})", R"({"depends_on":"a"})",
        R"({"max_retries":1.5})"}) {
    EXPECT_FALSE(ParseEnqueue(bad).ok()) << bad;
  }
}

TEST(JsonTest, OverlayLetsTheStepsOwnMembersWin) {
  EXPECT_EQ(Overlay(R"("a":1,"b":2)", R"({"b":3,"c":4})"), R"({"a":1,"b":3,"c":4})");
  EXPECT_EQ(Overlay(R"("a":1)", "{}"), R"({"a":1})");
  EXPECT_EQ(Overlay(R"("a":1)", "[7]"), "[7]");
}

TEST(JsonTest, AJobIsAnObjectWithItsBytes) {
  Job job;
  job.id = "job_1";
  job.queue = "q\"";
  job.payload = "1.0";
  job.created_ns = 1'700'000'000'000'000'000;
  std::string out;
  const JobError error{.attempt = 1, .error = "bad\n", .created_ns = 1};
  AppendJob(job, {&error, 1}, out);
  const auto parsed = boost::json::parse(out);
  EXPECT_EQ(parsed.at("queue").as_string(), "q\"");
  EXPECT_EQ(parsed.at("errors").as_array().size(), 1U);
  EXPECT_NE(out.find(R"("payload":1.0,)"), std::string::npos);
}

}  // namespace
}  // namespace cairn::jobs
