#include "functions/engine/job_queue.h"

#include <js/CallAndConstruct.h>
#include <js/Exception.h>
#include <js/ValueArray.h>

namespace cairn::functions {
namespace {

constexpr size_t kRunBeforeRemoved = 4'096;

}  // namespace

JSObject* Jobs::getIncumbentGlobal(JSContext* cx) { return JS::CurrentGlobalOrNull(cx); }

bool Jobs::enqueuePromiseJob(JSContext* cx, JS::HandleObject /*promise*/, JS::HandleObject job,
                             JS::HandleObject /*allocation_site*/,
                             JS::HandleObject /*incumbent_global*/) {
  if (queue_.append(job)) return true;
  JS_ReportOutOfMemory(cx);
  return false;
}

// A job of a promise never throws: what its callback throws rejects the next promise. What throws
// here is a microtask of queueMicrotask, which reports to its own chunk of the runtime; dropping it
// is what is left.
bool Jobs::Run(JSContext* cx) {
  JS::RootedObject job(cx);
  JS::RootedValue function(cx);
  JS::RootedValue ignored(cx);
  while (next_ < queue_.length()) {
    // Jobs that add jobs may keep it from ever being empty.
    if (next_ >= kRunBeforeRemoved && next_ * 2 >= queue_.length()) {
      queue_.erase(queue_.begin(), queue_.begin() + next_);
      next_ = 0;
    }
    job = queue_[next_];
    queue_[next_++].set(nullptr);
    const JSAutoRealm realm(cx, job);
    function.setObject(*job);
    if (JS_CallFunctionValue(cx, nullptr, function, JS::HandleValueArray::empty(), &ignored)) {
      continue;
    }
    if (!JS_IsExceptionPending(cx)) {
      Clear();
      return false;
    }
    JS_ClearPendingException(cx);
  }
  Clear();
  return true;
}

void Jobs::Clear() {
  queue_.clear();
  next_ = 0;
}

js::UniquePtr<JS::JobQueue::SavedJobQueue> Jobs::saveJobQueue(JSContext* /*cx*/) {
  return nullptr;  // for debuggers, which there are none of
}

}  // namespace cairn::functions
