// `cairn fn`, `auth` and `http` against the real binary serving.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "tests/functions/command.h"
#include "tests/support/await.h"
#include "tests/support/server.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kServerFailed = 2;
constexpr int kFunctionFailed = 3;

std::string Text(const json::value& value) { return std::string(value.as_string()); }

class FnServerTest : public ::testing::Test {
 protected:
  explicit FnServerTest(std::vector<std::string> flags = {})
      : server_(Server::MustStart({.data = directory_ / "data", .flags = std::move(flags)})) {
    author_.environment()["CS_API_URL"] = url();
  }

  std::string url() const { return "http://" + net::ToString(server_.http()); }
  // What it has printed; the test fails if it did not succeed.
  std::string Fn(std::vector<std::string> args) {
    args.insert(args.begin(), "fn");
    const Finished finished = author_.Cairn(args);
    EXPECT_EQ(finished.status.code, 0) << fmt::format("{}: {}", fmt::join(args, " "), finished.err);
    return finished.out;
  }
  std::string FnError(std::vector<std::string> args, int code = 1) {
    args.insert(args.begin(), "fn");
    const Finished finished = author_.Cairn(args);
    EXPECT_EQ(finished.status.code, code) << finished.out << finished.err;
    EXPECT_THAT(finished.out, IsEmpty());
    return finished.err;
  }
  json::value FnJson(std::vector<std::string> args) {
    args.insert(args.begin(), "fn");
    return author_.Json(std::move(args));
  }
  void Publish(std::string_view name, std::string_view source) {
    Fn({"publish", author_.Folder(name, source), "--create", "--alias", "prod"});
  }

  TempDirectory directory_;
  Author author_;
  Server server_;
};

TEST_F(FnServerTest, AFolderBecomesAFunctionThatIsInvoked) {
  author_.Folder("hello", "export default (event) => ({body: 'hello ' + event.name})");
  EXPECT_THAT(FnError({"publish", "hello"}),
              AllOf(HasSubstr("there is no function \"hello\""), HasSubstr("cairn fn create")));
  EXPECT_EQ(Fn({"create", "hello"}), "t_test01/shop/hello  created\n");
  EXPECT_THAT(FnError({"invoke", "hello"}), HasSubstr("cairn fn publish DIR --name hello"));
  EXPECT_THAT(Fn({"publish", "hello", "--alias", "prod"}),
              StartsWith("t_test01/shop/hello  version 1  alias prod  (2 files, "));
  for (const char* ref : {"hello@prod", "hello@1", "hello", "t_test01/shop/hello@prod"}) {
    EXPECT_EQ(Fn({"invoke", ref, R"({"name":"ann"})"}), "hello ann\n") << ref;
  }
  EXPECT_EQ(Fn({"invoke", "hello", "--alias", "prod", "--event", R"({"name":"bo"})"}),
            "hello bo\n");
  EXPECT_THAT(FnError({"create", "hello"}), HasSubstr("hello"));
}

TEST_F(FnServerTest, AFailureIsToldWithTypeScriptLinesEverywhere) {
  author_.InstallEsbuild();
  author_.Folder("typed",
                 "interface Event { n: number }\n"
                 "export default (event: Event): string => {\n"
                 "  console.error(new Error('logged'));\n"
                 "  throw new RangeError('bad ' + event.n);\n"
                 "};\n",
                 "function.ts");
  Fn({"publish", "typed", "--create", "--alias", "prod"});
  const Finished failed = author_.Cairn({"fn", "invoke", "typed@prod", R"({"n":1})", "--logs"});
  EXPECT_EQ(failed.status.code, kFunctionFailed);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("RangeError: bad 1"), HasSubstr("function.ts:4:9"),
                                HasSubstr("function.ts:3:17"), Not(HasSubstr("function.js"))));
  const json::value answer = FnJson({"invoke", "typed@prod", R"({"n":2})"});
  EXPECT_THAT(Text(answer.at("error").at("stack")), HasSubstr("function.ts:4:9"));
  const std::string id = Text(answer.at("activation_id"));
  EXPECT_THAT(Text(FnJson({"activation", id}).at("error").at("stack")),
              HasSubstr("function.ts:4:9"));
  EXPECT_THAT(Fn({"activation", id}), HasSubstr("function.ts:4:9"));
  EXPECT_THAT(Fn({"logs", id}), HasSubstr("function.ts:3:17"));
}

