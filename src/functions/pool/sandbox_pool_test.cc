// The whole way, with the program that ships: zygote, children, sandbox, engine. CAIRN_BINARY says
// where it is; the build sets it.
#include "functions/pool/sandbox_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstdlib>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace cairn::functions {
namespace {

using boost::asio::awaitable;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20U;

class TestHost final : public RunHost {
 public:
  awaitable<Result<std::string>> Call(std::string_view operation, std::string arguments) override {
    {
      const std::lock_guard lock(mutex_);
      ++calls_;
    }
    if (operation == "refuse") co_return Error{ErrorCode::kForbidden, "not allowed: " + arguments};
    co_return arguments;
  }
  void Log(std::string_view level, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    logs_.push_back(std::string(level) + " " + std::string(text));
  }
  std::vector<std::string> logs() {
    const std::lock_guard lock(mutex_);
    return logs_;
  }

 private:
  std::mutex mutex_;
  int calls_ = 0;
  std::vector<std::string> logs_;
};

std::string BinaryPath() {
  const char* const path = std::getenv("CAIRN_BINARY");
  return path == nullptr ? "../build/cairn" : path;
}

std::shared_ptr<Program> ProgramOf(std::string text) {
  auto program = std::make_shared<Program>();
  program->sha256 = std::to_string(std::hash<std::string>()(text));
  program->files.push_back({.path = "function.js", .text = std::move(text)});
  program->entry = "function.js";
  return program;
}

// A program whose handler has this body.
std::shared_ptr<Program> Handler(const std::string& body) {
  return ProgramOf("export default async function (event, ctx) {\n" + body + "\n}");
}

class SandboxPoolTest : public ::testing::Test {
 protected:
  SandboxPoolTest() { loops_.Start(); }
  ~SandboxPoolTest() override {
    if (pool_) pool_->Stop();
    loops_.Stop();
  }

  SandboxPool& pool(SandboxPoolOptions options = {}) {
    if (!pool_) {
      options.program = BinaryPath();
      pool_ =
          std::make_unique<SandboxPool>(std::move(options), clock_, random_, Log::Silent(), loops_);
    }
    return *pool_;
  }

  template <typename T>
  std::future<T> OnLoop(std::function<awaitable<T>()> start) {
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> future = promise->get_future();
    loops_.at(0).Post([this, promise, start = std::move(start)] {
      auto work = [](std::shared_ptr<std::promise<T>> into,
                     std::function<awaitable<T>()> from) -> awaitable<void> {
        T value = co_await from();
        into->set_value(std::move(value));
      };
      boost::asio::co_spawn(loops_.at(0).io(), work(promise, start), boost::asio::detached);
    });
    return future;
  }

  std::future<RunOutcome> Start(std::shared_ptr<const Program> program, std::string tenant = "t") {
    auto request = std::make_shared<RunRequest>();
    request->tenant = std::move(tenant);
    request->program = std::move(program);
    request->event = R"({"name":"Ada"})";
    request->context = "{}";
    request->env = "{}";
    request->limits = limits_;
    return OnLoop<RunOutcome>([this, request] { return pool().Run(std::move(*request), host_); });
  }
  RunOutcome Run(std::shared_ptr<const Program> program, std::string tenant = "t") {
    return Start(std::move(program), std::move(tenant)).get();
  }
  // What the body returns as JSON, or what went wrong.
  std::string Text(const std::string& body) {
    const RunOutcome outcome = Run(Handler(body));
    if (outcome.status == RunStatus::kSuccess) return outcome.result;
    return outcome.error.type + ": " + outcome.error.message;
  }
  // The attempt costs itself and nothing else: the same tenant goes on as if nothing had been.
  void ExpectHealthy() {
    EXPECT_THAT(Text("return [].concat([1], {}.x === undefined ? 'well' : 'ill')"),
                HasSubstr(R"([1,\"well\"])"));
  }

