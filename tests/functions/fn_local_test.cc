// `cairn fn init`, `test` and `dev`: functions without a server, in the same sandbox.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "net/http/client.h"
#include "tests/functions/command.h"
#include "tests/support/await.h"

namespace cairn::testing {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kFunctionFailed = 3;

class FnLocalTest : public ::testing::Test {
 protected:
  json::value Test(std::string_view source, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"fn", "test", author_.Folder("code", source)};
    args.insert(args.end(), more.begin(), more.end());
    return author_.Json(std::move(args));
  }
  // The body, or "type: message" of the error.
  std::string Answer(std::string_view source, std::vector<std::string> more = {}) {
    const json::value outcome = Test(source, std::move(more));
    if (outcome.at("error").is_null()) return Text(outcome.at("result").at("body"));
    return Text(outcome.at("error").at("type")) + ": " + Text(outcome.at("error").at("message"));
  }
  static std::string Text(const json::value& value) { return std::string(value.as_string()); }

  Author author_;
};

TEST_F(FnLocalTest, AFunctionFromTheTemplateRuns) {
  for (const bool type_script : {false, true}) {
    if (type_script) author_.InstallEsbuild();
    const std::string folder = type_script ? "typed" : "plain";
    std::vector<std::string> args = {"fn", "init", folder};
    if (type_script) args.emplace_back("--typescript");
    ASSERT_EQ(author_.Cairn(args).status.code, 0);
    const Finished finished = author_.Cairn({"fn", "test", folder});
    EXPECT_EQ(finished.status.code, 0) << finished.err;
    EXPECT_EQ(finished.out, "{\"hello\":\"world\",\"count\":1,\"version\":1}\n");
    EXPECT_THAT(finished.err,
                AllOf(HasSubstr("[info] greeting 1 for world"), HasSubstr("success 200")));
    // Nothing is overwritten.
    const Finished again = author_.Cairn(args);
    EXPECT_EQ(again.status.code, 1);
    EXPECT_THAT(again.err, AllOf(HasSubstr("cs.d.ts"), HasSubstr("nothing is overwritten")));
  }
}

TEST_F(FnLocalTest, AFolderIsNamedByItselfByPathOrAsTheFunctionThatIsHere) {
  author_.Folder("code", "export default (event, ctx) => ctx.function");
  const auto name = [&](const std::string& line) {
    const Finished finished = author_.Shell(line);
    EXPECT_EQ(finished.status.code, 0) << line << ": " << finished.err;
    return finished.out;
  };
  EXPECT_EQ(name("cairn fn test code"), "\"code\"\n");
  EXPECT_EQ(name("cairn fn test --path code"), "\"code\"\n");
  EXPECT_EQ(name("cairn fn test other --path code"), "\"other\"\n");
  EXPECT_EQ(name("cairn fn test --path=code --event '{}' other"), "\"other\"\n");
  EXPECT_EQ(name("cd code && cairn fn test"), "\"code\"\n");
  EXPECT_EQ(name("cd code && cairn fn test other"), "\"other\"\n");
  const Finished twice =
      author_.Cairn({"fn", "test", "a-name", "--path", "code", "--name", "b-name"});
  EXPECT_EQ(twice.status.code, 1);
  EXPECT_THAT(twice.err, HasSubstr("name the function once"));
  EXPECT_EQ(author_.Cairn({"fn", "init", "made", "--runtime", "cs-js"}).status.code, 0);
  EXPECT_THAT(author_.Cairn({"fn", "init", "python", "--runtime", "py"}).err, HasSubstr("cs-js"));
}