TEST_F(FnServerTest, DraftsArePublishedOnce) {
  author_.Folder("hello", "export default () => 'drafted'");
  Fn({"create", "hello"});
  const json::value draft = FnJson({"draft", "upload", "hello"});
  const std::string id = Text(draft.at("draft_id"));
  EXPECT_THAT(Fn({"draft", "hello"}), HasSubstr("cairn fn publish hello --draft drf_"));
  Fn({"publish", "--name", "hello", "--draft", id});
  EXPECT_EQ(Fn({"invoke", "hello"}), "\"drafted\"\n");
  EXPECT_THAT(FnError({"publish", "--draft", id, "--name", "hello"}), HasSubstr(id));
  EXPECT_THAT(FnError({"publish", "hello", "--draft", id, "--path", "."}),
              HasSubstr("without a folder"));
}

TEST_F(FnServerTest, AliasesAreSetSplitShiftedAndRolledBack) {
  Publish("hello", "export default () => 1");
  Fn({"publish", author_.Folder("hello", "export default () => 2")});
  Fn({"alias", "set", "hello", "prod", "2", "--min-warm", "0"});
  EXPECT_EQ(Fn({"invoke", "hello@prod"}), "2\n");
  Fn({"alias", "weights", "hello", "prod", "1=90", "2=10%"});
  EXPECT_EQ(FnJson({"alias", "get", "hello", "prod"}).at("weights"),
            json::parse(R"([{"version":2,"weight":10}])"));
  Fn({"alias", "rollback", "hello", "prod"});
  EXPECT_EQ(FnJson({"alias", "get", "hello", "prod"}).at("version"), 2);
  const json::value shifted = FnJson({"alias", "shift", "hello", "prod", "1", "--step", "25",
                                      "--every", "3600", "--max-errors", "0.1"});
  EXPECT_EQ(shifted.at("shift").at("step_percent"), 25);
  EXPECT_EQ(shifted.at("shift").at("interval_seconds"), 3600);
  EXPECT_DOUBLE_EQ(shifted.at("shift").at("max_error_rate").as_double(), 0.1);
  EXPECT_THAT(Fn({"alias", "list", "hello"}), HasSubstr("prod"));
  EXPECT_THAT(Fn({"get", "hello"}), AllOf(HasSubstr("latest version 2"), HasSubstr("25% to 1")));
  Fn({"alias", "delete", "hello", "prod"});
  EXPECT_THAT(FnError({"alias", "get", "hello", "prod"}), HasSubstr("prod"));
}

TEST_F(FnServerTest, FunctionsAreListedSwitchedOffDeletedAndPurged) {
  Publish("one", "export default () => 1");
  Publish("two", "export default () => 2");
  const std::string first = Fn({"list", "--limit", "1"});
  EXPECT_THAT(first, AllOf(HasSubstr("one"), Not(HasSubstr("two")), HasSubstr("--cursor one")));
  EXPECT_THAT(Fn({"list", "--cursor", "one"}), AllOf(HasSubstr("two"), HasSubstr("enabled")));
  EXPECT_THAT(Fn({"versions", "one"}), HasSubstr("20000 ms"));
  EXPECT_EQ(FnJson({"describe", "one"}).at("latest_version").at("version"), 1);
  EXPECT_EQ(Fn({"disable", "one"}), "t_test01/shop/one  disabled\n");
  EXPECT_THAT(FnError({"invoke", "one"}), HasSubstr("disabled"));
  Fn({"enable", "one"});
  EXPECT_EQ(Fn({"invoke", "one"}), "1\n");
  EXPECT_EQ(Fn({"delete", "one"}), "t_test01/shop/one  deleted\n");
  EXPECT_THAT(Fn({"list"}), Not(HasSubstr("one")));
  EXPECT_THAT(Fn({"list", "--deleted"}), AllOf(HasSubstr("one"), HasSubstr("deleted")));
  EXPECT_EQ(Fn({"purge", "one"}), "t_test01/shop/one  purged\n");
  EXPECT_THAT(Fn({"list", "--deleted"}), Not(HasSubstr("one")));
}

