#pragma once

#include <jsapi.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "functions/engine/activation.h"
#include "functions/engine/engine.h"
#include "functions/engine/job_queue.h"
#include "functions/engine/realm.h"

namespace cairn::functions {

// What is behind Engine: the context, the programs that have been loaded, the global in which code
// runs now, and those that are kept for later.
class Engine::Impl {
 public:
  static Result<std::unique_ptr<Impl>> Make(const EngineOptions& options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  static Impl& Of(JSContext* cx) { return *static_cast<Impl*>(JS_GetContextPrivate(cx)); }

  Result<std::string> Compile(const std::vector<SourceFile>& files, const std::string& entry);
  EngineOutcome Run(const EngineRun& run, EngineHost& host);
  Result<void> Load(const std::shared_ptr<const Program>& program);
  void Prepare(const std::shared_ptr<const Program>& program);
  void Forget(const std::string& sha256);
  void Shrink();
  void Stop(StopReason reason);
  bool out_of_memory() const { return out_of_memory_; }

  Activation* activation() { return activation_ ? &*activation_ : nullptr; }
  void NoteOutOfMemory() { out_of_memory_ = true; }
  StopReason stop_reason() const { return stop_.load(std::memory_order_relaxed); }

 private:
  Impl() = default;
  Result<void> Init(const EngineOptions& options);
  void SetHooks();

  std::shared_ptr<const LoadedProgram> Load(const std::shared_ptr<const Program>& program,
                                            RunError& error, bool& cold);
  std::unique_ptr<Realm> MakeRealm(const std::shared_ptr<const LoadedProgram>& loaded);
  std::unique_ptr<Realm> TakeRealm(const std::shared_ptr<const LoadedProgram>& loaded);
  void KeepRealm(std::unique_ptr<Realm> realm, const EngineOutcome& outcome);

  // Steps of a run. Each returns false with the outcome filled.
  bool Evaluate(Realm& realm, EngineOutcome& outcome);
  bool CallHandler(Realm& realm, const EngineRun& run, JS::MutableHandleValue value,
                   EngineOutcome& outcome);
  bool MakeArguments(Realm& realm, const EngineRun& run, JS::MutableHandleValue event,
                     JS::MutableHandleValue context, EngineOutcome& outcome);
  bool Await(JS::HandleValue value, std::string_view what, JS::MutableHandleValue settled,
             EngineOutcome& outcome);
  bool AwaitEnd(EngineOutcome& outcome);
  bool FromResponse(Realm& realm, JS::MutableHandleValue value, EngineOutcome& outcome);
  bool Fail(EngineOutcome& outcome);
  void RunIn(Realm& realm, const EngineRun& run, EngineOutcome& outcome);
  void ReportRejections();
  // What counts more than what the function says: that it was stopped, or that memory ran out.
  void ApplyLimits(EngineOutcome& outcome) const;

  static void NoteRejection(JSContext* cx, bool muted, JS::HandleObject promise,
                            JS::PromiseRejectionHandlingState state, void* data);
  static JSObject* ResolveModule(JSContext* cx, JS::HandleValue importer, JS::HandleObject request);
  static bool ImportDynamically(JSContext* cx, JS::HandleValue importer, JS::HandleObject request,
                                JS::HandleObject promise);

  JSContext* cx_ = nullptr;
  std::unique_ptr<Jobs> jobs_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Realm> holder_;  // keeps the zone that all globals are in
  std::map<std::string, std::shared_ptr<const LoadedProgram>> programs_;
  std::unique_ptr<Realm> prepared_;
  std::map<std::string, std::unique_ptr<Realm>> kept_;  // of versions, by sha256
  std::optional<Activation> activation_;
  int64_t runs_since_collection_ = 0;
  bool out_of_memory_ = false;
  std::atomic<StopReason> stop_ = StopReason::kNone;
};

}  // namespace cairn::functions
