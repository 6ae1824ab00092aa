#include "functions/engine/engine.h"

#include <fmt/format.h>
#include <js/Array.h>
#include <js/BuildId.h>
#include <js/CallAndConstruct.h>
#include <js/CompilationAndEvaluation.h>
#include <js/ContextOptions.h>
#include <js/Exception.h>
#include <js/GCAPI.h>
#include <js/HelperThreadAPI.h>
#include <js/Initialization.h>
#include <js/Interrupt.h>
#include <js/MemoryCallbacks.h>
#include <js/Modules.h>
#include <js/Object.h>
#include <js/Promise.h>
#include <js/PropertyAndElement.h>
#include <js/ValueArray.h>
#include <malloc.h>

#include <utility>

#include "base/check.h"
#include "functions/engine/code.h"
#include "functions/engine/engine_impl.h"
#include "functions/engine/exception.h"
#include "functions/engine/host_functions.h"
#include "functions/engine/result.h"
#include "functions/engine/text.h"

namespace cairn::functions {
namespace {

constexpr size_t kStackBytes = size_t{1} << 20U;
constexpr size_t kHelperStackBytes = size_t{2} << 20U;
// Between collections: a global's garbage is some 50 KiB.
constexpr int64_t kRunsPerCollection = 50;
// Names of the runtime that the engine itself uses; README.md says what they are.
constexpr std::string_view kContextName = "context";
constexpr std::string_view kToResultName = "toResult";

void NoHelperTask(JS::DispatchReason /*reason*/) {}

bool BuildId(JS::BuildIdCharVector* id) {
  const std::string_view own = EngineBuildId();
  return id->append(own.data(), own.size());
}

bool MayGoOn(JSContext* cx) {
  const Engine::Impl& engine = Engine::Impl::Of(cx);
  return engine.stop_reason() == StopReason::kNone && !engine.out_of_memory();
}

// Whatever the function does with the exception, it has failed: so it is stopped too.
void OutOfMemory(JSContext* cx, void* /*data*/) {
  Engine::Impl::Of(cx).NoteOutOfMemory();
  JS_RequestInterruptCallback(cx);
}

// Once per process. No helper threads: a process with threads cannot be forked.
bool InitProcess() {
  static const bool ok = [] {
    if (!JS_Init()) return false;
    JS::SetHelperThreadTaskCallback(NoHelperTask, 1, kHelperStackBytes);
    JS::SetProcessBuildIdOp(BuildId);
    WarmHostFunctions();
    return true;
  }();
  return ok;
}

void SetError(EngineOutcome& outcome, RunError error) {
  outcome.status = RunStatus::kError;
  outcome.error = std::move(error);
}

}  // namespace

// --- making --------------------------------------------------------------------------------------

Result<std::unique_ptr<Engine::Impl>> Engine::Impl::Make(const EngineOptions& options) {
  std::unique_ptr<Impl> impl(new Impl());
  CAIRN_RETURN_IF_ERROR(impl->Init(options));
  return impl;
}

Result<void> Engine::Impl::Init(const EngineOptions& options) {
  if (!InitProcess()) return Error{ErrorCode::kInternal, "the JavaScript engine does not start"};
  cx_ = JS_NewContext(JS::DefaultHeapMaxBytes);
  if (cx_ == nullptr) return Error{ErrorCode::kInternal, "the JavaScript engine does not start"};
  JS_SetContextPrivate(cx_, this);
  JS_SetGCParameter(cx_, JSGC_MAX_BYTES, UINT32_MAX);
  JS_SetOffthreadIonCompilationEnabled(cx_, false);
  JS_SetNativeStackQuota(cx_, kStackBytes);
  jobs_ = std::make_unique<Jobs>(cx_);
  SetHooks();
  if (!JS::InitSelfHostedCode(cx_)) {
    return Error{ErrorCode::kInternal, "the JavaScript engine does not start"};
  }
  // Scripts are parsed in a realm, though what comes of it belongs to none.
  static const Runtime kNothing;
  holder_ = Realm::Make(cx_, kNothing, nullptr);
  if (!holder_) return Error{ErrorCode::kInternal, "out of memory"};
  const JSAutoRealm realm(cx_, holder_->global());
  CAIRN_ASSIGN_OR_RETURN(runtime_, Runtime::Make(cx_, options.runtime));
  return {};
}

void Engine::Impl::SetHooks() {
  JS::SetJobQueue(cx_, jobs_.get());
  JS::SetPromiseRejectionTrackerCallback(cx_, NoteRejection, this);
  JS::SetModuleResolveHook(JS_GetRuntime(cx_), ResolveModule);
  JS::SetModuleDynamicImportHook(JS_GetRuntime(cx_), ImportDynamically);
  JS::SetOutOfMemoryCallback(cx_, OutOfMemory, nullptr);
  JS_AddInterruptCallback(cx_, MayGoOn);
}

Engine::Impl::~Impl() {
  if (cx_ == nullptr) return;
  activation_.reset();
  prepared_.reset();
  kept_.clear();
  programs_.clear();
  runtime_.reset();
  holder_.reset();
  JS::SetJobQueue(cx_, nullptr);
  jobs_.reset();
  JS_DestroyContext(cx_);
}

// --- modules -------------------------------------------------------------------------------------

JSObject* Engine::Impl::ResolveModule(JSContext* cx, JS::HandleValue importer,
                                      JS::HandleObject request) {
  Realm* const realm = Realm::Of(JS::CurrentGlobalOrNull(cx));
  if (realm != nullptr && realm->loaded()) return realm->Import(cx, importer, request);
  JS_ReportErrorUTF8(cx, "nothing can be imported here");
  return nullptr;
}

bool Engine::Impl::ImportDynamically(JSContext* cx, JS::HandleValue importer,
                                     JS::HandleObject request, JS::HandleObject promise) {
  const JS::RootedObject module(cx, ResolveModule(cx, importer, request));
  JS::RootedValue evaluation(cx);
  JS::RootedObject evaluated(cx);
  if (module != nullptr && JS::ModuleInstantiate(cx, module) &&
      JS::ModuleEvaluate(cx, module, &evaluation) && evaluation.isObject()) {
    evaluated = &evaluation.toObject();
  }
  // Without the promise of an evaluation, the import is rejected with what is pending.
  return JS::FinishDynamicModuleImport(cx, evaluated, importer, request, promise);
}

namespace {

// Makes the instances of `path` and of all it imports, so that what cannot be found is named with
// its line. Iterative: a bundle decides how deep imports go.
Result<void> CheckImports(JSContext* cx, Realm& realm, const std::string& entry) {
  std::set<std::string> seen = {entry};
  std::vector<std::string> open = {entry};
  while (!open.empty()) {
    const std::string path = std::move(open.back());
    open.pop_back();
    const JS::RootedObject module(cx, realm.Module(cx, path, ""));
    if (module == nullptr) return Error{ErrorCode::kInvalid, TakeSyntaxError(cx)};
    const JS::RootedObject requests(cx, JS::GetRequestedModules(cx, module));
    uint32_t count = 0;
    if (requests == nullptr || !JS::GetArrayLength(cx, requests, &count)) {
      return Error{ErrorCode::kInvalid, TakeSyntaxError(cx)};
    }
    JS::RootedValue request(cx);
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t line = 0;
      uint32_t column = 0;
      if (!JS_GetElement(cx, requests, i, &request)) {
        return Error{ErrorCode::kInvalid, TakeSyntaxError(cx)};
      }
      const JS::RootedString specifier(cx, JS::GetRequestedModuleSpecifier(cx, request));
      JS::GetRequestedModuleSourcePos(cx, request, &line, &column);
      const std::string text = specifier ? Utf8Of(cx, specifier).value_or("") : "";
      const std::optional<std::string> target = ResolveImport(path, text);
      if (!target || !realm.loaded()->code.contains(*target)) {
        return Error{ErrorCode::kInvalid,
                     fmt::format("{}:{}: there is no module \"{}\" in the bundle; import files of "
                                 "the bundle by a path that begins with ./ or ../",
                                 path, line, text)};
      }
      if (seen.insert(*target).second) open.push_back(*target);
    }
  }
  return {};
}

}  // namespace

