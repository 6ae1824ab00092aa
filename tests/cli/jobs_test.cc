// `cairn jobs …`, `cairn queues …` and `cairn workers` against the real binary.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/server.h"
#include "tests/support/temp_directory.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class JobsCommandTest : public ::testing::Test {
 protected:
  Finished Cairn(std::vector<std::string> args) {
    args.insert(args.end(), {"--url", "http://" + net::ToString(server_.http())});
    return RunCairn(args);
  }
  Finished Jobs(std::vector<std::string> args) {
    args.insert(args.begin(), "jobs");
    return Cairn(std::move(args));
  }
  Finished Queues(std::vector<std::string> args) {
    args.insert(args.begin(), "queues");
    return Cairn(std::move(args));
  }
  // Adds a job and returns its id.
  std::string Enqueue(std::vector<std::string> args) {
    args.insert(args.begin(), "enqueue");
    args.emplace_back("--json");
    const Finished done = Jobs(std::move(args));
    EXPECT_EQ(done.status.code, 0) << done.err;
    return std::string(json::parse(done.out).at("job_id").as_string());
  }
  // A reply byte for byte, which the command line's printing is not.
  net::RespValue Reply(const std::vector<std::string>& args) {
    auto client = server_.Connect();
    EXPECT_TRUE(client.ok());
    const auto reply = client->Command(args);
    EXPECT_TRUE(reply.ok());
    return reply.ok() ? *reply : net::RespValue();
  }
  json::value Job(const std::string& id) {
    const Finished done = Jobs({"get", id, "--json"});
    EXPECT_EQ(done.status.code, 0) << done.err;
    return json::parse(done.out);
  }

  TempDirectory directory_;
  Server server_ = Server::MustStart({.data = directory_ / "data"});
};

TEST_F(JobsCommandTest, AJobIsEnqueuedShownAndChanged) {
  const std::string id = Enqueue(
      {"mail", R"({"to":"ann"})", "--priority", "high", "--tag", "tenant=a", "--max-retries", "7"});
  const Finished shown = Jobs({"get", id});
  EXPECT_EQ(shown.status.code, 0);
  EXPECT_THAT(shown.out, AllOf(StartsWith(id + "  mail  pending"), HasSubstr(R"({"to":"ann"})"),
                               HasSubstr(R"({"tenant":"a"})")));
  EXPECT_EQ(Job(id).at("max_retries").as_int64(), 7);
  EXPECT_EQ(Jobs({"hold", id, "--reason", "odd"}).out, id + "  held\n");
  EXPECT_EQ(Job(id).at("hold_reason").as_string(), "odd");
  EXPECT_EQ(Jobs({"approve", id}).out, id + "  pending\n");
  EXPECT_EQ(Jobs({"move", id, "post"}).out, id + "  moved\n");
  EXPECT_EQ(Jobs({"cancel", id}).out, id + "  cancelled\n");
  EXPECT_EQ(Jobs({"retry", id}).out, id + "  retried\n");
  EXPECT_EQ(Jobs({"hold", id}).status.code, 0);
  EXPECT_EQ(Jobs({"reject", id}).out, id + "  dead\n");
  EXPECT_EQ(Jobs({"delete", id}).out, id + "  deleted\n");
  const Finished gone = Jobs({"get", id});
  EXPECT_EQ(gone.status.code, 1);
  EXPECT_THAT(gone.err, StartsWith("cairn: jobs: "));
}

