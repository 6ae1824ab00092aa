// Adding jobs over HTTP: what is taken, what is refused, and that a refusal leaves nothing behind.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "jobs/testing/route_server.h"

namespace cairn::jobs {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class ProducerRoutesTest : public ::testing::Test {
 protected:
  ~ProducerRoutesTest() override { server_.ExpectSound(); }

  // The counts of pending and scheduled jobs of all queues together.
  int64_t Waiting() {
    int64_t count = 0;
    const json::value queues = server_.GetOk("/queues");
    for (const json::value& queue : queues.as_array()) {
      count += queue.at("pending").as_int64() + queue.at("scheduled").as_int64();
    }
    return count;
  }

  testing::RouteServer server_;
};

TEST_F(ProducerRoutesTest, AJobIsThereWithAllThatWasSaidAboutIt) {
  const net::HttpResponse made = server_.Post("/enqueue", R"({"queue":"mail",
      "payload":{"to":"ann"},"priority":"high","unique_key":"k","unique_period":60,"max_retries":7,
      "retry_backoff":"fixed","retry_base_delay":"1s","retry_max_delay":"1m","expire_after":"2h",
      "delay":"10s","timeout":"30s","tags":{"tenant":"a"},"concurrency_key":"c","rate_key":"r",
      "checkpoint":[1]})");
  EXPECT_EQ(made.status, 201);
  const json::value answer = json::parse(made.body);
  EXPECT_EQ(answer.at("status").as_string(), "scheduled");
  EXPECT_FALSE(answer.at("unique_existing").as_bool());
  const json::value job = server_.GetOk("/jobs/" + std::string(answer.at("job_id").as_string()));
  EXPECT_EQ(json::serialize(job.at("payload")), R"({"to":"ann"})");
  EXPECT_EQ(job.at("priority").as_int64(), 1);
  EXPECT_EQ(job.at("max_retries").as_int64(), 7);
  EXPECT_EQ(job.at("retry_backoff").as_string(), "fixed");
  EXPECT_EQ(job.at("retry_base_delay_ms").as_int64(), 1000);
  EXPECT_EQ(job.at("timeout_ms").as_int64(), 30'000);
  EXPECT_EQ(job.at("unique_key").as_string(), "k");
  EXPECT_EQ(json::serialize(job.at("tags")), R"({"tenant":"a"})");
  const net::HttpResponse again = server_.Post("/enqueue", R"({"queue":"mail","unique_key":"k"})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(json::parse(again.body).at("status").as_string(), "duplicate");
  EXPECT_EQ(json::parse(again.body).at("job_id").as_string(), answer.at("job_id").as_string());
  EXPECT_EQ(Waiting(), 1);
}

TEST_F(ProducerRoutesTest, TheLimitsOfAnAgentAreKeptWithTheJob) {
  const std::string agent = R"({"max_iterations":5,"max_cost_usd":1.50,"iteration_timeout":"30s"})";
  const std::string id = server_.Enqueue("q", R"("agent":)" + agent);
  const std::string member = R"("agent":)" + agent;
  EXPECT_THAT(server_.Get("/jobs/" + id).body, HasSubstr(member));
  EXPECT_THAT(server_.Post("/fetch", R"({"queues":["q"],"wait":0})").body, HasSubstr(member));
  const json::value copy = server_.PostOk("/jobs/" + id + "/replay");
  EXPECT_THAT(server_.Get("/jobs/" + std::string(copy.at("job_id").as_string())).body,
              HasSubstr(member));
  const json::value batch =
      server_.PostOk("/enqueue/batch", R"({"jobs":[{"queue":"q","agent":)" + agent + "}]}");
  EXPECT_THAT(server_.Get("/jobs/" + std::string(batch.at("job_ids").at(0).as_string())).body,
              HasSubstr(member));
  EXPECT_EQ(server_.Refusal(server_.Post("/enqueue", R"({"queue":"q","agent":5})")),
            "400 VALIDATION_ERROR");
}

TEST_F(ProducerRoutesTest, APayloadComesBackByteForByte) {
  for (const std::string payload :
       {"123456789012345678901234567890.10", "-0.0e-5", R"("\u00e9\/")", "null", "true", "[ 1 ,2]",
        R"({"a": 1, "a":2, "z":[{}]})", "\"plain é\""}) {
    const std::string id = server_.Enqueue("q", "\"payload\":" + payload);
    EXPECT_THAT(server_.Get("/jobs/" + id).body, HasSubstr("\"payload\":" + payload + ","));
    const net::HttpResponse fetched = server_.Post("/fetch", R"({"queues":["q"],"wait":0})");
    EXPECT_THAT(fetched.body, HasSubstr("\"payload\":" + payload + ","));
  }
}

// Whoever checks it may go by the first and whoever carries it out by the last.
TEST_F(ProducerRoutesTest, AMemberThatIsThereTwiceIsRefusedInListsToo) {
  const auto refused = [&](const std::string& path, const std::string& body) {
    const net::HttpResponse answer = server_.Post(path, body);
    EXPECT_THAT(answer.body, HasSubstr("twice")) << body;
    return server_.Refusal(answer);
  };
  EXPECT_EQ(refused("/enqueue", R"({"queue":"a","queue":"b"})"), "400 VALIDATION_ERROR");
  EXPECT_EQ(refused("/enqueue/batch", R"({"jobs":[{"queue":"q"},{"queue":"a","queue":"b"}]})"),
            "400 VALIDATION_ERROR");
  EXPECT_EQ(
      refused("/enqueue/batch",
              R"({"jobs":[{"queue":"q"}],"batch":{"callback_queue":"a","callback_queue":"b"}})"),
      "400 VALIDATION_ERROR");
  EXPECT_EQ(refused("/heartbeat", R"({"jobs":{"job_1":{},"job_1":{}}})"), "400 VALIDATION_ERROR");
  EXPECT_EQ(Waiting(), 0);
  const std::string id = server_.Enqueue("q");
  server_.Fetch("q");
  const json::value acked = server_.PostOk(
      "/ack/batch", fmt::format(R"({{"acks":[{{"job_id":"{0}","result":1,"result":2}}]}})", id));
  EXPECT_EQ(acked.at("acked").as_int64(), 0);
  EXPECT_THAT(json::serialize(acked), HasSubstr("twice"));
  // What a payload holds is the client's own.
  EXPECT_EQ(
      server_.Post("/enqueue/batch", R"({"jobs":[{"queue":"q","payload":{"a":1,"a":2}}]})").status,
      201);
}

TEST_F(ProducerRoutesTest, TheSameIdempotencyKeyIsTheSameJob) {
  const std::string body = R"({"queue":"q","payload":1})";
  const auto first =
      server_.Ask("POST", "/api/v1/enqueue", body, {{"Idempotency-Key", "request-1"}});
  const auto second =
      server_.Ask("POST", "/api/v1/enqueue", body, {{"Idempotency-Key", "request-1"}});
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(json::parse(first.body).at("job_id"), json::parse(second.body).at("job_id"));
  EXPECT_EQ(Waiting(), 1);
}

TEST_F(ProducerRoutesTest, ATraceGoesWithTheJob) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  server_.Ask("POST", "/api/v1/enqueue", R"({"queue":"q"})", {{"traceparent", trace}});
  EXPECT_EQ(server_.Fetch("q").at("traceparent").as_string(), trace);
  server_.Enqueue("q", R"("traceparent":"nonsense")");
  EXPECT_FALSE(server_.Fetch("q").as_object().contains("traceparent"));
}

TEST_F(ProducerRoutesTest, SeveralAreAddedTogetherOrNotAtAll) {
  const json::value answer = server_.PostOk(
      "/enqueue/batch",
      R"({"jobs":[{"queue":"a","payload":1,"unique_key":"u"},{"queue":"b","delay":"1h"},
                  {"queue":"a","priority":"critical"}],
          "batch":{"callback_queue":"done","callback_payload":{"n":10000000000000000000000}}})");
  EXPECT_EQ(answer.at("job_ids").as_array().size(), 3U);
  const std::string batch_id(answer.at("batch_id").as_string());
  const json::value batch = server_.GetOk("/batches/" + batch_id);
  EXPECT_EQ(batch.at("total").as_int64(), 3);
  EXPECT_EQ(batch.at("pending").as_int64(), 3);
  EXPECT_EQ(Waiting(), 3);
  const net::HttpResponse refused =
      server_.Post("/enqueue/batch", R"({"jobs":[{"queue":"a"},{"queue":"a","max_retries":-1}]})");
  EXPECT_EQ(server_.Refusal(refused), "400 VALIDATION_ERROR");
  EXPECT_THAT(refused.body, HasSubstr("job 1: max_retries"));
  EXPECT_EQ(Waiting(), 3);
}