Result<std::string> Engine::Impl::Compile(const std::vector<SourceFile>& files,
                                          const std::string& entry) {
  stop_ = StopReason::kNone;
  auto loaded = std::make_shared<LoadedProgram>();
  {
    const JSAutoRealm realm(cx_, holder_->global());
    CAIRN_ASSIGN_OR_RETURN(loaded->code, ParseBundle(cx_, files));
  }
  if (!loaded->code.contains(entry)) {
    return Error{ErrorCode::kInvalid, fmt::format("{}: the bundle has no such module", entry)};
  }
  const std::unique_ptr<Realm> scratch = MakeRealm(loaded);
  if (!scratch) return Error{ErrorCode::kInternal, "out of memory"};
  const JSAutoRealm realm(cx_, scratch->global());
  CAIRN_RETURN_IF_ERROR(CheckImports(cx_, *scratch, entry));
  const JS::RootedObject module(cx_, scratch->Module(cx_, entry, ""));
  if (module == nullptr || !JS::ModuleInstantiate(cx_, module)) {
    return Error{ErrorCode::kInvalid, TakeSyntaxError(cx_)};
  }
  return EncodeCode(cx_, loaded->code, files);
}

std::shared_ptr<const LoadedProgram> Engine::Impl::Load(
    const std::shared_ptr<const Program>& program, RunError& error, bool& cold) {
  const auto known = programs_.find(program->sha256);
  if (known != programs_.end()) return known->second;
  cold = true;
  const JSAutoRealm realm(cx_, holder_->global());
  auto loaded = std::make_shared<LoadedProgram>();
  loaded->program = program;
  std::optional<Code> decoded = DecodeCode(cx_, program->compiled, program->files);
  if (decoded) {
    loaded->code = *std::move(decoded);
  } else {
    Result<Code> parsed = ParseBundle(cx_, program->files);
    if (!parsed.ok()) {
      error = {.type = "SyntaxError", .message = parsed.error().message};
      return nullptr;
    }
    loaded->code = *std::move(parsed);
  }
  loaded->polyfills = runtime_->PolyfillsFor(program->files);
  programs_[program->sha256] = loaded;
  return loaded;
}