TEST_F(JobsCommandTest, JobsAreExportedAndImportedElsewhere) {
  const std::string id = Enqueue({"mail", R"({ "to" : "ann" })", "--tag", "tenant=a"});
  const std::string held = Enqueue({"mail", "[]"});
  Jobs({"hold", held});
  const std::string file = directory_ / "jobs.ndjson";
  const Finished exported = Jobs({"export", file});
  EXPECT_EQ(exported.status.code, 0) << exported.err;
  EXPECT_THAT(exported.out, HasSubstr(file));
  EXPECT_EQ(Jobs({"export", file}).status.code, 1);  // it is there
  const Finished refused = Jobs({"import", file});
  EXPECT_EQ(refused.status.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("already"));

  const json::value before = Job(id);
  server_ = Server::MustStart({.data = directory_ / "other"});
  const Finished imported = Jobs({"import", file});
  EXPECT_EQ(imported.status.code, 0) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("2 jobs restored"));
  EXPECT_EQ(Job(id), before);
  EXPECT_EQ(Job(held).at("state"), "held");
  EXPECT_EQ(Jobs({"verify"}).status.code, 0);
}

TEST_F(JobsCommandTest, APayloadArrivesByteForByte) {
  for (const char* payload :
       {"[1,2]", "[ 1,\t2 ]", "[]", "[[1,2],[3]]", R"(["a,b"])", R"({"a":[1,2],"b":"x=y"})", "-5",
        R"("--queue")", "1.50", "null", R"("[a,b]")", R"([{"a":1},{"b":2}])"}) {
    const std::string id = Enqueue({"raw", payload});
    EXPECT_THAT(Reply({"JOB.GET", id}).text, HasSubstr(fmt::format(R"("payload":{},)", payload)));
  }
}

TEST_F(JobsCommandTest, AQueueMayBeCalledAsACommandIs) {
  const std::string id = Enqueue({"backup", "[1,2]", "--unique-key", "seats"});
  EXPECT_EQ(Job(id).at("queue").as_string(), "backup");
  EXPECT_EQ(Job(id).at("unique_key").as_string(), "seats");
  EXPECT_EQ(Queues({"pause", "backup"}).out, "backup  paused\n");
  EXPECT_EQ(Jobs({"move", id, "version"}).out, id + "  moved\n");
  EXPECT_EQ(Jobs({"hold", id, "--reason", "[odd,very]"}).status.code, 0);
  EXPECT_EQ(Job(id).at("hold_reason").as_string(), "[odd,very]");
}

TEST_F(JobsCommandTest, AFilterIsTakenAsItStands) {
  const std::string id = Enqueue({"q", "[1,2]", "--tag", "[a,b]=[c,d]"});
  const Finished found = Jobs({"list", "--filter", R"({"tags":{"[a,b]":"[c,d]"}})"});
  EXPECT_THAT(found.out, HasSubstr(id)) << found.err;
  EXPECT_THAT(Jobs({"list", "--filter", "[1,2]"}).err, HasSubstr("--filter is not a JSON object"));
}

TEST_F(JobsCommandTest, ASchedulesPayloadArrivesByteForByte) {
  ASSERT_EQ(Cairn({"schedules", "create", "nightly", "30 2 * * *", "reports", "[1,2]"}).status.code,
            0);
  ASSERT_EQ(Cairn({"schedules", "trigger", "nightly"}).status.code, 0);
  const net::RespValue fetched = Reply({"JOB.FETCH", "QUEUES", "reports"});
  ASSERT_EQ(fetched.items.size(), 1U) << fetched.ToString();
  EXPECT_EQ(fetched.items[0].items[5].text, "[1,2]");
}

TEST_F(JobsCommandTest, SeveralJobsAreChangedAndWhatFailsIsTold) {
  const std::string first = Enqueue({"q"});
  const std::string second = Enqueue({"q"});
  const Finished done = Jobs({"cancel", first, "job_none", second});
  EXPECT_EQ(done.status.code, 1);
  EXPECT_THAT(done.out, AllOf(HasSubstr(first + "  cancelled"), HasSubstr("job_none  error: "),
                              HasSubstr(second + "  cancelled")));
}

