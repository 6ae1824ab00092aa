#include "functions/engine/realm.h"

#include <fmt/format.h>
#include <js/CallAndConstruct.h>
#include <js/Class.h>
#include <js/CompilationAndEvaluation.h>
#include <js/GlobalObject.h>
#include <js/Modules.h>
#include <js/Object.h>
#include <js/PropertyAndElement.h>
#include <js/Realm.h>
#include <js/RealmOptions.h>
#include <js/String.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "functions/engine/exception.h"
#include "functions/engine/host_functions.h"
#include "functions/engine/text.h"

namespace cairn::functions {
namespace {

constexpr uint32_t kRealmSlot = 0;
constexpr unsigned kHidden = 0;  // writable and configurable, but not enumerable

bool Resolve(JSContext* cx, JS::HandleObject object, JS::HandleId id, bool* resolved) {
  *resolved = false;
  Realm* const realm = Realm::Of(object);
  if (realm != nullptr && id.isString()) {
    if (const Runtime::Name* const name = realm->runtime().Find(id.toString())) {
      JS::RootedValue value(cx);
      if (!realm->RuntimeValue(cx, *name, &value) ||
          !JS_DefinePropertyById(cx, object, id, value, kHidden)) {
        return false;
      }
      *resolved = true;
      return true;
    }
  }
  return JS_ResolveStandardClass(cx, object, id, resolved);
}

bool MayResolve(const JSAtomState& names, jsid id, JSObject* object) {
  if (JS_MayResolveStandardClass(names, id, object)) return true;
  // Without an object, the engine asks about any global.
  if (object == nullptr) return true;
  const Realm* const realm = Realm::Of(object);
  return realm != nullptr && id.isString() && realm->runtime().Find(id.toString()) != nullptr;
}

bool Enumerate(JSContext* cx, JS::HandleObject object, JS::MutableHandleIdVector ids,
               bool enumerable_only) {
  if (!JS_NewEnumerateStandardClasses(cx, object, ids, enumerable_only)) return false;
  Realm* const realm = Realm::Of(object);
  if (enumerable_only || realm == nullptr) return true;
  for (size_t i = 0; i < realm->runtime().names().size(); ++i) {
    if (realm->runtime().names()[i].internal) continue;
    if (!ids.append(JS::PropertyKey::fromPinnedString(realm->runtime().atom(i)))) {
      JS_ReportOutOfMemory(cx);
      return false;
    }
  }
  return true;
}

constexpr JSClassOps kGlobalOps = {
    nullptr,    nullptr, nullptr, Enumerate, Resolve,
    MayResolve, nullptr, nullptr, nullptr,   JS_GlobalObjectTraceHook};
constexpr JSClass kGlobalClass = {"global", JSCLASS_GLOBAL_FLAGS_WITH_SLOTS(1), &kGlobalOps};

}  // namespace

// --- Runtime -------------------------------------------------------------------------------------

Result<std::unique_ptr<Runtime>> Runtime::Make(JSContext* cx, const RuntimeScripts& scripts) {
  auto runtime = std::make_unique<Runtime>();
  std::map<std::string_view, size_t> by_file;
  for (const RuntimeChunk& chunk : scripts.chunks) {
    RefPtr<JS::Stencil> parsed = ParseScript(cx, chunk.file, chunk.text);
    if (!parsed) return Error{ErrorCode::kInternal, TakeSyntaxError(cx)};
    by_file[chunk.file] = runtime->chunks_.size();
    runtime->chunks_.push_back(std::move(parsed));
  }
  for (const RuntimeName& name : scripts.names) {
    const auto file = by_file.find(name.file);
    if (file == by_file.end()) {
      return Error{
          ErrorCode::kInternal,
          fmt::format("the runtime's name {} is in {}, which is not there", name.name, name.file)};
    }
    JSString* const atom = JS_AtomizeAndPinStringN(cx, name.name.data(), name.name.size());
    if (atom == nullptr) return Error{ErrorCode::kInternal, "out of memory"};
    if (!name.internal) runtime->by_atom_[atom] = runtime->names_.size();
    runtime->atoms_.push_back(atom);
    runtime->names_.push_back({.name = std::string(name.name),
                               .chunk = file->second,
                               .member = std::string(name.member),
                               .internal = name.internal});
  }
  for (const RuntimePolyfill& polyfill : scripts.polyfills) {
    const auto file = by_file.find(polyfill.file);
    if (file == by_file.end()) {
      return Error{ErrorCode::kInternal,
                   fmt::format("the runtime's file {} is not there", polyfill.file)};
    }
    runtime->polyfills_.push_back({.text = std::string(polyfill.text), .chunk = file->second});
  }
  return runtime;
}

const Runtime::Name* Runtime::Find(JSString* atom) const {
  const auto found = by_atom_.find(atom);
  return found == by_atom_.end() ? nullptr : &names_[found->second];
}

const Runtime::Name* Runtime::Find(std::string_view name) const {
  for (const Name& one : names_) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

std::vector<size_t> Runtime::PolyfillsFor(const std::vector<SourceFile>& files) const {
  std::vector<size_t> chunks;
  for (const Polyfill& polyfill : polyfills_) {
    if (std::ranges::find(chunks, polyfill.chunk) != chunks.end()) continue;
    const auto uses = [&](const SourceFile& file) {
      return file.text.find(polyfill.text) != std::string::npos;
    };
    if (std::ranges::any_of(files, uses)) chunks.push_back(polyfill.chunk);
  }
  return chunks;
}

// --- Realm ---------------------------------------------------------------------------------------

Realm::Realm(JSContext* cx, const Runtime& runtime)
    : handler(cx), runtime_(runtime), global_(cx), host_(cx) {}

// The object may live on until it is collected, but runs no code any more.
Realm::~Realm() { JS::SetReservedSlot(global_, kRealmSlot, JS::PrivateValue(nullptr)); }

Realm* Realm::Of(JSObject* global) {
  if (JS::GetClass(global) != &kGlobalClass) return nullptr;
  return JS::GetMaybePtrFromReservedSlot<Realm>(global, kRealmSlot);
}

std::unique_ptr<Realm> Realm::Make(JSContext* cx, const Runtime& runtime, JS::HandleObject zone) {
  JS::RealmOptions options;
  if (zone == nullptr) {
    options.creationOptions().setNewCompartmentAndZone();
  } else {
    options.creationOptions().setNewCompartmentInExistingZone(zone);
  }
  options.creationOptions().setSharedMemoryAndAtomicsEnabled(false);
  options.creationOptions().setWeakRefsEnabled(JS::WeakRefSpecifier::EnabledWithoutCleanupSome);
  const JS::RootedObject global(
      cx, JS_NewGlobalObject(cx, &kGlobalClass, nullptr, JS::DontFireOnNewGlobalHook, options));
  if (global == nullptr) return nullptr;
  std::unique_ptr<Realm> realm(new Realm(cx, runtime));
  realm->global_ = global;
  JS::SetReservedSlot(global, kRealmSlot, JS::PrivateValue(realm.get()));
  return realm;
}

JSObject* Realm::Module(JSContext* cx, const std::string& path, std::string_view importer) {
  const auto known = modules_.find(path);
  if (known != modules_.end()) return known->second;
  const auto code = loaded_->code.find(path);
  if (code == loaded_->code.end()) {
    JS_ReportErrorUTF8(cx, "%s imports %s, which is not a module of the bundle",
                       std::string(importer).c_str(), path.c_str());
    return nullptr;
  }
  const JS::InstantiateOptions options;
  const JS::RootedObject module(cx, JS::InstantiateModuleStencil(cx, options, code->second));
  if (module == nullptr) return nullptr;
  JSString* const name = StringOf(cx, path);
  if (name == nullptr) return nullptr;
  JS::SetModulePrivate(module, JS::StringValue(name));
  modules_.try_emplace(path, cx, module);
  return module;
}

JSObject* Realm::Import(JSContext* cx, JS::HandleValue importer, JS::HandleObject request) {
  std::string from;
  if (importer.isString()) {
    const JS::RootedString name(cx, importer.toString());
    from = Utf8Of(cx, name).value_or("");
  }
  const JS::RootedString specifier(cx, JS::GetModuleRequestSpecifier(cx, request));
  if (specifier == nullptr) return nullptr;
  const std::optional<std::string> text = Utf8Of(cx, specifier);
  if (!text) return nullptr;
  const std::optional<std::string> path = ResolveImport(from, *text);
  if (!path) {
    JS_ReportErrorUTF8(
        cx,
        "%s imports \"%s\"; only files of the bundle can be imported, by a path that "
        "begins with ./ or ../",
        from.c_str(), text->c_str());
    return nullptr;
  }
  return Module(cx, *path, from);
}

bool Realm::ChunkValue(JSContext* cx, size_t chunk, JS::MutableHandleValue value) {
  const auto known = chunks_.find(chunk);
  if (known != chunks_.end()) {
    value.set(known->second);
    return true;
  }
  if (!running_.insert(chunk).second) {
    JS_ReportErrorUTF8(cx, "a part of the runtime needs itself");
    return false;
  }
  if (host_ == nullptr) host_ = MakeHostObject(cx);
  if (host_ == nullptr) return false;
  const JS::InstantiateOptions options;
  const JS::RootedScript script(cx,
                                JS::InstantiateGlobalStencil(cx, options, runtime_.chunk(chunk)));
  JS::RootedValue function(cx);
  bool ok = script != nullptr && JS_ExecuteScript(cx, script, &function);
  if (ok) {
    JS::RootedValueArray<1> arguments(cx);
    arguments[0].setObject(*host_);
    ok = JS_CallFunctionValue(cx, nullptr, function, JS::HandleValueArray(arguments), value);
  }
  running_.erase(chunk);
  if (ok) chunks_.try_emplace(chunk, cx, value);
  return ok;
}

bool Realm::RunChunk(JSContext* cx, size_t chunk) {
  const JSAutoRealm own(cx, global_);
  JS::RootedValue ignored(cx);
  return ChunkValue(cx, chunk, &ignored);
}

bool Realm::RuntimeValue(JSContext* cx, const Runtime::Name& name, JS::MutableHandleValue value) {
  const JSAutoRealm own(cx, global_);
  if (!ChunkValue(cx, name.chunk, value)) return false;
  if (name.member.empty()) return true;
  if (!value.isObject()) {
    JS_ReportErrorUTF8(cx, "the runtime's %s has no members", name.name.c_str());
    return false;
  }
  const JS::RootedObject object(cx, &value.toObject());
  return JS_GetProperty(cx, object, name.member.c_str(), value);
}

}  // namespace cairn::functions