TEST_F(ProducerRoutesTest, ABatchSentTwiceUnderOneKeyIsThereOnce) {
  const std::string body = R"({"jobs":[{"queue":"a"},{"queue":"b"}],"batch":{"callback_queue":"c"},
                               "idempotency_key":"once"})";
  const json::value first = server_.PostOk("/enqueue/batch", body);
  const json::value second = server_.PostOk("/enqueue/batch", body);
  EXPECT_EQ(first, second);
  EXPECT_EQ(Waiting(), 2);
}

TEST_F(ProducerRoutesTest, ABatchSentTwiceIsThereOnceAlsoWhereAJobWasThereBefore) {
  server_.Enqueue("a", R"("unique_key":"u")");
  const std::string body = R"({"jobs":[{"queue":"a","unique_key":"u"},{"queue":"b"}],
                               "batch":{"callback_queue":"c"},"idempotency_key":"once"})";
  const json::value first = server_.PostOk("/enqueue/batch", body);
  EXPECT_EQ(server_.PostOk("/enqueue/batch", body), first);
  EXPECT_EQ(Waiting(), 2);
  EXPECT_TRUE(server_.Fetch("c").is_null());
  EXPECT_EQ(server_.Refusal(server_.Post(
                "/enqueue/batch", R"({"jobs":[{"queue":"a","batch_id":"batch_x"}],"batch":{}})")),
            "409 BATCH_ERROR");
}

