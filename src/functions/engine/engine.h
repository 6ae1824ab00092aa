#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "functions/protocol/program.h"

namespace cairn::functions {

// The server's answer to what a function asked it.
struct HostReply {
  uint64_t call = 0;
  bool ok = true;
  std::string text;  // JSON if ok, else what went wrong
};

// What the engine asks of the process it runs in. Called on the engine's thread while Run runs.
class EngineHost {
 public:
  virtual ~EngineHost() = default;
  // Sends a call to the server. Its reply comes through WaitForReply.
  virtual void Call(uint64_t call, std::string_view operation, std::string_view arguments) = 0;
  virtual void Log(std::string_view level, std::string_view text) = 0;
  // The next reply; nullopt if none has come when `timeout_ns` have passed (0: look only), or when
  // the engine was asked to stop, or when a reply will never come.
  virtual std::optional<HostReply> WaitForReply(std::optional<uint64_t> timeout_ns) = 0;
  // Whether a reply can still come.
  virtual bool connected() const = 0;
};

// The JavaScript of the runtime: README.md has the contract.
struct RuntimeChunk {
  std::string_view file;
  std::string_view text;
};
struct RuntimeName {
  std::string_view name;
  std::string_view file;
  std::string_view member = {};  // of the chunk's value; empty: the value itself
  bool internal = false;         // for chunks only: not a name of the global object
};
// A chunk that is run in the globals of programs whose source contains `text`, before the program.
struct RuntimePolyfill {
  std::string_view text;
  std::string_view file;
};
struct RuntimeScripts {
  std::span<const RuntimeChunk> chunks = {};
  std::span<const RuntimeName> names = {};
  std::span<const RuntimePolyfill> polyfills = {};
};

struct EngineOptions {
  RuntimeScripts runtime = {};
};

// Why an activation was stopped from outside.
enum class StopReason : uint8_t { kNone, kWall, kCpu };

struct EngineRun {
  std::shared_ptr<const Program> program;
  std::string_view event;    // JSON
  std::string_view context;  // JSON; becomes ctx
  std::string_view env;      // JSON; becomes ctx.env
};

struct EngineOutcome {
  RunStatus status = RunStatus::kSuccess;  // kSuspended: to be gone on with later, by another run
  // {"statusCode":200,"headers":{…},"body":"…","isBase64Encoded":false}
  std::string result = {};
  bool result_truncated = false;
  RunError error = {};
  std::string limit_hit = {};  // "", "wall", "cpu" or "memory"
  bool cold = false;           // the program had to be loaded
};

// SpiderMonkey, as far as functions need it: runs handlers of bundles of ES modules, one activation
// at a time, with timers, promises and calls to a host.
//
// Operation: Run takes the global that Prepare has made, or makes one; evaluates the modules of the
// program; calls the handler with (event, ctx); runs jobs, timers and replies until the result is
// there; and makes the result's JSON. What a function does with its global, its prototypes or its
// getters can make its own result an error, and nothing else.
//
// Concurrency: one engine per process at a time, used by the thread that made it, except Stop. A
// process that has an engine and has not called Run can fork; the child uses its copy.
//
// Limitations: the engine bounds neither time nor memory by itself. Memory comes from malloc and
// mmap: RLIMIT_DATA bounds it, and an allocation that fails is reported as limit "memory". After
// that the engine is of no use.
class Engine {
 public:
  // kInternal if the engine or a chunk of the runtime does not work.
  static Result<std::unique_ptr<Engine>> Make(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Parses all modules of a bundle and checks their imports. Gives what Program::compiled takes;
  // kInvalid, "file:line: what is wrong", for a bundle that cannot run.
  Result<std::string> Compile(const std::vector<SourceFile>& files, const std::string& entry);

  // `host` outlives the call.
  EngineOutcome Run(const EngineRun& run, EngineHost& host);

  // Reads the code of a program, so that its first run need not. kInvalid for one that cannot run.
  Result<void> Load(const std::shared_ptr<const Program>& program);
  // Makes the global for the next run of `program`, if that helps. For when there is time.
  void Prepare(const std::shared_ptr<const Program>& program);
  // Forgets a program and what was made for it. One that is not known is not an error.
  void Forget(const std::string& sha256);
  // Collects garbage and gives memory back. For when there is nothing else to do.
  void Shrink();

  // Ends the activation that runs now, soon. From any thread, and from a signal handler.
  void Stop(StopReason reason);
  // Whether memory ran out: the engine should not be used again.
  bool out_of_memory() const;

  class Impl;

 private:
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Names this engine in what Compile gives: what another one made is compiled again.
std::string_view EngineBuildId();

}  // namespace cairn::functions
