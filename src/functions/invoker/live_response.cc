#include "functions/invoker/live_response.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

namespace cairn::functions {

// --- The client ----------------------------------------------------------------------------------

void LiveResponse::SetWaker(std::function<void()> waker) {
  const std::scoped_lock lock(mutex_);
  waker_ = std::move(waker);
}

LiveResponse::Stage LiveResponse::Look() const {
  const std::scoped_lock lock(mutex_);
  return stage_;
}

FunctionResult LiveResponse::TakeResult() {
  const std::scoped_lock lock(mutex_);
  return std::move(result_);
}

bool LiveResponse::Close() {
  const std::scoped_lock lock(mutex_);
  if (stage_ != Stage::kWaiting) return false;
  closed_ = true;
  return true;
}

LiveResponse::Next LiveResponse::Take() {
  const std::scoped_lock lock(mutex_);
  Next next;
  if (pieces_.empty()) {
    next.end = end_;
    next.type = error_type_;
    return next;
  }
  next.bytes = std::move(pieces_.front());
  pieces_.pop_front();
  return next;
}

void LiveResponse::Took(uint64_t bytes) {
  std::function<void(uint64_t)> took;
  {
    const std::scoped_lock lock(mutex_);
    if (closed_ || end_ != End::kOpen) return;
    took = listener_.took;
  }
  if (took) took(bytes);
}

void LiveResponse::Leave(bool others_wait) {
  std::function<void(bool)> left;
  {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    closed_ = true;
    waker_ = nullptr;
    pieces_.clear();
    // Who has all of the answer has not left, whatever the function goes on with.
    if (end_ == End::kOpen && stage_ != Stage::kAnswered) left = listener_.left;
    listener_ = {};
  }
  if (left) left(others_wait);
}

// --- The run -------------------------------------------------------------------------------------

std::optional<uint64_t> LiveResponse::Attach(Listener listener) {
  std::function<void()> waker;
  {
    const std::scoped_lock lock(mutex_);
    if (closed_ || stage_ == Stage::kAnswered) return std::nullopt;
    if (stage_ == Stage::kWaiting) {
      listener_ = std::move(listener);
      return ++run_;
    }
    ++run_;  // the earlier run is not the one any more, and this one never is
    if (end_ != End::kOpen) return std::nullopt;
    end_ = End::kBroken;
    error_type_ = "RunAgain";
    waker = waker_;
  }
  if (waker) waker();
  return std::nullopt;
}

void LiveResponse::Tell(uint64_t run, const std::function<void()>& change) {
  std::function<void()> waker;
  {
    const std::scoped_lock lock(mutex_);
    if (run != run_ || closed_) return;
    change();
    waker = waker_;
  }
  if (waker) waker();
}

void LiveResponse::Answer(uint64_t run, FunctionResult result) {
  Tell(run, [&] {
    stage_ = Stage::kAnswered;
    result_ = std::move(result);
  });
}

void LiveResponse::Begin(uint64_t run, FunctionResult head) {
  Tell(run, [&] {
    stage_ = Stage::kStreaming;
    result_ = std::move(head);
  });
}

void LiveResponse::Piece(uint64_t run, std::string bytes) {
  Tell(run, [&] {
    if (end_ == End::kOpen) pieces_.push_back(std::move(bytes));
  });
}

void LiveResponse::Finish(uint64_t run, bool complete, std::string_view type) {
  Tell(run, [&] {
    if (stage_ != Stage::kStreaming || end_ != End::kOpen) return;
    end_ = complete ? End::kComplete : End::kBroken;
    error_type_ = type;
  });
}

// --- LiveResponses -------------------------------------------------------------------------------

struct LiveResponses::Shared {
  struct Waiting {
    size_t clients = 0;
    std::shared_ptr<LiveResponse> response;  // null once its client has left
  };
  std::mutex mutex;
  std::unordered_map<std::string, Waiting> waiting;
};

LiveResponses::LiveResponses() : shared_(std::make_shared<Shared>()) {}

std::string LiveResponses::KeyOf(std::string_view tenant, std::string_view activation_id) {
  return fmt::format("{}/{}", tenant, activation_id);
}

LiveResponses::Place::Place(const LiveResponses& all, std::string key, AnswerMode mode)
    : all_(all.shared_), key_(std::move(key)) {
  const std::scoped_lock lock(all_->mutex);
  Shared::Waiting& waiting = all_->waiting[key_];
  if (++waiting.clients > 1) return;
  response_ = std::make_shared<LiveResponse>(mode);
  waiting.response = response_;
}

LiveResponses::Place::~Place() {
  bool others_wait = false;
  {
    const std::scoped_lock lock(all_->mutex);
    const auto found = all_->waiting.find(key_);
    if (response_ != nullptr) found->second.response.reset();
    others_wait = --found->second.clients > 0;
    if (!others_wait) all_->waiting.erase(found);
  }
  if (response_ != nullptr) response_->Leave(others_wait);
}

std::shared_ptr<LiveResponse> LiveResponses::Find(const std::string& key) const {
  const std::scoped_lock lock(shared_->mutex);
  const auto found = shared_->waiting.find(key);
  return found == shared_->waiting.end() ? nullptr : found->second.response;
}

}  // namespace cairn::functions