TEST_F(FnServerTest, AQueuedInvocationIsFollowedUntilItEnds) {
  Publish("slow", R"(export default async () => {
      for (let i = 1; i <= 3; i++) {
        console.log('line', i);
        await new Promise((done) => setTimeout(done, 300));
      }
      return 'done';
    })");
  const json::value queued = FnJson({"invoke", "slow@prod", "--mode", "async"});
  EXPECT_EQ(queued.at("status"), "queued");
  const std::string id = Text(queued.at("activation_id"));
  EXPECT_EQ(Fn({"logs", id, "--follow"}), "[info] line 1\n[info] line 2\n[info] line 3\n");
  const json::value activation = FnJson({"activation", id});
  EXPECT_EQ(activation.at("status"), "success");
  EXPECT_EQ(activation.at("result").at("body"), "\"done\"");
  // All of it again, and page by page.
  EXPECT_EQ(Fn({"logs", id}), Fn({"logs", "-f", id}));
  const json::value page = FnJson({"logs", id, "--limit", "1"});
  ASSERT_EQ(page.at("chunks").as_array().size(), 1);
  EXPECT_THAT(Text(page.at("chunks").at(0)), HasSubstr("line 1"));
  EXPECT_THAT(Fn({"logs", id, "--cursor", Text(page.at("cursor"))}), Not(HasSubstr("line 1")));
}

TEST_F(FnServerTest, TheSameIdempotencyKeyRunsOnce) {
  Publish("counts", R"(export default async () => {
      const n = ((await cs.kv.get('a:n')) ?? 0) + 1;
      await cs.kv.set('a:n', n);
      return n;
    })");
  EXPECT_EQ(Fn({"invoke", "counts@prod", "--idempotency-key", "order-7"}), "1\n");
  EXPECT_EQ(Fn({"invoke", "--idempotency-key", "order-7", "counts@prod"}), "1\n");
  EXPECT_EQ(Fn({"invoke", "counts@prod"}), "2\n");
}

TEST_F(FnServerTest, OverridesOfAPublishAreInForce) {
  author_.Folder("hello", "export default () => 1");
  Fn({"publish", "hello", "--create", "--timeout-ms", "700", "--memory-mb", "32", "--isolation",
      "version", "--overrides", R"({"max_retries":2,"timeout_ms":9})"});
  const json::value config = FnJson({"get", "hello"}).at("latest_version").at("config");
  EXPECT_EQ(config.at("timeout_ms"), 700);  // the flag counts
  EXPECT_EQ(config.at("memory_mb"), 32);
  EXPECT_EQ(config.at("isolation"), "version");
  EXPECT_EQ(config.at("max_retries"), 2);
  // This server has no key to encrypt it with.
  EXPECT_THAT(FnError({"publish", "hello", "--env", "TOKEN=very-secret"}),
              AllOf(HasSubstr("secret_file"), Not(HasSubstr("very-secret"))));
}

TEST_F(FnServerTest, TheGatewayIsAskedAsTheWebDoes) {
  Publish("echo", R"(export default (event) => ({statusCode: event.rawPath === '/no' ? 404 : 200,
      headers: {'x-method': event.requestContext.http.method, 'x-key': event.headers['x-key'] ?? ''},
      body: event.rawPath + '?' + event.rawQueryString + ' ' + atob(event.body)}))");
  const auto http = [&](std::vector<std::string> args) {
    args.insert(args.begin(), "http");
    return author_.Cairn(std::move(args));
  };
  EXPECT_EQ(http({"invoke", "echo@prod"}).out, "/? \n");
  EXPECT_EQ(http({"invoke", "echo@prod/a/b?c=d", "-X", "POST", "-d", "[1]"}).out, "/a/b?c=d [1]\n");
  EXPECT_EQ(http({"-d", "text", "invoke", "/v1/web/t_test01/shop/echo/1/x"}).out, "/x? text\n");
  author_.Write("body.txt", "from a file");
  EXPECT_EQ(http({"PUT", "echo@1", "--data", "@body.txt"}).out, "/? from a file\n");
  EXPECT_EQ(author_.Shell("printf piped | cairn http POST echo@prod -d -").out, "/? piped\n");
  const json::value answer = author_.Json({"http", "DELETE", "echo@prod", "-H", "X-Key: a:b"});
  EXPECT_EQ(answer.at("status"), 200);
  EXPECT_EQ(answer.at("headers").at("x-method"), "DELETE");
  EXPECT_EQ(answer.at("headers").at("x-key"), "a:b");
  EXPECT_THAT(http({"GET", "echo@prod", "-i"}).out, StartsWith("HTTP/1.1 200 OK\n"));
  const Finished missing = http({"GET", "echo@prod/no"});
  EXPECT_EQ(missing.status.code, 1);
  EXPECT_EQ(missing.out, "/no? \n");
  EXPECT_EQ(http({"GET", "none@prod"}).status.code, 1);
}

