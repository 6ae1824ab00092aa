#include "functions/engine/activation.h"

#include <fmt/format.h>
#include <js/CallAndConstruct.h>
#include <js/Conversions.h>
#include <js/ErrorReport.h>
#include <js/Exception.h>
#include <js/Promise.h>
#include <js/PropertyAndElement.h>
#include <js/ValueArray.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "functions/engine/exception.h"
#include "functions/engine/text.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

constexpr double kNsPerMs = 1'000'000;
constexpr double kLongestDelayMs = 2'147'483'647;
constexpr size_t kMaxRejections = 64;

// An Error with `message`, as the pending exception's value would be.
bool MakeError(JSContext* cx, std::string_view message, JS::MutableHandleValue error) {
  JS_ReportErrorUTF8(cx, "%s", std::string(message).c_str());
  if (!JS_GetPendingException(cx, error)) return false;
  JS_ClearPendingException(cx);
  return true;
}

}  // namespace

uint64_t MonotonicNowNs() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

Activation::Activation(JSContext* cx, Jobs& queue, EngineHost* host)
    : cx_(cx), queue_(queue), host_(host), started_ns_(MonotonicNowNs()) {}

bool Activation::SetTimer(JS::HandleObject function, double delay_ms, TimerKind kind, double& id) {
  if (timers_.size() >= wire::kMaxTimers) {
    JS_ReportErrorUTF8(cx_, "there are already %zu timers", wire::kMaxTimers);
    return false;
  }
  const double delay = std::isnan(delay_ms) ? 0 : std::clamp(delay_ms, 0.0, kLongestDelayMs);
  const auto delay_ns = static_cast<uint64_t>(delay * kNsPerMs);
  id = ++last_timer_;
  const uint64_t due_ns = MonotonicNowNs() + delay_ns;
  const auto period_ns = static_cast<uint64_t>(std::max(delay, 1.0) * kNsPerMs);
  timers_.try_emplace(id, Timer{.due_ns = due_ns,
                                .period_ns = kind.repeat ? period_ns : 0,
                                .keeps = kind.keeps,
                                .function = JS::PersistentRootedObject(cx_, function)});
  due_.emplace(due_ns, id);
  if (kind.keeps) ++keeping_;
  return true;
}

void Activation::ForgetTimer(std::map<double, Timer>::iterator timer) {
  if (timer->second.keeps) --keeping_;
  timers_.erase(timer);
}

void Activation::ClearTimer(double id) {
  const auto timer = timers_.find(id);
  if (timer == timers_.end()) return;
  due_.erase({timer->second.due_ns, id});
  ForgetTimer(timer);
}

JSObject* Activation::Call(std::string_view operation, std::string_view arguments) {
  if (host_ == nullptr || operation.size() > wire::kMaxHostOperationBytes) {
    JS_ReportErrorUTF8(cx_, "the server cannot be asked this");
    return nullptr;
  }
  if (calls_.size() >= wire::kMaxHostCallsInFlight) {
    JS_ReportErrorUTF8(cx_, "more than %zu calls at once; await some of them first",
                       wire::kMaxHostCallsInFlight);
    return nullptr;
  }
  if (call_bytes_ + arguments.size() > wire::kMaxHostCallBytes) {
    JS_ReportErrorUTF8(cx_, "the arguments of the calls under way exceed %zu bytes",
                       wire::kMaxHostCallBytes);
    return nullptr;
  }
  const JS::RootedObject promise(cx_, JS::NewPromiseObject(cx_, nullptr));
  if (promise == nullptr) return nullptr;
  const uint64_t call = ++last_call_;
  calls_.try_emplace(call, arguments.size(), JS::PersistentRootedObject(cx_, promise));
  call_bytes_ += arguments.size();
  host_->Call(call, operation, arguments);
  return promise;
}

void Activation::Watch(JS::HandleObject idle, JS::HandleObject end) {
  idle_.emplace(cx_, idle);
  end_.emplace(cx_, end);
}

bool Activation::CallIdle() {
  if (!idle_) return false;
  const JS::RootedValue function(cx_, JS::ObjectValue(**idle_));
  JS::RootedValue asked(cx_);
  if (!JS_CallFunctionValue(cx_, nullptr, function, JS::HandleValueArray::empty(), &asked)) {
    if (JS_IsExceptionPending(cx_)) {
      JS_ClearPendingException(cx_);
    } else {
      stopped_ = true;
    }
    return false;
  }
  return JS::ToBoolean(asked);
}