TEST_F(FnLocalTest, TheOutcomeIsThatOfAnInvocation) {
  const json::value outcome = Test(R"(
    export default async (event, ctx) => {
      console.warn('seen', event.n);
      await cs.codeq.publish('orders.new', {n: event.n});
      await cs.kv.set('a:n', event.n);
      return {statusCode: 201, headers: {'x-name': ctx.function + '@' + ctx.version},
              body: String(await cs.kv.get('a:n') + (await cs.kv.get('a:none') ?? 1))};
    })",
                                   {"--event", R"({"n":41})"});
  EXPECT_EQ(outcome.at("status"), "success");
  EXPECT_EQ(outcome.at("result"), json::parse(R"({"statusCode":201,"headers":{"x-name":"code@1"},
      "body":"42","isBase64Encoded":false})"));
  EXPECT_TRUE(outcome.at("error").is_null());
  EXPECT_EQ(outcome.at("logs"), "[warn] seen 41\n");
  EXPECT_GE(outcome.at("duration_ms").as_int64(), 0);
  EXPECT_GT(outcome.at("usage").at("peak_memory_bytes").to_number<int64_t>(), 0);
  EXPECT_EQ(outcome.at("limit_hit"), "");
  EXPECT_EQ(outcome.at("published"), json::parse(R"([{"call":"cs.codeq.publish",
      "topic":"orders.new","payload":{"n":41}}])"));
}

TEST_F(FnLocalTest, WhatTheManifestDoesNotAllowIsRefused) {
  EXPECT_THAT(Answer("export default () => cs.kv.get('b:x')"), HasSubstr("capabilities.kv"));
  EXPECT_THAT(Answer("export default () => cs.codeq.publish('bills', 1)"),
              HasSubstr("publishTopics"));
  EXPECT_THAT(Answer("export default () => cs.jobs.enqueue('cs.invoke', 1)"),
              HasSubstr("the platform's"));
  EXPECT_THAT(Answer("export default () => fetch('http://example.com/')"), HasSubstr("allowHosts"));
  // The manifest allows it; the addresses that fetch may go to do not, unless --allow names them.
  const std::string fetches = "export default () => fetch('http://127.0.0.1:1/')";
  EXPECT_THAT(Answer(fetches), HasSubstr("loopback"));
  EXPECT_THAT(Answer(fetches, {"--allow", "loopback"}), Not(HasSubstr("loopback")));
}

TEST_F(FnLocalTest, LimitsAreThoseOfTheManifestOrTheFlags) {
  const json::value late = Test("export default () => { for (;;); }", {"--timeout-ms", "100"});
  EXPECT_EQ(late.at("status"), "timeout");
  EXPECT_THAT(Text(late.at("limit_hit")), ::testing::AnyOf("wall", "cpu"));
  const json::value large = Test(
      "export default () => { const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1)); }",
      {"--memory-mb", "16"});
  EXPECT_EQ(large.at("status"), "error");
  EXPECT_THAT(Text(large.at("limit_hit")), ::testing::AnyOf("memory", "crash"));
}

TEST_F(FnLocalTest, TheExitCodeTellsSuccess) {
  const std::string folder = author_.Folder("code", R"(
    export default (event) => {
      if (event.fail) throw new RangeError('too far');
      return 'fine';
    })");
  EXPECT_EQ(author_.Cairn({"fn", "test", folder}).status.code, 0);
  const Finished failed = author_.Cairn({"fn", "test", folder, "--event", R"({"fail":true})"});
  EXPECT_EQ(failed.status.code, kFunctionFailed);
  EXPECT_THAT(failed.out, IsEmpty());
  EXPECT_THAT(failed.err, AllOf(HasSubstr("RangeError: too far"), HasSubstr("function.js:3:")));
}

TEST_F(FnLocalTest, TheEventComesFromTheCommandLineAFileOrStandardInput) {
  const std::string folder = author_.Folder("code", "export default (event) => event.n");
  author_.Write("event.json", R"({"n": 2})");
  EXPECT_EQ(author_.Cairn({"fn", "test", folder, "--event", R"({"n":1})"}).out, "1\n");
  EXPECT_EQ(author_.Cairn({"fn", "test", folder, "--event", "event.json"}).out, "2\n");
  EXPECT_EQ(author_.Cairn({"fn", "test", folder, "--event", "@event.json"}).out, "2\n");
  EXPECT_EQ(author_.Shell("echo '{\"n\":3}' | cairn fn test code --event -").out, "3\n");
}