TEST_F(ProducerRoutesTest, WhatIsNeitherJsonNorTextIsRefusedByName) {
  const net::HttpResponse refused = server_.Post("/webhooks/q", "\xff\xfe");
  EXPECT_EQ(server_.Refusal(refused), "400 VALIDATION_ERROR");
  EXPECT_THAT(refused.body, HasSubstr("UTF-8"));
}

TEST_F(ProducerRoutesTest, AnOpenBatchGrowsIsSealedAndCallsBack) {
  const json::value opened =
      server_.PostOk("/batches", R"({"callback_queue":"done","callback_payload":{"for":"x"}})");
  const std::string id(opened.at("id").as_string());
  EXPECT_FALSE(opened.at("sealed").as_bool());
  server_.PostOk("/batches/" + id + "/jobs", R"({"jobs":[{"queue":"q"},{"queue":"q"}]})");
  server_.Enqueue("q", fmt::format(R"("batch_id":"{}")", id));
  EXPECT_EQ(server_.PostOk("/batches/" + id + "/seal").at("total").as_int64(), 3);
  EXPECT_EQ(
      server_.Refusal(server_.Post("/batches/" + id + "/jobs", R"({"jobs":[{"queue":"q"}]})")),
      "409 BATCH_ERROR");
  for (int i = 0; i < 3; ++i) {
    const json::value job = server_.Fetch("q");
    server_.PostOk("/ack/" + std::string(job.at("job_id").as_string()));
  }
  const json::value callback = server_.Fetch("done");
  EXPECT_EQ(callback.at("payload").at("for").as_string(), "x");
  EXPECT_EQ(server_.GetOk("/batches/" + id).at("succeeded").as_int64(), 3);
  EXPECT_EQ(server_.Refusal(server_.Get("/batches/batch_none")), "404 NOT_FOUND");
}

TEST_F(ProducerRoutesTest, WhatOthersSendIsAPayload) {
  const auto payload_of = [&](const std::string& body, const std::string& query = "") {
    const json::value made =
        json::parse(server_.Ask("POST", "/api/v1/webhooks/hooks" + query, body).body);
    const std::string job = server_.Get("/jobs/" + std::string(made.at("job_id").as_string())).body;
    const size_t begin = job.find("\"payload\":") + 10;
    return job.substr(begin, job.find(",\"priority\"") - begin);
  };
  EXPECT_EQ(payload_of(R"({"ref": "main"})"), R"({"ref": "main"})");
  EXPECT_EQ(payload_of(""), "{}");
  EXPECT_EQ(payload_of("a=1&b=\"2\""), R"("a=1&b=\"2\"")");
  const net::HttpResponse made = server_.Ask(
      "POST",
      "/api/v1/webhooks/hooks?priority=critical&unique_key=u&max_retries=0&tags=a:1,b:x%20y", "{}");
  const json::value job =
      server_.GetOk("/jobs/" + std::string(json::parse(made.body).at("job_id").as_string()));
  EXPECT_EQ(job.at("priority").as_int64(), 0);
  EXPECT_EQ(job.at("max_retries").as_int64(), 0);
  EXPECT_EQ(json::serialize(job.at("tags")), R"({"a":"1","b":"x y"})");
  EXPECT_EQ(server_.Refusal(server_.Ask("POST", "/api/v1/webhooks/hooks?colour=red", "")),
            "400 VALIDATION_ERROR");
  EXPECT_EQ(server_.Refusal(server_.Ask("POST", "/api/v1/webhooks/hooks?tags=x", "")),
            "400 VALIDATION_ERROR");
}

