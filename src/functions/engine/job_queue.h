#pragma once

#include <js/AllocPolicy.h>
#include <js/GCVector.h>
#include <js/Promise.h>
#include <jsapi.h>

#include <cstddef>

namespace cairn::functions {

// The jobs of promises, in the order in which they came.
class Jobs final : public JS::JobQueue {
 public:
  explicit Jobs(JSContext* cx) : queue_(cx) {}

  JSObject* getIncumbentGlobal(JSContext* cx) override;
  bool enqueuePromiseJob(JSContext* cx, JS::HandleObject promise, JS::HandleObject job,
                         JS::HandleObject allocation_site,
                         JS::HandleObject incumbent_global) override;
  void runJobs(JSContext* cx) override { (void)Run(cx); }
  bool empty() const override { return next_ >= queue_.length(); }

  // Adds a function that is called without arguments. False if memory ran out.
  bool Add(JS::HandleObject function) { return queue_.append(function); }
  // Runs jobs until there are none. False if one was stopped from outside: the rest is dropped.
  bool Run(JSContext* cx);
  void Clear();

 private:
  js::UniquePtr<SavedJobQueue> saveJobQueue(JSContext* cx) override;

  JS::PersistentRooted<JS::GCVector<JSObject*, 0, js::SystemAllocPolicy>> queue_;
  size_t next_ = 0;
};

}  // namespace cairn::functions