TEST_F(FnLocalTest, FlagsStandBeforeOrBehindWhatTheyBelongTo) {
  const std::string folder = author_.Folder("code", "export default (event) => event.n");
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"fn", "test", folder, "--event", R"({"n":1})", "--json"},
        {"fn", "--event", R"({"n":1})", "test", "--json", folder},
        {"fn", "--json", "test", "--event={\"n\":1}", folder}}) {
    const Finished finished = author_.Cairn(args);
    EXPECT_EQ(finished.status.code, 0) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr(R"("body":"1")"));
  }
}

TEST_F(FnLocalTest, TheEnvironmentIsGivenToTheFunctionAndHiddenInItsLog) {
  author_.Write("env.txt", "# of the payments\nTOKEN=very-secret\n\nPLAIN=1\n");
  author_.Write("key.txt", "from-a-file\n");
  const json::value outcome = Test(
      "export default (event, ctx) => { console.log('key', ctx.env.TOKEN); "
      "return {body: Object.entries(ctx.env).map(String).sort().join(' ')} }",
      {"--env-file", "env.txt", "--env", "PLAIN=2", "--env", "KEY=@key.txt"});
  EXPECT_EQ(outcome.at("result").at("body"), "KEY,from-a-file PLAIN,2 TOKEN,very-secret");
  EXPECT_EQ(outcome.at("logs"), "[info] key [redacted]\n");
}

// --- TypeScript ----------------------------------------------------------------------------------

constexpr std::string_view kTyped = R"(import type { Json } from './cs';
import { check } from './lib/check.ts';
import { shout } from 'loud';

enum Size { Small = 'small' }

export default async (event: { n: number }): Promise<{ body: string }> => {
  const n = event.n as number;
  check(n);
  return { body: shout(`${Size.Small} ${n}`) };
};
)";
constexpr std::string_view kCheck = R"(export function check(n: number): void {
  if (n > 10) {
    throw new RangeError(`too large: ${n}`);
  }
}
)";

void WriteTyped(const Author& author) {
  author.Folder("typed", kTyped, "function.ts");
  author.Write("typed/lib/check.ts", kCheck);
  author.Write("typed/package.json", R"({"name":"typed","dependencies":{"loud":"1.0.0"}})");
  author.Write("typed/node_modules/loud/package.json", R"({"name":"loud","main":"main.js"})");
  author.Write("typed/node_modules/loud/main.js", "exports.shout = (text) => text + '!';\n");
}

TEST_F(FnLocalTest, TypeScriptIsBundledWithItsPackagesAndStacksNameItsLines) {
  WriteTyped(author_);
  author_.InstallEsbuild();
  const Finished fine = author_.Cairn({"fn", "test", "typed", "--event", R"({"n":7})"});
  EXPECT_EQ(fine.out, "small 7!\n") << fine.err;
  const json::value failed = author_.Json({"fn", "test", "typed", "--event", R"({"n":70})"});
  EXPECT_EQ(failed.at("error").at("message"), "too large: 70");
  EXPECT_THAT(Text(failed.at("error").at("stack")),
              AllOf(HasSubstr("lib/check.ts:3:"), HasSubstr("function.ts:9:"),
                    Not(HasSubstr("function.js"))));
}

TEST_F(FnLocalTest, WhatEsbuildRefusesIsToldInItsWords) {
  author_.InstallEsbuild();
  author_.Folder("typed", "import { gone } from './gone.ts';\nexport default () => gone;\n",
                 "function.ts");
  const Finished finished = author_.Cairn({"fn", "test", "typed"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("function.ts:1:21"), HasSubstr("./gone.ts")));
}