// --- globals -------------------------------------------------------------------------------------

std::unique_ptr<Realm> Engine::Impl::MakeRealm(const std::shared_ptr<const LoadedProgram>& loaded) {
  std::unique_ptr<Realm> realm = Realm::Make(cx_, *runtime_, holder_->global());
  if (!realm) return nullptr;
  realm->set_loaded(loaded);
  for (const size_t chunk : loaded->polyfills) {
    if (!realm->RunChunk(cx_, chunk)) return nullptr;
  }
  // Every activation needs it; a global is often made while there is time.
  const Runtime::Name* const context = runtime_->Find(kContextName);
  if (context != nullptr && !realm->RunChunk(cx_, context->chunk)) return nullptr;
  return realm;
}

std::unique_ptr<Realm> Engine::Impl::TakeRealm(const std::shared_ptr<const LoadedProgram>& loaded) {
  const auto kept = kept_.find(loaded->program->sha256);
  if (kept != kept_.end()) {
    std::unique_ptr<Realm> realm = std::move(kept->second);
    kept_.erase(kept);
    return realm;
  }
  if (prepared_ && prepared_->loaded() == loaded) return std::move(prepared_);
  prepared_.reset();
  return MakeRealm(loaded);
}

// A global in which something was stopped half-way is not used again.
void Engine::Impl::KeepRealm(std::unique_ptr<Realm> realm, const EngineOutcome& outcome) {
  const Program& program = *realm->loaded()->program;
  if (program.isolation != Isolation::kVersion || !realm->evaluated) return;
  if (!outcome.limit_hit.empty()) return;
  if (activation_->left_with()) return;
  kept_[program.sha256] = std::move(realm);
}

Result<void> Engine::Impl::Load(const std::shared_ptr<const Program>& program) {
  stop_ = StopReason::kNone;
  RunError error;
  bool cold = false;
  if (Load(program, error, cold) != nullptr) return {};
  const JSAutoRealm realm(cx_, holder_->global());
  JS_ClearPendingException(cx_);
  return Error{ErrorCode::kInvalid, std::move(error.message)};
}

