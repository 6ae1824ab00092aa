#pragma once

#include <jsapi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "functions/engine/code.h"
#include "functions/engine/engine.h"

namespace cairn::functions {

// The runtime's JavaScript, parsed once.
class Runtime {
 public:
  // kInternal if a chunk does not parse, or a name says a file that is not there.
  static Result<std::unique_ptr<Runtime>> Make(JSContext* cx, const RuntimeScripts& scripts);

  struct Name {
    std::string name;
    size_t chunk = 0;
    std::string member;
    bool internal = false;
  };
  // Null if the runtime has no such name of the global object. `atom` is an interned string.
  const Name* Find(JSString* atom) const;
  // The same, and names that only chunks see.
  const Name* Find(std::string_view name) const;
  // The chunks that globals with this code are to run first.
  std::vector<size_t> PolyfillsFor(const std::vector<SourceFile>& files) const;
  const std::vector<Name>& names() const { return names_; }
  JSString* atom(size_t index) const { return atoms_[index]; }
  JS::Stencil* chunk(size_t index) const { return chunks_[index]; }

 private:
  struct Polyfill {
    std::string text;
    size_t chunk = 0;
  };
  std::vector<RefPtr<JS::Stencil>> chunks_;
  std::vector<Name> names_;
  std::vector<Polyfill> polyfills_;
  std::vector<JSString*> atoms_;  // pinned, so they neither move nor go
  std::unordered_map<JSString*, size_t> by_atom_;
};

// A program that has been loaded into this process.
struct LoadedProgram {
  std::shared_ptr<const Program> program;
  Code code;
  std::vector<size_t> polyfills = {};  // chunks that its globals run first
};

// A global object with what belongs to it: the modules of one program and the values of the
// runtime's chunks. Rooted until it is destroyed.
class Realm {
 public:
  // Null, with an exception pending, if memory ran out. `zone` is any object of the zone that the
  // global is to be part of, or null for a new zone. `runtime` outlives the realm.
  static std::unique_ptr<Realm> Make(JSContext* cx, const Runtime& runtime, JS::HandleObject zone);
  ~Realm();
  Realm(const Realm&) = delete;
  Realm& operator=(const Realm&) = delete;

  // The realm of a global; null for a global without one.
  static Realm* Of(JSObject* global);

  JS::HandleObject global() const { return global_; }
  const std::shared_ptr<const LoadedProgram>& loaded() const { return loaded_; }
  void set_loaded(std::shared_ptr<const LoadedProgram> loaded) { loaded_ = std::move(loaded); }

  // The module at `path`; null, with an exception pending, if there is none.
  JSObject* Module(JSContext* cx, const std::string& path, std::string_view importer);
  // What a hook of the engine asks: the module that `request` means in the module whose private
  // value is `importer`.
  JSObject* Import(JSContext* cx, JS::HandleValue importer, JS::HandleObject request);

  // The value of a name of the runtime, made at its first use.
  bool RuntimeValue(JSContext* cx, const Runtime::Name& name, JS::MutableHandleValue value);
  const Runtime& runtime() const { return runtime_; }
  // Whether a chunk's value has been made, and what it is.
  bool HasChunk(size_t chunk) const { return chunks_.contains(chunk); }
  // Runs a chunk, once, for what it does. False with an exception pending if it throws.
  bool RunChunk(JSContext* cx, size_t chunk);

  // The handler, once the modules have been evaluated.
  JS::PersistentRootedObject handler;
  bool evaluated = false;

 private:
  Realm(JSContext* cx, const Runtime& runtime);
  bool ChunkValue(JSContext* cx, size_t chunk, JS::MutableHandleValue value);

  const Runtime& runtime_;
  JS::PersistentRootedObject global_;
  JS::PersistentRootedObject host_;  // what chunks are called with
  std::shared_ptr<const LoadedProgram> loaded_;
  std::map<std::string, JS::PersistentRootedObject, std::less<>> modules_;
  std::map<size_t, JS::PersistentRootedValue> chunks_;
  std::set<size_t> running_;  // chunks that are being called
};

}  // namespace cairn::functions