TEST_F(FnServerTest, LinesOfTheReferencesCommandLineWorkInEitherOrder) {
  author_.Folder("work", "export default (event) => ({body: JSON.stringify(event)})");
  author_.Write("event.json", R"({"n":1})");
  EXPECT_EQ(Fn({"create", "reconcile", "--namespace", "payments", "--runtime", "cs-js"}),
            "t_test01/payments/reconcile  created\n");
  for (const bool flags_first : {false, true}) {
    const auto run = [&](std::vector<std::string> words, std::vector<std::string> flags) {
      flags.insert(flags.end(), {"--namespace", "payments", "--json"});
      std::vector<std::string>& first = flags_first ? flags : words;
      std::vector<std::string>& last = flags_first ? words : flags;
      first.insert(first.end(), last.begin(), last.end());
      return json::parse(Fn(first));
    };
    const std::string draft =
        Text(run({"draft", "upload", "reconcile"}, {"--path", "work"}).at("draft_id"));
    const int64_t version = run({"publish", "reconcile"},
                                {"--draft", draft, "--timeout-ms", "3000", "--memory-mb", "64",
                                 "--invoke-http-roles", "admin,role:app", "--invoke-schedule-roles",
                                 "role:worker", "--invoke-cadence-roles", ""})
                                .at("version")
                                .as_int64();
    EXPECT_EQ(run({"alias", "set", "reconcile", "prod"}, {"--version", std::to_string(version)})
                  .at("version"),
              version);
    const json::value config = run({"get", "reconcile"}, {}).at("latest_version").at("config");
    EXPECT_EQ(config.at("authz"), json::parse(R"({"invoke_http_roles":["admin","role:app"],
        "invoke_schedule_roles":["role:worker"],"invoke_cadence_roles":[]})"));
    EXPECT_EQ(config.at("timeout_ms"), 3000);
    const json::value answer =
        run({"invoke", "reconcile@prod"}, {"--event", "event.json", "--mode", "sync"});
    EXPECT_EQ(answer.at("result").at("body"), R"({"n":1})");
    EXPECT_EQ(run({"logs"}, {"--activation", Text(answer.at("activation_id"))}).at("cursor"), "0");
    std::vector<std::string> web = {"http", "invoke", "/v1/web/t_test01/payments/reconcile/prod",
                                    "-d", "@event.json"};
    if (flags_first) std::rotate(web.begin() + 1, web.begin() + 3, web.end());
    const json::value event = json::parse(author_.Cairn(web).out);
    EXPECT_EQ(event.at("requestContext").at("http").at("method"), "POST");
    EXPECT_EQ(event.at("headers").at("content-type"), "application/json");
    const std::string schedule = flags_first ? "first_30s" : "last_30s";
    std::vector<std::string> words = {"schedule", "create", schedule};
    const std::vector<std::string> flags = {"--fn",     "reconcile@prod", "--namespace",
                                            "payments", "--payload",      "event.json"};
    words.insert(flags_first ? words.begin() + 1 : words.end(), flags.begin(), flags.end());
    const json::value made = author_.Json(words);
    EXPECT_EQ(made.at("every_seconds"), 30);
    EXPECT_EQ(made.at("payload"), json::parse(R"({"n":1})"));
    EXPECT_EQ(made.at("ref"), json::parse(R"({"function":"reconcile","alias":"prod"})"));
    EXPECT_EQ(
        author_.Cairn({"schedule", "delete", schedule, "--namespace", "payments"}).status.code, 0);
  }
}