void Engine::Impl::Prepare(const std::shared_ptr<const Program>& program) {
  if (out_of_memory_) return;
  if (runs_since_collection_ >= kRunsPerCollection) {
    runs_since_collection_ = 0;
    JS::PrepareForFullGC(cx_);
    JS::NonIncrementalGC(cx_, JS::GCOptions::Normal, JS::GCReason::API);
  }
  if (program->isolation != Isolation::kActivation) return;
  const auto known = programs_.find(program->sha256);
  if (known == programs_.end()) return;
  if (prepared_ && prepared_->loaded() == known->second) return;
  stop_ = StopReason::kNone;
  prepared_ = MakeRealm(known->second);
  if (!prepared_) return JS_ClearPendingException(cx_);
  const JSAutoRealm realm(cx_, prepared_->global());
  const JS::RootedObject module(cx_, prepared_->Module(cx_, program->entry, ""));
  bool ignored = false;
  for (const char* const name : {"Promise", "JSON", "Date", "Math", "Map", "Error"}) {
    if (!JS_HasProperty(cx_, prepared_->global(), name, &ignored)) JS_ClearPendingException(cx_);
  }
  if (module == nullptr || !JS::ModuleInstantiate(cx_, module)) {
    JS_ClearPendingException(cx_);
    prepared_.reset();  // the run will say why
  }
}

void Engine::Impl::Forget(const std::string& sha256) {
  if (prepared_ && prepared_->loaded()->program->sha256 == sha256) prepared_.reset();
  kept_.erase(sha256);
  programs_.erase(sha256);
}

void Engine::Impl::Shrink() {
  if (out_of_memory_) return;
  runs_since_collection_ = 0;
  for (int i = 0; i < 2; ++i) {  // what the first one finalizes, the second one gives back
    JS::PrepareForFullGC(cx_);
    JS::NonIncrementalGC(cx_, JS::GCOptions::Shrink, JS::GCReason::API);
  }
}

// --- running -------------------------------------------------------------------------------------

void Engine::Impl::NoteRejection(JSContext* /*cx*/, bool /*muted*/, JS::HandleObject promise,
                                 JS::PromiseRejectionHandlingState state, void* data) {
  Activation* const activation = static_cast<Impl*>(data)->activation();
  if (activation == nullptr) return;
  activation->NoteRejection(promise, state == JS::PromiseRejectionHandlingState::Handled);
}

bool Engine::Impl::Fail(EngineOutcome& outcome) {
  SetError(outcome, TakeException(cx_));
  return false;
}

// Waits for a promise or a thenable; any other value is settled already.
bool Engine::Impl::Await(JS::HandleValue value, std::string_view what,
                         JS::MutableHandleValue settled, EngineOutcome& outcome) {
  settled.set(value);
  if (!value.isObject()) return true;
  const JS::RootedObject promise(cx_, JS::CallOriginalPromiseResolve(cx_, value));
  if (promise == nullptr) return Fail(outcome);
  // Whatever comes of it is told by the outcome.
  (void)JS::SetAnyPromiseIsHandled(cx_, promise);
  if (!activation_->RunUntilSettled(promise)) {
    if (activation_->stopped()) return Fail(outcome);
    const std::vector<RunError> rejections = activation_->UnhandledRejections();
    std::string message = fmt::format(
        "{} can never settle: no timer, no call to the server and no job is left that could do it",
        what);
    if (!rejections.empty()) {
      message += fmt::format("; a promise was rejected that nobody waits for: {}: {}",
                             rejections[0].type, rejections[0].message);
    }
    SetError(outcome, {.type = "NeverSettled", .message = std::move(message)});
    return false;
  }
  settled.set(JS::GetPromiseResult(promise));
  if (JS::GetPromiseState(promise) == JS::PromiseState::Fulfilled) return true;
  SetError(outcome, DescribeThrown(cx_, settled, nullptr));
  return false;
}

