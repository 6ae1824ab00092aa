#include "functions/invoker/run_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "functions/model/base64.h"
#include "functions/protocol/limits.h"

namespace cairn::functions {
namespace {

constexpr std::string_view kClientLeft = "the client has left";
constexpr std::string_view kStreamBytes = "stream_bytes";
constexpr std::string_view kStreamIdle = "stream_idle";

}  // namespace

AnswerMode RunAnswer::Attach(std::shared_ptr<LiveResponse> live) {
  if (live == nullptr) return AnswerMode::kAtEnd;
  // Called on the client's loop, also when the run is over.
  const auto post = [loop = &loop_, weak = weak_from_this()](auto call) {
    loop->Post([weak, call] {
      if (const std::shared_ptr<RunAnswer> self = weak.lock()) call(*self);
    });
  };
  LiveResponse::Listener listener;
  listener.took = [post](uint64_t bytes) { post([bytes](RunAnswer& self) { self.Took(bytes); }); };
  listener.left = [post](bool others) { post([others](RunAnswer& self) { self.Left(others); }); };
  const std::optional<uint64_t> run = live->Attach(std::move(listener));
  if (!run) return AnswerMode::kAtEnd;
  run_ = *run;
  live_ = std::move(live);
  return live_->mode();
}

void RunAnswer::SetControl(RunControl* control) {
  control_ = control;
  if (control_ != nullptr && alone_) control_->Abort(kClientLeft);
}

void RunAnswer::Answered(std::string_view result, bool truncated) {
  Result<FunctionResult> parsed = ParseFunctionResult(result);
  broken_ = !parsed.ok();
  if (broken_) return;
  answer_ = *std::move(parsed);
  truncated_ = Truncate(*answer_) || truncated;
  if (live_ != nullptr) live_->Answer(run_, *answer_);
}

void RunAnswer::Begun(std::string_view head) {
  begun_ = true;
  Result<FunctionResult> parsed = ParseFunctionResult(head);
  broken_ = !parsed.ok();
  if (broken_) return;
  answer_ = *std::move(parsed);
  answer_->body.clear();
  answer_->is_base64 = false;
  active_ns_ = clock_.MonotonicNs();
  WatchGaps(limits_.idle);
  if (live_ != nullptr) live_->Begin(run_, *answer_);
}

void RunAnswer::Piece(std::string bytes) {
  if (broken_ || !cut_.empty()) return;
  active_ns_ = clock_.MonotonicNs();
  const auto size = static_cast<int64_t>(bytes.size());
  if (bytes_ + size > limits_.bytes) {
    return Cut(std::string(kStreamBytes),
               fmt::format("the answer has more than {} bytes", limits_.bytes));
  }
  bytes_ += size;
  under_way_ += bytes.size();
  kept_.append(bytes, 0, kMaxResultBytes - std::min(kMaxResultBytes, kept_.size()));
  if (left_) {
    if (!alone_) Grant(bytes.size());
  } else {
    live_->Piece(run_, std::move(bytes));
  }
}

void RunAnswer::Ended() {
  ended_ = true;
  gaps_.Cancel();
  if (!broken_ && cut_.empty() && live_ != nullptr) live_->Finish(run_, true, "");
}

void RunAnswer::Took(uint64_t bytes) {
  if (!left_) Grant(bytes);
}

void RunAnswer::Grant(uint64_t bytes) {
  // While there was no room, the pause was not the function's.
  if (under_way_ >= wire::kStreamWindowBytes) active_ns_ = clock_.MonotonicNs();
  under_way_ -= std::min(under_way_, bytes);
  if (control_ != nullptr) control_->Grant(bytes);
}

void RunAnswer::Left(bool others_wait) {
  if (left_ || ended_) return;
  left_ = true;
  alone_ = !others_wait;
  if (!alone_) return Grant(under_way_);
  gaps_.Cancel();
  if (control_ != nullptr) control_->Abort(kClientLeft);
}

void RunAnswer::Cut(std::string limit, std::string message) {
  gaps_.Cancel();
  cut_ = std::move(limit);
  cut_message_ = std::move(message);
  if (live_ != nullptr) live_->Finish(run_, false, "StreamLimit");
  if (control_ != nullptr) control_->Abort(cut_message_);
}

void RunAnswer::WatchGaps(std::chrono::nanoseconds delay) {
  gaps_ = loop_.After(delay, [this] { LookForGap(); });
}

void RunAnswer::LookForGap() {
  const std::chrono::nanoseconds passed(clock_.MonotonicNs() - active_ns_);
  if (under_way_ >= wire::kStreamWindowBytes) return WatchGaps(limits_.idle);
  if (passed < limits_.idle) return WatchGaps(limits_.idle - passed);
  Cut(std::string(kStreamIdle),
      fmt::format("the function made nothing of the answer for {} ms", limits_.idle.count()));
}

FunctionResult RunAnswer::Kept() const {
  FunctionResult result = *answer_;
  result.body = Base64Encode(kept_);
  result.is_base64 = true;
  return result;
}

void RunAnswer::Settle(RunEnd& end, std::string& limit_hit) {
  gaps_.Cancel();
  const bool succeeded = end.status == Status::kSuccess;
  const auto fail = [&](std::string type, std::string message) {
    end.status = Status::kError;
    end.result.reset();
    end.result_truncated = false;
    end.error = FunctionError{.type = std::move(type), .message = std::move(message), .stack = {}};
  };
  if (!begun_) {
    if (broken_) return fail("ValidationError", "the function's process sent no valid answer");
    if (succeeded && answer_) {
      end.result = answer_;
      end.result_truncated = truncated_;
    }
    return;
  }
  streamed_ = StreamedAnswer{.bytes = bytes_, .end = "complete"};
  if (broken_) {
    fail("ValidationError", "the head of the answer is not valid");
    streamed_->end = "error";
  } else if (!cut_.empty()) {
    fail("StreamLimit", cut_message_);
    limit_hit = cut_;
    streamed_->end = cut_;
  } else if (!ended_ && alone_) {
    streamed_->end = "client_left";
  } else if (!ended_ && succeeded) {
    fail("ValidationError", "the function's process did not end the answer");
    streamed_->end = "error";
  } else if (!ended_) {
    streamed_->end = limit_hit.empty() ? "error" : limit_hit;
  }
  if (end.status == Status::kSuccess) {
    end.result = Kept();
    end.result_truncated = Truncate(*end.result) || bytes_ > static_cast<int64_t>(kept_.size());
  }
  if (live_ != nullptr && !ended_) live_->Finish(run_, false, end.error ? end.error->type : "");
}

}  // namespace cairn::functions
