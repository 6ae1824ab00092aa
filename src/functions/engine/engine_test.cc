#include "functions/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace cairn::functions {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Answers every call at once, with its arguments.
class EchoHost final : public EngineHost {
 public:
  void Call(uint64_t call, std::string_view operation, std::string_view arguments) override {
    calls.emplace_back(operation, arguments);
    if (operation == "fail") {
      replies.push_back({.call = call, .ok = false, .text = "refused"});
    } else if (operation != "never") {
      replies.push_back({.call = call, .ok = true, .text = std::string(arguments)});
    }
  }
  void Log(std::string_view level, std::string_view text) override {
    logs.push_back(std::string(level) + ": " + std::string(text));
  }
  std::optional<HostReply> WaitForReply(std::optional<uint64_t> /*timeout_ns*/) override {
    if (replies.empty()) return std::nullopt;
    HostReply reply = std::move(replies.front());
    replies.pop_front();
    return reply;
  }
  bool connected() const override { return true; }

  std::vector<std::pair<std::string, std::string>> calls;
  std::deque<HostReply> replies;
  std::vector<std::string> logs;
};

constexpr RuntimeChunk kChunks[] = {{"host.js", "(host) => host"}};
constexpr RuntimeName kNames[] = {{"host", "host.js"}};

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Engine::Make({.runtime = {.chunks = kChunks, .names = kNames}});
    ASSERT_TRUE(made.ok()) << made.error().message;
    engine_ = *std::move(made);
  }

  static std::shared_ptr<const Program> Make(std::vector<SourceFile> files) {
    auto program = std::make_shared<Program>();
    program->files = std::move(files);
    program->entry = "function.js";
    static int number = 0;
    program->sha256 = std::to_string(++number);
    return program;
  }
  static std::shared_ptr<const Program> Make(std::string text) {
    return Make({{"function.js", std::move(text)}});
  }

  EngineOutcome Run(const std::shared_ptr<const Program>& program,
                    std::string_view event = R"({"name":"Ada"})") {
    return engine_->Run({.program = program,
                         .event = event,
                         .context = R"({"tenant":"t"})",
                         .env = R"({"KEY":"secret"})"},
                        host_);
  }
  EngineOutcome Run(std::string text) { return Run(Make(std::move(text))); }
  // The result of a handler with this body, or "type: message" of its error.
  std::string Text(const std::string& body) {
    const EngineOutcome outcome = Run("export default async function (event, ctx) {" + body + "}");
    if (outcome.status == RunStatus::kSuccess) return outcome.result;
    return outcome.error.type + ": " + outcome.error.message;
  }

  std::unique_ptr<Engine> engine_;
  EchoHost host_;
};

TEST_F(EngineTest, AnAnswerIsTakenAsItIs) {
  EXPECT_EQ(Text("return {statusCode: 201, headers: {a: 'b'}, body: 'hello ' + event.name}"),
            R"({"statusCode":201,"headers":{"a":"b"},"body":"hello Ada","isBase64Encoded":false})");
  EXPECT_EQ(Text("return {statusCode: 0, body: ctx.env.KEY + ctx.tenant, isBase64Encoded: true}"),
            R"({"statusCode":200,"headers":{},"body":"secrett","isBase64Encoded":true})");
}

TEST_F(EngineTest, AnyOtherValueIsABodyOfJson) {
  const std::string empty = R"({"statusCode":200,"headers":{},"body":"","isBase64Encoded":false})";
  EXPECT_EQ(Text(""), empty);
  EXPECT_EQ(Text("return null"), empty);
  const auto json = [](const std::string& body) {
    return R"({"statusCode":200,"headers":{"content-type":"application/json"},"body":")" + body +
           R"(","isBase64Encoded":false})";
  };
  EXPECT_EQ(Text("return 7"), json("7"));
  EXPECT_EQ(Text("return [1, 'x']"), json(R"([1,\"x\"])"));
  EXPECT_EQ(Text("return {ok: true}"), json(R"({\"ok\":true})"));
  EXPECT_EQ(Text("return 'h\\u00e9'"), json("\\\"h\xC3\xA9\\\""));
  EXPECT_EQ(Text("return new Date(0)"), json(R"(\"1970-01-01T00:00:00.000Z\")"));
}