bool Engine::Impl::Evaluate(Realm& realm, EngineOutcome& outcome) {
  const Program& program = *realm.loaded()->program;
  const JS::RootedObject module(cx_, realm.Module(cx_, program.entry, "the manifest"));
  JS::RootedValue evaluation(cx_);
  JS::RootedValue ignored(cx_);
  if (module == nullptr || !JS::ModuleInstantiate(cx_, module) ||
      !JS::ModuleEvaluate(cx_, module, &evaluation)) {
    return Fail(outcome);
  }
  if (!Await(evaluation, "a top-level await", &ignored, outcome)) return false;
  const JS::RootedObject exports(cx_, JS::GetModuleNamespace(cx_, module));
  JS::RootedValue handler(cx_);
  if (exports == nullptr || !JS_GetProperty(cx_, exports, program.handler.c_str(), &handler)) {
    return Fail(outcome);
  }
  if (!handler.isObject() || !JS::IsCallable(&handler.toObject())) {
    SetError(outcome, {.type = "HandlerNotFound",
                       .message = fmt::format("{} does not export a function named \"{}\"",
                                              program.entry, program.handler)});
    return false;
  }
  realm.handler = &handler.toObject();
  realm.evaluated = true;
  return true;
}

bool Engine::Impl::MakeArguments(Realm& realm, const EngineRun& run, JS::MutableHandleValue event,
                                 JS::MutableHandleValue context, EngineOutcome& outcome) {
  JS::RootedValue env(cx_);
  if (!ParseJson(cx_, run.event, event) || !ParseJson(cx_, run.context, context) ||
      !ParseJson(cx_, run.env, &env)) {
    return Fail(outcome);
  }
  if (!context.isObject()) {
    SetError(outcome, {.type = "InternalError", .message = "the context is not an object"});
    return false;
  }
  const JS::RootedObject object(cx_, &context.toObject());
  if (!JS_DefineProperty(cx_, object, "env", env, JSPROP_ENUMERATE)) return Fail(outcome);
  const Runtime::Name* const name = runtime_->Find(kContextName);
  if (name == nullptr) return true;
  JS::RootedValue complete(cx_);
  JS::RootedValueArray<1> arguments(cx_);
  arguments[0].set(context);
  return (realm.RuntimeValue(cx_, *name, &complete) &&
          JS_CallFunctionValue(cx_, nullptr, complete, JS::HandleValueArray(arguments), context)) ||
         Fail(outcome);
}

bool Engine::Impl::CallHandler(Realm& realm, const EngineRun& run, JS::MutableHandleValue value,
                               EngineOutcome& outcome) {
  JS::RootedValue event(cx_);
  JS::RootedValue context(cx_);
  if (!MakeArguments(realm, run, &event, &context, outcome)) return false;
  JS::RootedValueArray<2> arguments(cx_);
  arguments[0].set(event);
  arguments[1].set(context);
  const JS::RootedValue handler(cx_, JS::ObjectValue(*realm.handler));
  JS::RootedValue returned(cx_);
  if (!JS_CallFunctionValue(cx_, nullptr, handler, JS::HandleValueArray(arguments), &returned)) {
    return Fail(outcome);
  }
  return Await(returned, "the handler's promise", value, outcome);
}

// What the runtime has to say when the handler has come to its end.
bool Engine::Impl::AwaitEnd(EngineOutcome& outcome) {
  JS::RootedValue returned(cx_);
  JS::RootedValue ignored(cx_);
  if (!activation_->CallEnd(&returned)) return Fail(outcome);
  return Await(returned, "the end of the steps", &ignored, outcome);
}

// If the runtime has made its Response, its value may be one.
bool Engine::Impl::FromResponse(Realm& realm, JS::MutableHandleValue value,
                                EngineOutcome& outcome) {
  const Runtime::Name* const name = runtime_->Find(kToResultName);
  if (name == nullptr || !realm.HasChunk(name->chunk) || !value.isObject()) return true;
  JS::RootedValue convert(cx_);
  JS::RootedValue converted(cx_);
  JS::RootedValueArray<1> arguments(cx_);
  arguments[0].set(value);
  if (!realm.RuntimeValue(cx_, *name, &convert) ||
      !JS_CallFunctionValue(cx_, nullptr, convert, JS::HandleValueArray(arguments), &converted)) {
    return Fail(outcome);
  }
  if (converted.isUndefined()) return true;
  return Await(converted, "the response's body", value, outcome);
}