TEST_F(FnServerTest, SchedulesAreMadeChangedSwitchedOffListedAndDeleted) {
  Publish("hello", "export default () => 1");
  const auto schedule = [&](std::vector<std::string> args) {
    args.insert(args.begin(), "schedule");
    return author_.Json(std::move(args));
  };
  const json::value made = schedule({"create", "nightly", "--cron", "0 3 * * *", "--zone",
                                     "Europe/Berlin", "--function", "hello@prod", "--overlap",
                                     "queue", "--payload", R"({"big":12345678901234567890})"});
  EXPECT_EQ(made.at("cron"), "0 3 * * *");
  EXPECT_EQ(made.at("time_zone"), "Europe/Berlin");
  EXPECT_EQ(made.at("overlap_policy"), "queue");
  EXPECT_EQ(made.at("payload").at("big").as_uint64(), 12345678901234567890U);
  const json::value changed = schedule({"set", "nightly", "--every", "3600", "--overlap", "skip"});
  EXPECT_EQ(changed.at("every_seconds"), 3600);
  EXPECT_EQ(changed.at("overlap_policy"), "skip");
  EXPECT_EQ(changed.at("ref"), made.at("ref"));
  EXPECT_EQ(changed.at("payload"), made.at("payload"));
  EXPECT_EQ(schedule({"update", "nightly", "--fn", "hello@1"}).at("ref"),
            json::parse(R"({"function":"hello","version":1})"));
  EXPECT_EQ(schedule({"update", "nightly", "--payload", "[1]"}).at("payload"), json::parse("[1]"));
  EXPECT_EQ(schedule({"disable", "nightly"}).at("enabled"), false);
  EXPECT_THAT(author_.Cairn({"schedule", "list"}).out,
              AllOf(HasSubstr("nightly"), HasSubstr("disabled"), HasSubstr("every 3600 s"),
                    HasSubstr("hello@1")));
  EXPECT_EQ(schedule({"enable", "nightly"}).at("enabled"), true);
  EXPECT_THAT(author_.Cairn({"schedule", "get", "nightly"}).out, HasSubstr("3600"));
  ASSERT_EQ(author_.Cairn({"schedule", "create", "hourly", "--fn", "hello@prod"}).status.code, 0);
  const json::value page = schedule({"list", "--limit", "1"});
  EXPECT_EQ(page.at("schedules").at(0).at("name"), "hourly");
  EXPECT_EQ(page.at("cursor"), "hourly");
  EXPECT_EQ(schedule({"list", "--cursor", "hourly"}).at("schedules").at(0).at("name"), "nightly");
  EXPECT_EQ(author_.Cairn({"schedule", "create", "hourly", "--fn", "hello@prod"}).status.code, 1);
  EXPECT_EQ(author_.Cairn({"schedule", "delete", "nightly"}).status.code, 0);
  EXPECT_EQ(author_.Cairn({"schedule", "get", "nightly"}).status.code, 1);
}

TEST_F(FnServerTest, TheExitCodeTellsWhoseFaultItWas) {
  Publish("fails", "export default () => { throw new Error('no'); }");
  Publish("says", "export default (event) => ({statusCode: Number(event.rawPath.slice(1))})");
  const auto code = [&](std::vector<std::string> args) {
    return author_.Cairn(std::move(args)).status.code;
  };
  EXPECT_EQ(code({"http", "invoke", "says@prod/204"}), 0);
  EXPECT_EQ(code({"http", "invoke", "says@prod/409"}), 1);
  EXPECT_EQ(code({"http", "invoke", "says@prod/503"}), kServerFailed);
  EXPECT_EQ(code({"http", "invoke", "fails@prod"}), kFunctionFailed);
  EXPECT_EQ(code({"fn", "invoke", "fails@prod"}), kFunctionFailed);
  EXPECT_EQ(code({"fn", "invoke", "none@prod"}), 1);
  EXPECT_EQ(code({"fn", "create", "fails"}), 1);
  author_.environment()["CS_API_URL"] = "http://127.0.0.1:1";
  EXPECT_EQ(code({"fn", "invoke", "fails@prod"}), kServerFailed);
  EXPECT_EQ(code({"http", "invoke", "fails@prod"}), kServerFailed);
  EXPECT_EQ(code({"schedule", "list"}), kServerFailed);
  EXPECT_EQ(code({"auth", "whoami"}), kServerFailed);
}