  SystemClock clock_;
  SystemRandom random_;
  net::LoopGroup loops_;
  TestHost host_;
  RunLimits limits_{.wall_ms = 20'000, .cpu_ms = 20'000, .memory_bytes = 64 * kMiB};
  std::unique_ptr<SandboxPool> pool_;
};

TEST_F(SandboxPoolTest, AFunctionRunsAndAnswers) {
  const auto program = Handler("return {statusCode: 201, body: 'hello ' + event.name}");
  const RunOutcome first = Run(program);
  EXPECT_EQ(first.result,
            R"({"statusCode":201,"headers":{},"body":"hello Ada","isBase64Encoded":false})")
      << first.error.message;
  EXPECT_TRUE(first.usage.cold);
  EXPECT_GT(first.usage.cpu_us, 0);
  const RunOutcome second = Run(program);
  EXPECT_EQ(second.result, first.result);
  EXPECT_FALSE(second.usage.cold);
  EXPECT_EQ(pool().stats().forks, 1);
  EXPECT_EQ(pool().stats().idle, 1);
}

TEST_F(SandboxPoolTest, AServerWithoutFunctionsStartsNothing) {
  EXPECT_EQ(pool().stats().zygotes, 0);
  EXPECT_EQ(pool().stats().children, 0);
}

TEST_F(SandboxPoolTest, CompiledCodeRunsAndErrorsNameTheirLine) {
  auto program = Handler("return 'compiled'");
  const auto compile = [this](std::vector<SourceFile> files) {
    return OnLoop<Result<std::string>>(
               [this, files = std::move(files)] { return pool().Compile(files, "function.js"); })
        .get();
  };
  const Result<std::string> compiled = compile(program->files);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  program->compiled = *compiled;
  EXPECT_THAT(Run(program).result, HasSubstr("compiled"));
  const Result<std::string> wrong =
      compile({{.path = "function.js", .text = "export default 1\nlet let"}});
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("function.js:2: SyntaxError"));
  // Damaged code is not trusted, or ends the child that reads it.
  program->sha256 += "damaged";
  program->compiled.resize(program->compiled.size() / 2);
  EXPECT_THAT(Run(program).result, HasSubstr("compiled"));
}

TEST_F(SandboxPoolTest, LogsAndCallsReachTheServer) {
  EXPECT_THAT(Text("console.log('one', {two: 2}); return 1"), HasSubstr("\"1\""));
  ASSERT_EQ(host_.logs().size(), 1);
  EXPECT_THAT(host_.logs()[0], HasSubstr("one"));
}

TEST_F(SandboxPoolTest, ATenantNeverGetsTheProcessOfAnother) {
  pool({.max_children = 1});
  const auto program = ProgramOf("globalThis.n = 0; export default () => ++n");
  auto kept = std::make_shared<Program>(*program);
  kept->isolation = Isolation::kVersion;
  EXPECT_THAT(Run(kept, "a").result, HasSubstr("\"1\""));
  EXPECT_THAT(Run(kept, "a").result, HasSubstr("\"2\""));
  EXPECT_THAT(Run(kept, "b").result, HasSubstr("\"1\""));  // makes room by ending a's
  EXPECT_THAT(Run(kept, "a").result, HasSubstr("\"1\""));
  EXPECT_EQ(pool().stats().forks, 3);
  EXPECT_EQ(pool().stats().children, 1);
}

TEST_F(SandboxPoolTest, RunsBeyondTheChildrenWaitForTheirTurn) {
  pool({.max_children = 2});
  std::vector<std::future<RunOutcome>> runs;
  const auto program = Handler("await new Promise((r) => setTimeout(r, 5)); return 'done'");
  for (int i = 0; i < 20; ++i) runs.push_back(Start(program, i % 2 == 0 ? "a" : "b"));
  for (auto& run : runs) EXPECT_THAT(run.get().result, HasSubstr("done"));
  EXPECT_LE(pool().stats().children, 2);
  EXPECT_EQ(pool().stats().waiting, 0);
}

TEST_F(SandboxPoolTest, TooManyWaitingRunsAreToldSo) {
  pool({.max_children = 1, .max_waiting = 1});
  const auto slow = Handler("await new Promise((r) => setTimeout(r, 300)); return 'done'");
  auto first = Start(slow);
  auto second = Start(slow);
  auto third = Start(slow);
  EXPECT_EQ(third.get().error.type, "Busy");
  EXPECT_THAT(first.get().result, HasSubstr("done"));
  EXPECT_THAT(second.get().result, HasSubstr("done"));
}