void Engine::Impl::ReportRejections() {
  for (const RunError& error : activation_->UnhandledRejections()) {
    activation_->host()->Log("error", fmt::format("a promise was rejected that nobody waits for: "
                                                  "{}: {}",
                                                  error.type, error.message));
  }
}

void Engine::Impl::RunIn(Realm& realm, const EngineRun& run, EngineOutcome& outcome) {
  if (!realm.evaluated && !Evaluate(realm, outcome)) return;
  JS::RootedValue value(cx_);
  if (!CallHandler(realm, run, &value, outcome)) return;
  if (!AwaitEnd(outcome)) return;
  if (!FromResponse(realm, &value, outcome)) return;
  RunError error;
  std::optional<ResultText> result = MakeResult(cx_, value, error);
  if (!result) return SetError(outcome, std::move(error));
  outcome.result = std::move(result->json);
  outcome.result_truncated = result->truncated;
  if (activation_->queue().Run(cx_)) ReportRejections();
}

void Engine::Impl::ApplyLimits(EngineOutcome& outcome) const {
  const StopReason reason = stop_reason();
  if (activation_ && activation_->left()) {
    outcome.status = activation_->left_with() ? RunStatus::kError : RunStatus::kSuspended;
    outcome.error = activation_->left_with().value_or(RunError{});
  }
  if (out_of_memory_) {
    outcome.status = RunStatus::kError;
    outcome.limit_hit = "memory";
    outcome.error = {.type = "MemoryLimit", .message = "the function used up its memory"};
  } else if (reason == StopReason::kWall) {
    outcome.status = RunStatus::kTimeout;
    outcome.limit_hit = "wall";
    outcome.error = {.type = "Timeout", .message = "the function did not end in time"};
  } else if (reason == StopReason::kCpu) {
    outcome.status = RunStatus::kTimeout;
    outcome.limit_hit = "cpu";
    outcome.error = {.type = "CpuLimit", .message = "the function used up its processor time"};
  }
  if (outcome.status != RunStatus::kSuccess) {
    outcome.result.clear();
    outcome.result_truncated = false;
  }
}

EngineOutcome Engine::Impl::Run(const EngineRun& run, EngineHost& host) {
  EngineOutcome outcome;
  stop_ = StopReason::kNone;
  activation_.emplace(cx_, *jobs_, &host);
  if (std::shared_ptr<const LoadedProgram> loaded =
          Load(run.program, outcome.error, outcome.cold)) {
    std::unique_ptr<Realm> realm = TakeRealm(loaded);
    if (realm) {
      const JSAutoRealm entered(cx_, realm->global());
      RunIn(*realm, run, outcome);
      JS_ClearPendingException(cx_);
    } else {
      const JSAutoRealm entered(cx_, holder_->global());
      SetError(outcome, TakeException(cx_));
    }
    ApplyLimits(outcome);
    jobs_->Clear();
    if (realm) KeepRealm(std::move(realm), outcome);
    activation_.reset();
  } else {
    outcome.status = RunStatus::kError;
    ApplyLimits(outcome);
    activation_.reset();
  }
  ++runs_since_collection_;
  stop_ = StopReason::kNone;
  return outcome;
}

void Engine::Impl::Stop(StopReason reason) {
  stop_ = reason;
  JS_RequestInterruptCallback(cx_);
}

// --- Engine --------------------------------------------------------------------------------------

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::Make(const EngineOptions& options) {
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<Impl> impl, Impl::Make(options));
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Result<std::string> Engine::Compile(const std::vector<SourceFile>& files,
                                    const std::string& entry) {
  return impl_->Compile(files, entry);
}
EngineOutcome Engine::Run(const EngineRun& run, EngineHost& host) { return impl_->Run(run, host); }
Result<void> Engine::Load(const std::shared_ptr<const Program>& program) {
  return impl_->Load(program);
}
void Engine::Prepare(const std::shared_ptr<const Program>& program) { impl_->Prepare(program); }
void Engine::Forget(const std::string& sha256) { impl_->Forget(sha256); }
void Engine::Shrink() { impl_->Shrink(); }
void Engine::Stop(StopReason reason) { impl_->Stop(reason); }
bool Engine::out_of_memory() const { return impl_->out_of_memory(); }

}  // namespace cairn::functions