TEST_F(FnLocalTest, WithoutAToolTheErrorSaysWhatToInstall) {
  author_.environment()["PATH"] = author_.home().path();
  WriteTyped(author_);
  EXPECT_THAT(author_.Cairn({"fn", "test", "typed"}).err,
              HasSubstr("npm install --save-dev esbuild"));
  author_.Folder("alone", "export default (n: number) => n;", "function.ts");
  const Finished finished = author_.Cairn({"fn", "test", "alone"});
  EXPECT_EQ(finished.status.code, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("function.ts is TypeScript"), HasSubstr("esbuild"),
                                  HasSubstr("Node 22.13")));
}

// A node whose module.stripTypeScriptTypes is a stand-in that knows two types: what is tested is
// what becomes of the files. Node has its own from 22.13 on.
TEST_F(FnLocalTest, ANodeThatStripsTypesIsEnoughForTypeScriptWithoutPackages) {
  author_.Write("bin/strip.cjs", R"(
    const module_ = require('node:module');
    module_.stripTypeScriptTypes = (text) =>
      text.replace(/: (number|void)\b/g, (found) => ' '.repeat(found.length));
    module_.syncBuiltinESMExports();)");
  const Finished which = author_.Shell("command -v node");
  const std::string node = which.out.substr(0, which.out.find('\n'));
  ASSERT_FALSE(node.empty());
  author_.Write("bin/node", "#!/bin/sh\nexec " + node + " --require " +
                                author_.Path("bin/strip.cjs") + " \"$@\"\n");
  std::filesystem::permissions(author_.Path("bin/node"), std::filesystem::perms::owner_all);
  author_.environment()["PATH"] = author_.Path("bin") + ":/usr/bin:/bin";
  author_.Folder("typed",
                 "import { half } from './lib/half.ts';\n"
                 "export default (event) => half(event.n);\n",
                 "function.ts");
  author_.Write("typed/lib/half.ts",
                "export const half = (n: number) => {\n"
                "  if (n % 2) throw new Error('odd');\n"
                "  return n / 2;\n};\n");
  EXPECT_EQ(author_.Cairn({"fn", "test", "typed", "--event", R"({"n":8})"}).out, "4\n");
  const json::value failed = author_.Json({"fn", "test", "typed", "--event", R"({"n":7})"});
  EXPECT_THAT(Text(failed.at("error").at("stack")),
              AllOf(HasSubstr("lib/half.ts:2:20"), HasSubstr("function.ts:2:31")));
}

// --- Folders that are no functions, flags that make no sense -------------------------------------

TEST_F(FnLocalTest, AFolderThatIsNoFunctionIsRefusedWithWhatToDo) {
  const auto error = [&](const std::string& folder) {
    const Finished finished = author_.Cairn({"fn", "test", folder});
    EXPECT_NE(finished.status.code, 0);
    EXPECT_THAT(finished.out, IsEmpty());
    return finished.err;
  };
  EXPECT_THAT(error("none"), HasSubstr("there is no folder none; make one with: cairn fn init"));
  author_.Write("empty/readme.txt", "");
  EXPECT_THAT(error("empty"), HasSubstr("has no manifest.json"));
  author_.Folder("broken", "export default 1 +");
  EXPECT_THAT(error("broken"), HasSubstr("function.js:1: SyntaxError"));
  author_.Folder("lost", "import './gone.js'; export default 1;");
  EXPECT_THAT(error("lost"), HasSubstr("there is no module \"./gone.js\""));
  author_.Folder("none-here", "", "other.js");
  EXPECT_THAT(error("none-here"), HasSubstr("neither function.js (the manifest's entry) nor"));
  author_.Folder("both", "export default 1;");
  author_.Write("both/function.ts", "export default 1;");
  EXPECT_THAT(error("both"), HasSubstr("both function.js and function.ts"));
  author_.Folder("strange", "export default 1;");
  author_.Write("strange/manifest.json", R"({"schema":"cs.function.script.v2"})");
  EXPECT_THAT(error("strange"), HasSubstr("strange/manifest.json: schema must be"));
  author_.Folder("large", "export default 1;");
  author_.Write("large/data.json", "\"" + std::string(17UL * 1024 * 1024, 'x') + "\"");
  EXPECT_THAT(error("large"), HasSubstr("larger than"));
}

