#include "functions/cli/local_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "functions/model/errors.h"
#include "functions/model/json_object.h"
#include "functions/model/json_writer.h"
#include "functions/model/limits.h"

namespace cairn::functions::cli {
namespace {

constexpr int64_t kAnyInteger = int64_t{1} << 53;

void Fail(StepRecord& record, std::string_view type, std::string message) {
  record.state = StepState::kFailed;
  record.error =
      FunctionError{.type = std::string(type), .message = std::move(message), .stack = {}};
}

}  // namespace

boost::asio::awaitable<Result<std::string>> LocalSteps::Call(std::string_view operation,
                                                             std::string arguments) {
  if (operation == "steps.done") co_return Done(arguments);
  if (operation == "steps.start") co_return Start(arguments);
  if (operation == "steps.wait") co_return co_await Wait();
  co_return Refuse(Code::kValidation, "there is no such operation of steps");
}

Result<void> LocalSteps::Keep(int64_t step, std::function<Result<void>()> write) {
  return KeepKv(step, {}, std::move(write));
}

Result<void> LocalSteps::KeepKv(int64_t step, KvCall call, std::function<Result<void>()> write) {
  std::vector<Write>& writes = writes_[step];
  if (writes.size() >= kMaxStepWrites) {
    return Refuse(
        Code::kTooLarge,
        fmt::format("a step writes more than {} times: make several steps of it", kMaxStepWrites));
  }
  writes.push_back({.run = std::move(write), .kv = std::move(call)});
  return {};
}

const KvCall* LocalSteps::LastWrite(int64_t step, std::string_view key) const {
  const auto found = writes_.find(step);
  if (found == writes_.end()) return nullptr;
  const std::vector<Write>& writes = found->second;
  const auto write = std::find_if(writes.rbegin(), writes.rend(),
                                  [&](const Write& one) { return one.kv.key == key; });
  return write == writes.rend() ? nullptr : &write->kv;
}

Result<std::string> LocalSteps::Done(std::string_view arguments) {
  StepRecord record{.kind = StepKind::kStep, .state = StepState::kRetrying};
  bool failed = false;
  std::optional<int64_t> retry_ms;
  const auto read = [&](ObjectReader& object) {
    record.position = static_cast<uint32_t>(object.Integer("position", 0, kMaxSteps));
    record.name = object.Text("name", {1, kMaxStepNameBytes});
    record.attempts = object.Integer("attempt", 1, kMaxStepRetries + 1);
    record.value = object.Raw("value");
    failed = object.Has("error");
    retry_ms = object.OptionalInteger("retry_ms", 0, kMaxStepDelayMs);
    return true;
  };
  const Result<bool> parsed = ReadObject(arguments, Code::kValidation, read);
  if (!parsed.ok()) return parsed.error();
  if (record.value.size() > kMaxStepResultBytes) {
    return Refuse(
        Code::kTooLarge,
        fmt::format("step {}, \"{}\": its result has {} bytes, and may have {}", record.position,
                    record.name, record.value.size(), kMaxStepResultBytes));
  }
  const std::vector<Write> writes = std::exchange(writes_[record.position], {});
  writes_.erase(record.position);
  if (!failed) {
    for (const Write& write : writes) CAIRN_RETURN_IF_ERROR(write.run());
    return std::string("{}");
  }
  if (retry_ms) {
    record.wake_ms = clock_.Now().millis() + *retry_ms;
    waiting_[record.position] = std::move(record);
  }
  return std::string("{}");
}

Result<std::string> LocalSteps::Start(std::string_view arguments) {
  StepRecord record{.started_ms = clock_.Now().millis()};
  const auto read = [&](ObjectReader& object) {
    record.position = static_cast<uint32_t>(object.Integer("position", 0, kMaxSteps - 1));
    record.kind = ParseStepKind(object.Choice("kind", {"sleep", "event", "invoke"}))
                      .value_or(StepKind::kSleep);
    record.name = object.OptionalText("name", {0, kMaxStepNameBytes}).value_or("");
    if (const auto delay = object.OptionalInteger("delay_ms", 0, kMaxStepDelayMs)) {
      record.wake_ms = record.started_ms + *delay;
    }
    if (const auto until = object.OptionalInteger("until_ms", 0, kAnyInteger)) {
      record.wake_ms = *until;
    }
    return true;
  };
  const Result<bool> parsed = ReadObject(arguments, Code::kValidation, read);
  if (!parsed.ok()) return parsed.error();
  if (record.kind == StepKind::kInvoke) {
    record.seq = seq_++;
    Fail(record, "InvokeError", "a function that runs locally cannot invoke others");
    return fmt::format(R"({{"record":{}}})", Encode(record));
  }
  waiting_[record.position] = std::move(record);
  return std::string("{}");
}

// Until the first of those that wait is due.
boost::asio::awaitable<Result<std::string>> LocalSteps::Wait() {
  auto first = waiting_.end();
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    const bool sooner = first == waiting_.end() || at->second.wake_ms.value_or(kNever) <
                                                       first->second.wake_ms.value_or(kNever);
    if (sooner) first = at;
  }
  if (first == waiting_.end() || !first->second.wake_ms) {
    co_return Refuse(Code::kConflict,
                     "the function waits for an event, and none comes to one that runs locally: "
                     "give ctx.waitForEvent a timeout");
  }
  StepRecord record = first->second;
  waiting_.erase(first);
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(
      std::chrono::milliseconds(std::max<int64_t>(0, *record.wake_ms - clock_.Now().millis())));
  co_await timer.async_wait(boost::asio::use_awaitable);
  if (record.kind == StepKind::kSleep) record.state = StepState::kDone;
  if (record.kind == StepKind::kEvent) {
    Fail(record, "TimeoutError", fmt::format("the event \"{}\" did not come", record.name));
  }
  if (record.kind != StepKind::kStep) record.seq = seq_++;
  co_return fmt::format(R"({{"records":[{}]}})", Encode(record));
}

}  // namespace cairn::functions::cli
