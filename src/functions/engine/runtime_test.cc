// The JavaScript of the runtime inside the engine that it is for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "functions/engine/engine.h"
#include "functions/engine/runtime_chunks.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// src/functions/engine/js/test, as the build directory that tests run in sees it.
constexpr const char* kTests = "include/functions/functions/engine/js/test";

// Answers calls with what was put into `answers`, in order, and then refuses.
class ScriptedHost final : public EngineHost {
 public:
  void Call(uint64_t call, std::string_view operation, std::string_view arguments) override {
    calls.push_back(std::string(operation) + " " + std::string(arguments));
    HostReply reply{.call = call, .ok = false, .text = "refused"};
    if (!answers.empty()) {
      reply = {.call = call, .ok = true, .text = answers.front()};
      answers.pop_front();
    }
    replies_.push_back(std::move(reply));
  }
  void Log(std::string_view level, std::string_view text) override {
    logs.push_back(std::string(level) + " " + std::string(text));
  }
  std::optional<HostReply> WaitForReply(std::optional<uint64_t> /*timeout_ns*/) override {
    if (replies_.empty()) return std::nullopt;
    HostReply reply = std::move(replies_.front());
    replies_.pop_front();
    return reply;
  }
  bool connected() const override { return true; }

  void Answer(std::string_view result, bool /*truncated*/) override {
    told.push_back("answer " + std::string(result));
  }
  void BeginStream(std::string_view head) override { told.push_back("begin " + std::string(head)); }
  void StreamPiece(std::string_view bytes) override {
    told.push_back("piece " + std::string(bytes.substr(0, 16)));
    streamed += bytes.size();
    if (leaves) {
      replies_.push_back({.text = "the client has left", .kind = HostReply::Kind::kAbort});
    } else if (streamed > granted + wire::kStreamWindowBytes - wire::kMaxStreamPieceBytes) {
      most_under_way = std::max(most_under_way, streamed - granted);
      replies_.push_back({.text = {}, .kind = HostReply::Kind::kRoom, .bytes = streamed - granted});
      granted = streamed;
    }
  }
  void EndStream() override { told.push_back("end"); }

  std::vector<std::string> told;
  bool leaves = false;  // the client, at the first piece
  size_t streamed = 0;
  size_t granted = 0;
  size_t most_under_way = 0;
  std::deque<std::string> answers;
  std::vector<std::string> calls;
  std::vector<std::string> logs;

 private:
  std::deque<HostReply> replies_;
};

class RuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Engine::Make({.runtime = EmbeddedRuntime()});
    ASSERT_TRUE(made.ok()) << made.error().message;
    engine_ = *std::move(made);
  }

  EngineOutcome Run(std::string text) {
    auto program = std::make_shared<Program>();
    program->files.push_back({"function.js", std::move(text)});
    program->entry = "function.js";
    program->sha256 = std::to_string(++programs_);
    return engine_->Run({.program = program,
                         .event = "{}",
                         .context = R"({"tenant":"t","deadline_ms":4102444800000})",
                         .env = R"({"KEY":"secret"})",
                         .answer = answer_},
                        host_);
  }
  // The result of a handler with this body, or "type: message" of its error.
  std::string Text(const std::string& body) {
    const EngineOutcome outcome = Run("export default async function (event, ctx) {" + body + "}");
    if (outcome.status == RunStatus::kSuccess) return outcome.result;
    return outcome.error.type + ": " + outcome.error.message;
  }

  int programs_ = 0;
  AnswerMode answer_ = AnswerMode::kAtEnd;
  std::unique_ptr<Engine> engine_;
  ScriptedHost host_;
};

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(RuntimeTest, ItsOwnTestsPass) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kTests)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".test.js") || name.ends_with(".server.test.js")) continue;
    const EngineOutcome outcome =
        Run(Read(std::filesystem::path(kTests) / "harness.js") + Read(entry.path()) +
            "\nexport default async () => {"
            "  const { passed, failures } = await harness.runAll();"
            "  return { body: passed > 0 ? failures.join('\\n') : 'no tests' };"
            "}");
    EXPECT_EQ(outcome.status, RunStatus::kSuccess) << name << ": " << outcome.error.message;
    EXPECT_THAT(outcome.result, HasSubstr(R"("body":"")")) << name;
    ++files;
  }
  EXPECT_GE(files, 8U) << "the tests were not found";
}

TEST_F(RuntimeTest, EveryNameCanBeUsed) {
  EXPECT_THAT(
      Text("const names = Object.getOwnPropertyNames(globalThis);"
           "return { body: names.filter((name) => globalThis[name] === undefined).join() }"),
      HasSubstr(R"("body":"undefined")"));
}

