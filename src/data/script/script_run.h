#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "data/lua/lua_state.h"
#include "doors/resp/busy.h"
#include "doors/resp/command.h"
#include "doors/resp/instance.h"
#include "doors/resp/nested_call.h"

namespace cairn::data {

// One run of a script or a function on behalf of a command: redis.call runs commands in the
// command's own transaction.
//
//   ScriptRun run(instance, context, {.kind = …, .name = sha});
//   return run.Finish(state.RunScript(…, run, context.reply), state);
//
// On an event loop it may take a few milliseconds and little memory; then the command is run again,
// from its start, where it may take long and can be killed. At the limit (Busy::limit_ms) it is
// ended and undone.
class ScriptRun final : public ScriptHost {
 public:
  struct Options {
    doors::Busy::Kind kind = doors::Busy::Kind::kScript;
    std::string_view name;
    bool read_only = false;
  };
  ScriptRun(doors::Instance& instance, doors::CommandContext& context, Options options);

  bool Call(std::span<const std::string_view> args, int protocol, std::string& reply) override;
  bool Step() override;
  bool Grow(size_t bytes) override;
  bool Reserve(size_t bytes) override { return context_.reply.Reserve(bytes); }
  std::optional<bool> MayCall(std::span<const std::string_view> args) override;
  void Log(int level, std::string_view text) override;

  // What the command's handler returns.
  Result<void> Finish(ScriptEnd end, const LuaState& state);

 private:
  // Whether it may go on. On a loop time is also counted in steps.
  bool StillOnTime();
  bool LeaveLoop();

  doors::Instance& instance_;
  doors::CommandContext& context_;
  const Options options_;
  doors::NestedCalls calls_;
  const uint64_t begin_ns_;
  int steps_ = 0;
  std::optional<doors::Busy::Run> busy_;  // where it may take long
  std::optional<Error> error_;            // why it was stopped; none: killed
};

// Writes what a script logs to the server's log.
void LogFromScript(const Log& log, int level, std::string_view text);

// KEYS and ARGV of EVAL, FCALL and their like: numkeys is args[2]. An error's message is the reply.
struct ScriptArguments {
  std::span<const std::string_view> keys;
  std::span<const std::string_view> args;
};
Result<ScriptArguments> ParseScriptArguments(doors::Args args, std::string_view bad_number);
// Interpreters that wait for the next script. Safe to use from any thread.
template <typename State>
class StatePool {
 public:
  // Gives its state back when it ends.
  class Lease {
   public:
    Lease(StatePool& pool, std::unique_ptr<State> state, uint64_t generation)
        : pool_(pool), state_(std::move(state)), generation_(generation) {}
    ~Lease() { pool_.Return(std::move(state_), generation_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    State& operator*() { return *state_; }
    State* operator->() { return state_.get(); }

   private:
    StatePool& pool_;
    std::unique_ptr<State> state_;
    const uint64_t generation_;
  };

  explicit StatePool(size_t max_idle) : max_idle_(max_idle) {}

  Lease Acquire() {
    std::unique_ptr<State> state;
    uint64_t generation = 0;
    {
      const std::lock_guard lock(mutex_);
      generation = generation_;
      if (!idle_.empty()) {
        state = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (state == nullptr) state = std::make_unique<State>();
    return Lease(*this, std::move(state), generation);
  }

  // Those in use now are not used again either.
  void Clear() {
    std::vector<std::unique_ptr<State>> old;
    const std::lock_guard lock(mutex_);
    ++generation_;
    old.swap(idle_);
  }

 private:
  void Return(std::unique_ptr<State> state, uint64_t generation) {
    const std::lock_guard lock(mutex_);
    if (generation != generation_ || idle_.size() >= max_idle_ || !state->healthy()) return;
    idle_.push_back(std::move(state));
  }

  const size_t max_idle_;
  std::mutex mutex_;
  uint64_t generation_ = 0;
  std::vector<std::unique_ptr<State>> idle_;
};

}  // namespace cairn::data