TEST_F(JobsCommandTest, AResultIsWaitedFor) {
  std::thread worker([&] {
    net::HttpClient client = server_.Http();
    const auto fetched = client.Post("/api/v1/fetch", R"({"queues":["sum"],"wait":60})");
    ASSERT_TRUE(fetched.ok()) << fetched.error().message;
    const json::value job = json::parse(fetched->body);
    const auto acked = client.Post(
        "/api/v1/ack/" + std::string(job.at("job_id").as_string()),
        json::serialize(json::object{{"lease_token", job.at("lease_token")}, {"result", 42}}));
    EXPECT_EQ(acked->status, 200) << acked->body;
  });
  const Finished done = Jobs({"enqueue", "sum", R"({"a":40,"b":2})", "--wait", "60"});
  worker.join();
  EXPECT_EQ(done.status.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("sum  completed"), HasSubstr("42")));
}

TEST_F(JobsCommandTest, AWorkerIsPushedWhatTheOtherDoorsEnqueue) {
  auto worker = server_.Connect();
  ASSERT_TRUE(worker.ok());
  ASSERT_TRUE(worker->Command({"HELLO", "3"}).ok());
  ASSERT_EQ(worker->Command({"JOB.SUBSCRIBE", "COUNT", "2", "QUEUES", "q"})->text, "OK");
  const auto payload = [&] {
    const auto frame = worker->Receive();
    EXPECT_TRUE(frame.ok() && frame->type == net::RespValue::Type::kPush);
    return frame.ok() && frame->items.size() == 2 ? frame->items[1].items[5].text : "";
  };
  Enqueue({"q", "[1,2]"});
  EXPECT_EQ(payload(), "[1,2]");
  ASSERT_EQ(server_.Http().Post("/api/v1/enqueue", R"({"queue":"q","payload":"web"})")->status,
            201);
  EXPECT_EQ(payload(), "\"web\"");
}

TEST_F(JobsCommandTest, QueuesAreListedAndManaged) {
  Enqueue({"mail"});
  Enqueue({"mail", "{}", "--delay", "1h"});
  const Finished list = Queues({});
  EXPECT_EQ(list.status.code, 0) << list.err;
  EXPECT_THAT(list.out, AllOf(HasSubstr("queue"), HasSubstr("mail")));
  EXPECT_EQ(Queues({"pause", "mail"}).out, "mail  paused\n");
  EXPECT_THAT(Queues({"list"}).out, HasSubstr("paused"));
  EXPECT_EQ(Queues({"resume", "mail"}).out, "mail  resumed\n");
  EXPECT_EQ(Queues({"concurrency", "mail", "3"}).status.code, 0);
  EXPECT_EQ(Queues({"throttle", "mail", "10", "1000"}).status.code, 0);
  const json::value queue = json::parse(Queues({"--json"}).out).at(0);
  EXPECT_EQ(queue.at("max_concurrency").as_int64(), 3);
  EXPECT_EQ(queue.at("rate_limit").as_int64(), 10);
  EXPECT_EQ(Queues({"unthrottle", "mail"}).status.code, 0);
  EXPECT_EQ(Queues({"drain", "mail", "--wait", "1"}).out, "mail  drained\n");
  EXPECT_EQ(Queues({"clear", "mail"}).out, "mail  cleared\n");
  EXPECT_EQ(Queues({"delete", "mail"}).out, "mail  deleted\n");
  EXPECT_EQ(json::parse(Queues({"--json"}).out).as_array().size(), 0U);
}

TEST_F(JobsCommandTest, WorkersAreListed) {
  ASSERT_TRUE(server_.Http()
                  .Post("/api/v1/fetch",
                        R"({"queues":["a","b"],"worker_id":"w-7","hostname":"box","wait":0})")
                  .ok());
  EXPECT_THAT(Cairn({"workers"}).out, AllOf(HasSubstr("w-7"), HasSubstr("box"), HasSubstr("a")));
  EXPECT_EQ(json::parse(Cairn({"workers", "--json"}).out).at(0).at("id").as_string(), "w-7");
}