TEST_F(EngineTest, WhatIsNoAnswerIsAnErrorThatSaysWhy) {
  EXPECT_EQ(Text("return {statusCode: 99}"),
            "ValidationError: statusCode must be a number from 100 to 599, not 99");
  EXPECT_THAT(Text("return {statusCode: '200'}"), HasSubstr("ValidationError: statusCode"));
  EXPECT_THAT(Text("return {headers: {a: {}}}"), HasSubstr("the header \"a\" must be a string"));
  EXPECT_THAT(Text("return {headers: {a: 'x\\r\\ny'}}"), HasSubstr("line break"));
  EXPECT_THAT(Text("return {body: 7}"), HasSubstr("ValidationError: body must be a string"));
  EXPECT_THAT(Text("return () => 1"), HasSubstr("it is a function"));
  EXPECT_THAT(Text("return 1n"),
              HasSubstr("ValidationError: the result cannot be written as JSON"));
  EXPECT_THAT(Text("return {a: 1n}"), HasSubstr("cannot be written as JSON"));
  EXPECT_THAT(Text("const a = {}; a.a = a; return a"), HasSubstr("cannot be written as JSON"));
  EXPECT_EQ(Text("return {get body() { throw new RangeError('no') }}"), "RangeError: no");
  EXPECT_EQ(Text("return new Proxy({}, {has() { throw 'has' }})"), "Exception: has");
}

TEST_F(EngineTest, ThrownValuesOfAnyKindAreDescribed) {
  EXPECT_EQ(Text("throw new TypeError('bad')"), "TypeError: bad");
  EXPECT_EQ(Text("class MyError extends Error { name = 'MyError' }; throw new MyError('mine')"),
            "MyError: mine");
  EXPECT_EQ(Text("throw 'text'"), "Exception: text");
  EXPECT_EQ(Text("throw null"), "Exception: null");
  EXPECT_EQ(Text("throw undefined"), "Exception: undefined");
  EXPECT_EQ(Text("throw Symbol()"), "Exception: a symbol was thrown");
  EXPECT_EQ(Text("throw {get message() { throw 1 }, toString() { throw 2 }}"),
            "Exception: a value was thrown that cannot be shown as text");
  const EngineOutcome outcome = Run("export default () => {\n  throw new Error('deep')\n}");
  EXPECT_THAT(outcome.error.stack, HasSubstr("function.js:2"));
}

TEST_F(EngineTest, StacksAndLoggedStacksNameTheSourcesOfABundle) {
  // Line 2 of function.js is line 7 of function.ts.
  const auto program = Make({
      {"function.js",
       "export default (event) => {\n"
       "  const error = new Error('deep'); host.log('error', error.stack); throw error\n}"},
      {"function.js.map",
       R"({"version":3,"sources":["function.ts"],"names":[],"mappings":";AAMA"})"},
  });
  const EngineOutcome outcome = Run(program);
  EXPECT_THAT(outcome.error.stack, HasSubstr("function.ts:7:1"));
  EXPECT_THAT(outcome.error.stack, Not(HasSubstr("function.js")));
  ASSERT_EQ(host_.logs.size(), 1);
  EXPECT_THAT(host_.logs[0], HasSubstr("function.ts:7:1"));
}

TEST_F(EngineTest, ABadSourceMapChangesNothing) {
  for (const char* map : {"", "{}", "not JSON", R"({"version":3,"sources":[],"mappings":"!"})",
                          R"({"version":3,"sources":["a.ts"],"mappings":";AADA"})"}) {
    const EngineOutcome outcome =
        Run(Make({{"function.js", "export default () => {\n  throw new Error('deep')\n}"},
                  {"function.js.map", map}}));
    EXPECT_THAT(outcome.error.stack, HasSubstr("function.js:2")) << map;
  }
}

