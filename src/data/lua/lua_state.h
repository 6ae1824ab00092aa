#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/resp/writer.h"

namespace cairn::data {

// What a running script reaches of the server.
class ScriptHost {
 public:
  virtual ~ScriptHost() = default;

  // redis.call: runs the command and appends its reply to `reply`, as RESP of version `protocol`.
  // False: the script has to stop at once.
  virtual bool Call(std::span<const std::string_view> args, int protocol, std::string& reply) = 0;
  // Called after every kInstructionsPerStep instructions, or work of functions that takes as long;
  // more often the more memory the script has taken. False: the script has to stop at once.
  virtual bool Step() = 0;
  // Called as the script takes memory, with how much it has taken since it began. False: as above.
  virtual bool Grow(size_t /*bytes*/) { return true; }
  // The script needs so much memory more. False: there is not so much.
  virtual bool Reserve(size_t /*bytes*/) { return true; }
  // Whether the user may call the command, for redis.acl_check_cmd; nullopt if there is none.
  virtual std::optional<bool> MayCall(std::span<const std::string_view> args) = 0;
  // redis.log; `level` is 0 (debug) … 3 (warning).
  virtual void Log(int level, std::string_view text) = 0;
};

enum class ScriptEnd : uint8_t {
  kReplied,  // the reply is what the script returned, be it an error
  kFailed,   // the script raised an error, which is the reply
  kStopped,  // the host stopped it; no reply
};

// What a library says about one of its functions (redis.register_function).
struct ScriptFunction {
  enum Flag : uint8_t {
    kNoWrites = 1U << 0,
    kAllowOom = 1U << 1,
    kAllowStale = 1U << 2,
    kNoCluster = 1U << 3,
    kAllowCrossSlotKeys = 1U << 4,
  };

  std::string name;
  std::optional<std::string> description = {};
  uint8_t flags = 0;

  friend bool operator==(const ScriptFunction&, const ScriptFunction&) = default;
};
// The flag that a script or a function is given by this name; 0 if there is none.
uint8_t ScriptFlagByName(std::string_view name);
// The names of the flags that are set.
std::vector<std::string_view> ScriptFlagNames(uint8_t flags);

struct ScriptInput {
  std::string_view name;  // the script's SHA1 or the function's name, for errors
  std::span<const std::string_view> keys;
  std::span<const std::string_view> args;
};

// One Lua interpreter in which scripts of clients run: without files, processes, bytecode or debug
// library, with all shared tables read-only, with bounded memory, and always stoppable: what makes
// a script stop cannot be caught by it, and no function of it works on unseen. What a function may
// do in one go is bounded by the script's memory (steps become shorter as that grows), or counted
// (ChargeScript).
//
// Scripts leave nothing behind for the next one. Used by one thread at a time.
class LuaState {
 public:
  LuaState();
  ~LuaState();
  LuaState(const LuaState&) = delete;
  LuaState& operator=(const LuaState&) = delete;

  // Compiles a script, unless that was done before under the same id. The message of an error is
  // the compiler's.
  Result<void> Compile(std::string_view id, std::string_view source);
  // Runs what was compiled under `id`, and appends its reply.
  ScriptEnd RunScript(std::string_view id, const ScriptInput& input, ScriptHost& host,
                      net::RespWriter& reply);

  // Runs the code of a library and keeps the functions that it registers. An error leaves those of
  // other libraries as they were; its message is for the client.
  Result<std::vector<ScriptFunction>> LoadLibrary(std::string_view source, ScriptHost& host);
  // Runs the function input.name of a loaded library.
  ScriptEnd RunFunction(const ScriptInput& input, ScriptHost& host, net::RespWriter& reply);

  // Where the last script was when its host stopped it between instructions: "@user_script:1".
  const std::string& stopped_at() const;
  // False after it ran out of memory: it works, but is better replaced.
  bool healthy() const;

  struct Runtime;  // the interpreter, for the files of this folder

 private:
  const std::unique_ptr<Runtime> runtime_;
};

}  // namespace cairn::data