TEST_F(SandboxPoolTest, AStoppedPoolRefuses) {
  EXPECT_THAT(Text("return 1"), HasSubstr("\"1\""));
  pool().Stop();
  EXPECT_EQ(Run(Handler("return 1")).error.type, "Unavailable");
}

// --- limits --------------------------------------------------------------------------------------

TEST_F(SandboxPoolTest, EndlessCodeIsEndedInTime) {
  limits_.wall_ms = 200;
  for (const char* const body :
       {"for(;;);", "try { for(;;); } finally { for(;;); }",
        "await new Promise(r => setTimeout(r, 1e9))", "/(a+)+b/.test('a'.repeat(60))",
        "for(;;) await null", "setInterval(() => {}, 0); await new Promise(() => {})",
        "new Function('for(;;);')()", "[1, 2].sort(() => { for(;;); })",
        "return {get body() { for(;;); }}", "return {toJSON() { for(;;); }}",
        "throw {get message() { for(;;); }}", "JSON.parse('[1]', () => { for(;;); })"}) {
    const RunOutcome outcome = Run(Handler(body));
    EXPECT_EQ(outcome.status, RunStatus::kTimeout) << body << outcome.error.message;
    EXPECT_EQ(outcome.limit_hit, "wall") << body;
  }
  limits_.wall_ms = 20'000;
  ExpectHealthy();
}

TEST_F(SandboxPoolTest, ProcessorTimeIsLimitedApartFromWallTime) {
  limits_.cpu_ms = 100;
  const RunOutcome outcome = Run(Handler("for(;;);"));
  EXPECT_EQ(outcome.status, RunStatus::kTimeout);
  EXPECT_EQ(outcome.limit_hit, "cpu");
  limits_.cpu_ms = 20'000;
  ExpectHealthy();
}