TEST_F(FnServerTest, WhatMakesNoSenseIsRefusedBeforeTheServerIsAsked) {
  author_.Folder("code", "export default () => 1");
  author_.Folder("UPPER", "export default () => 1");
  author_.environment()["CS_API_URL"] = "http://127.0.0.1:1";  // nobody is there
  struct Case {
    std::vector<std::string> args;
    std::string_view error;
    int code = 1;
  };
  const std::vector<Case> cases = {
      {{"fn", "create", "X"}, "function"},
      {{"fn", "create", "a/b"}, "neither FUNCTION nor TENANT/NAMESPACE/FUNCTION"},
      {{"fn", "list", "--tenant", "shop"}, "tenant"},
      {{"fn", "list", "--namespace", "S"}, "namespace"},
      {{"fn", "list", "--limit", "501"}, "--limit", 2},
      {{"fn", "publish", "UPPER"}, "--name FUNCTION"},
      {{"fn", "publish", "code", "--alias", "7"}, "--alias"},
      {{"fn", "publish", "code", "--secret", "NONE"}, "secrets"},
      {{"fn", "publish", "code", "--memory-mb", "1"}, "--memory-mb", 2},
      {{"fn", "publish", "code", "--max-concurrency", "101"}, "--max-concurrency", 2},
      {{"fn", "publish", "--draft", "drf_1"}, "usage: cairn fn publish FUNCTION"},
      {{"fn", "publish", "a-b", "--name", "c-d", "--draft", "drf_1"}, "usage: cairn fn publish"},
      {{"fn", "publish", "c-d", "--name", "a-b", "--path", "code"}, "name the function once"},
      {{"fn", "publish", "code", "--overrides", R"({"authz":1})", "--invoke-http-roles", "a"},
       "authz"},
      {{"fn", "logs"}, "cairn fn logs ID"},
      {{"fn", "nosuch"}, "unknown action", 2},
      {{"fn", "list", "--nosuch"}, "unknown option '--nosuch'", 2},
      {{"fn", "draft", "a", "b"}, "usage: cairn fn draft"},
      {{"fn", "invoke", "hello@-"}, "alias"},
      {{"fn", "invoke", "hello@prod", "--alias", "prod"}, "once"},
      {{"fn", "invoke", "hello@prod", "{}", "--event", "{}"}, "once"},
      {{"fn", "invoke", "hello@prod", "{"}, "the event is not JSON"},
      {{"fn", "invoke", "hello@prod", "--mode", "later"}, "expected sync or async"},
      {{"fn", "activation", "7"}, "activation"},
      {{"fn", "logs", "2f0c5d0e-0000-4000-8000-000000000000", "--cursor", "x"}, "--cursor 'x'"},
      {{"fn", "alias", "sett", "hello", "prod"}, "did you mean 'set'?"},
      {{"fn", "alias", "set", "hello", "prod"}, "usage: cairn fn alias set FUNCTION ALIAS VERSION"},
      {{"fn", "alias", "set", "hello", "prod", "0"}, "not a version's number"},
      {{"fn", "alias", "set", "hello", "prod", "1", "--version", "2"}, "usage: cairn fn alias set"},
      {{"fn", "alias", "get", "hello", "prod", "--version", "2"}, "--version is for"},
      {{"fn", "alias", "set", "hello", "prod", "1", "--min-warm", "65"}, "--min-warm", 2},
      {{"fn", "alias", "weights", "hello", "prod", "1=90", "2=20"}, "must make 100"},
      {{"fn", "alias", "weights", "hello", "prod", "1", "2"}, "expected VERSION=PERCENT"},
      {{"fn", "alias", "weights", "hello", "prod", "1=100", "2=0"}, "from 1 to 99"},
      {{"fn", "alias", "shift", "hello", "prod", "2"}, "--every SECONDS"},
      {{"fn", "alias", "shift", "hello", "prod", "2", "--every", "60", "--step", "100"},
       "--step",
       2},
      {{"fn", "alias", "shift", "hello", "prod", "2", "--every", "60", "--max-errors", "2"},
       "--max-errors '2'"},
      {{"schedule", "create", "x"}, "schedule"},
      {{"schedule", "create", "nightly", "--zone", "UTC", "--fn", "hello@1"},
       "--zone is for --cron"},
      {{"schedule", "set", "nightly"}, "say what changes"},
      {{"schedule", "update", "nightly", "--overlap", "no"}, "expected skip, queue or parallel"},
      {{"schedule", "create", "nightly", "--function", "hello@prod", "--every", "60", "--cron",
        "0 3 * * *"},
       "in one way"},
      {{"schedule", "create", "nightly", "--every", "60"}, "--function FUNCTION@ALIAS"},
      {{"schedule", "create", "nightly", "--every", "60", "--function", "hello"},
       "hello@ALIAS or hello@VERSION"},
      {{"schedule", "create", "nightly", "--every", "60", "--function", "t_other1/shop/hello@1"},
       "another namespace"},
      {{"schedule", "create", "nightly", "--every", "86401", "--function", "hello@1"},
       "--every",
       2},
      {{"schedule", "create", "nightly", "--every", "60", "--zone", "UTC", "--function", "hello@1"},
       "--zone is for --cron"},
      {{"schedule", "create", "nightly", "--every", "60", "--overlap", "no", "--function",
        "hello@1"},
       "expected skip, queue or parallel"},
      {{"schedule", "create", "nightly", "--every", "60", "--payload", "{", "--function",
        "hello@1"},
       "--payload is not JSON"},
      {{"http", "invoke", "hello"}, "FUNCTION@REF/PATH"},
      {{"http", "invoke", "hello@prod/a b"}, "%20"},
      {{"http", "invoke", "hello@prod", "-X", "TRACE"}, "--method 'TRACE'"},
      {{"http", "invoke", "hello@prod", "-H", "no colon"}, "--header: expected"},
      {{"http", "GET", "hello@prod", "-d", "@none"}, "cannot read none"},
      {{"auth", "login", "--token", "a b"}, "the token has characters"},
      {{"auth", "login", "--token", "a", "--token-file", "b"}, "not both"},
      {{"auth", "login", "--token-file", "none"}, "cannot read none"},
      {{"auth", "login", "--tenant", "x", "--token", "a"}, "tenant"},
      {{"auth", "login", "--api-url", "localhost"}, "expected http://HOST:PORT"},
      {{"auth", "lgoin"}, "did you mean 'login'?", 2},
  };
  for (const Case& one : cases) {
    const Finished finished = author_.Cairn(one.args);
    const std::string what = fmt::format("{}", fmt::join(one.args, " "));
    EXPECT_THAT(finished.err, HasSubstr(std::string(one.error))) << what;
    EXPECT_THAT(finished.err, Not(HasSubstr("cannot connect"))) << what;
    EXPECT_EQ(finished.status.code, one.code) << what;
    EXPECT_THAT(finished.out, IsEmpty()) << what;
  }
}

