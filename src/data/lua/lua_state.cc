#include "data/lua/lua_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <luajit-2.1/lua.hpp>
#include <utility>

#include "base/check.h"
#include "data/lua/lua_reply.h"
#include "data/lua/lua_runtime.h"
#include "data/lua/lua_source.h"
#include "data/value/limits.h"

namespace cairn::data {
namespace {

using Runtime = LuaState::Runtime;

constexpr std::pair<std::string_view, uint8_t> kFlagNames[] = {
    {"no-writes", ScriptFunction::kNoWrites},
    {"allow-oom", ScriptFunction::kAllowOom},
    {"allow-stale", ScriptFunction::kAllowStale},
    {"no-cluster", ScriptFunction::kNoCluster},
    {"allow-cross-slot-keys", ScriptFunction::kAllowCrossSlotKeys},
};

constexpr std::string_view kOutOfMemory = "ERR not enough memory";

void OnGrowth(Runtime& runtime);
void OnStep(lua_State* lua, lua_Debug* where);

// A script asks its host for memory in steps. A state that a script has left with more than this
// is not used again.
constexpr size_t kReserveStep = 1024UL * 1024;
constexpr size_t kKeptMemory = 16UL * 1024 * 1024;

void* Allocate(void* data, void* block, size_t old_size, size_t new_size) {
  auto& runtime = *static_cast<Runtime*>(data);
  if (block == nullptr) old_size = 0;
  if (new_size == 0) {
    std::free(block);
    runtime.used_bytes -= old_size;
    return nullptr;
  }
  if (new_size > old_size && runtime.used_bytes + (new_size - old_size) > kMaxScriptMemory) {
    runtime.healthy = false;
    return nullptr;
  }
  if (runtime.host != nullptr &&
      runtime.used_bytes + new_size > runtime.reserved_bytes + old_size) {
    const size_t more = std::max(new_size, kReserveStep);
    if (!runtime.host->Reserve(more)) {
      runtime.healthy = false;
      return nullptr;
    }
    runtime.reserved_bytes += more;
  }
  void* moved = std::realloc(block, new_size);
  if (moved != nullptr) runtime.used_bytes += new_size - old_size;
  if (runtime.used_bytes > runtime.watched_bytes) OnGrowth(runtime);
  return moved;
}

// One instruction may copy or compare all the memory that the script has.
int InstructionsPerStep(size_t grown) {
  const size_t count = kMaxScriptBytesPerStep / std::max<size_t>(grown, 1);
  return static_cast<int>(std::clamp<size_t>(count, 1, kInstructionsPerStep));
}

// The interpreter is in the middle of something. What the hook's count is may be changed all the
// same: it is a number that is looked at before the next instruction.
void OnGrowth(Runtime& runtime) {
  const size_t grown = runtime.used_bytes - std::min(runtime.used_bytes, runtime.begin_bytes);
  runtime.watched_bytes = runtime.used_bytes + kScriptGrowthPerStep;
  if (runtime.stopped) return;
  runtime.stopped = !runtime.host->Grow(grown);
  const int count = runtime.stopped ? 1 : InstructionsPerStep(grown);
  if (count < kInstructionsPerStep) lua_sethook(runtime.lua, OnStep, LUA_MASKCOUNT, count);
}

void NoteStop(lua_State* lua, lua_Debug& where) {
  lua_getinfo(lua, "Sl", &where);
  RuntimeOf(lua).stopped_at = fmt::format("{}:{}", where.source, where.currentline);
}

// Once the script has to stop, this is called before every instruction, in every coroutine, until
// nothing of the script is left.
void OnStep(lua_State* lua, lua_Debug* where) {
  Runtime& runtime = RuntimeOf(lua);
  if (!runtime.stopped) {
    if (runtime.host->Step()) return;
    NoteStop(lua, *where);
  }
  StopScript(lua);
}

// Calls `function` where errors of the interpreter are caught. Returns nullopt, or the message.
template <typename Function>
std::optional<std::string> Protected(lua_State* lua, Function function) {
  const auto call = [](lua_State* inner) {
    auto& body = *static_cast<Function*>(lua_touserdata(inner, 1));
    lua_settop(inner, 0);
    body(inner);
    return 0;
  };
  const int status = lua_cpcall(lua, call, &function);
  if (status == 0) return std::nullopt;
  size_t size = 0;
  const char* text = lua_tolstring(lua, -1, &size);
  std::string message = text == nullptr ? "unknown error" : std::string(text, size);
  lua_settop(lua, 0);
  return message;
}

// What an error was and where, taken while the stack still shows it.
struct RaisedError {
  std::string text;
  std::string source;
  int line = -1;
};

// The value that was raised → the same as a table {err, source, line}.
int OnError(lua_State* lua) {
  if (RuntimeOf(lua).stopped) return 1;
  // The innermost function that is the script's own.
  lua_Debug where = {};
  bool known = false;
  for (int level = 1; !known && lua_getstack(lua, level, &where) != 0; ++level) {
    lua_getinfo(lua, "Sl", &where);
    known = std::string_view(where.what) != "C";
  }
  // A new table: the one that was raised may be shared, and read-only.
  lua_createtable(lua, 0, 3);
  lua_pushliteral(lua, "err");
  if (lua_istable(lua, 1)) {
    lua_pushvalue(lua, -1);
    lua_rawget(lua, 1);
  } else {
    const char* text = lua_tostring(lua, 1);
    lua_pushfstring(lua, "ERR %s", text == nullptr ? "unknown error" : text);
  }
  lua_rawset(lua, -3);
  if (known) {
    lua_pushstring(lua, "source");
    lua_pushstring(lua, where.source);
    lua_rawset(lua, -3);
    lua_pushstring(lua, "line");
    lua_pushinteger(lua, where.currentline);
    lua_rawset(lua, -3);
  }
  return 1;
}

std::string RawText(lua_State* lua, const char* field) {
  lua_pushstring(lua, field);
  lua_rawget(lua, -2);
  size_t size = 0;
  const char* text = lua_tolstring(lua, -1, &size);
  std::string result = text == nullptr ? "" : std::string(text, size);
  lua_pop(lua, 1);
  return result;
}

// Of what OnError has left on top of the stack; a failure of the interpreter itself is a string.
RaisedError ReadError(lua_State* lua) {
  if (!lua_istable(lua, -1)) {
    const char* text = lua_tostring(lua, -1);
    return {fmt::format("ERR {}", text == nullptr ? "unknown error" : text), "", -1};
  }
  RaisedError error{RawText(lua, "err"), RawText(lua, "source"), -1};
  const std::string line = RawText(lua, "line");
  if (!line.empty()) error.line = std::atoi(line.c_str());
  if (error.text.empty()) error.text = "ERR unknown error";
  return error;
}

void PushStrings(lua_State* lua, std::span<const std::string_view> strings) {
  lua_createtable(lua, static_cast<int>(strings.size()), 0);
  int index = 0;
  for (const std::string_view text : strings) {
    lua_pushlstring(lua, text.data(), text.size());
    lua_rawseti(lua, -2, ++index);
  }
}

// Makes `host` the one that the script sees as long as this lives.
class Running {
 public:
  Running(Runtime& runtime, ScriptHost& host) : runtime_(runtime) {
    runtime_.host = &host;
    runtime_.protocol = 2;
    runtime_.stopped = false;
    runtime_.stopped_at.clear();
    runtime_.work = 0;
    runtime_.begin_bytes = runtime_.used_bytes;
    runtime_.watched_bytes = runtime_.used_bytes + kScriptGrowthPerStep;
    runtime_.reserved_bytes = runtime_.used_bytes + kReserveStep;
    runtime_.stack_base = static_cast<const char*>(__builtin_frame_address(0));
    ResetJsonOptions(runtime_);
    lua_sethook(runtime_.lua, OnStep, LUA_MASKCOUNT, kInstructionsPerStep);
  }
  ~Running() {
    runtime_.watched_bytes = std::numeric_limits<size_t>::max();
    lua_sethook(runtime_.lua, nullptr, 0, 0);
    lua_settop(runtime_.lua, 0);
    runtime_.host = nullptr;
    runtime_.stopped = false;
    if (runtime_.used_bytes > kKeptMemory) runtime_.healthy = false;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Runtime& runtime_;
};

// Calls what is on the stack, [function arguments…], and writes its result as the reply.
// Returns the error if one was raised.
std::optional<RaisedError> CallForReply(lua_State* lua, int arguments, net::RespWriter& reply) {
  const int handler = lua_gettop(lua) - arguments;
  lua_pushcfunction(lua, OnError);
  lua_insert(lua, handler);
  if (lua_pcall(lua, arguments, 1, handler) != 0) return ReadError(lua);
  WriteReply(lua, reply, RuntimeOf(lua).protocol >= 3);
  return std::nullopt;
}

// Runs a script: `push` pushes the function and its arguments and returns their number.
template <typename Push>
ScriptEnd Run(Runtime& runtime, const ScriptInput& input, ScriptHost& host, net::RespWriter& reply,
              Push push) {
  const Running running(runtime, host);
  const size_t start = reply.out().size();
  std::optional<RaisedError> error;
  const std::optional<std::string> failure = Protected(runtime.lua, [&](lua_State* lua) {
    const int arguments = push(lua);
    error = CallForReply(lua, arguments, reply);
  });
  if (runtime.stopped) return ScriptEnd::kStopped;
  if (failure) error = RaisedError{fmt::format("ERR {}", *failure), "", -1};
  if (!error) return ScriptEnd::kReplied;
  reply.out().resize(start);
  if (error->source.empty()) {
    reply.Error(error->text);
  } else {
    reply.Error(fmt::format("{} script: {}, on {}:{}.", error->text, input.name, error->source,
                            error->line));
  }
  return ScriptEnd::kFailed;
}

// Compiles `source` so that errors in what it calls know its lines. Leaves the function on the
// stack, or the message of an error, which is that of the source as it was written.
bool LoadKept(lua_State* lua, std::string_view source, const char* name) {
  if (luaL_loadbufferx(lua, source.data(), source.size(), name, "t") != 0) return false;
  const std::string kept = ReturnsKept(source);
  if (kept.size() == source.size()) return true;
  if (luaL_loadbufferx(lua, kept.data(), kept.size(), name, "t") == 0) {
    lua_remove(lua, -2);
  } else {
    lua_pop(lua, 1);  // some limit of the compiler: better without lines than not at all
  }
  return true;
}

}  // namespace

uint8_t ScriptFlagByName(std::string_view name) {
  const auto* found =
      std::ranges::find(kFlagNames, name, [](const auto& pair) { return pair.first; });
  return found == std::end(kFlagNames) ? 0 : found->second;
}

std::vector<std::string_view> ScriptFlagNames(uint8_t flags) {
  std::vector<std::string_view> names;
  for (const auto& [name, flag] : kFlagNames) {
    if ((flags & flag) != 0) names.push_back(name);
  }
  return names;
}

Runtime& RuntimeOf(lua_State* lua) {
  void* data = nullptr;
  lua_getallocf(lua, &data);
  return *static_cast<Runtime*>(data);
}

void StopScript(lua_State* lua) {
  RuntimeOf(lua).stopped = true;
  lua_sethook(lua, OnStep, LUA_MASKCOUNT, 1);
  lua_pushliteral(lua, "stopped");
  lua_error(lua);
  std::abort();
}

void ChargeScript(lua_State* lua, size_t work) {
  Runtime& runtime = RuntimeOf(lua);
  runtime.work += work;
  while (runtime.work >= kInstructionsPerStep) {
    runtime.work -= kInstructionsPerStep;
    if (!runtime.stopped && runtime.host->Step()) continue;
    lua_Debug where = {};
    if (lua_getstack(lua, 1, &where) != 0) NoteStop(lua, where);
    StopScript(lua);
  }
}

void CheckScriptStack(lua_State* lua) {
  const char* here = static_cast<const char*>(__builtin_frame_address(0));
  if (RuntimeOf(lua).stack_base - here > kMaxScriptStackBytes) luaL_error(lua, "stack overflow");
}

void PushFieldTable(lua_State* lua, const char* field, std::string_view text) {
  lua_createtable(lua, 0, 1);
  lua_pushlstring(lua, text.data(), text.size());
  lua_setfield(lua, -2, field);
}

void SetLuaFunctions(lua_State* lua, std::span<const LuaFunction> functions) {
  for (const auto& [name, function] : functions) {
    lua_pushcfunction(lua, function);
    lua_setfield(lua, -2, name);
  }
}

void RaiseErrorTable(lua_State* lua, std::string_view text) {
  PushFieldTable(lua, "err", text);
  lua_error(lua);
  std::abort();
}

LuaState::LuaState() : runtime_(std::make_unique<Runtime>()) {
  runtime_->lua = lua_newstate(Allocate, runtime_.get());
  CAIRN_CHECK(runtime_->lua != nullptr);
  // Compiled code would not be interrupted.
  luaJIT_setmode(runtime_->lua, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  const auto failure = Protected(runtime_->lua, OpenSandbox);
  CAIRN_CHECK(!failure, "{}", *failure);
}

LuaState::~LuaState() { lua_close(runtime_->lua); }

bool LuaState::healthy() const { return runtime_->healthy; }

const std::string& LuaState::stopped_at() const { return runtime_->stopped_at; }

Result<void> LuaState::Compile(std::string_view id, std::string_view source) {
  if (runtime_->scripts.contains(id)) return {};
  bool compiled = false;
  std::string message;
  const auto failure = Protected(runtime_->lua, [&](lua_State* lua) {
    compiled = LoadKept(lua, source, "@user_script");
    if (!compiled) {
      message = lua_tostring(lua, -1);
      return;
    }
    runtime_->scripts.emplace(id, luaL_ref(lua, LUA_REGISTRYINDEX));
  });
  if (failure) return Error{ErrorCode::kTooLarge, *failure};
  if (!compiled) return Error{ErrorCode::kInvalid, message};
  return {};
}

ScriptEnd LuaState::RunScript(std::string_view id, const ScriptInput& input, ScriptHost& host,
                              net::RespWriter& reply) {
  const auto script = runtime_->scripts.find(id);
  CAIRN_CHECK(script != runtime_->scripts.end());
  return Run(*runtime_, input, host, reply, [&](lua_State* lua) {
    PushStrings(lua, input.keys);
    SetScriptGlobal(lua, "KEYS");
    PushStrings(lua, input.args);
    SetScriptGlobal(lua, "ARGV");
    lua_rawgeti(lua, LUA_REGISTRYINDEX, script->second);
    return 0;
  });
}

ScriptEnd LuaState::RunFunction(const ScriptInput& input, ScriptHost& host,
                                net::RespWriter& reply) {
  const auto function = runtime_->functions.find(input.name);
  CAIRN_CHECK(function != runtime_->functions.end());
  return Run(*runtime_, input, host, reply, [&](lua_State* lua) {
    lua_rawgeti(lua, LUA_REGISTRYINDEX, function->second);
    PushStrings(lua, input.keys);
    PushStrings(lua, input.args);
    return 2;
  });
}

Result<std::vector<ScriptFunction>> LuaState::LoadLibrary(std::string_view source,
                                                          ScriptHost& host) {
  const Running running(*runtime_, host);
  std::vector<Runtime::Registration> registered;
  runtime_->registering = &registered;
  std::string error;
  const auto failure = Protected(runtime_->lua, [&](lua_State* lua) {
    lua_pushcfunction(lua, OnError);
    if (!LoadKept(lua, source, "@user_function")) {
      error = fmt::format("ERR Error compiling function: {}", lua_tostring(lua, -1));
      return;
    }
    PushLoadGlobals(lua);
    ShowGlobals(lua);
    if (lua_pcall(lua, 0, 0, 1) != 0) {
      error = runtime_->stopped ? "ERR FUNCTION LOAD timeout" : ReadError(lua).text;
      error = "ERR Error registering functions: " + error;
    }
  });
  runtime_->registering = nullptr;
  const bool stopped = std::exchange(runtime_->stopped, false);
  lua_sethook(runtime_->lua, nullptr, 0, 0);
  const auto restored = Protected(runtime_->lua, [&](lua_State* lua) {
    PushScriptGlobals(lua);
    ShowGlobals(lua);
    if (error.empty() && !failure && !stopped) return;
    for (const Runtime::Registration& entry : registered) {
      luaL_unref(lua, LUA_REGISTRYINDEX, entry.reference);
    }
  });
  if (failure || restored) return Error{ErrorCode::kTooLarge, std::string(kOutOfMemory)};
  if (!error.empty()) return Error{ErrorCode::kInvalid, error};
  std::vector<ScriptFunction> functions;
  for (Runtime::Registration& entry : registered) {
    runtime_->functions[entry.function.name] = entry.reference;
    functions.push_back(std::move(entry.function));
  }
  return functions;
}

}  // namespace cairn::data
