#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "base/result.h"
#include "data/lua/lua_state.h"
#include "store/transaction.h"

// The libraries of FUNCTION LOAD. They are durable, in store::Space::kSystem:
//
//   family    key            value
//   ───────   ────────────   ─────────────────────────────────────────────
//   version   "fn" 01        stamp:8, another one after each change
//   library   "fn" 02 name…  the source, its first line "#!lua name=…" included
//
// An interpreter loads all libraries when it finds a version that it has not loaded.
namespace cairn::data {

struct Library {
  std::string name;
  std::string source;
  std::vector<ScriptFunction> functions;

  friend bool operator==(const Library&, const Library&) = default;
};

// "#!lua name=lib\n…": what the first line says. An error's message is the reply.
struct LibraryHeader {
  std::string name;
  size_t body_at = 0;
};
Result<LibraryHeader> ParseLibraryHeader(std::string_view source);

// Runs the code in an interpreter of its own, to see what it registers. An error's message is the
// reply.
Result<Library> CompileLibrary(std::string_view source, const Log& log);

Bytes EncodeLibraryKey(std::string_view name);
std::optional<std::string_view> DecodeLibraryKey(BytesView key);

// Changes to what is stored. Whoever changes holds everything (doors::ScopeRule::kEverything).
void StoreLibrary(store::Transaction& transaction, const Library& library);
void RemoveLibrary(store::Transaction& transaction, std::string_view name);
Result<void> RemoveAllLibraries(store::Transaction& transaction);

// An interpreter with the libraries as a transaction finds them. Used by one thread at a time.
class FunctionState {
 public:
  // Loads the libraries if they changed.
  // Where it may not take long, it fails with kWouldBlock if there is something to load.
  Result<void> Refresh(store::Transaction& transaction, const Log& log, bool may_take_long = true);

  const std::vector<Library>& libraries() const { return libraries_; }  // by name
  const Library* FindLibrary(std::string_view name) const;
  const ScriptFunction* FindFunction(std::string_view name) const;

  LuaState& lua() { return *lua_; }
  bool healthy() const { return lua_->healthy(); }

 private:
  std::unique_ptr<LuaState> lua_ = std::make_unique<LuaState>();
  uint64_t version_ = 0;  // 0: there never was a library
  std::vector<Library> libraries_;
};

// The sources of libraries as FUNCTION DUMP and RESTORE exchange them, in the format of Redis:
//
//   { F5 length source… }…  0a 00  crc64:8
//
// `length` is 00nnnnnn, 01nnnnnn nn, 80 nn:4 or 81 nn:8; or C3 and the source in compressed form,
// which is understood but not written. The checksum of all before it and the version 10 are
// little-endian.
std::string EncodeFunctionDump(const std::vector<Library>& libraries);
// The sources; nullopt if the checksum does not match or the format is not understood.
std::optional<std::vector<std::string>> DecodeFunctionDump(std::string_view dump);

}  // namespace cairn::data