TEST_F(FnServerTest, AServerThatIsNotThereIsNamedWithWhatToDo) {
  author_.environment()["CS_API_URL"] = "http://127.0.0.1:1";
  EXPECT_THAT(FnError({"list"}, kServerFailed),
              AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("cairn serve")));
  author_.environment().erase("CS_TENANT");
  EXPECT_THAT(FnError({"list"}), AllOf(HasSubstr("--tenant"), HasSubstr("cairn auth login")));
}

TEST_F(FnServerTest, CompletionKnowsTheVerbs) {
  const Finished bash = author_.Cairn({"completion", "bash"});
  EXPECT_THAT(bash.out, AllOf(HasSubstr("--idempotency-key"), HasSubstr("publish"),
                              HasSubstr("http:--method)"), HasSubstr("whoami")));
  EXPECT_THAT(author_.Cairn({"fn", "--help"}).out,
              AllOf(HasSubstr("alias list|get|set|weights|shift|rollback|delete FUNCTION"),
                    HasSubstr("-f,--follow")));
}

// --- auth ----------------------------------------------------------------------------------------

constexpr std::string_view kPassword = "sesame-of-the-shop";

class AuthTest : public FnServerTest {
 protected:
  AuthTest() : FnServerTest({"--password", std::string(kPassword)}) {
    author_.environment().erase("CS_API_URL");
    author_.environment().erase("CS_TENANT");
    author_.environment().erase("CS_NAMESPACE");
  }
  Finished Auth(std::vector<std::string> args) {
    args.insert(args.begin(), "auth");
    return author_.Cairn(std::move(args));
  }
  void LogIn() {
    author_.Write("token.txt", std::string(kPassword) + "\n");
    const Finished finished = Auth({"login", "--url", url(), "--tenant", "t_test01", "--namespace",
                                    "shop", "--token-file", "token.txt"});
    ASSERT_EQ(finished.status.code, 0) << finished.err;
    EXPECT_THAT(finished.out + finished.err, Not(HasSubstr(std::string(kPassword))));
  }
};

