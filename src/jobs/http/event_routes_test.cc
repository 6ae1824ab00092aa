// The event log over HTTP.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>

#include "jobs/model/limits.h"
#include "jobs/testing/route_server.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;
using testing::EventReader;

class EventRoutesTest : public ::testing::Test {
 protected:
  std::string Run(const std::string& queue) {
    std::string id = server_.Enqueue(queue);
    server_.Fetch(queue);
    server_.PostOk("/ack/" + id);
    return id;
  }

  testing::RouteServer server_;
};

TEST_F(EventRoutesTest, AStreamTellsWhatHappensFromNowOn) {
  server_.Enqueue("before");
  EventReader reader(server_.port(), "");
  EXPECT_EQ(reader.Next(), "position");
  const std::string id = Run("mail");
  EXPECT_EQ(reader.Next(), "enqueued mail");
  EXPECT_EQ(std::string(reader.data().at("job_id").as_string()), id);
  EXPECT_EQ(reader.last_id(), json::serialize(reader.data().at("seq")));
  EXPECT_EQ(reader.Next(), "started mail");
  EXPECT_EQ(reader.Next(), "completed mail");
  server_.PostOk("/queues/mail/pause");
  EXPECT_EQ(reader.Next(), "queue.paused mail");
}

TEST_F(EventRoutesTest, AStreamGoesOnWhereItWas) {
  std::string last;
  {
    EventReader reader(server_.port(), "");
    EXPECT_EQ(reader.Next(), "position");
    server_.Enqueue("a");
    EXPECT_EQ(reader.Next(), "enqueued a");
    last = reader.last_id();
  }
  server_.Enqueue("b");
  server_.Enqueue("c");
  EventReader resumed(server_.port(), "", last);
  EXPECT_EQ(resumed.Next(), "enqueued b");
  EXPECT_EQ(resumed.Next(), "enqueued c");
  // A browser that cannot send the header.
  EventReader browser(server_.port(), "?last_event_id=" + last);
  EXPECT_EQ(browser.Next(), "enqueued b");
  // Everything there is.
  EventReader all(server_.port(), "?last_event_id=0");
  EXPECT_EQ(all.Next(), "enqueued a");
}

TEST_F(EventRoutesTest, AStreamIsToldWhatTheLogHasLost) {
  server_.Enqueue("a");
  EventReader reader(server_.port(), "?last_event_id=0");
  EXPECT_EQ(reader.Next(), "enqueued a");
  const std::string seen = reader.last_id();
  server_.Enqueue("b");
  server_.Enqueue("c");
  server_.KeepEvents(1);
  EventReader resumed(server_.port(), "", seen);
  EXPECT_EQ(resumed.Next(), "gap");
  EXPECT_EQ(resumed.data().at("missed_from").as_int64(), std::stoll(seen) + 1);
  EXPECT_EQ(resumed.data().at("missed_to").as_int64(), std::stoll(seen) + 1);
  EXPECT_EQ(resumed.Next(), "enqueued c");
  // It was told, and goes on behind the gap.
  EventReader again(server_.port(), "", std::to_string(std::stoll(seen) + 1));
  EXPECT_EQ(again.Next(), "enqueued c");
  // Whatever there is: nothing was expected that is missing.
  EventReader all(server_.port(), "?last_event_id=0");
  EXPECT_EQ(all.Next(), "enqueued c");
  EXPECT_EQ(server_.gaps().streams, 1U);

  const json::value page = server_.GetOk("/cluster/events?after_seq=" + seen);
  EXPECT_TRUE(page.at("gap").as_bool());
  EXPECT_EQ(page.at("events").as_array().size(), 1U);
  EXPECT_FALSE(server_.GetOk("/cluster/events").at("gap").as_bool());
  EXPECT_EQ(server_.gaps().pages, 1U);
}

TEST_F(EventRoutesTest, AStreamTellsOnlyWhatItIsAskedFor) {
  const std::string id = Run("a");
  Run("b");
  EventReader queues(server_.port(), "?last_event_id=0&queues=b,c");
  EXPECT_EQ(queues.Next(), "enqueued b");
  EventReader jobs(server_.port(), "?last_event_id=0&job_ids=" + id);
  EXPECT_EQ(jobs.Next(), "enqueued a");
  EventReader types(server_.port(), "?last_event_id=0&types=completed&queues=a,b");
  EXPECT_EQ(types.Next(), "completed a");
  EXPECT_EQ(types.Next(), "completed b");
  EXPECT_EQ(server_.Refusal(server_.Get("/events?types=exploded")), "400 VALIDATION_ERROR");
  EXPECT_EQ(server_.Refusal(server_.Get("/events?last_event_id=abc")), "400 VALIDATION_ERROR");
}

