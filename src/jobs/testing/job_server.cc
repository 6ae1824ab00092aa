#include "jobs/testing/job_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "base/log.h"
#include "jobs/resp/commands.h"

namespace cairn::jobs::testing {
namespace {

namespace json = boost::json;

}  // namespace

JobServer::JobServer()
    : TestServer({.add_commands = AddJobCommands, .add_coroutine_commands = AddPushCommands}) {}

net::RespValue JobServer::Value(const std::vector<std::string>& args) {
  if (client_ == nullptr) client_ = std::make_unique<doors::testing::TestClient>(Connect());
  Result<net::RespValue> reply = client_->raw().Command(args);
  if (!reply.ok()) {
    client_ = std::make_unique<doors::testing::TestClient>(Connect());
    reply = client_->raw().Command(args);
  }
  EXPECT_TRUE(reply.ok());
  return reply.ok() ? *reply : net::RespValue();
}

json::value JobServer::Job(std::string_view id) {
  const net::RespValue reply = Value({"JOB.GET", std::string(id)});
  if (reply.text.empty()) return nullptr;
  return json::parse(reply.text);
}

std::string JobServer::State(std::string_view id) {
  const json::value job = Job(id);
  return job.is_object() ? std::string(job.at("state").as_string()) : "none";
}

std::string JobServer::Enqueue(std::string_view queue, std::string_view payload,
                               const std::vector<std::string>& options) {
  std::vector<std::string> args = {"JOB.ENQUEUE", std::string(queue), std::string(payload)};
  args.insert(args.end(), options.begin(), options.end());
  const net::RespValue reply = Value(args);
  EXPECT_EQ(reply.items.size(), 2U) << reply.ToString();
  return reply.items.empty() ? reply.ToString() : reply.items[0].text;
}

std::vector<JobServer::Leased> JobServer::Fetch(std::string_view queue, int count,
                                                std::string_view lease) {
  const net::RespValue reply =
      Value({"JOB.FETCH", "COUNT", fmt::to_string(count), "LEASE", std::string(lease), "WORKER",
             "w1", "QUEUES", std::string(queue)});
  EXPECT_FALSE(reply.is_error()) << reply.text;
  std::vector<Leased> jobs;
  for (const net::RespValue& job : reply.items) {
    // Pairs: job_id, queue, payload, attempt, max_retries, lease_token, …
    jobs.push_back({job.items[1].text, job.items[11].text, job.items[5].text});
  }
  return jobs;
}

std::string JobServer::Ack(const Leased& job, std::string_view result) {
  return Run({"JOB.ACK", job.id, "TOKEN", job.token, "RESULT", std::string(result)});
}

std::string JobServer::Fail(const Leased& job, const std::vector<std::string>& options) {
  std::vector<std::string> args = {"JOB.FAIL", job.id, "TOKEN", job.token, "ERROR", "boom"};
  args.insert(args.end(), options.begin(), options.end());
  return Run(args);
}

int64_t JobServer::Count(std::string_view queue, std::string_view of) {
  const net::RespValue reply = Value({"QUEUE.GET", std::string(queue)});
  if (!reply.text.starts_with("{")) return -1;
  return json::parse(reply.text).at(of).as_int64();
}

void JobServer::Advance(int64_t ms) {
  clock().AdvanceMillis(ms);
  FireTimers();
}

void JobServer::FireTimers() {
  store::TimerService timers(store(), clock(), Log::Silent());
  due_.RegisterWith(timers);
  EXPECT_TRUE(timers.RunDue().ok());
}

void JobServer::ExpectSound() {
  const net::RespValue reply = Value({"JOB.VERIFY"});
  EXPECT_TRUE(reply.text.starts_with(R"({"sound":true)")) << reply.text;
}

}  // namespace cairn::jobs::testing