TEST_F(RuntimeTest, WhatChunksShareIsNotForFunctions) {
  EXPECT_THAT(Text("return { body: [typeof support, typeof toResult, 'inspect' in globalThis,"
                   " Object.getOwnPropertyNames(globalThis).includes('extractBody')].join() }"),
              HasSubstr(R"("body":"undefined,undefined,false,false")"));
}

TEST_F(RuntimeTest, AFunctionMayReplaceAName) {
  EXPECT_THAT(Text("globalThis.Headers = 7; globalThis.console = null;"
                   "return new Response('x', {headers: {a: 'b'}})"),
              HasSubstr(R"("a":"b")"));
}

TEST_F(RuntimeTest, AResponseIsAnAnswer) {
  EXPECT_EQ(
      Text("return new Response('hi', {status: 201, headers: {'content-type': 'a/b'}})"),
      R"({"statusCode":201,"headers":{"content-type":"a/b"},"body":"aGk=","isBase64Encoded":true})");
  EXPECT_THAT(Text("const headers = [['set-cookie', 'a=1'], ['set-cookie', 'b=2, 3']];"
                   "return new Response(null, {headers})"),
              HasSubstr(R"("headers":{},"cookies":["a=1","b=2, 3"],"body":"")"));
  EXPECT_THAT(Text("return {body: '', cookies: 'a=1'}"),
              HasSubstr("ValidationError: cookies must be a list of strings"));
  EXPECT_EQ(Text("const r = new Response('x'); await r.text(); return r"),
            "TypeError: the body has been read already; clone() before reading to read it twice");
  EXPECT_THAT(Text("return Response.error()"),
              HasSubstr("TypeError: the result is Response.error()"));
}

TEST_F(RuntimeTest, TheContextIsComplete) {
  EXPECT_THAT(Text("const keys = Object.keys(ctx).join();"
                   "return { body: [keys, ctx.env.KEY, Object.isFrozen(ctx.env),"
                   " ctx.remainingMs() > 0, ctx.signal.aborted].join() }"),
              HasSubstr(R"("body":"tenant,deadline_ms,env,secret,true,true,false")"));
}

TEST_F(RuntimeTest, CallsReachTheServer) {
  host_.answers = {R"({"value":{"n":1}})", "{}"};
  EXPECT_THAT(Text("const v = await cs.kv.get('k'); await cs.kv.set('k', {n: v.n + 1});"
                   "return { body: String(v.n) }"),
              HasSubstr(R"("body":"1")"));
  EXPECT_THAT(host_.calls,
              ElementsAre(R"(kv.get {"key":"k"})", R"(kv.set {"key":"k","value":{"n":2}})"));
  EXPECT_EQ(Text("await cs.kv.get('k')"), "Error: refused");
}

