// Every row of the tables of commands and routes either has what it does in the audit log, or says
// why not.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "actors/resp/commands.h"
#include "base/random.h"
#include "data/commands.h"
#include "doors/resp/command_audit.h"
#include "doors/testing/test_server.h"
#include "jobs/resp/commands.h"
#include "seats/commands.h"

namespace cairn::app {
namespace {

using doors::AuditRow;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Call = std::vector<std::string>;

constexpr std::string_view kHall =
    R"({"sections":[{"name":"A","subsections":1,"rows":2,"cols":2,"price":1}]})";

class AuditTest : public ::testing::Test {
 protected:
  AuditTest()
      : server_({.add_commands =
                     [this](doors::Instance& instance) {
                       actors::AddActorCommands(instance, policy_);
                       data::AddDataCommands(instance);
                       jobs::AddJobCommands(instance);
                       seats::AddSeatCommands(instance, "");
                     },
                 .add_coroutine_commands = jobs::AddPushCommands}) {}

  // Newest first.
  std::vector<AuditRow> Rows() {
    EXPECT_TRUE(server_.instance().observed().audit.Flush().ok());
    std::vector<AuditRow> rows;
    const auto snapshot = server_.store().Read();
    EXPECT_TRUE(doors::AuditLog::Read(**snapshot, {}, {}, [&](const AuditRow& row) {
                  rows.push_back(row);
                  return true;
                }).ok());
    return rows;
  }
  // "default RESP ACL SETUSER alice 200"
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (const AuditRow& row : Rows()) {
      texts.push_back(fmt::format("{} {} {} {}", row.entry.principal, row.entry.method,
                                  row.entry.path, row.entry.status));
    }
    return texts;
  }
  uint64_t CountOf(const std::string& path, int status) {
    uint64_t count = 0;
    for (const AuditRow& row : Rows()) {
      if (row.entry.path == path && row.entry.status == status) count += row.count;
    }
    return count;
  }
  // JOB_ID stands for a new job.
  std::string Run(Call call) {
    for (std::string& arg : call) {
      if (arg == "JOB_ID") arg = NewJob();
    }
    return server_.Run(call);
  }
  std::string NewJob() {
    const std::string reply = server_.Run({"JOB.ENQUEUE", "q", "1"});  // ["id", "pending"]
    job_ = reply.substr(2, reply.find('"', 2) - 2);
    return job_;
  }
  std::string WithJob(std::string path) const {
    const size_t at = path.find("JOB_ID");
    return at == std::string::npos ? path : path.replace(at, 6, job_);
  }