TEST_F(FnLocalTest, EachFlagIsCheckedBeforeAnythingIsRun) {
  author_.Folder("code", "export default () => 1");
  struct Case {
    std::vector<std::string> args;
    std::string_view error;
  };
  const std::vector<Case> cases = {
      {{"test", "code", "--event", "{"}, "--event is not JSON"},
      {{"test", "code", "--event", "@none.json"}, "cannot read none.json"},
      {{"test", "code", "--overrides", "[]"}, "--overrides is not a JSON object"},
      {{"test", "code", "--overrides", R"({"tiemout_ms":1})"}, "tiemout_ms"},
      {{"test", "code", "--timeout-ms", "0"}, "--timeout-ms"},
      {{"test", "code", "--memory-mb", "15"}, "--memory-mb"},
      {{"test", "code", "--max-concurrency", "many"}, "--max-concurrency"},
      {{"test", "code", "--isolation", "none"}, "isolation"},
      {{"test", "code", "--env", "TOKEN"}, "--env: expected NAME=VALUE"},
      {{"test", "code", "--env", "1=2"}, "environment"},
      {{"test", "code", "--env", "A=@none"}, "cannot read none"},
      {{"test", "code", "--env-file", "none"}, "cannot read none"},
      {{"test", "code", "--secret", "NONE"}, "secrets"},
      {{"test", "code", "--bundle", "maybe"}, "expected auto, always or never"},
      {{"test", "code", "--allow", "everywhere"}, "--allow 'everywhere'"},
      {{"test", "code", "more"}, "usage: cairn fn test [DIR|FUNCTION]"},
      {{"test", "code", "--evnt", "{}"}, "did you mean '--event'?"},
      {{"tets", "code"}, "did you mean 'test'?"},
      {{"dev", "code", "--port", "65536"}, "--port"},
      {{"init"}, "usage: cairn fn init DIR"},
  };
  for (const Case& one : cases) {
    std::vector<std::string> args = one.args;
    args.insert(args.begin(), "fn");
    const Finished finished = author_.Cairn(args);
    EXPECT_THAT(finished.err, HasSubstr(std::string(one.error))) << one.args.at(0);
    EXPECT_NE(finished.status.code, 0) << one.error;
    EXPECT_THAT(finished.out, IsEmpty()) << one.error;
    EXPECT_THAT(finished.err, StartsWith("cairn: ")) << one.error;
  }
}

// --- dev -----------------------------------------------------------------------------------------

class FnDevTest : public FnLocalTest {
 protected:
  void StartDev(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"fn", "dev", "code", "--port", "0"};
    args.insert(args.end(), more.begin(), more.end());
    process_.emplace(author_.Start(std::move(args)));
    Await("the address of `fn dev`", [&] { return process_->out().find("http://") == 0; });
    const std::string out = process_->out();
    const size_t colon = out.find(':', 7);
    client_.emplace(
        net::Address{"127.0.0.1", static_cast<uint16_t>(std::stoi(out.substr(colon + 1)))});
  }
  void AwaitLoaded(int version) {
    Await("the reload", [&] {
      return process_->err().find("loaded " + std::to_string(version)) != std::string::npos;
    });
  }
  net::HttpResponse Ask(std::string_view method, std::string_view target, std::string body = "") {
    Result<net::HttpResponse> response = client_->Request(method, target, std::move(body), {});
    if (!response.ok()) throw std::runtime_error(response.error().message);
    return *std::move(response);
  }

  std::optional<Process> process_;
  std::optional<net::HttpClient> client_;
};