TEST_F(AuthTest, ALoginIsKeptForItsOwnerAloneAndUsedByEveryVerb) {
  EXPECT_THAT(Auth({"whoami", "--url", url()}).err, Not(IsEmpty()));
  LogIn();
  struct stat status = {};
  ASSERT_EQ(stat(author_.login_file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(json::parse(ReadWholeFile(author_.login_file())),
            json::parse(
                fmt::format(R"({{"url":"{}","token":"{}","tenant":"t_test01","namespace":"shop"}})",
                            url(), kPassword)));
  Fn({"create", "hello"});
  EXPECT_THAT(Fn({"list"}), HasSubstr("hello"));
  EXPECT_EQ(author_.Cairn({"queues"}).status.code, 0);
  EXPECT_THAT(Auth({"whoami"}).out, HasSubstr("admin"));
  const Finished shown = Auth({"status"});
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr(url()), HasSubstr("t_test01"), HasSubstr("shop"),
                    HasSubstr(author_.login_file()), Not(HasSubstr(std::string(kPassword)))));
  EXPECT_EQ(author_.Json({"auth", "status"}).at("token"), "set");
}

TEST_F(AuthTest, ATokenComesFromStandardInputTheEnvironmentOrAFlag) {
  EXPECT_EQ(author_
                .Shell(fmt::format("printf {} | cairn auth login --url {} --token-file -",
                                   kPassword, url()))
                .status.code,
            0);
  ASSERT_EQ(Auth({"logout"}).status.code, 0);
  author_.environment()["CS_TOKEN"] = kPassword;
  EXPECT_EQ(Auth({"login", "--api-url", url()}).status.code, 0);
  ASSERT_EQ(Auth({"logout"}).status.code, 0);
  author_.environment().erase("CS_TOKEN");
  EXPECT_EQ(Auth({"login", "--api-url", url(), "--token", std::string(kPassword), "--tikti-url",
                  "http://127.0.0.1:2"})
                .status.code,
            0);
  EXPECT_THAT(Auth({"whoami"}).out, HasSubstr("admin"));
}

TEST_F(AuthTest, AWrongTokenIsNotKept) {
  const Finished wrong = Auth({"login", "--url", url(), "--token", "guess"});
  EXPECT_EQ(wrong.status.code, 1);
  EXPECT_THAT(wrong.out, IsEmpty());
  EXPECT_EQ(ReadWholeFile(author_.login_file()), "");
}

TEST_F(AuthTest, TheEnvironmentOverridesTheLoginAndFlagsTheEnvironment) {
  LogIn();
  author_.environment()["CS_NAMESPACE"] = "other";
  Fn({"create", "hello"});
  EXPECT_THAT(Fn({"list", "--namespace", "shop"}), Not(HasSubstr("hello")));
  EXPECT_THAT(Fn({"list"}), HasSubstr("hello"));
  author_.environment()["CS_TOKEN"] = "guess";
  EXPECT_THAT(FnError({"list"}), Not(HasSubstr("guess")));
  author_.environment().erase("CS_TOKEN");
  author_.environment()["CS_API_URL"] = "http://127.0.0.1:1";
  EXPECT_THAT(FnError({"list"}, kServerFailed), HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(Fn({"list", "--url", url()}), HasSubstr("hello"));
}

TEST_F(AuthTest, ALoginsTokenGoesToItsServerAlone) {
  LogIn();
  TempDirectory other_directory;
  Server other = Server::MustStart(
      {.data = other_directory / "data", .flags = {"--password", std::string(kPassword)}});
  // The other server would take it.
  const Finished asked =
      author_.Cairn({"fn", "list", "--url", "http://" + net::ToString(other.http())});
  EXPECT_EQ(asked.status.code, 1);
}

TEST_F(AuthTest, AFileThatOthersCanReadOrThatIsBrokenIsRefused) {
  LogIn();
  ASSERT_EQ(chmod(author_.login_file().c_str(), 0640), 0);
  EXPECT_THAT(FnError({"list"}), AllOf(HasSubstr("can be read by others"), HasSubstr("chmod 600")));
  ASSERT_EQ(chmod(author_.login_file().c_str(), 0600), 0);
  author_.Write("config/cairn/auth.json", "{}");
  EXPECT_THAT(FnError({"list"}), HasSubstr("log in again with: cairn auth login"));
  LogIn();  // which works
  EXPECT_EQ(author_.Cairn({"fn", "list"}).status.code, 0);
}

TEST_F(AuthTest, LoggingOutRemovesTheFile) {
  LogIn();
  EXPECT_THAT(Auth({"logout"}).out, HasSubstr("is removed"));
  EXPECT_EQ(ReadWholeFile(author_.login_file()), "");
  EXPECT_EQ(Auth({"logout"}).out, "there was no login\n");
  EXPECT_THAT(author_.Json({"auth", "status", "--url", url()}).at("logged_in").as_bool(), false);
}

}  // namespace
}  // namespace cairn::testing