  SeededRandom random_{1};
  actors::Policy policy_{.random = random_};
  doors::testing::TestServer server_;
  std::string job_;
};

// A call of each audited command, what it is about, and what must be there before.
struct Example {
  Call call;
  std::string path;
  std::vector<Call> before = {};
};

const std::map<std::string_view, Example>& Examples() {
  const std::string library = "#!lua name=lib\nredis.register_function('f', function() end)";
  static const std::map<std::string_view, Example> examples = {
      {"acl|setuser",
       {{"ACL", "SETUSER", "alice", "on", ">pearl", "#" + std::string(64, 'a'), "~x", "+get"},
        "ACL SETUSER alice on >(redacted) #(redacted) ~x +get"}},
      {"acl|deluser",
       {{"ACL", "DELUSER", "alice", "bob"}, "ACL DELUSER alice bob", {{"ACL", "SETUSER", "bob"}}}},
      {"config|set",
       {{"CONFIG", "SET", "requirepass", "pearl", "slowlog-max-len", "64"},
        "CONFIG SET requirepass slowlog-max-len"}},
      {"client|kill", {{"CLIENT", "KILL", "ID", "999"}, "CLIENT KILL ID 999"}},
      {"client|unpause", {{"CLIENT", "UNPAUSE"}, "CLIENT UNPAUSE"}},
      {"client|unblock", {{"CLIENT", "UNBLOCK", "999"}, "CLIENT UNBLOCK 999"}},
      {"debug", {{"DEBUG", "SLEEP", "0"}, "DEBUG SLEEP 0"}},
      {"flushall", {{"FLUSHALL"}, "FLUSHALL"}},
      {"flushdb", {{"FLUSHDB", "SYNC"}, "FLUSHDB"}},
      {"swapdb", {{"SWAPDB", "0", "1"}, "SWAPDB 0 1"}},
      {"function|load", {{"FUNCTION", "LOAD", library}, "FUNCTION LOAD lib"}},
      {"function|delete",
       {{"FUNCTION", "DELETE", "lib"},
        "FUNCTION DELETE lib",
        {{"FUNCTION", "LOAD", "REPLACE", library}}}},
      {"function|flush", {{"FUNCTION", "FLUSH"}, "FUNCTION FLUSH"}},
      {"script|flush", {{"SCRIPT", "FLUSH"}, "SCRIPT FLUSH"}},
      {"seat.create", {{"SEAT.CREATE", "hall", std::string(kHall)}, "SEAT.CREATE hall"}},
      {"seat.block",
       {{"SEAT.BLOCK", "hall", "A-1", "1-1"},
        "SEAT.BLOCK hall",
        {{"SEAT.CREATE", "hall", std::string(kHall)}}}},
      {"job.cancel", {{"JOB.CANCEL", "JOB_ID"}, "JOB.CANCEL JOB_ID"}},
      {"job.hold", {{"JOB.HOLD", "JOB_ID"}, "JOB.HOLD JOB_ID"}},
      {"queue.pause", {{"QUEUE.PAUSE", "q"}, "QUEUE.PAUSE q"}},
      {"queue.resume", {{"QUEUE.RESUME", "q"}, "QUEUE.RESUME q"}},
      {"queue.concurrency", {{"QUEUE.CONCURRENCY", "q", "5"}, "QUEUE.CONCURRENCY q"}},
  };
  return examples;
}

TEST_F(AuditTest, EveryOperatorsCommandIsAuditedOrSaysWhyNot) {
  const doors::CommandTable& table = server_.instance().commands();
  size_t audited = 0;
  for (size_t i = 0; i < table.row_count(); ++i) {
    const doors::Command& row = table.row(i);
    if (!row.run && !row.connection && !row.prepare) continue;
    audited += row.is_audited ? 1 : 0;
    if (!doors::IsOperators(row)) continue;
    EXPECT_NE(row.is_audited, !row.unaudited.empty()) << row.name;
    // What writes is not waved through as reading.
    EXPECT_FALSE(row.Has(doors::kWrite) && row.unaudited == doors::kOnlyReads) << row.name;
  }
  EXPECT_GE(audited, 40U);
  // Rows that no rule finds are named here once more.
  for (const std::string_view name :
       {"acl|setuser",      "acl|deluser",    "config|set",       "flushall",
        "flushdb",          "swapdb",         "shutdown",         "debug",
        "monitor",          "function|load",  "function|delete",  "function|flush",
        "function|restore", "function|kill",  "script|flush",     "script|kill",
        "client|kill",      "client|pause",   "seat.create",      "seat.block",
        "seat.unblock",     "seat.refund",    "job.cancel",       "job.hold",
        "job.approve",      "job.reject",     "job.move",         "job.retry",
        "job.replay",       "job.delete",     "job.priority",     "queue.pause",
        "queue.resume",     "queue.drain",    "queue.clear",      "queue.delete",
        "queue.config",     "queue.throttle", "queue.unthrottle", "queue.concurrency",
        "actor.destroy"}) {
    const doors::Command* const row = table.FindByName(name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_TRUE(row->is_audited) << name;
  }
  // What happens all day is not.
  for (const std::string_view name :
       {"set", "del", "eval", "fcall", "job.enqueue", "job.fetch", "job.ack", "seat.reserve",
        "seat.pay", "actor.put", "actor.batch", "publish", "sort"}) {
    EXPECT_FALSE(table.FindByName(name)->is_audited) << name;
  }
}

TEST_F(AuditTest, WhatIsDoneIsThereOnceWithoutSecrets) {
  for (const auto& [name, example] : Examples()) {
    for (const Call& call : example.before) Run(call);
    const uint64_t before = CountOf(WithJob(example.path), 200);
    const std::string reply = Run(example.call);
    ASSERT_THAT(reply, Not(HasSubstr("error"))) << name;
    // A new job has another name.
    const bool about_job = example.path.find("JOB_ID") != std::string::npos;
    EXPECT_EQ(CountOf(WithJob(example.path), 200), about_job ? 1 : before + 1) << name;
  }
  for (const std::string& text : Texts()) {
    EXPECT_THAT(text, Not(AnyOf(HasSubstr("pearl"), HasSubstr("aaaa"), HasSubstr("register"))));
  }
}

TEST_F(AuditTest, WhatIsDoneInMultiAndByScriptsIsThereToo) {
  Run({"MULTI"});
  Run({"SELECT", "3"});
  Run({"FLUSHDB"});
  Run({"CONFIG", "SET", "slowlog-max-len", "64"});
  Run({"EXEC"});
  Run({"EVAL", "redis.call('JOB.HOLD', ARGV[1]) return redis.call('FLUSHALL')", "0", "JOB_ID"});
  const std::vector<std::string> texts = Texts();
  for (const char* path :
       {"FLUSHDB", "CONFIG SET slowlog-max-len", "JOB.HOLD JOB_ID", "FLUSHALL"}) {
    EXPECT_EQ(std::ranges::count(texts, fmt::format("default RESP {} 200", WithJob(path))), 1)
        << path;
  }
  const std::vector<AuditRow> rows = Rows();
  const auto flush =
      std::ranges::find(rows, "FLUSHDB", [](const AuditRow& row) { return row.entry.path; });
  EXPECT_EQ(flush->entry.query, "db=3");
}

TEST_F(AuditTest, WhatIsUndoneIsNotThere) {
  EXPECT_THAT(Run({"EVAL", "redis.call('JOB.HOLD', ARGV[1]) return redis.call('JOB.HOLD', 'no')",
                   "0", "JOB_ID"}),
              HasSubstr("error"));
  // A script's commands before the failure stay, as in Redis.
  EXPECT_EQ(CountOf(WithJob("JOB.HOLD JOB_ID"), 200), 1U);
  EXPECT_EQ(CountOf("JOB.HOLD no", 200), 0U);
}

TEST_F(AuditTest, RefusedAndFailedCommandsAreCounted) {
  Run({"ACL", "SETUSER", "reader", "on", ">pearl", "~*", "+@read", "+auth"});
  doors::testing::TestClient reader = server_.Connect();
  ASSERT_EQ(reader.Run({"AUTH", "reader", "pearl"}), "OK");
  const size_t before = Rows().size();
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_THAT(reader.Run({"FLUSHALL"}), HasSubstr("NOPERM"));
    EXPECT_THAT(reader.Run({"SET", fmt::format("key{}", i), "v"}), HasSubstr("NOPERM"));
  }
  for (int i = 0; i < 10; ++i) Run({"CONFIG", "SET", "nonsense", "pearl"});
  EXPECT_EQ(CountOf("FLUSHALL", 403), 1'000U);
  EXPECT_EQ(CountOf("SET", 403), 1'000U);
  EXPECT_EQ(CountOf("CONFIG SET", 400), 10U);
  EXPECT_EQ(Rows().size(), before + 3);
}

TEST_F(AuditTest, FailedLoginsAreCountedByWhereTheyComeFrom) {
  // A connection of its own each: the answers to one that fails again come ever later.
  for (int i = 0; i < 4; ++i) {
    doors::testing::TestClient client = server_.Connect();
    client.Run({"AUTH", "somebody", fmt::format("guess{}", i)});
  }
  doors::testing::TestClient client = server_.Connect();
  client.Run({"HELLO", "3", "AUTH", "somebody", "guess"});
  EXPECT_EQ(CountOf("AUTH", 401), 5U);
  const std::vector<AuditRow> rows = Rows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].entry.principal, "");
  EXPECT_EQ(rows[0].entry.detail, "from 127.0.0.1");
}

TEST_F(AuditTest, WhatWasCountedOutlivesTheServer) {
  doors::testing::TestClient client = server_.Connect();
  client.Run({"AUTH", "somebody", "guess"});
  Run({"CONFIG", "SET", "slowlog-max-len", "64"});
  server_.Restart();
  EXPECT_EQ(CountOf("AUTH", 401), 1U);
  EXPECT_EQ(CountOf("CONFIG SET slowlog-max-len", 200), 1U);
}

}  // namespace
}  // namespace cairn::app