TEST_F(JobsCommandTest, PrometheusSeesTheQueues) {
  const std::string first = Enqueue({"mail", "{}"});
  Enqueue({"mail", "{}"});
  Enqueue({"post", "{}"});
  EXPECT_EQ(Jobs({"cancel", first}).status.code, 0);
  EXPECT_EQ(Queues({"pause", "post"}).status.code, 0);
  Reply({"JOB.FETCH", "WORKER", "w1", "QUEUES", "mail"});
  const Result<net::HttpResponse> metrics = server_.Http().Get("/metrics");
  ASSERT_TRUE(metrics.ok());
  for (const char* line : {
           "cairn_jobs{queue=\"mail\",state=\"pending\"} 0\n",
           "cairn_jobs{queue=\"mail\",state=\"active\"} 1\n",
           "cairn_jobs{queue=\"mail\",state=\"cancelled\"} 1\n",
           "cairn_jobs{queue=\"post\",state=\"pending\"} 1\n",
           "cairn_jobs_enqueued_total{queue=\"mail\"} 2\n",
           "cairn_jobs_oldest_pending_seconds{queue=\"mail\"} 0\n",
           "cairn_jobs_queue_paused{queue=\"mail\"} 0\n",
           "cairn_jobs_queue_paused{queue=\"post\"} 1\n",
           "cairn_jobs_workers 1\n",
       }) {
    EXPECT_THAT(metrics->body, HasSubstr(line));
  }
  EXPECT_THAT(metrics->body,
              Not(HasSubstr("cairn_jobs_oldest_pending_seconds{queue=\"post\"} 0\n")));
}

TEST_F(JobsCommandTest, EverythingIsVerified) {
  Enqueue({"q"});
  Enqueue({"q"});
  const Finished sound = Jobs({"verify"});
  EXPECT_EQ(sound.status.code, 0) << sound.err;
  EXPECT_EQ(sound.out, "ok 2 jobs in 1 queues agree with every index and count\n");
}

TEST_F(JobsCommandTest, ItsSpeedIsMeasuredAndNothingIsLeftBehind) {
  Enqueue({"mail", "{}"});
  const Finished done =
      Cairn({"bench", "jobs", "--jobs", "500", "--connections", "3", "--batch", "7", "--json"});
  ASSERT_EQ(done.status.code, 0) << done.err;
  const json::array rows = json::parse(done.out).as_array();
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[1].at("work").as_string(), "fetch and acknowledge");
  for (const json::value& row : rows) {
    EXPECT_EQ(row.at("jobs").as_int64(), 500);
    EXPECT_GT(row.at("jobs_per_second").as_double(), 0);
  }
  const Finished queues = Queues({"--json"});
  EXPECT_THAT(queues.out, AllOf(HasSubstr("mail"), Not(HasSubstr("bench"))));
  EXPECT_THAT(Cairn({"bench", "nosuch"}).err, HasSubstr("unknown 'nosuch'; there is: jobs"));
}

TEST_F(JobsCommandTest, WhatIsWrongIsToldInOneLine) {
  EXPECT_THAT(Jobs({"enque", "q"}).err,
              HasSubstr("unknown action 'enque' (did you mean 'enqueue'?)"));
  const Finished usage = Jobs({"move", "x"});
  EXPECT_EQ(usage.status.code, 2);
  EXPECT_THAT(usage.err, HasSubstr("usage: cairn jobs move ID QUEUE"));
  EXPECT_THAT(Jobs({"enqueue", "q", "{oops"}).err, HasSubstr("the payload is not JSON"));
  EXPECT_THAT(Jobs({"enqueue", "q", "{}", "--tag", "x"}).err, HasSubstr("expected NAME=VALUE"));
  EXPECT_THAT(Jobs({"enqueue", "q", "{}", "--delay", "soon"}).err, HasSubstr("delay"));
  EXPECT_THAT(Queues({"concurrency", "q", "many"}).err, HasSubstr("'many' is not a number"));
  EXPECT_EQ(RunCairn({"workers", "--url", "http://127.0.0.1:1"}).status.code, 1);
}

}  // namespace
}  // namespace cairn::testing