TEST_F(EngineTest, ErrorsAndStacksAreCut) {
  const EngineOutcome outcome =
      Run("const f = (n) => { if (n == 0) throw new Error('x'.repeat(100000)); f(n - 1) };"
          "export default () => f(2000)");
  EXPECT_EQ(outcome.error.message.size(), 65'536);
  EXPECT_LE(outcome.error.stack.size(), 8'192);
  EXPECT_GT(outcome.error.stack.size(), 1'000);
}

TEST_F(EngineTest, ALongResultIsCutAndFlagged) {
  const EngineOutcome outcome = Run("export default () => ({body: '\\u00e9\"'.repeat(200000)})");
  EXPECT_EQ(outcome.status, RunStatus::kSuccess);
  EXPECT_TRUE(outcome.result_truncated);
  EXPECT_LE(outcome.result.size(), 256 * 1024);
  EXPECT_GT(outcome.result.size(), 256 * 1024 - 8);
  EXPECT_TRUE(outcome.result.ends_with(R"(","isBase64Encoded":false})"));
}

TEST_F(EngineTest, ModulesImportEachOtherAndJson) {
  const EngineOutcome outcome = Run(Make({
      {"function.js",
       "import {twice} from './lib/a.js'; import data from './data.json';"
       "export default async () => [twice(data.n), (await import('./late.mjs')).late]"},
      {"lib/a.js", "import {two} from '../two.js'; export const twice = (n) => n * two"},
      {"two.js", "export const two = await Promise.resolve(2)"},
      {"late.mjs", "export const late = 'late'"},
      {"data.json", R"({"n": 21})"},
  }));
  EXPECT_THAT(outcome.result, HasSubstr(R"([42,\"late\"])")) << outcome.error.message;
}

TEST_F(EngineTest, AMissingImportIsAnError) {
  EXPECT_THAT(Text("return import('./no.js')"), HasSubstr("function.js imports no.js"));
  EXPECT_THAT(Text("return import('fs')"), HasSubstr("only files of the bundle"));
  EXPECT_EQ(Run("export const other = 1").error.message,
            "function.js does not export a function named \"default\"");
}

TEST_F(EngineTest, EveryActivationHasAGlobalOfItsOwn) {
  const auto program = Make(
      "let n = 0; globalThis.m = (globalThis.m || 0);"
      "export default () => [++n, ++m, Array.prototype.x = 1]");
  EXPECT_THAT(Run(program).result, HasSubstr("[1,1,1]"));
  engine_->Prepare(program);
  EXPECT_THAT(Run(program).result, HasSubstr("[1,1,1]"));
}

TEST_F(EngineTest, AVersionKeepsItsGlobal) {
  auto program = std::make_shared<Program>(*Make("let n = 0; export default () => ++n"));
  program->isolation = Isolation::kVersion;
  EXPECT_THAT(Run(program).result, HasSubstr("\"1\""));
  EXPECT_THAT(Run(program).result, HasSubstr("\"2\""));
  engine_->Forget(program->sha256);
  EXPECT_THAT(Run(program).result, HasSubstr("\"1\""));
}

TEST_F(EngineTest, TheServerIsAskedAndAnswers) {
  EXPECT_THAT(Text("return JSON.parse(await host.call('kv.get', '{\"a\":1}')).a"),
              HasSubstr("\"1\""));
  EXPECT_EQ(Text("await host.call('fail', '{}')"), "Error: refused");
  EXPECT_THAT(Text("const all = []; for (let i = 0; i < 65; i++) all.push(host.call('never', ''))"),
              HasSubstr("more than 64 calls at once"));
}

TEST_F(EngineTest, TimersRunInTheirOrder) {
  EXPECT_THAT(Text("const seen = [];"
                   "await new Promise(done => {"
                   "  host.setTimer(() => seen.push(2), 2, false);"
                   "  host.setTimer(() => seen.push(1), 1, false);"
                   "  const never = host.setTimer(() => seen.push(0), 1, false);"
                   "  host.clearTimer(never);"
                   "  host.setTimer(done, 4, false);"
                   "}); return seen"),
              HasSubstr("[1,2]"));
}

TEST_F(EngineTest, APromiseThatCanNeverSettleIsAnErrorAtOnce) {
  EXPECT_THAT(Text("await new Promise(() => {})"),
              HasSubstr("NeverSettled: the handler's promise can never settle"));
}

TEST_F(EngineTest, ARejectionNobodyWaitsForIsLogged) {
  EXPECT_THAT(Text("Promise.reject(new Error('lost')); return 1"), HasSubstr("\"1\""));
  ASSERT_EQ(host_.logs.size(), 1);
  EXPECT_THAT(host_.logs[0], HasSubstr("error: a promise was rejected that nobody waits for"));
}

TEST_F(EngineTest, CompiledCodeIsUsedOnlyWhereItFits) {
  const auto plain = Make("export default () => 'compiled'");
  const Result<std::string> compiled = engine_->Compile(plain->files, plain->entry);
  ASSERT_TRUE(compiled.ok());
  auto program = std::make_shared<Program>(*plain);
  program->compiled = *compiled;
  EXPECT_THAT(Run(program).result, HasSubstr("compiled"));
  auto other = std::make_shared<Program>(*Make("export default () => 'other'"));
  other->compiled = *compiled;
  EXPECT_THAT(Run(other).result, HasSubstr("other"));
}

TEST_F(EngineTest, CompilingNamesFileAndLine) {
  const auto error = [this](const std::vector<SourceFile>& files) {
    const Result<std::string> compiled = engine_->Compile(files, "function.js");
    return compiled.ok() ? "fine" : compiled.error().message;
  };
  EXPECT_THAT(error({{"function.js", "export default 1;\nlet let = 1"}}),
              HasSubstr("function.js:2: SyntaxError"));
  EXPECT_THAT(error({{"function.js", "import './a.js'"}, {"a.js", "\n\nimport './gone.js'"}}),
              HasSubstr("a.js:3: there is no module \"./gone.js\""));
  EXPECT_THAT(error({{"function.js", "import {x} from './a.js'"}, {"a.js", "1"}}),
              HasSubstr("function.js:1: SyntaxError"));
  EXPECT_THAT(error({{"function.js", "import d from './d.json'"}, {"d.json", "{"}}),
              HasSubstr("d.json: "));
  EXPECT_THAT(error({{"other.js", "1"}}), HasSubstr("function.js: the bundle has no such module"));
}

}  // namespace
}  // namespace cairn::functions