TEST_F(ProducerRoutesTest, WhatMakesNoSenseIsRefusedByItsNameAndChangesNothing) {
  struct Case {
    std::string body;
    std::string refusal;
    std::string names;
  };
  const std::vector<Case> cases = {
      {"", "400 PARSE_ERROR", ""},
      {"{", "400 PARSE_ERROR", ""},
      {R"({"queue":"q"} x)", "400 PARSE_ERROR", ""},
      {"[]", "400 VALIDATION_ERROR", ""},
      {"{}", "400 VALIDATION_ERROR", "queue"},
      {R"({"queue":""})", "400 VALIDATION_ERROR", "queue"},
      {R"({"queue":7})", "400 VALIDATION_ERROR", "queue"},
      {"{\"queue\":\"a\\u0000b\"}", "400 VALIDATION_ERROR", "queue"},
      {R"({"queue":"q","colour":"red"})", "400 VALIDATION_ERROR", "colour"},
      {R"({"queue":"q","priority":"low"})", "400 VALIDATION_ERROR", "priority"},
      {R"({"queue":"q","max_retries":-1})", "400 VALIDATION_ERROR", "max_retries"},
      {R"({"queue":"q","max_retries":"3"})", "400 VALIDATION_ERROR", "max_retries"},
      {R"({"queue":"q","max_retries":99999999999999999999})", "400 VALIDATION_ERROR",
       "max_retries"},
      {R"({"queue":"q","delay":"soon"})", "400 VALIDATION_ERROR", "delay"},
      {R"({"queue":"q","scheduled_at":"tomorrow"})", "400 VALIDATION_ERROR", "scheduled_at"},
      {R"({"queue":"q","retry_backoff":"random"})", "400 VALIDATION_ERROR", "retry_backoff"},
      {R"({"queue":"q","tags":[1]})", "400 VALIDATION_ERROR", "tags"},
      {R"({"queue":"q","depends_on":["job_none"]})", "400 DEPENDENCY_ERROR", "job_none"},
      {R"({"queue":"q","chain":{"steps":[]}})", "400 CHAIN_ERROR", ""},
      {R"({"queue":"q","batch_id":"batch_none"})", "404 NOT_FOUND", "batch_none"},
  };
  for (const Case& bad : cases) {
    const net::HttpResponse response = server_.Post("/enqueue", bad.body);
    EXPECT_EQ(server_.Refusal(response), bad.refusal) << bad.body << ": " << response.body;
    EXPECT_THAT(response.body, HasSubstr(bad.names)) << bad.body;
  }
  const std::string large(256 * 1024, 'x');
  EXPECT_EQ(server_.Refusal(
                server_.Post("/enqueue", fmt::format(R"({{"queue":"q","payload":"{}"}})", large))),
            "413 PAYLOAD_TOO_LARGE");
  EXPECT_EQ(server_.Refusal(server_.Post("/enqueue", std::string(3 * 1024 * 1024, ' '))),
            "413 PAYLOAD_TOO_LARGE");
  for (const std::string body :
       {"{}", R"({"jobs":{}})", R"({"jobs":[]})", R"({"jobs":[7]})", R"({"jobs":[{}]})",
        R"({"jobs":[{"queue":"q"}],"more":1})", R"({"jobs":[{"queue":"q"}],"batch":7})",
        R"({"jobs":[{"queue":"q"}],"batch":{"colour":7}})"}) {
    EXPECT_EQ(server_.Refusal(server_.Post("/enqueue/batch", body)), "400 VALIDATION_ERROR")
        << body;
  }
  EXPECT_EQ(Waiting(), 0);
}

TEST_F(ProducerRoutesTest, PathsThatAreNotThereAreRefusedInTheSameForm) {
  EXPECT_EQ(server_.Refusal(server_.Get("/nothing")), "404 NOT_FOUND");
  EXPECT_EQ(server_.Refusal(server_.Ask("PUT", "/api/v1/enqueue", "{}")), "405 VALIDATION_ERROR");
  EXPECT_THAT(server_.table().OpenApi(), HasSubstr(R"("/api/v1/enqueue/batch")"));
}

}  // namespace
}  // namespace cairn::jobs