TEST_F(FnDevTest, ServesTheFolderAndItsChanges) {
  author_.Folder("code", R"(export default async (event) => {
      const n = ((await cs.kv.get('a:n')) ?? 0) + 1;
      await cs.kv.set('a:n', n);
      return {statusCode: 202, headers: {'x-n': String(n)},
              body: [event.requestContext.http.method, event.rawPath, event.rawQueryString,
                     atob(event.body)].join(' ')};
    })");
  StartDev();
  const net::HttpResponse first = Ask("PUT", "/orders/7?dry=1", "hello");
  EXPECT_EQ(first.status, 202);
  EXPECT_EQ(first.body, "PUT /orders/7 dry=1 hello");
  EXPECT_EQ(first.headers.Get("x-n"), "1");
  author_.Write("code/function.js",
                "export default async () => ({body: 'changed ' + await cs.kv.get('a:n')})");
  AwaitLoaded(2);
  EXPECT_EQ(Ask("GET", "/").body, "changed 1");
  process_->Signal(SIGTERM);
  const std::optional<ExitStatus> status = process_->Wait(std::chrono::seconds(60));
  EXPECT_TRUE(status && status->ok());
}

TEST_F(FnDevTest, ErrorsAreShownWithTheirStacksAndMendable) {
  author_.Folder("code",
                 "export default () => {\n  console.log('soon');\n  throw new Error('oops');\n}");
  StartDev();
  const net::HttpResponse failed = Ask("GET", "/");
  EXPECT_EQ(failed.status, 500);
  const json::value body = json::parse(failed.body);
  EXPECT_EQ(body.at("error").at("message"), "Error: oops");
  EXPECT_THAT(Text(body.at("error").at("stack")), HasSubstr("function.js:3:"));
  EXPECT_EQ(body.at("logs"), "[info] soon\n");
  author_.Write("code/function.js", "export default () => {");
  Await("the syntax error",
        [&] { return process_->err().find("SyntaxError") != std::string::npos; });
  EXPECT_THAT(Ask("GET", "/").body, HasSubstr("function.js:1: SyntaxError"));
  author_.Write("code/function.js", "export default () => ({body: 'well'})");
  AwaitLoaded(2);
  EXPECT_EQ(Ask("GET", "/").body, "well");
}

TEST_F(FnDevTest, TypeScriptIsServedWithItsOwnLines) {
  WriteTyped(author_);
  author_.InstallEsbuild();
  std::filesystem::rename(author_.Path("typed"), author_.Path("code"));
  author_.Write("code/function.ts",
                "import { check } from './lib/check.ts';\n"
                "export default (event: unknown): void => check(11);\n");
  StartDev();
  const json::value body = json::parse(Ask("GET", "/").body);
  EXPECT_THAT(Text(body.at("error").at("stack")), HasSubstr("lib/check.ts:3:"));
  author_.Write("code/lib/check.ts", std::string("\n\n") + std::string(kCheck));
  AwaitLoaded(2);
  EXPECT_THAT(Ask("GET", "/").body, HasSubstr("lib/check.ts:5:"));
}

TEST_F(FnDevTest, AnEventIsRunAtEachReload) {
  author_.Folder("code", "export default (event) => 'one ' + event.n");
  StartDev({"--event", R"({"n":5})"});
  EXPECT_THAT(process_->out(), HasSubstr("http://"));
  author_.Write("code/function.js", "export default (event) => ({body: 'two ' + event.n})");
  Await("the second run", [&] { return process_->out().find("two 5") != std::string::npos; });
}

TEST_F(FnDevTest, AnswersOnlyUnderNamesOfThisMachine) {
  author_.Folder("code", "export default () => 'private'");
  StartDev();
  const Result<net::HttpResponse> strange =
      client_->Request("GET", "/", "", {{"Host", "evil.example"}});
  ASSERT_TRUE(strange.ok());
  EXPECT_EQ(strange->status, 421);
  EXPECT_THAT(strange->body, Not(HasSubstr("private")));
}

}  // namespace
}  // namespace cairn::testing