TEST_F(EventRoutesTest, TheLogIsReadPageByPage) {
  for (int i = 0; i < 5; ++i) server_.Enqueue("q");
  json::value page = server_.GetOk("/cluster/events?limit=3");
  EXPECT_EQ(page.at("events").as_array().size(), 3U);
  page = server_.GetOk("/cluster/events?limit=3&after_seq=" + json::serialize(page.at("next_seq")));
  EXPECT_EQ(page.at("events").as_array().size(), 2U);
  page = server_.GetOk("/cluster/events?after_seq=" + json::serialize(page.at("next_seq")));
  EXPECT_EQ(page.at("events").as_array().size(), 0U);
  EXPECT_EQ(server_.Refusal(server_.Get("/cluster/events?limit=1001")), "400 VALIDATION_ERROR");
  EXPECT_EQ(server_.Refusal(server_.Get("/cluster/events?after_seq=-1")), "400 VALIDATION_ERROR");
}

// What a job that is not kept has returned stands in the event of its end.
TEST_F(EventRoutesTest, APageOfLargeEventsEndsEarlyAndMissesNone) {
  constexpr int kJobs = 80;
  server_.PostOk("/queues/q/config", R"({"retention_completed":"0s"})");
  const std::string result = R"({"result":")" + std::string(250'000, 'r') + R"("})";
  for (int i = 0; i < kJobs; ++i) {
    const std::string id = server_.Enqueue("q");
    server_.Fetch("q");
    server_.PostOk("/ack/" + id, result);
  }
  size_t ends = 0;
  int pages = 0;
  std::string after = "0";
  while (true) {
    const net::HttpResponse answer = server_.Get("/cluster/events?limit=1000&after_seq=" + after);
    ASSERT_EQ(answer.status, 200);
    EXPECT_LT(answer.body.size(), kMaxAnswerBytes + 1'000'000);
    const json::value page = json::parse(answer.body);
    if (page.at("events").as_array().empty()) break;
    for (const json::value& event : page.at("events").as_array()) {
      ends += event.at("type").as_string() == "completed" ? 1 : 0;
    }
    after = json::serialize(page.at("next_seq"));
    ++pages;
  }
  EXPECT_EQ(ends, static_cast<size_t>(kJobs));
  EXPECT_GT(pages, 1);
  // What happened is counted to the end, whatever the size of a page.
  const json::value minutes = server_.GetOk("/metrics/throughput");
  EXPECT_EQ(minutes.as_array().back().at("completed").as_int64(), kJobs);
}

TEST_F(EventRoutesTest, ThroughputIsCountedByTheMinute) {
  const auto last = [&](size_t back) {
    const json::value minutes = server_.GetOk("/metrics/throughput");
    EXPECT_EQ(minutes.as_array().size(), 60U);
    const json::value& minute = minutes.at(59 - back);
    return fmt::format("{}/{}/{}", minute.at("enqueued").as_int64(),
                       minute.at("completed").as_int64(), minute.at("failed").as_int64());
  };
  Run("q");
  server_.Enqueue("q");
  EXPECT_EQ(last(0), "2/1/0");
  const json::value job = server_.Fetch("q");
  server_.PostOk("/fail/" + std::string(job.at("job_id").as_string()), R"({"error":"x"})");
  EXPECT_EQ(last(0), "2/1/1");
  server_.server().clock().AdvanceMillis(60'000);
  server_.Enqueue("q");
  EXPECT_EQ(last(0), "1/0/0");
  EXPECT_EQ(last(1), "2/1/1");
  server_.server().clock().AdvanceMillis(59 * 60'000);
  EXPECT_EQ(last(59), "1/0/0");
  server_.server().clock().AdvanceMillis(120 * 60'000);
  server_.Enqueue("q");
  EXPECT_EQ(last(0), "1/0/0");
  EXPECT_EQ(last(59), "0/0/0");
}

}  // namespace
}  // namespace cairn::jobs