// Code that the engine cannot interrupt is killed with its process.
TEST_F(SandboxPoolTest, WhatCannotBeInterruptedIsKilled) {
  pool({.times = {.grace = std::chrono::milliseconds(100)}});
  limits_ = {.wall_ms = 300, .cpu_ms = 20'000, .memory_bytes = 1024 * kMiB};
  const RunOutcome outcome =
      Run(Handler("const a = '[' + '1,'.repeat(3e7) + '1]'; for (;;) JSON.parse(a)"));
  EXPECT_EQ(outcome.status, RunStatus::kTimeout) << outcome.error.message;
  EXPECT_EQ(outcome.limit_hit, "wall");
  limits_ = {.wall_ms = 20'000, .cpu_ms = 20'000, .memory_bytes = 64 * kMiB};
  ExpectHealthy();
}

TEST_F(SandboxPoolTest, MemoryOfEveryKindIsLimited) {
  limits_.wall_ms = limits_.cpu_ms = 100'000;  // a busy machine needs time to fill memory
  for (const char* const body : {
           "const a = []; for(;;) a.push(new Array(10000).fill(1))",
           "const a = []; for(;;) a.push({a: {}})",
           "const a = []; for(;;) a.push(new ArrayBuffer(1e6))",
           "const a = []; for(let i = 0;; i++) a.push('x'.repeat(1e5) + i + JSON.stringify(i))",
           "const m = new Map(); for(let i = 0;; i++) m.set(i, i)",
           "const s = new Set(); for(let i = 0;; i++) s.add('k' + i)",
           "const a = []; for(;;) a.push(new Uint8Array(1e6).fill(1))",
           "const a = []; for(;;) a.push(1n << 1000000n)",
           "const a = []; for(let i = 0;; i++) a.push(new Function('return ' + i))",
           "const a = []; for(;;) a.push(Symbol('x'.repeat(1000)))",
           "const a = []; for(;;) { a.push(Promise.resolve(1)); }",
           "const a = []; for(;;) try { a.push(new Array(1e6).fill(1)) } catch {}",
       }) {
    const RunOutcome outcome = Run(Handler(body));
    // Where the engine cannot go on without memory it ends its process.
    EXPECT_TRUE(outcome.limit_hit == "memory" || outcome.limit_hit == "crash")
        << body << " " << outcome.limit_hit << " " << outcome.error.message;
    EXPECT_LT(outcome.usage.peak_memory_bytes, 200 * kMiB) << body;
  }
  ExpectHealthy();
}

TEST_F(SandboxPoolTest, DeepRecursionIsAnErrorOfTheFunction) {
  EXPECT_THAT(Text("const f = () => f(); f()"), HasSubstr("InternalError: too much recursion"));
  EXPECT_THAT(Text("let a = {}; for (let i = 0; i < 1e5; i++) a = {a}; return a"),
              AnyOf(HasSubstr("too much recursion"), HasSubstr("MemoryLimit")));
  ExpectHealthy();
}

TEST_F(SandboxPoolTest, ALogThatFloodsCostsItself) {
  const RunOutcome outcome =
      Run(Handler("for (let i = 0; i < 1e5; i++) console.log('x'.repeat(100)); return 'end'"));
  EXPECT_THAT(outcome.result, HasSubstr("end"));
  EXPECT_LT(host_.logs().size(), 20'000);
  ExpectHealthy();
}

// --- attacks from JavaScript ---------------------------------------------------------------------

TEST_F(SandboxPoolTest, NothingLeadsOutOfTheLanguage) {
  for (const char* const name :
       {"process", "require", "module", "Deno", "Bun", "os", "read", "load", "readFile", "quit",
        "SharedArrayBuffer", "XMLHttpRequest", "WebSocket", "Worker", "newGlobal", "gc"}) {
    EXPECT_THAT(Text("return typeof globalThis['" + std::string(name) + "']"),
                HasSubstr("undefined"))
        << name;
  }
  for (const char* const path :
       {"fs", "file:///etc/passwd", "/etc/passwd", "../../etc/passwd", "./../function.js",
        "node:child_process", "https://example.com/x.js", "data:text/javascript,1"}) {
    EXPECT_THAT(Text("await import('" + std::string(path) + "')"), HasSubstr("Error: ")) << path;
  }
  ExpectHealthy();
}

TEST_F(SandboxPoolTest, TricksWithPrototypesHarmOnlyThemselves) {
  for (const char* const body : {
           "Object.prototype.statusCode = 700; return 1",
           "Object.defineProperty(Object.prototype, 'body', {get() { throw 1 }}); return {}",
           "Array.prototype.toJSON = () => { throw new Error('x') }; return []",
           "Promise.prototype.then = () => { throw 1 }; return Promise.resolve(1)",
           "JSON.stringify = JSON.parse = null; return {a: 1}",
           "Object.setPrototypeOf(globalThis, new Proxy({}, {get() { throw 1 }})); return {a: 1}",
           "globalThis.Promise = class {}; return new Proxy(Promise, {})",
           "Error.prototype.toString = () => { throw 1 }; Error.prototype.name = {}; throw new "
           "Error('x')",
           "Object.defineProperty(Error.prototype, 'stack', {get() { throw 1 }}); throw new "
           "Error('x')",
           "return {then(resolve) { resolve({then(r) { r(new Proxy([], {})) }}) }}",
           "return new Proxy({}, {get() { return undefined }, has: () => true, ownKeys: () => "
           "['a']})",
           "String.prototype.toString = Symbol.prototype.toString; return {headers: {a: 'b'}}",
           "for (const k of Object.getOwnPropertyNames(globalThis)) try { delete globalThis[k] } "
           "catch {} return 1",
           "Object.freeze(globalThis); Object.freeze(Object.prototype); return {a: 1}",
           "const e = new Error('x'); e.stack = {toString() { throw 1 }}; throw e",
           "Reflect.ownKeys = null; Function.prototype.call = null; return fetch && URL && 1",
       }) {
    const RunOutcome outcome = Run(Handler(body));
    EXPECT_NE(outcome.limit_hit, "crash") << body << " " << outcome.error.message;
    EXPECT_NE(outcome.limit_hit, "wall") << body;
  }
  ExpectHealthy();
  EXPECT_EQ(pool().stats().crashes, 0);
  EXPECT_EQ(pool().stats().forks, 1);
}

TEST_F(SandboxPoolTest, EveryPartOfTheSandboxIsReported) {
  ExpectHealthy();
  EXPECT_EQ(pool().stats().sandbox & 7U, 7U);  // those without which nothing is run
}

}  // namespace
}  // namespace cairn::functions