bool Activation::CallEnd(JS::MutableHandleValue returned) {
  returned.setUndefined();
  if (!end_) return true;
  const JS::RootedValue function(cx_, JS::ObjectValue(**end_));
  return JS_CallFunctionValue(cx_, nullptr, function, JS::HandleValueArray::empty(), returned);
}

void Activation::Leave(std::optional<RunError> error) {
  left_ = true;
  stopped_ = true;
  left_with_ = std::move(error);
}

void Activation::NoteRejection(JS::HandleObject promise, bool handled) {
  if (handled) {
    rejected_.remove_if([&](const auto& one) { return one.get() == promise.get(); });
  } else if (rejected_.size() < kMaxRejections) {
    rejected_.emplace_back(cx_, promise);
  }
}

std::vector<RunError> Activation::UnhandledRejections() {
  std::vector<RunError> errors;
  std::list<JS::PersistentRootedObject> rejected;
  rejected.swap(rejected_);
  for (const JS::PersistentRootedObject& promise : rejected) {
    const JS::RootedValue reason(cx_, JS::GetPromiseResult(promise));
    errors.push_back(DescribeThrown(cx_, reason, nullptr));
  }
  return errors;
}

bool Activation::RunJobs() {
  if (!queue_.Run(cx_)) stopped_ = true;
  return !stopped_;
}

// One timer at a time, with the jobs it leaves: so that a function which stops the run stops it at
// once, and timers see what earlier ones have done.
bool Activation::RunDueTimers() {
  const uint64_t now_ns = MonotonicNowNs();
  while (!due_.empty() && due_.begin()->first <= now_ns) {
    const double id = due_.begin()->second;
    const auto found = timers_.find(id);
    Timer& timer = found->second;
    JS::RootedValue function(cx_, JS::ObjectValue(*timer.function));
    due_.erase(due_.begin());
    if (timer.period_ns > 0) {
      timer.due_ns = now_ns + timer.period_ns;
      due_.emplace(timer.due_ns, id);
    } else {
      ForgetTimer(found);
    }
    JS::RootedValue ignored(cx_);
    if (!JS_CallFunctionValue(cx_, nullptr, function, JS::HandleValueArray::empty(), &ignored)) {
      if (!JS_IsExceptionPending(cx_)) {
        stopped_ = true;
        return false;
      }
      const RunError error = TakeException(cx_);
      if (host_ != nullptr) {
        host_->Log("error",
                   fmt::format("a timer's function threw {}: {}", error.type, error.message));
      }
    }
    if (!RunJobs()) return false;
  }
  return true;
}

bool Activation::Settle(const HostReply& reply) {
  const auto call = calls_.find(reply.call);
  if (call == calls_.end()) return true;  // of an activation before this one
  const JS::RootedObject promise(cx_, call->second.second);
  call_bytes_ -= call->second.first;
  calls_.erase(call);
  JS::RootedValue value(cx_);
  if (reply.ok) {
    JSString* const text = StringOf(cx_, reply.text);
    if (text != nullptr) {
      value.setString(text);
      return JS::ResolvePromise(cx_, promise, value);
    }
    if (!JS_GetPendingException(cx_, &value)) return false;
    JS_ClearPendingException(cx_);
  } else if (!MakeError(cx_, reply.text, &value)) {
    return false;
  }
  return JS::RejectPromise(cx_, promise, value);
}

bool Activation::RunUntilSettled(JS::HandleObject promise) {
  while (true) {
    if (!RunJobs()) return false;
    if (JS::GetPromiseState(promise) != JS::PromiseState::Pending) return true;
    const bool may_reply = !calls_.empty() && host_ != nullptr && host_->connected();
    if (keeping_ == 0 && calls_.empty() && CallIdle()) continue;
    if (stopped_) return false;
    if (due_.empty() && !may_reply) return false;
    std::optional<uint64_t> wait_ns;
    if (!due_.empty()) {
      const uint64_t now_ns = MonotonicNowNs();
      const uint64_t due_ns = due_.begin()->first;
      wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    }
    if (host_ == nullptr) return false;
    if (const std::optional<HostReply> reply = host_->WaitForReply(wait_ns)) {
      if (!Settle(*reply)) JS_ClearPendingException(cx_);
    }
    if (!JS_CheckForInterrupt(cx_)) {
      stopped_ = true;
      return false;
    }
    if (!RunDueTimers()) return false;
  }
}

}  // namespace cairn::functions