TEST_F(RuntimeTest, FetchAsksTheServer) {
  host_.answers = {
      R"({"status":200,"statusText":"OK","headers":[["a","b"]],"body":"aGk=","url":"http://h/","redirected":false})"};
  EXPECT_THAT(Text("const r = await fetch('http://h', {method: 'POST', body: 'x'});"
                   "return { body: r.status + r.headers.get('a') + await r.text() }"),
              HasSubstr(R"("body":"200bhi")"));
  EXPECT_THAT(host_.calls.front(), HasSubstr(R"("method":"POST")"));
  EXPECT_EQ(Text("await fetch('http://h')"), "TypeError: fetch failed: refused");
}

TEST_F(RuntimeTest, ConsoleAndLogWriteLines) {
  EXPECT_THAT(Text("console.log('a %s', 'b', {c: [1]}); cs.log.warn({d: 1});"
                   "console.error(new TypeError('bad')); return {}"),
              HasSubstr("200"));
  ASSERT_EQ(host_.logs.size(), 3U);
  EXPECT_EQ(host_.logs[0], "info a b { c: [ 1 ] }");
  EXPECT_EQ(host_.logs[1], R"(warn {"d":1})");
  EXPECT_THAT(host_.logs[2], HasSubstr("error TypeError: bad\n    at "));
  EXPECT_THAT(host_.logs[2], HasSubstr("function.js:1"));
}

TEST_F(RuntimeTest, BuffersAreTransferred) {
  EXPECT_THAT(Text("const b = new ArrayBuffer(8);"
                   "const c = structuredClone({b}, {transfer: [b]});"
                   "return { body: [b.byteLength, c.b.byteLength].join() }"),
              HasSubstr(R"("body":"0,8")"));
}

TEST_F(RuntimeTest, AGeneratorIsSentAsItIsMade) {
  answer_ = AnswerMode::kChunks;
  const EngineOutcome outcome =
      Run("export default async function* (event) { yield 'a'; await null; yield {b: 1}; }");
  EXPECT_EQ(outcome.status, RunStatus::kSuccess) << outcome.error.message;
  EXPECT_EQ(
      outcome.result,
      R"({"statusCode":200,"headers":{"content-type":"text/plain;charset=UTF-8"},"body":"","isBase64Encoded":false})");
  EXPECT_THAT(host_.told,
              ElementsAre("begin " + outcome.result, "piece a", "piece {\"b\":1}\n", "end"));
}

TEST_F(RuntimeTest, WhereNobodyReadsAlongAStreamIsTheResult) {
  for (const AnswerMode mode : {AnswerMode::kAtEnd, AnswerMode::kWhole}) {
    answer_ = mode;
    EXPECT_THAT(Text("return new Response(ReadableStream.from(['h', 'i']), {status: 201})"),
                HasSubstr(R"("body":"aGk=","isBase64Encoded":true)"));
    EXPECT_THAT(Text("return {statusCode: 202, body: ReadableStream.from(['hi'])}"),
                HasSubstr(R"({"statusCode":202)"));
  }
  EXPECT_TRUE(host_.told.empty());
}

TEST_F(RuntimeTest, WhatIsNoAnswerCannotBeStreamedEither) {
  answer_ = AnswerMode::kChunks;
  EXPECT_THAT(Text("return {statusCode: 99, body: ReadableStream.from(['x'])}"),
              HasSubstr("ValidationError: statusCode"));
  EXPECT_THAT(Text("const s = ReadableStream.from(['x']); s.getReader(); return s"),
              HasSubstr("TypeError: the stream is locked"));
  EXPECT_THAT(Text("return ReadableStream.from([() => 1])"), HasSubstr("TypeError: a chunk"));
  EXPECT_THAT(Text("const r = new Response(ReadableStream.from(['x'])); await r.text(); return r"),
              HasSubstr("TypeError: the body has been read already"));
  EXPECT_THAT(Text("return new ReadableStream()"), HasSubstr("NeverSettled: the answer's stream"));
  EXPECT_TRUE(host_.told.empty());
}

TEST_F(RuntimeTest, AStreamStandsStillWhileThereIsNoRoom) {
  answer_ = AnswerMode::kChunks;
  const EngineOutcome outcome =
      Run("export default async function* () {"
          "  for (let i = 0; i < 100; i++) yield new Uint8Array(100000); }");
  EXPECT_EQ(outcome.status, RunStatus::kSuccess) << outcome.error.message;
  EXPECT_EQ(host_.streamed, 100 * 100'000U);
  EXPECT_LT(host_.most_under_way, wire::kStreamWindowBytes + wire::kMaxStreamPieceBytes);
}

TEST_F(RuntimeTest, AClientThatLeavesEndsTheStreamAndAbortsTheSignal) {
  answer_ = AnswerMode::kChunks;
  host_.leaves = true;
  const EngineOutcome outcome =
      Run("export default async function* (event, ctx) {"
          "  try { yield 'one'; await new Promise((done) => { ctx.signal.onabort = done; });"
          "    yield 'two'; } finally { console.log(ctx.signal.reason.message); } }");
  EXPECT_EQ(outcome.status, RunStatus::kSuccess) << outcome.error.message;
  EXPECT_THAT(host_.told, ElementsAre(HasSubstr("begin "), "piece one"));
  EXPECT_THAT(host_.logs, ElementsAre("info the client has left"));
}

TEST_F(RuntimeTest, AnAnswerIsToldBeforeWhatGoesOnAfterIt) {
  answer_ = AnswerMode::kWhole;
  const EngineOutcome outcome =
      Run("export default (event, ctx) => {"
          "  ctx.waitUntil(new Promise((done) => setTimeout(done, 1)).then(() => "
          "console.log('after')));"
          "  return {body: 'early'}; }");
  EXPECT_EQ(outcome.status, RunStatus::kSuccess) << outcome.error.message;
  EXPECT_THAT(host_.told, ElementsAre("answer " + outcome.result));
  EXPECT_THAT(host_.logs, ElementsAre("info after"));
  host_.told.clear();
  EXPECT_THAT(Text("ctx.waitUntil(new Promise(() => {})); return {body: 'x'}"),
              HasSubstr(R"("body":"x")"));
  EXPECT_THAT(host_.logs.back(), HasSubstr("what ctx.waitUntil was given can never settle"));
  answer_ = AnswerMode::kAtEnd;
  host_.told.clear();
  EXPECT_THAT(Text("ctx.waitUntil(null); return {body: 'x'}"), HasSubstr(R"("body":"x")"));
  EXPECT_TRUE(host_.told.empty());
}

TEST_F(RuntimeTest, PolyfillsAreThereForProgramsThatUseThem) {
  EXPECT_THAT(Text("return { body: [1, 2].findLast((x) => x < 2) + typeof [].toSorted }"),
              HasSubstr(R"("body":"1function")"));
  EXPECT_THAT(Text("return { body: typeof []['toSo' + 'rted'] }"),
              HasSubstr(R"("body":"undefined")"));
}

}  // namespace
}  // namespace cairn::functions
